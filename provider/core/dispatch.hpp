// Which backend computes a request: an ordered list of candidates, each of which answers with a result or a reason.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "provider/core/kernel.hpp"

namespace octet::core {

/// Why a candidate does not take a request. Not an error: the next candidate is asked.
struct Refusal {
  std::string reason;
};

template <class T>
using Offer = std::variant<std::unique_ptr<T>, Refusal>;

template <class T>
struct Candidate {
  std::string_view backend;  ///< "onednn", "vector" or "eigen"
  std::function<Offer<T>()> offer;
};

template <class T>
struct Choice {
  std::unique_ptr<T> chosen;
  Decision decision;
};

/// The first candidate, in order, that the option `backend` allows and that does not refuse. The decision's
/// implementation name is for the caller to fill in. Throws Error(not_implemented) with every reason where none takes
/// it.
template <class T>
Choice<T> dispatch(const Options& options, const std::string& label, std::initializer_list<Candidate<T>> candidates) {
  Decision decision;
  for (const auto& candidate : candidates) {
    const std::string name(candidate.backend);
    if (options.backend != "auto" && options.backend != name) {
      decision.reasons.push_back(name + ": passed over, backend=" + options.backend);
      continue;
    }
    Offer<T> offer = candidate.offer();
    if (auto* refusal = std::get_if<Refusal>(&offer)) {
      decision.reasons.push_back(name + ": " + refusal->reason);
      continue;
    }
    decision.backend = name;
    return {std::move(std::get<std::unique_ptr<T>>(offer)), std::move(decision)};
  }
  std::string text = label + ": no backend computes this";
  for (const auto& reason : decision.reasons) text += "; " + reason;
  throw Error(ErrorCode::not_implemented, text);
}

/// Writes a decision to stderr where OCTET_VERBOSE holds "dispatch".
void trace(const std::string& label, const Decision& decision);

}  // namespace octet::core
