// Counts every operator new of a program that links allocations.cc.
#pragma once

#include <cstdint>

namespace octet::test {

/// Calls of operator new so far, and how many of their results are still in use.
std::int64_t allocations();
std::int64_t live_allocations();

}  // namespace octet::test
