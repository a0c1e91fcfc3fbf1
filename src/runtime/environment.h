// Switches that the environment sets.
#pragma once

#include <cstdlib>
#include <string_view>

namespace cresset {

/// The variable's text; empty if it is not set.
inline std::string_view setting(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

/// Whether the variable is 0, which turns off what is on otherwise.
inline bool is_switched_off(const char* variable) { return setting(variable) == "0"; }

/// Whether the variable is 1, which turns on what is off otherwise.
inline bool is_switched_on(const char* variable) { return setting(variable) == "1"; }

}  // namespace cresset
