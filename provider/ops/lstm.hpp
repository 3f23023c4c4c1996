// What the definition of DynamicQuantizeLSTM and its users share: the order of its ports, the names of its functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace octet::core {

struct LstmPorts {
  enum Input : std::size_t {
    x,
    w,
    r,
    b,
    sequence_lens,
    initial_h,
    initial_c,
    p,
    w_scale,
    w_zero_point,
    r_scale,
    r_zero_point
  };
  enum Output : std::size_t { y, y_h, y_c };
  static constexpr std::size_t kInputs = 12;
  static constexpr std::size_t kOutputs = 3;
};

/// Names of the activation functions, in lower case.
inline constexpr std::array<std::string_view, 11> kLstmActivations{
    "relu",       "tanh",        "sigmoid", "affine",   "leakyrelu", "thresholdedrelu",
    "scaledtanh", "hardsigmoid", "elu",     "softsign", "softplus"};

/// The place in that list of a name in any letter case; nothing where it is none of them.
std::optional<std::size_t> find_lstm_activation(std::string_view name) noexcept;

}  // namespace octet::core
