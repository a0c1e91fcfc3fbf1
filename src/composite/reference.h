// The reference interpreter as a kernel: runs composites by their decompositions, slowly, independently of the compiler.
#pragma once

#include <string>

namespace cresset::composite {

/// From here on programs that are compiled leave the composites of this selection (composite::Selection; "" is none) to the interpreter, before any
/// other kernel is asked. Throws std::invalid_argument.
void interpret_composites(const std::string& selection);
/// How often that changed.
int interpreted_changes();
/// Whether there are any now.
bool interprets();

}  // namespace cresset::composite
