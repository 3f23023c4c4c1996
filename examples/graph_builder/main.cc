// Makes a model of one LSTM layer with 8-bit weights out of float weights, and writes it to the file that is named.
#include <octet/graph_builder.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t kInput = 16;
constexpr std::int64_t kHidden = 32;

/// Weights of an LSTM as ONNX has them, [1, 4*hidden_size, columns].
std::vector<float> weights(std::int64_t columns) {
  std::vector<float> result(static_cast<std::size_t>(4 * kHidden * columns));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = 0.3F * std::sin(static_cast<float>(i));
  return result;
}

octet::QuantizedLstmTensor quantized(std::int64_t columns) {
  const std::vector<float> values = weights(columns);
  return octet::quantize_lstm_weight({values.data(), octet::DataType::float32, {1, 4 * kHidden, columns}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    octet::GraphBuilder graph;
    octet::DynamicQuantizeLstmInputs inputs;
    inputs.X = graph.add_input("X", octet::DataType::float32, {"sequence", "batch", kInput});

    const auto w = quantized(kInput);
    const auto w_values = graph.add_constants(w, "W");
    inputs.W = w_values[0];
    inputs.W_scale = w_values[1];
    inputs.W_zero_point = w_values[2];
    const auto r = quantized(kHidden);
    const auto r_values = graph.add_constants(r, "R");
    inputs.R = r_values[0];
    inputs.R_scale = r_values[1];
    inputs.R_zero_point = r_values[2];

    octet::DynamicQuantizeLstmParameters parameters;
    parameters.lda_coeff = 0.5F;  // for the training layer; kept in the node's metadata
    const auto outputs = graph.add_dynamic_quantize_lstm(inputs, parameters, "layer");
    graph.add_output(outputs.Y_h, "Y_h");
    graph.check();
    graph.save(argv[1]);

    std::printf("largest rounding errors: W %.4f, R %.4f\n", w.largest_error, r.largest_error);
    const octet::GraphValueInfo info = graph.info(outputs.Y_h);
    std::printf("%s: [%d,%s,%d]\n", info.name.c_str(), static_cast<int>((*info.dims)[0].value),
                (*info.dims)[1].symbol.c_str(), static_cast<int>((*info.dims)[2].value));
    return 0;
  } catch (const octet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
