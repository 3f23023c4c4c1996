#include "provider/ort/ep.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

#include "provider/ort/api.hpp"
#include "provider/ort/byte_function.hpp"
#include "provider/ort/program.hpp"

namespace octet::ort {

/// A fused group, compiled.
class GroupCompute : public OrtNodeComputeInfo {
 public:
  GroupCompute(std::shared_ptr<Session> session, std::unique_ptr<const Computation> computation)
      : OrtNodeComputeInfo{}, session_(std::move(session)), computation_(std::move(computation)) {
    ort_version_supported = kApiLevel;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) {
      *state = self;  // none of its own
      return guard([&] { static_cast<GroupCompute*>(self)->session_->announce(); });
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
      return guard([&] { static_cast<GroupCompute*>(self)->computation_->run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

 private:
  std::shared_ptr<Session> session_;
  std::unique_ptr<const Computation> computation_;
};

namespace {

std::vector<std::string> names(const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> result;
  for (const OrtValueInfo* value : values)
    result.emplace_back(value ? get<const char*>(ort_api().GetValueInfoName, value) : "");
  return result;
}

std::vector<SymbolicType> types_of(const std::vector<const OrtValueInfo*>& values) {
  std::vector<SymbolicType> types;
  for (const OrtValueInfo* value : values) {
    types.emplace_back();
    if (value) types.back() = read_symbolic_type(get<const OrtTypeInfo*>(ort_api().GetValueInfoTypeInfo, value));
  }
  return types;
}

/// A name that tells a group from all others. (The group itself has no outputs where nobody uses what it computes.)
std::string first_output(const Graph& group) {
  for (const GraphNode& node : group.nodes)
    for (const int output : node.outputs)
      if (output != kAbsent) return group.values[output].name;
  return "";
}

/// Gives the steps the data of every value that is a constant of the graph.
void set_constants(const Graph& graph, std::vector<claims::Step>& steps) {
  std::unordered_map<std::string, const OrtValueInfo*> constants;
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].is_constant) constants.emplace(graph.values[i].name, graph.value_handles[i]);
  for (claims::Step& step : steps)
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const auto found = constants.find(step.inputs[i]);
      if (found == constants.end()) continue;
      step.node.inputs[i] = read_constant(get<const OrtValue*>(ort_api().ValueInfo_GetInitializerValue, found->second));
    }
}

/// Why the coverage is not enough, or "". Without quantized nodes it never is: nothing of the model runs on Octet.
std::string describe_shortfall(const Coverage& covered, double least) {
  if (least <= 0 || (covered.quantized_nodes > 0 && covered.quantized_taken >= least * covered.quantized_nodes))
    return "";
  char text[160];
  std::snprintf(text, sizeof(text),
                "Octet: option 'min_coverage' is %g, but %d of the model's %d quantized nodes run on %s", least,
                covered.quantized_taken, covered.quantized_nodes, kEpName);
  return text;
}

/// Which dimension the option `warmup` names that no value has, or "".
std::string describe_unknown_dimension(const Warmup& warmup, const std::set<std::string>& symbols,
                                       const std::set<std::string>& input_symbols) {
  for (const std::map<std::string, std::int64_t>& shape : warmup.shapes)
    for (const auto& [name, extent] : shape) {
      if (symbols.count(name) > 0) continue;
      std::string known;
      for (const std::string& symbol : input_symbols) known += (known.empty() ? "" : ", ") + symbol;
      return "Octet: " + warmup.source + " names the dimension '" + name +
             "', which the model does not have; those of its inputs are: " + (known.empty() ? "none" : known);
    }
  return "";
}

}  // namespace

Ep::Ep(const OrtSessionOptions* options, const OrtLogger* logger, const OrtKernelRegistry* registry)
    : OrtEp{}, registry_(registry), session_(std::make_shared<Session>(read_settings(options), logger)) {
  ort_version_supported = kApiLevel;
  OrtEp::GetName = [](const OrtEp*) { return kEpName; };
  OrtEp::GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
    return guard([&] { static_cast<Ep*>(self)->get_capability(graph, support); });
  };
  OrtEp::Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, std::size_t count,
                      OrtNodeComputeInfo** compute_infos, OrtNode**) {
    return guard([&] {
      std::vector<std::unique_ptr<GroupCompute>> computes;  // all or none: ONNX Runtime releases none where one fails
      for (std::size_t i = 0; i < count; ++i)
        computes.push_back(static_cast<Ep*>(self)->compile(graphs[i], fused_nodes[i]));
      for (std::size_t i = 0; i < count; ++i) compute_infos[i] = computes[i].release();
    });
  };
  OrtEp::ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** compute_infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<GroupCompute*>(compute_infos[i]);
  };
  OrtEp::GetKernelRegistry = [](OrtEp* self, const OrtKernelRegistry** registry_out) -> Status {
    *registry_out = static_cast<Ep*>(self)->registry_;
    return nullptr;
  };
  OrtEp::OnRunStart = [](OrtEp* self, const OrtRunOptions*) {
    return guard([&] {
      auto& ep = *static_cast<Ep*>(self);
      if (!ep.refusal_.empty()) throw Error(ErrorCode::invalid_argument, ep.refusal_);
      ep.session_->announce();
      ep.session_->count_run();
    });
  };
}

