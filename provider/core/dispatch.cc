#include "provider/core/dispatch.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace octet::core {

void trace(const std::string& label, const Decision& decision) {
  static const bool wanted = [] {
    const char* verbose = std::getenv("OCTET_VERBOSE");
    return verbose != nullptr && std::strcmp(verbose, "dispatch") == 0;
  }();
  if (!wanted) return;
  std::string text = "octet: " + label + ": " + decision.backend + " " + decision.implementation + "\n";
  for (const std::string& reason : decision.reasons) text += "octet:   " + reason + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace octet::core
