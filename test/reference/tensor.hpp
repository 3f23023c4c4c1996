// What the families of the reference share: elements as plain numbers, numpy's broadcasting, rounding and saturation.
#pragma once

#include <cstdint>
#include <octet/octet.hpp>
#include <string>
#include <vector>

namespace octet::reference {

using Dims = std::vector<std::int64_t>;

[[noreturn]] void fail(const std::string& text);

Dims dims_of(const TensorView& tensor);
/// Product of extents; fails where it is negative or does not fit.
std::int64_t count(const Dims& dims);
std::int64_t count(const TensorView& tensor);

/// All elements of a tensor of an integer type of up to 32 bits.
std::vector<std::int64_t> integers(const TensorView& tensor);
/// All elements of a float32, float16 or bfloat16 tensor (each is a float32 number), or of an int32 tensor rounded to
/// float32.
std::vector<float> floats(const TensorView& tensor);
/// The only element.
float scalar_float(const TensorView& tensor, const std::string& what);
std::int64_t scalar_integer(const TensorView& tensor, const std::string& what);

/// Stores a number into an element of an integer tensor, modulo its width.
void store_integer(const TensorView& tensor, std::int64_t index, std::int64_t value);
/// Stores a float32 number into an element of a float32, float16 or bfloat16 tensor, rounded once, half to even.
void store_float(const TensorView& tensor, std::int64_t index, float value);

/// A float32 number rounded to another floating type, half to even.
float rounded_to(DataType type, float value);

/// saturate(round half to even(value) + zero_point) for an integer type; the lowest value of the type for NaN.
std::int64_t quantized(DataType type, float value, std::int64_t zero_point);

/// The element of a tensor with extents `dims` that numpy's broadcasting to `full` puts at an index of `full`.
class Spread {
 public:
  Spread(const Dims& dims, const Dims& full, const std::string& what);
  std::int64_t at(const Dims& index) const;

 private:
  Dims strides_;
};

/// numpy's broadcasting of two shapes.
Dims broadcast(const Dims& a, const Dims& b);

/// The index after `index` in row-major order; wraps to all zeros at the end.
void advance(Dims& index, const Dims& dims);

/// An attribute, whether written as an integer or as a float, or the default.
std::int64_t integer_attribute(const Node& node, const std::string& name, std::int64_t missing);
float float_attribute(const Node& node, const std::string& name, float missing);

}  // namespace octet::reference