Claims Ep::claim(const Graph& graph, OrtEpGraphSupportInfo* support) {
  const Settings& settings = session_->settings();
  claims::Conditions conditions;
  conditions.operators = settings.operators;
  conditions.can_fuse = !graph.is_nested || can_fuse_in_nested_graphs();
  conditions.has_kernel = [&](int node) {
    const OrtNode* handle = graph.node_handles[node];
    return get<const OrtKernelDef*>(ep_api().EpGraphSupportInfo_LookUpKernel, support, handle) != nullptr;
  };
  if (settings.trace_claims) conditions.trace = [&](const std::string& line) { session_->trace(line); };
  return claims::claim_nodes(graph, conditions);
}

void Ep::get_capability(const OrtGraph* graph_handle, OrtEpGraphSupportInfo* support) {
  const Graph graph = read_graph(graph_handle);
  const Claims claims = claim(graph, support);
  symbols_.insert(graph.symbols.begin(), graph.symbols.end());
  if (!graph.is_nested) {  // nested graphs come first
    const Coverage covered = coverage(graph, claims);
    session_->set_coverage(covered);
    refusal_ = describe_shortfall(covered, session_->settings().min_coverage);
    if (refusal_.empty()) check_warmup(graph);
    if (!refusal_.empty()) return refuse(graph, support);
  }
  remember(graph, claims);
  for (const Group& group : claims.groups) {
    std::vector<const OrtNode*> nodes;
    for (const int node : group.nodes) nodes.push_back(graph.node_handles[node]);
    const OrtNodeFusionOptions options{kApiLevel, true};  // the operators hold their constants
    check(ep_api().EpGraphSupportInfo_AddNodesToFuse(support, nodes.data(), nodes.size(), &options));
  }
  for (const int node : claims.singles)
    check(ep_api().EpGraphSupportInfo_AddSingleNode(support, graph.node_handles[node]));
}

Ep::NodeCounts Ep::count(const Graph& graph, const std::vector<int>& nodes) {
  NodeCounts counts;
  for (const int node : nodes) {
    counts.all += 1;
    counts.quantized += claims::is_quantized(graph.nodes[node].op_type, graph.nodes[node].domain) ? 1 : 0;
  }
  return counts;
}

