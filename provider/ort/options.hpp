// The provider's options. Data only, so that `octet options`, from which the table in README.md is made, can list them.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace octet::ort {

struct OptionDef {
  const char* name;
  const char* default_value;  ///< "": none
  const char* meaning;        ///< in Markdown
};

inline constexpr OptionDef kOptions[] = {
    {"threads", "0", "upper bound of threads for one operator; the session's own limit holds too; `0`: that alone"},
    {"backend", "auto", "`auto`, or `onednn`, `vector`, `eigen` to allow nothing else"},
    {"accuracy", "exact",
     "`exact`, or `fast` where an operator's documentation offers it: DynamicQuantizeLSTM, with bfloat16 activations"},
    {"min_coverage", "0", "share (0 to 1) of the quantized nodes that must run on Octet, else the session fails"},
    {"report", "",
     "file to which the session writes what ran, as JSON, when it ends, in the place of an earlier one; `%p` in its "
     "name is the process's number"},
    {"verbose", "none",
     "`dispatch`: writes which backend runs each node, which nodes run together, and what was left to onnxruntime and "
     "why, to stderr"},
    {"warmup", "",
     "shapes to make plans for when the session is made, beside fixed ones, as values of the model's symbolic "
     "dimensions: `batch=1,sequence=128;batch=8,sequence=32`; a name that the model does not have is an error, by "
     "environment a warning"},
    {"rowwise", "0",
     "`1`: DynamicQuantizeMatMul, and the chains that run as it, quantize each row by its own range, not the tensor"},
    {"lstm_quantization", "per_row",
     "`per_row`, or `per_tensor` for onnxruntime's way of quantizing in DynamicQuantizeLSTM"},
};

/// "OCTET_THREADS" for "threads".
inline std::string environment_variable(const OptionDef& option) {
  std::string name = std::string("OCTET_") + option.name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

}  // namespace octet::ort
