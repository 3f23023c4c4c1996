// What the handles of octet.h lead to.
#pragma once

#include <octet/octet.h>

#include <memory>
#include <string>
#include <vector>

#include <octet/octet.hpp>

#include "provider/c_api/tensor.hpp"

struct octet_node {
  octet::Node node;
  octet::Options options;
  std::vector<octet::c_api::Bytes> constants;  ///< the data of constant inputs, by index

  /// "QGemm 'fc1'"
  std::string label() const;
  std::string input_label(std::uint64_t index) const;
  void set_input(std::uint64_t index, octet::ValueInfo info, octet::c_api::Bytes constant);
  void set_output(std::uint64_t index, std::int32_t dtype);
};

struct octet_operator {
  std::shared_ptr<const octet::Operator> object;
};

struct octet_call {
  explicit octet_call(std::shared_ptr<const octet::Operator> op) : object(std::move(op)) {}

  std::string input_label(std::uint64_t index) const;
  std::string output_label(std::uint64_t index) const;
  void set_input(std::uint64_t index, std::int32_t dtype, const std::int64_t* dims, std::int32_t rank, const void* data,
                 std::uint64_t size_bytes, bool copy);
  void set_output(std::uint64_t index, std::int32_t dtype, const std::int64_t* dims, std::int32_t rank, void* data,
                  std::uint64_t size_bytes);
  void infer();
  const std::vector<octet::ValueInfo>& inferred_outputs() const;
  const octet::ValueInfo& inferred_output(std::uint64_t index) const;
  octet::TensorView own_target(std::size_t index);
  void run();
  void copy_output(std::uint64_t index, void* data, std::uint64_t size_bytes) const;

  std::shared_ptr<const octet::Operator> object;
  std::vector<octet::c_api::Tensor> inputs;
  std::vector<octet::TensorView> input_views;     ///< of `inputs`
  std::vector<octet::c_api::Tensor> outputs;      ///< given by octet_call_set_output(); absent where not
  std::vector<octet::c_api::Tensor> own_outputs;  ///< the others of the last run, where it succeeded
  std::vector<octet::TensorView> targets;         ///< where a run writes; a member so that runs allocate nothing
  std::vector<octet::ValueInfo> inferred;
  bool has_inferred = false;
};
