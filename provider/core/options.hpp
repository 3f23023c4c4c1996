// octet::Options: what their values may be, and how texts set them.
#pragma once

#include <octet/octet.hpp>
#include <string>

namespace octet::core {

/// The most threads that a run may be allowed.
inline constexpr std::int32_t kMostThreads = 1024;

/// Sets an option by its name: threads, backend, accuracy, lstm_quantization, or rowwise ("0" or "1"). Throws
/// Error(invalid_argument) with "<what> is '<value>', expected ..." where the value is none that it can have; `what` is
/// "option '<key>'" unless given.
void set_option(Options& options, const std::string& key, const std::string& value, const std::string& what = {});

/// Throws Error(invalid_argument), whose text begins with the label, where an option has a value that it cannot have.
void check_options(const std::string& label, const Options& options);

}  // namespace octet::core
