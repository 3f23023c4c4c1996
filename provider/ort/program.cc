#include "provider/ort/program.hpp"

#include <algorithm>
#include <unordered_map>

#include "provider/core/scratch.hpp"
#include "provider/ort/api.hpp"

namespace octet::ort {

std::string decision_line(const std::string& label, const Decision& decision) {
  std::string line = label + ": " + decision.backend + " " + decision.implementation;
  for (const std::string& reason : decision.reasons) line += "; " + reason;
  return line;
}

/// A frame for the time of one run.
class Program::FrameLease {
 public:
  explicit FrameLease(const Program& program) : program_(program) {
    frame_.reset(program.last_frame_.exchange(nullptr, std::memory_order_acquire));
    if (frame_) return;
    {
      const std::lock_guard<std::mutex> lock(program.mutex_);
      if (!program.frames_.empty()) {
        frame_ = std::move(program.frames_.back());
        program.frames_.pop_back();
        return;
      }
    }
    frame_ = program.make_frame();
  }
  ~FrameLease() {
    Frame* none = nullptr;
    Frame* frame = frame_.release();
    if (program_.last_frame_.compare_exchange_strong(none, frame, std::memory_order_release)) return;
    frame_.reset(frame);
    try {
      const std::lock_guard<std::mutex> lock(program_.mutex_);
      program_.frames_.push_back(std::move(frame_));
    } catch (const std::exception&) {
      // The next run makes a new one.
    }
  }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame& operator*() noexcept { return *frame_; }

 private:
  const Program& program_;
  std::unique_ptr<Frame> frame_;
};

Program::Program(std::shared_ptr<Session> session, const std::vector<claims::Step>& steps,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::vector<SymbolicType>& types)
    : session_(std::move(session)),
      num_inputs_(static_cast<int>(inputs.size())),
      num_outputs_(static_cast<int>(outputs.size())) {
  std::unordered_map<std::string, int> slots;
  for (const std::vector<std::string>* names : {&inputs, &outputs})
    for (const std::string& name : *names) {
      if (!name.empty()) slots.emplace(name, num_values_);
      ++num_values_;
    }
  const Options options = session_->settings().operators;
  for (const claims::Step& step : steps) {
    Operation operation{std::make_unique<core::OperatorState>(step.node, options), step.node.name, {}, {}};
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const bool is_given = !step.inputs[i].empty() && step.node.inputs[i].constant == nullptr;
      operation.inputs.push_back(is_given ? slots.at(step.inputs[i]) : kAbsent);
    }
    operation.inputs.resize(operation.op->num_inputs(), kAbsent);
    for (const std::string& name : step.outputs) {
      const bool is_new = !name.empty() && slots.emplace(name, num_values_).second;
      num_values_ += is_new ? 1 : 0;
      operation.outputs.push_back(name.empty() ? kAbsent : slots.at(name));
    }
    operations_.push_back(std::move(operation));
  }
  warm_up(types, {});
  for (const auto& values : session_->settings().warmup.shapes) warm_up(types, values);
}

Program::~Program() {
  try {
    session_->add(records());
  } catch (const std::exception&) {
    // Out of memory: the report lacks these operators.
  }
  delete last_frame_.load();
}

std::unique_ptr<Program::Frame> Program::make_frame() const {
  auto frame = std::make_unique<Frame>();
  const auto num_values = static_cast<std::size_t>(num_values_);
  frame->views.resize(num_values);
  frame->bytes.resize(num_values);
  frame->offsets.resize(num_values);
  frame->arguments.resize(operations_.size());
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    Frame::Arguments& arguments = frame->arguments[i];
    arguments.inputs = operation.op->constants();
    arguments.outputs.resize(operation.outputs.size());
    for (std::size_t k = 0; k < arguments.inputs.size(); ++k)
      if (operation.inputs[k] != kAbsent) frame->views[operation.inputs[k]].push_back(&arguments.inputs[k]);
    for (std::size_t k = 0; k < arguments.outputs.size(); ++k)
      if (operation.outputs[k] != kAbsent) frame->views[operation.outputs[k]].push_back(&arguments.outputs[k]);
  }
  return frame;
}

void Program::run(OrtKernelContext* context) const {
  FrameLease lease(*this);
  Frame& frame = *lease;
  read_inputs(context, frame);
  plan(frame);
  const std::size_t bytes = place_outputs(context, frame);
  const core::Scratch temporaries(bytes);
  place_temporaries(temporaries.bytes(), frame);
  const Call call = session_->threads().lend(context);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Frame::Arguments& arguments = frame.arguments[i];
    operations_[i].op->run_complete(*arguments.plan, arguments.inputs.data(), arguments.outputs.data(), call);
  }
}

