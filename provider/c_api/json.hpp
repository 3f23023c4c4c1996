// The texts in which the C interface and the command line tell about operators and decisions.
#pragma once

#include <string>

#include <octet/octet.hpp>

namespace octet::c_api {

/// All operator definitions: the array that octet.h describes at octet_ops_json().
std::string ops_json();

/// The object that octet.h describes at octet_call_explain().
std::string decision_json(const Decision& decision);

}  // namespace octet::c_api
