// A node as the command line or a JSON file describes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/octet.hpp>

#include "provider/cli/cli.hpp"

namespace octet::cli {

struct NodeSpec {
  Node node;
  Options options;
  std::vector<std::unique_ptr<unsigned char[]>> constants;  ///< what node.inputs[i].constant points to
};

NodeSpec node_from_arguments(const TargetArguments& arguments);
NodeSpec node_from_json(const Json& json, const TargetArguments& arguments);

/// Of `count` elements; 0 for types without a size.
std::size_t bytes_of(DataType type, std::size_t count);

/// `count` elements of a type, from one value or one for each; throws where the type cannot be written so.
std::unique_ptr<unsigned char[]> filled(DataType type, std::size_t count, const std::vector<double>& values);

/// Integers over their whole range, reals of (0, 1] such as scales are. The same ones on every call.
std::unique_ptr<unsigned char[]> random_elements(DataType type, std::size_t count);

/// DataType of "uint8"; throws UsageError where there is none.
DataType parse_type(const std::string& name);

/// "uint8[2,3]"
std::string to_string(DataType type, const std::vector<std::int64_t>& dims);

}  // namespace octet::cli