void Program::read_inputs(OrtKernelContext* context, Frame& frame) const {
  for (int i = 0; i < num_inputs_; ++i)
    for (TensorView* view : frame.views[i]) {
      const auto* value = get<const OrtValue*>(ort_api().KernelContext_GetInput, context, static_cast<std::size_t>(i));
      if (value)
        read_tensor(value, *view);
      else
        *view = TensorView();
    }
}

void Program::set_type(Frame& frame, int value, DataType dtype, const std::vector<std::int64_t>& dims) {
  for (TensorView* view : frame.views[value]) *view = TensorView(nullptr, dtype, dims);
}

void Program::set_data(Frame& frame, int value, void* data) {
  for (TensorView* view : frame.views[value]) view->data = data;
}

void Program::warm_up(const std::vector<SymbolicType>& types, const std::map<std::string, std::int64_t>& values) const {
  FrameLease lease(*this);
  Frame& frame = *lease;
  std::vector<std::vector<std::int64_t>> extents(static_cast<std::size_t>(num_inputs_));
  for (int i = 0; i < num_inputs_; ++i) {
    if (frame.views[i].empty()) continue;
    const SymbolicType& input = types[i];
    if (!input.type.dims) return;
    extents[i] = *input.type.dims;
    for (std::size_t d = 0; d < extents[i].size(); ++d) {
      const auto found = extents[i][d] < 0 ? values.find(input.symbols[d]) : values.end();
      if (found != values.end()) extents[i][d] = found->second;
      if (extents[i][d] < 0) return;
    }
    set_type(frame, i, input.type.dtype, extents[i]);
  }
  try {
    plan(frame);
  } catch (const Error& error) {
    // Declared shapes may be wrong: the run, which knows the true ones, decides.
    log(session_->logger(), ORT_LOGGING_LEVEL_WARNING, std::string("no plan beforehand: ") + error.what());
  }
}

/// Extents of everything, before any memory is asked for.
void Program::plan(Frame& frame) const {
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    Frame::Arguments& arguments = frame.arguments[i];
    // Nearly always the last run's shapes: its plan, and the extents of its outputs, are then in the frame already.
    if (arguments.plan && operation.op->fits(*arguments.plan, arguments.inputs.data(), arguments.inputs.size()))
      continue;
    auto entry = operation.op->plan(arguments.inputs.data(), arguments.inputs.size());
    if (session_->settings().trace_plans)
      session_->trace(decision_line(operation.op->label(), entry->plan->decision()));
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      const int value = operation.outputs[k];
      if (value == kAbsent) continue;
      const core::TensorInfo& info = entry->outputs[k];
      set_type(frame, value, info.dtype, info.dims);
      frame.bytes[value] = info.bytes();
    }
    arguments.plan = std::move(entry);
  }
}

/// Returns the bytes that the temporaries need.
std::size_t Program::place_outputs(OrtKernelContext* context, Frame& frame) const {
  const OrtApi& api = ort_api();
  const int first_temporary = num_inputs_ + num_outputs_;
  for (int i = num_inputs_; i < first_temporary; ++i) {
    if (frame.views[i].empty()) continue;  // an optional output that is left out
    const TensorView& view = *frame.views[i].front();
    OrtValue* value = nullptr;
    check(api.KernelContext_GetOutput(context, i - num_inputs_, view.dims, view.rank, &value));
    set_data(frame, i, get<void*>(api.GetTensorMutableData, value));
  }
  core::Layout layout;
  for (int i = first_temporary; i < num_values_; ++i) frame.offsets[i] = layout.add(frame.bytes[i]);
  return layout.total();
}

// Our own free list and not KernelContext_GetScratchBuffer: that memory is mapped anew in every run, and each page of
// it faults.
void Program::place_temporaries(std::uint8_t* memory, Frame& frame) const {
  for (int i = num_inputs_ + num_outputs_; i < num_values_; ++i) set_data(frame, i, memory + frame.offsets[i]);
}

std::vector<OperatorRecord> Program::records() const {
  FrameLease lease(*this);  // the last run's
  const Frame& frame = *lease;
  std::vector<OperatorRecord> records;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    OperatorRecord record{operations_[i].name, operations_[i].op->op().name, "", "", operations_[i].op->runs()};
    if (const auto& entry = frame.arguments[i].plan) {
      const Decision& decision = entry->plan->decision();
      record.backend = decision.backend;
      record.implementation = decision.implementation;
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace octet::ort
