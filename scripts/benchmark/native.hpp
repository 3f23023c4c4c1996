// The cases of the C++ benchmark, as scripts/benchmark/cases.py writes them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "scripts/benchmark/contender.hpp"

#include <octet/octet.hpp>

namespace octet::benchmark {

/// What the contenders computed and how long they took; Octet comes first.
struct Outcome {
  std::vector<Contender> contenders;
  /// Elements in which the second contender's output differs from Octet's by more than its rounding; -1: not compared.
  std::int64_t differing = -1;
};

/// A product of the matmul family:  OPERATOR A_TYPE B_TYPE Y_TYPE constant|runtime M K N COPIES
Outcome run_product(std::istream& words, double seconds);

/// The inner product of octet/inner_product.hpp:  float|bfloat16 constant|runtime M K N THREADS
Outcome run_inner_product(std::istream& words, double seconds);

/// QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear:  OPERATOR TYPE tensor|axis ROWS COLUMNS
Outcome run_quantize(std::istream& words, double seconds);

/// An element-wise operator, a reduction or QLinearConcat:  OPERATOR TYPE FORM RANK DIM...
Outcome run_elementwise(std::istream& words, double seconds);

/// DynamicQuantizeLSTM in one direction, and what its time goes into:  STEPS BATCH INPUT HIDDEN
Outcome run_lstm(std::istream& words, double seconds);

/// A training step of an LSTM, or its forward pass alone:  forward|step STEPS BATCH INPUT HIDDEN
Outcome run_lstm_training(std::istream& words, double seconds);

DataType type_named(const std::string& name);

/// Least and greatest element, at most and at least 0: what a program around oneDNN writes itself.
struct MinMax {
  float min, max;
};
MinMax min_max(const float* x, std::int64_t count);

/// Bytes of every value and floats of [-1, 1), the same in every run.
std::vector<std::uint8_t> random_bytes(std::int64_t count, std::uint32_t seed);
std::vector<float> random_floats(std::int64_t count, std::uint32_t seed);

}  // namespace octet::benchmark
