// Tensors that the tests own, and their contents made from a recipe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <octet/octet.hpp>
#include <string>
#include <vector>

namespace octet::test {

using Dims = std::vector<std::int64_t>;

/// Names as in ONNX's "tensor(...)"; fails on an unknown one.
DataType data_type(const std::string& name);
int bits_of(DataType type);
std::int64_t elements_of(const Dims& dims);

/// A tensor with guard bytes before and after its data.
class Tensor {
 public:
  Tensor() = default;  ///< absent
  Tensor(DataType dtype, Dims dims);

  bool present() const { return dtype_ != DataType::undefined; }
  DataType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  std::int64_t elements() const { return elements_of(dims_); }
  std::size_t bytes() const { return bytes_; }
  unsigned char* data() { return storage_.data() + kGuard; }
  const unsigned char* data() const { return storage_.data() + kGuard; }
  /// Data is never null, not even where there are no elements. The tensor must outlive the view.
  TensorView view() const;
  bool guards_intact() const;

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kGuardByte = 0xA5;

  DataType dtype_ = DataType::undefined;
  Dims dims_;
  std::size_t bytes_ = 0;
  std::vector<unsigned char> storage_;
};

std::vector<TensorView> views(const std::vector<Tensor>& tensors);

/// Contents by a recipe of test/cases/README.md ("fill"); the same seed gives the same bytes everywhere.
void fill(Tensor& tensor, const nlohmann::json& recipe, std::uint64_t seed);

/// 64-bit FNV-1a.
std::uint64_t hash(const std::string& text);
/// Element `index` of the sequence of a seed: SplitMix64 at a counter.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t index);

/// Empty where both tensors hold the same bits (any NaN equals any NaN), else a text with the number of differing
/// elements and the first one: indices, found, expected.
std::string difference(const Tensor& found, const Tensor& expected);

}  // namespace octet::test
