// What a Model holds, and what runs through it.
#pragma once

#include <octet/model.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/tensor_data.hpp"

namespace octet::onnx_side {

/// Memory of the values of one run at a time: blocks that are used again and again.
class Memory {
 public:
  using Block = std::shared_ptr<unsigned char>;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// At least so many bytes, never null; they are free again with the last copy of what is returned.
  Block take(std::size_t bytes);
  std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(unsigned char* bytes) const noexcept;
  };
  struct Entry {
    std::unique_ptr<unsigned char, Free> bytes;
    std::size_t capacity = 0;
    bool used = false;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::size_t size_ = 0;
};

/// A value during a run. Views of one memory share its block; constants and inputs have none.
struct RunValue {
  DataType dtype = DataType::undefined;  ///< undefined: absent
  std::vector<std::int64_t> dims;
  const unsigned char* data = nullptr;
  Memory::Block block = nullptr;

  bool present() const noexcept { return dtype != DataType::undefined; }
  TensorView view() const { return present() ? TensorView(data, dtype, dims) : TensorView(); }
  std::size_t count() const noexcept;
  std::size_t bytes() const noexcept;
};

/// A value with memory of its own, to be written to.
RunValue made_value(Memory& memory, DataType dtype, std::vector<std::int64_t> dims);
inline unsigned char* writable(const RunValue& value) { return value.block.get(); }

/// What a node does: values in, values out.
class Computation {
 public:
  virtual ~Computation() = default;
  virtual std::vector<RunValue> run(const std::vector<const RunValue*>& inputs, Memory& memory,
                                    const Call& call) const = 0;
};

/// A node of ONNX's own operators around those of Octet.
struct GlueNode {
  std::string op_type;
  std::string label;  ///< "Reshape 'r1'"
  std::int64_t opset = 0;
  Attributes attributes;
};

/// Null where the operator is none of those that Model runs.
std::unique_ptr<Computation> make_glue(GlueNode node);

/// The elements in another type; `label` names the node in errors.
RunValue cast(const RunValue& data, DataType to, const std::string& label, Memory& memory);

struct Step {
  std::unique_ptr<const Computation> computation;
  std::vector<std::size_t> inputs;     ///< values; kNone where absent
  std::vector<std::size_t> outputs;    ///< as above
  std::vector<std::size_t> last_uses;  ///< values that nothing needs after this step
};

struct ModelState {
  std::vector<GraphValueInfo> inputs;
  std::vector<GraphValueInfo> outputs;
  std::vector<std::size_t> input_values;
  std::vector<std::size_t> output_values;
  std::vector<RunValue> values;  ///< as a run begins: constants, all others absent
  std::vector<TensorData> constants;
  std::vector<Step> steps;

  /// The memory of a run, for as long as this lives.
  class Lease {
   public:
    explicit Lease(ModelState& model);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Memory& memory() { return *memory_; }

   private:
    ModelState& model_;
    std::unique_ptr<Memory> memory_;
  };

  std::mutex mutex;
  std::vector<std::unique_ptr<Memory>> idle;
  std::size_t memory = 0;  ///< bytes of all leases that were given back
};

/// Attributes that Octet knows; others (graphs, tensors) are left out.
Attributes read_attributes(const onnx::NodeProto& node);

}  // namespace octet::onnx_side
