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
    {
      const std::lock_guard<std::mutex> lock(program.mutex_);
      if (!program.frames_.empty()) {
        frame_ = std::move(program.frames_.back());
        program.frames_.pop_back();
        return;
      }
    }
    frame_ = std::make_unique<Frame>();
    frame_->values.resize(static_cast<std::size_t>(program.num_values_));
    frame_->arguments.resize(program.most_arguments_);
    frame_->plans.resize(program.operations_.size());
    frame_->bytes.resize(frame_->values.size());
    frame_->offsets.resize(frame_->values.size());
  }
  ~FrameLease() {
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

Program::Program(std::shared_ptr<Session> session, const std::vector<Step>& steps,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::vector<SymbolicType>& types)
    : session_(std::move(session)), is_read_(inputs.size()), num_outputs_(static_cast<int>(outputs.size())) {
  std::unordered_map<std::string, int> slots;
  for (const std::vector<std::string>* names : {&inputs, &outputs})
    for (const std::string& name : *names) {
      if (!name.empty()) slots.emplace(name, num_values_);
      ++num_values_;
    }
  const Options options = session_->settings().operator_options();
  for (const Step& step : steps) {
    Operation operation{std::make_unique<core::OperatorState>(step.node, options), step.node.name, {}, {}};
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const bool is_given = !step.inputs[i].empty() && step.node.inputs[i].constant == nullptr;
      operation.inputs.push_back(is_given ? slots.at(step.inputs[i]) : kAbsent);
      if (is_given && operation.inputs.back() < static_cast<int>(inputs.size()))
        is_read_[operation.inputs.back()] = true;
    }
    for (const std::string& name : step.outputs) {
      const bool is_new = !name.empty() && slots.emplace(name, num_values_).second;
      num_values_ += is_new ? 1 : 0;
      operation.outputs.push_back(name.empty() ? kAbsent : slots.at(name));
    }
    most_arguments_ = std::max({most_arguments_, step.inputs.size() + step.outputs.size()});
    operations_.push_back(std::move(operation));
  }
  warm_up(types, {});
  for (const auto& values : session_->settings().warmup) warm_up(types, values);
}

Program::~Program() {
  try {
    session_->add(records());
  } catch (const std::exception&) {
    // Out of memory: the report lacks these operators.
  }
}

void Program::run(OrtKernelContext* context) const {
  FrameLease lease(*this);
  Frame& frame = *lease;
  for (std::size_t i = 0; i < is_read_.size(); ++i) {
    if (!is_read_[i]) continue;
    const auto* value = get<const OrtValue*>(ort_api().KernelContext_GetInput, context, i);
    frame.values[i] = value ? read_tensor(value) : TensorView();
  }
  plan(frame);
  const std::size_t bytes = place_outputs(context, frame);
  const core::Scratch temporaries(bytes);
  place_temporaries(temporaries.bytes(), frame);
  const Call call = session_->threads().lend(context);
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    TensorView* arguments = frame.arguments.data();
    TensorView* results = gather(operation.inputs, frame.values, arguments);
    gather(operation.outputs, frame.values, results);
    operation.op->run(*frame.plans[i], arguments, operation.inputs.size(), results, call);
  }
}

void Program::warm_up(const std::vector<SymbolicType>& types, const std::map<std::string, std::int64_t>& values) const {
  FrameLease lease(*this);
  Frame& frame = *lease;
  std::vector<std::vector<std::int64_t>> extents(is_read_.size());
  for (std::size_t i = 0; i < is_read_.size(); ++i) {
    frame.values[i] = TensorView();
    if (!is_read_[i]) continue;
    const SymbolicType& input = types[i];
    if (!input.type.dims) return;
    extents[i] = *input.type.dims;
    for (std::size_t d = 0; d < extents[i].size(); ++d) {
      const auto found = extents[i][d] < 0 ? values.find(input.symbols[d]) : values.end();
      if (found != values.end()) extents[i][d] = found->second;
      if (extents[i][d] < 0) return;
    }
    frame.values[i] = TensorView(nullptr, input.type.dtype, extents[i]);
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
    gather(operation.inputs, frame.values, frame.arguments.data());
    // Nearly always the last run's shapes: its plan, and the extents of its outputs, are then in the frame already.
    if (frame.plans[i] && operation.op->fits(*frame.plans[i], frame.arguments.data(), operation.inputs.size()))
      continue;
    auto entry = operation.op->plan(frame.arguments.data(), operation.inputs.size());
    if (session_->settings().trace_plans)
      session_->trace(decision_line(operation.op->label(), entry->plan->decision()));
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      if (operation.outputs[k] == kAbsent) continue;
      const core::TensorInfo& info = entry->outputs[k];
      frame.values[operation.outputs[k]] = TensorView(nullptr, info.dtype, info.dims);
      frame.bytes[operation.outputs[k]] = info.bytes();
    }
    frame.plans[i] = std::move(entry);
  }
}

/// Returns the bytes that the temporaries need.
std::size_t Program::place_outputs(OrtKernelContext* context, Frame& frame) const {
  const OrtApi& api = ort_api();
  const int first_output = static_cast<int>(is_read_.size());
  const int first_temporary = first_output + num_outputs_;
  for (int i = first_output; i < first_temporary; ++i) {
    TensorView& view = frame.values[i];
    if (!view.present()) continue;  // an optional output that is left out
    OrtValue* value = nullptr;
    check(api.KernelContext_GetOutput(context, i - first_output, view.dims, view.rank, &value));
    view.data = get<void*>(api.GetTensorMutableData, value);
  }
  core::Layout layout;
  for (int i = first_temporary; i < num_values_; ++i) frame.offsets[i] = layout.add(frame.bytes[i]);
  return layout.total();
}

// Our own free list and not KernelContext_GetScratchBuffer: that memory is mapped anew in every run, and each page of
// it faults.
void Program::place_temporaries(std::uint8_t* memory, Frame& frame) const {
  for (int i = static_cast<int>(is_read_.size()) + num_outputs_; i < num_values_; ++i)
    frame.values[i].data = memory + frame.offsets[i];
}

TensorView* Program::gather(const std::vector<int>& slots, const std::vector<TensorView>& values, TensorView* views) {
  for (const int slot : slots) *views++ = slot == kAbsent ? TensorView() : values[slot];
  return views;
}

std::vector<OperatorRecord> Program::records() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<OperatorRecord> records;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    OperatorRecord record{operations_[i].name, operations_[i].op->op().name, "", "", operations_[i].op->runs()};
    if (!frames_.empty() && frames_.back()->plans[i]) {
      const Decision& decision = frames_.back()->plans[i]->plan->decision();
      record.backend = decision.backend;
      record.implementation = decision.implementation;
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace octet::ort