/// Counts over the whole model: this graph with what is claimed of it now, and the nested graphs, whose nodes have been
/// given out already.
Coverage Ep::coverage(const Graph& graph, const Claims& claims) const {
  Coverage covered;
  const auto add_taken = [&](const NodeCounts& counts) {
    covered.nodes_taken += counts.all;
    covered.quantized_taken += counts.quantized;
  };
  const auto add_node = [&](const std::string& op_type, const std::string& domain, const std::string& ep_name,
                            const std::string& name) {
    NodeCounts counts{1, claims::is_quantized(op_type, domain) ? 1 : 0};
    if (const auto compiled = compiled_.find(name); domain == kEpName && compiled != compiled_.end()) {
      counts = compiled->second;
      covered.groups += 1;
    }
    covered.quantized_nodes += counts.quantized;
    if (ep_name == kEpName) add_taken(counts);
  };
  for (const GraphNode& node : graph.nodes) add_node(node.op_type, node.domain, node.ep_name, node.name);
  for (const NodeSummary& node : read_nested_nodes(graph)) add_node(node.op_type, node.domain, node.ep_name, node.name);
  for (const Group& group : claims.groups) add_taken(count(graph, group.nodes));
  add_taken(count(graph, claims.singles));
  covered.groups += static_cast<int>(claims.groups.size());
  return covered;
}

/// The environment is for all models of the process, which need not have the same dimensions.
void Ep::check_warmup(const Graph& graph) {
  const Warmup& warmup = session_->settings().warmup;
  const std::string unknown = describe_unknown_dimension(warmup, symbols_, graph.input_symbols);
  if (!warmup.is_by_environment)
    refusal_ = unknown;
  else if (!unknown.empty())
    log(session_->logger(), ORT_LOGGING_LEVEL_WARNING, unknown);
}

/// An error of GetCapability is only logged. An error of Compile ends the session, and comes where something is to be
/// compiled: a node of ONNX's or ONNX Runtime's domain, as others may be functions whose nodes ONNX Runtime has yet to
/// put in their place. Where no such node is left, runs fail.
void Ep::refuse(const Graph& graph, OrtEpGraphSupportInfo* support) {
  const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& candidate) {
    return candidate.ep_name.empty() && (candidate.domain.empty() || candidate.domain == "com.microsoft");
  });
  if (node == graph.nodes.end()) return;
  const OrtNode* handle = graph.node_handles[node - graph.nodes.begin()];
  check(ep_api().EpGraphSupportInfo_AddNodesToFuse(support, &handle, 1, nullptr));
}

void Ep::remember(const Graph& graph, const Claims& claims) {
  claimed_.clear();
  for (const Group& group : claims.groups) {
    auto claimed = std::make_shared<ClaimedGroup>();
    claimed->group = group;
    claimed->nodes = count(graph, group.nodes);
    for (const int node : group.nodes)
      for (const int output : graph.nodes[node].outputs)
        if (output != kAbsent) claimed_[graph.values[output].name] = claimed;
  }
}

std::unique_ptr<GroupCompute> Ep::compile(const OrtGraph* graph_handle, const OrtNode* fused_node) {
  if (!refusal_.empty()) throw Error(ErrorCode::invalid_argument, refusal_);
  const OrtApi& api = ort_api();
  const Graph graph = read_graph(graph_handle);
  const auto input_values = get_list(api.Node_GetNumInputs, api.Node_GetInputs, fused_node);
  const std::vector<std::string> inputs = names(input_values);
  const std::vector<std::string> outputs = names(get_list(api.Node_GetNumOutputs, api.Node_GetOutputs, fused_node));
  const auto found = claimed_.find(first_output(graph));
  if (found == claimed_.end())
    throw Error(ErrorCode::internal, "Octet: compiling a group of nodes that was not claimed");
  const Group& group = found->second->group;
  std::vector<claims::Step> steps = group.steps;
  set_constants(graph, steps);
  std::unique_ptr<const Computation> computation;
  if (group.is_byte_function)
    computation = std::make_unique<ByteFunction>(session_, steps, inputs);
  else
    computation = std::make_unique<Program>(session_, steps, inputs, outputs, types_of(input_values));
  auto compute = std::make_unique<GroupCompute>(session_, std::move(computation));
  compiled_[get<const char*>(api.Node_GetName, fused_node)] = found->second->nodes;
  return compute;
}

}  // namespace octet::ort
