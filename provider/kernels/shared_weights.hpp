// Packed weights that operators of one process share.
#pragma once

#include <cstdint>
#include <memory>

#include "provider/core/weak_table.hpp"

namespace octet::core {

/// `weights`, or weights of the same content that somebody holds already. Weights have operator== and hash().
template <class Weights>
std::shared_ptr<const Weights> shared(std::shared_ptr<const Weights> weights) {
  // Never destroyed: operators may outlive static destruction.
  static auto* table = new WeakTable<std::uint64_t, const Weights>();
  return table->get(weights->hash(), [&](const Weights& held) { return held == *weights; }, [&] { return weights; });
}

}  // namespace octet::core
