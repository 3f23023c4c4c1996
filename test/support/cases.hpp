// The case tables of test/cases, expanded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "test/support/tensor.hpp"

namespace octet::test {

/// One input or output of a case. An absent one has dtype undefined.
struct PortSpec {
  DataType dtype = DataType::undefined;
  Dims dims;
  bool constant = false;
  nlohmann::json fill;

  bool present() const { return dtype != DataType::undefined; }
};

struct Case {
  std::string domain;
  std::string op_type;
  std::int64_t opset_version = 1;
  std::string group;
  std::string name;    ///< "group/label_label", unique in its table
  bool fixed = false;  ///< belongs to the subset that every run includes
  Attributes attributes;
  std::vector<PortSpec> inputs;
  std::vector<PortSpec> outputs;

  /// "com.microsoft.QGemm" or "MatMulInteger"
  std::string qualified_op() const { return domain.empty() ? op_type : domain + "." + op_type; }
};

/// The folder of the tables: the environment variable OCTET_TEST_CASES, or the source tree's.
std::filesystem::path case_folder();
/// All cases of one table.
std::vector<Case> load_table(const std::filesystem::path& file);
/// All tables of operators, in the order of their names.
std::vector<std::filesystem::path> table_files();
/// All cases of all tables; where OCTET_TEST_SAMPLE is "count,seed", of each table the fixed ones and `count` drawn
/// others.
std::vector<Case> selected_cases();

/// Contents for every input of a case (absent ones are absent), from the case's name and OCTET_TEST_SEED.
std::vector<Tensor> make_inputs(const Case& test_case);
/// Empty outputs with the types and extents that the case declares.
std::vector<Tensor> make_outputs(const Case& test_case);
/// The node of a case; inputs that the case calls constant are so only where `with_constants`.
Node make_node(const Case& test_case, const std::vector<Tensor>& inputs, bool with_constants);
bool has_constants(const Case& test_case);

}  // namespace octet::test
