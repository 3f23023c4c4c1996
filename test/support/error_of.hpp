// The error that a wrong use must give.
#pragma once

#include <gtest/gtest.h>

#include <octet/octet.hpp>
#include <string>

namespace octet::test {

/// The text of the octet::Error that a call must throw.
template <class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

}  // namespace octet::test
