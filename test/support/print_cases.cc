// Prints every case with a hash of each input's first bytes, for the test that Python makes the same ones.
#include <algorithm>
#include <cstdio>

#include "test/support/cases.hpp"

int main() {
  using namespace octet::test;
  for (const Case& test_case : selected_cases()) {
    std::printf("%s/%s", test_case.qualified_op().c_str(), test_case.name.c_str());
    for (const Tensor& input : make_inputs(test_case)) {
      if (!input.present()) {
        std::printf(" absent");
        continue;
      }
      const std::string bytes(reinterpret_cast<const char*>(input.data()), std::min<std::size_t>(input.bytes(), 1000));
      std::printf(" %016llx", static_cast<unsigned long long>(hash(bytes)));
    }
    std::printf("\n");
  }
}
