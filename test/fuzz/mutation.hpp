// Nodes and calls that begin as valid cases and are then changed at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/cases.hpp"

namespace octet::test {

/// A sequence of random numbers that is the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t word() { return random_word(seed_, next_++); }
  /// In [0, sides).
  std::size_t roll(std::size_t sides) { return static_cast<std::size_t>((word() >> 11) % sides); }
  bool chance(std::size_t one_in) { return roll(one_in) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[roll(choices.size())];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

/// One tensor of a mutated node: what the node says of it, and what the call gives.
struct MutatedTensor {
  DataType node_type = DataType::undefined;
  bool node_knows_dims = false;
  Dims node_dims;
  bool constant = false;

  DataType call_type = DataType::undefined;
  Dims call_dims;
  std::int32_t call_rank = 0;
  bool call_has_dims = true;
  bool call_has_data = true;

  std::vector<unsigned char> memory;  ///< at least what types and extents make, node's or call's
};

struct MutatedNode {
  std::string origin;  ///< the case it was made from
  std::vector<std::string> changes;
  std::string op_type, domain;
  std::int64_t opset_version = 1;
  Attributes attributes;
  std::vector<MutatedTensor> inputs, outputs;
  bool declares_outputs = false;
  Options options;

  Node node() const;
  std::vector<TensorView> call_inputs() const;
  std::string description() const;
};

/// The same for the same seed and corpus.
MutatedNode mutated_node(const std::vector<Case>& corpus, std::uint64_t seed);

/// Small cases of every table.
std::vector<Case> fuzz_corpus();

/// Bytes of a tensor; nothing where it has negative extents, or more than `most` bytes.
bool byte_size(DataType type, const Dims& dims, std::size_t most, std::size_t& bytes);

/// How many mutations: the environment variable OCTET_FUZZ_COUNT, or `standard`.
std::uint64_t fuzz_count(std::uint64_t standard);

}  // namespace octet::test
