// The provider's options, as one session has them.
#pragma once

#include <map>
#include <octet/octet.hpp>
#include <string>
#include <vector>

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

/// Shapes for which plans are made with the session.
struct Warmup {
  std::vector<std::map<std::string, std::int64_t>> shapes;  ///< values of the model's symbolic dimensions
  std::string source;                                       ///< "option 'warmup'", or the environment variable
  bool is_by_environment = false;                           ///< for all models of the process
};

/// What the options of options.hpp say. Each is a session option (provider option, or config entry
/// "ep.octetexecutionprovider.<name>") and, where that is not set, an environment variable "OCTET_<NAME>".
struct Settings {
  int threads = 0;            ///< at most so many of the session's threads for one node; 0: all
  Options operators;          ///< backend, accuracy, lstm_quantization, rowwise; also for fused groups
  bool trace_claims = false;  ///< verbose=dispatch: to stderr, which nodes are not taken and why, which run together,
  bool trace_plans = false;   ///< and what runs those that are (the core does that for OCTET_VERBOSE=dispatch)
  double min_coverage = 0;    ///< least share of the model's quantized nodes that must run here, else no session
  bool spinning = true;       ///< ONNX Runtime's own "session.intra_op.allow_spinning"
  std::string report;         ///< file that gets the run counters as JSON when the session ends; "": none
  Warmup warmup;
};

/// Throws Error(invalid_argument) naming the option, its value and what is expected.
Settings read_settings(const OrtSessionOptions* options);

}  // namespace octet::ort
