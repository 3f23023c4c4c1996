// Which path each case takes on each instruction set is a committed table (test/cases/dispatch.json), so that a refusal
// of everything, or a path lost by accident, fails too. A change on purpose is written by
// test/core/update_dispatch_table and reviewed like any other.
//
//   instruction set -> operator -> group of cases -> path, or {path: [cases], most frequent path: "others"}
//
// A path is "backend implementation" without what follows the implementation's ':'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "test/support/cases.hpp"

namespace octet::test {
namespace {

using nlohmann::ordered_json;

std::filesystem::path table_path() { return case_folder() / "dispatch.json"; }

Decision decision_of(const Case& test_case) {
  const std::vector<Tensor> inputs = make_inputs(test_case);
  return Operator(make_node(test_case, inputs, true)).explain(views(inputs));
}

std::string path_of(const Decision& decision) {
  return decision.backend + " " + decision.implementation.substr(0, decision.implementation.find(':'));
}

/// The case's name inside its group.
std::string label_of(const Case& test_case) {
  return test_case.name == test_case.group ? "" : test_case.name.substr(test_case.group.size() + 1);
}

/// One path, or which cases take which.
ordered_json summary(const std::map<std::string, std::vector<std::string>>& labels_by_path) {
  const auto most = std::max_element(labels_by_path.begin(), labels_by_path.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (labels_by_path.size() == 1) return most->first;
  ordered_json result;
  for (const auto& [path, labels] : labels_by_path)
    result[path] = path == most->first ? ordered_json("others") : ordered_json(labels);
  return result;
}

/// The part of the table for the instruction set of this process.
ordered_json paths_now() {
  ordered_json result = ordered_json::object();
  for (const auto& file : table_files()) {
    std::vector<std::string> groups;
    std::map<std::string, std::map<std::string, std::vector<std::string>>> labels;  // by group and path
    for (const Case& test_case : load_table(file)) {
      if (labels.find(test_case.group) == labels.end()) groups.push_back(test_case.group);
      labels[test_case.group][path_of(decision_of(test_case))].push_back(label_of(test_case));
    }
    ordered_json& of_operator = result[file.stem().string()];
    for (const std::string& group : groups) of_operator[group] = summary(labels[group]);
  }
  return result;
}

ordered_json read_table() {
  std::ifstream stream(table_path());
  return stream ? ordered_json::parse(stream) : ordered_json::object();
}

void write_table(const ordered_json& paths) {
  ordered_json table = read_table();
  table[cpu_isa()] = paths;
  std::ofstream(table_path()) << table.dump(1) << "\n";
}

TEST(DispatchTable, EachCaseTakesItsPath) {
  const ordered_json now = paths_now();
  if (std::getenv("OCTET_WRITE_DISPATCH_TABLE") != nullptr) return write_table(now);
  const ordered_json table = read_table();
  if (!table.contains(cpu_isa())) GTEST_SKIP() << "the table has no part for " << cpu_isa();
  const ordered_json& expected = table[cpu_isa()];
  EXPECT_EQ(expected.size(), now.size());
  for (const auto& [op, groups] : now.items()) {
    ASSERT_TRUE(expected.contains(op)) << op << ": run test/core/update_dispatch_table";
    EXPECT_EQ(expected[op].size(), groups.size()) << op;
    for (const auto& [group, paths] : groups.items())
      EXPECT_EQ(expected[op].value(group, ordered_json()), paths) << op << "/" << group << " on " << cpu_isa();
  }
}

TEST(DispatchTable, HasEveryInstructionSetButThoseOfRareMachines) {
  const ordered_json table = read_table();
  for (const char* isa : {"avx2", "avx512_core", "avx512_core_vnni"}) EXPECT_TRUE(table.contains(isa)) << isa;
}

TEST(DispatchTable, NoPathIsAReferenceLoopOrTheFallback) {
  const ordered_json table = read_table();
  for (const auto& [isa, operators] : table.items())
    for (const auto& [op, groups] : operators.items())
      for (const auto& [group, paths] : groups.items()) {
        const std::string text = paths.dump();
        EXPECT_EQ(text.find("ref"), std::string::npos) << isa << " " << op << "/" << group << ": " << text;
        EXPECT_EQ(text.find("eigen"), std::string::npos) << isa << " " << op << "/" << group << ": " << text;
      }
}

}  // namespace
}  // namespace octet::test
