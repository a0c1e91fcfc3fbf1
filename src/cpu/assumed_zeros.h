// Programs that are right while some arguments are 0 throughout, as the zeros are around which weights are quantised.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/compiler.h"

namespace cresset::cpu {

/// Runs `program` while those of its inputs are 0, and else what `module` (text) compiles to without the assumption, which is compiled when it is first needed; std::runtime_error if it
/// can't be.
std::unique_ptr<Program> guard_zeros(std::unique_ptr<Program> program, std::vector<size_t> zeros, std::string module, CompileOptions options);

}  // namespace cresset::cpu
