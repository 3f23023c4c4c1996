// The provider of one session.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "provider/claims/claims.hpp"
#include "provider/ort/graph.hpp"
#include "provider/ort/session.hpp"

namespace octet::ort {

class GroupCompute;
using claims::Claims;
using claims::Group;

class Ep : public OrtEp {
 public:
  Ep(const OrtSessionOptions* options, const OrtLogger* logger, const OrtKernelRegistry* registry);

  static std::shared_ptr<Session> session_of(const OrtEp* ep) { return static_cast<const Ep*>(ep)->session_; }

 private:
  void get_capability(const OrtGraph* graph, OrtEpGraphSupportInfo* support);
  Claims claim(const Graph& graph, OrtEpGraphSupportInfo* support);
  Coverage coverage(const Graph& graph, const Claims& claims) const;
  void check_warmup(const Graph& graph);
  void refuse(const Graph& graph, OrtEpGraphSupportInfo* support);
  void remember(const Graph& graph, const Claims& claims);
  std::unique_ptr<GroupCompute> compile(const OrtGraph* graph, const OrtNode* fused_node);

  struct NodeCounts {
    int all = 0;
    int quantized = 0;
  };
  /// A group between GetCapability and Compile.
  struct ClaimedGroup {
    Group group;
    NodeCounts nodes;
  };
  static NodeCounts count(const Graph& graph, const std::vector<int>& nodes);

  const OrtKernelRegistry* registry_;
  std::shared_ptr<Session> session_;
  std::map<std::string, std::shared_ptr<ClaimedGroup>> claimed_;  ///< by each output of the group's nodes
  std::map<std::string, NodeCounts> compiled_;                    ///< by name of the fused node
  std::set<std::string> symbols_;                                 ///< of the graphs seen so far
  std::string refusal_;                                           ///< why there shall be no session, or ""
};

}  // namespace octet::ort
