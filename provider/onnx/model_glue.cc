// ONNX's operators of shape and layout, as far as models of Octet's operators need them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "provider/onnx/model_state.hpp"

namespace octet::onnx_side {
namespace {

using Dims = std::vector<std::int64_t>;
using Inputs = std::vector<const RunValue*>;
using Run = RunValue (*)(const GlueNode& node, const Inputs& inputs, Memory& memory);

[[noreturn]] void fail(const GlueNode& node, const std::string& text) { onnx_side::fail(node.label + ": " + text); }

std::string to_string(const Dims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

const RunValue& input(const GlueNode& node, const Inputs& inputs, std::size_t i) {
  if (i >= inputs.size() || !inputs[i]->present()) fail(node, "input " + std::to_string(i) + " is missing");
  return *inputs[i];
}

bool has_input(const Inputs& inputs, std::size_t i) { return i < inputs.size() && inputs[i]->present(); }

/// Bytes of an element; fails for those that are not whole bytes.
std::size_t element_size(const GlueNode& node, const RunValue& value) {
  const int bits = core::bit_width(value.dtype);
  if (bits % 8 != 0) fail(node, std::string("the type ") + data_type_name(value.dtype) + " is not supported");
  return static_cast<std::size_t>(bits / 8);
}

/// The numbers of an int32 or int64 tensor.
Dims integers(const GlueNode& node, const RunValue& value) {
  Dims result(value.count());
  if (value.dtype == DataType::int64) {
    if (!result.empty()) std::memcpy(result.data(), value.data, value.bytes());
    return result;
  }
  if (value.dtype != DataType::int32)
    fail(node, std::string("indices have type ") + data_type_name(value.dtype) + ", expected int32 or int64");
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int32_t number = 0;
    std::memcpy(&number, value.data + i * sizeof number, sizeof number);
    result[i] = number;
  }
  return result;
}

std::size_t axis_of(const GlueNode& node, std::int64_t axis, std::size_t rank) {
  const auto bound = static_cast<std::int64_t>(rank);
  if (axis < -bound || axis >= bound)
    fail(node, "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return static_cast<std::size_t>(axis < 0 ? axis + bound : axis);
}

std::size_t product(Dims::const_iterator first, Dims::const_iterator last) {
  return std::accumulate(first, last, std::size_t{1},
                         [](std::size_t a, std::int64_t b) { return a * static_cast<std::size_t>(b); });
}

/// The same elements with other extents.
RunValue reshaped(const RunValue& value, Dims dims) {
  RunValue result = value;
  result.dims = std::move(dims);
  return result;
}

RunValue identity(const GlueNode& node, const Inputs& inputs, Memory&) { return input(node, inputs, 0); }

RunValue reshape(const GlueNode& node, const Inputs& inputs, Memory&) {
  const RunValue& data = input(node, inputs, 0);
  Dims dims = integers(node, input(node, inputs, 1));
  const bool allow_zero = core::attribute_or<std::int64_t>(node.attributes, "allowzero", 0) != 0;
  const Dims asked = dims;
  std::size_t known = 1;
  std::size_t open = kNone;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !allow_zero) {
      if (d >= data.dims.size()) fail(node, "shape " + to_string(asked) + " copies an extent that is not there");
      dims[d] = data.dims[d];
    }
    if (dims[d] == -1 && open == kNone) {
      open = d;
    } else if (dims[d] < 0 || __builtin_mul_overflow(known, static_cast<std::size_t>(dims[d]), &known)) {
      fail(node, "shape " + to_string(asked) + " is none");
    }
  }
  if (open != kNone) dims[open] = known == 0 ? 0 : static_cast<std::int64_t>(data.count() / known);
  if (open != kNone && known != 0 && data.count() % known == 0) known = data.count();
  // Elements in the right number may still be none, with extents beside the 0 that no memory holds.
  if (known != data.count() || !core::byte_count(data.dtype, dims.data(), dims.size()))
    fail(node, "data has shape " + to_string(data.dims) + ", which is no " + to_string(asked));
  return reshaped(data, std::move(dims));
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since.
std::optional<Dims> axes_of(const GlueNode& node, const Inputs& inputs) {
  if (has_input(inputs, 1)) return integers(node, *inputs[1]);
  const auto* given = core::find_attribute<Dims>(node.attributes, "axes");
  return given ? std::optional<Dims>(*given) : std::nullopt;
}

/// Which of `rank` dimensions the axes name, each once.
std::vector<bool> chosen(const GlueNode& node, const Dims& axes, std::size_t rank) {
  std::vector<bool> result(rank);
  for (const std::int64_t given : axes) {
    const std::size_t axis = axis_of(node, given, rank);
    if (result[axis]) fail(node, "axis " + std::to_string(axis) + " is named twice");
    result[axis] = true;
  }
  return result;
}

RunValue squeeze(const GlueNode& node, const Inputs& inputs, Memory&) {
  const RunValue& data = input(node, inputs, 0);
  const auto axes = axes_of(node, inputs);
  const std::vector<bool> gone = axes ? chosen(node, *axes, data.dims.size()) : std::vector<bool>();
  Dims dims;
  for (std::size_t d = 0; d < data.dims.size(); ++d) {
    if (axes && gone[d] && data.dims[d] != 1)
      fail(node, "axis " + std::to_string(d) + " of shape " + to_string(data.dims) + " is not 1");
    if (axes ? !gone[d] : data.dims[d] != 1) dims.push_back(data.dims[d]);
  }
  return reshaped(data, std::move(dims));
}

RunValue unsqueeze(const GlueNode& node, const Inputs& inputs, Memory&) {
  const RunValue& data = input(node, inputs, 0);
  const auto axes = axes_of(node, inputs);
  if (!axes) fail(node, "the axes are missing");
  const std::vector<bool> added = chosen(node, *axes, data.dims.size() + axes->size());
  Dims dims;
  auto next = data.dims.begin();
  for (const bool one : added) dims.push_back(one ? 1 : *next++);
  return reshaped(data, std::move(dims));
}

/// Copies `count` elements of a source that lie `stride` bytes apart.
void copy_strided(const unsigned char* from, std::int64_t stride, std::size_t count, std::size_t size,
                  unsigned char* to) {
  if (stride == static_cast<std::int64_t>(size)) {
    std::memcpy(to, from, count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(to + i * size, from + static_cast<std::int64_t>(i) * stride, size);
}

/// Writes a tensor of extents `dims` out of elements that lie `strides` bytes apart, from `from` on.
void gather_strided(const unsigned char* from, const Dims& strides, const Dims& dims, std::size_t size,
                    unsigned char* to) {
  if (product(dims.begin(), dims.end()) == 0) return;
  if (dims.empty()) {
    std::memcpy(to, from, size);
    return;
  }
  const auto row = static_cast<std::size_t>(dims.back());
  Dims index(dims.size() - 1);
  for (;;) {
    copy_strided(from, strides.back(), row, size, to);
    to += row * size;
    std::size_t d = index.size();
    for (; d > 0; --d) {
      from += strides[d - 1];
      if (++index[d - 1] < dims[d - 1]) break;
      from -= strides[d - 1] * dims[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/// Bytes between neighbours along each dimension.
Dims byte_strides(const Dims& dims, std::size_t size) {
  Dims strides(dims.size());
  auto stride = static_cast<std::int64_t>(size);
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

RunValue transpose(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const RunValue& data = input(node, inputs, 0);
  const std::size_t size = element_size(node, data);
  const std::size_t rank = data.dims.size();
  Dims perm(rank);
  for (std::size_t d = 0; d < rank; ++d) perm[d] = static_cast<std::int64_t>(rank - 1 - d);
  if (const auto* given = core::find_attribute<Dims>(node.attributes, "perm")) perm = *given;
  const std::vector<bool> all = chosen(node, perm, rank);
  if (std::find(all.begin(), all.end(), false) != all.end())
    fail(node, "perm " + to_string(perm) + " is no permutation");
  const Dims from = byte_strides(data.dims, size);
  Dims dims;
  Dims strides;
  for (const std::int64_t axis : perm) {
    dims.push_back(data.dims[axis_of(node, axis, rank)]);
    strides.push_back(from[axis_of(node, axis, rank)]);
  }
  RunValue result = made_value(memory, data.dtype, dims);
  gather_strided(data.data, strides, dims, size, writable(result));
  return result;
}

RunValue gather(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const RunValue& data = input(node, inputs, 0);
  const RunValue& where = input(node, inputs, 1);
  const Dims indices = integers(node, where);
  const std::size_t axis =
      axis_of(node, core::attribute_or<std::int64_t>(node.attributes, "axis", 0), data.dims.size());
  const std::int64_t extent = data.dims[axis];
  Dims dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), where.dims.begin(), where.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end());
  const std::size_t outer = product(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  const std::size_t inner =
      product(data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end()) * element_size(node, data);
  for (const std::int64_t index : indices)
    if (index < -extent || index >= extent)
      fail(node, "index " + std::to_string(index) + " is out of range for extent " + std::to_string(extent));
  RunValue result = made_value(memory, data.dtype, std::move(dims));
  if (result.count() == 0) return result;
  unsigned char* to = writable(result);
  for (std::size_t o = 0; o < outer; ++o)
    for (const std::int64_t index : indices) {
      const auto i = static_cast<std::size_t>(index < 0 ? index + extent : index);
      std::memcpy(to, data.data + (o * static_cast<std::size_t>(extent) + i) * inner, inner);
      to += inner;
    }
  return result;
}

RunValue slice(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const RunValue& data = input(node, inputs, 0);
  const std::size_t size = element_size(node, data);
  const Dims starts = integers(node, input(node, inputs, 1));
  const Dims ends = integers(node, input(node, inputs, 2));
  Dims axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (has_input(inputs, 3)) axes = integers(node, *inputs[3]);
  const Dims steps = has_input(inputs, 4) ? integers(node, *inputs[4]) : Dims(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    fail(node, "starts, ends, axes and steps differ in length");
  chosen(node, axes, data.dims.size());
  Dims dims = data.dims;
  Dims strides = byte_strides(data.dims, size);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = axis_of(node, axes[i], data.dims.size());
    const std::int64_t extent = data.dims[axis];
    // Beyond the extent nothing changes, so that no sum overflows.
    const std::int64_t step = std::clamp<std::int64_t>(steps[i], -extent - 1, extent + 1);
    if (step == 0) fail(node, "a step is 0");
    const auto bound = [&](std::int64_t position, std::int64_t least, std::int64_t greatest) {
      return std::clamp(position < 0 ? position + extent : position, least, greatest);
    };
    const std::int64_t start =
        step > 0 ? bound(starts[i], 0, extent) : bound(starts[i], 0, std::max<std::int64_t>(extent - 1, 0));
    const std::int64_t end = step > 0 ? bound(ends[i], 0, extent) : bound(ends[i], -1, extent - 1);
    const std::int64_t way = step > 0 ? end - start : start - end;
    const std::int64_t stride = std::abs(step);
    dims[axis] = extent == 0 || way <= 0 ? 0 : (way + stride - 1) / stride;
    offset += start * strides[axis];
    strides[axis] *= step;
  }
  RunValue result = made_value(memory, data.dtype, dims);
  if (result.count() > 0) gather_strided(data.data + offset, strides, dims, size, writable(result));
  return result;
}

RunValue concat(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const RunValue& first = input(node, inputs, 0);
  const std::size_t size = element_size(node, first);
  const auto* given = core::find_attribute<std::int64_t>(node.attributes, "axis");
  if (given == nullptr) fail(node, "attribute 'axis' is missing");
  const std::size_t axis = axis_of(node, *given, first.dims.size());
  Dims dims = first.dims;
  dims[axis] = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const RunValue& part = input(node, inputs, i);
    Dims same = part.dims;
    if (same.size() == dims.size()) same[axis] = first.dims[axis];
    if (part.dtype != first.dtype || same != first.dims)
      fail(node, "inputs 0 and " + std::to_string(i) + " have shapes " + to_string(first.dims) + " and " +
                     to_string(part.dims) + " or differ in type");
    dims[axis] += part.dims[axis];
  }
  const std::size_t outer = product(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
  RunValue result = made_value(memory, first.dtype, dims);
  if (result.count() == 0) return result;
  unsigned char* to = writable(result);
  for (std::size_t o = 0; o < outer; ++o)
    for (const RunValue* part : inputs) {
      const std::size_t row = part->count() / outer * size;
      if (row > 0) std::memcpy(to, part->data + o * row, row);
      to += row;
    }
  return result;
}

RunValue shape(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const RunValue& data = input(node, inputs, 0);
  const auto rank = static_cast<std::int64_t>(data.dims.size());
  const auto bound = [&](const char* name, std::int64_t fallback) {
    const std::int64_t given = core::attribute_or<std::int64_t>(node.attributes, name, fallback);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t count = std::max<std::int64_t>(bound("end", rank) - start, 0);
  RunValue result = made_value(memory, DataType::int64, {count});
  if (count > 0) std::memcpy(writable(result), data.dims.data() + start, result.bytes());
  return result;
}

RunValue cast(const GlueNode& node, const Inputs& inputs, Memory& memory) {
  const auto to = static_cast<DataType>(core::attribute_or<std::int64_t>(node.attributes, "to", 0));
  return cast(input(node, inputs, 0), to, node.label, memory);
}

struct Entry {
  const char* op_type;
  std::int64_t first_opset;  ///< older forms are others
  Run run;
};

constexpr Entry kOperators[] = {{"Cast", 6, cast},          {"Concat", 4, concat},   {"Gather", 1, gather},
                                {"Identity", 1, identity},  {"Reshape", 5, reshape}, {"Shape", 1, shape},
                                {"Slice", 10, slice},       {"Squeeze", 1, squeeze}, {"Transpose", 1, transpose},
                                {"Unsqueeze", 1, unsqueeze}};

class Glue : public Computation {
 public:
  Glue(GlueNode node, Run function) : node_(std::move(node)), function_(function) {}
  std::vector<RunValue> run(const Inputs& inputs, Memory& memory, const Call&) const override {
    return {function_(node_, inputs, memory)};
  }

 private:
  GlueNode node_;
  Run function_;
};

}  // namespace

std::unique_ptr<Computation> make_glue(GlueNode node) {
  for (const Entry& entry : kOperators)
    if (node.op_type == entry.op_type && node.opset >= entry.first_opset)
      return std::make_unique<Glue>(std::move(node), entry.run);
  return nullptr;
}

}  // namespace octet::onnx_side
