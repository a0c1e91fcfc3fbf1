// Gives decomposed StableHLO its composites back. Foreign names first; then by meaning: what a region computes is evaluated and compared with the
// catalogue's references, so there is no list of spellings. docs/raising.md.
#pragma once

#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace cresset::composite {

struct RaiseReport {
  std::vector<std::string> raised;  ///< one line for each composite: what, where, with which attributes
  std::vector<std::string> missed;  ///< regions that nearly are a composite: which, how far off, and the constants in them
};

/// A composite of the user's: what its body computes is raised to it.
struct Reference {
  std::string name;
  uint32_t version;
  mlir::DictionaryAttr attributes;
  mlir::func::FuncOp body;
};
/// The references of a library: the composites in its public functions that the catalogue does not have (as torch_cresset.stablehlo writes them); of a function without any, the function
/// itself if its name has a namespace.
std::vector<Reference> read_library(mlir::ModuleOp library);

/// Works on the public functions. A raised composite's decomposition is the operations that were found, so its numbers stay
/// the same; only a gradient that was added to another while it was computed is added afterwards.
void raise(mlir::ModuleOp module, RaiseReport* report = nullptr, mlir::ArrayRef<Reference> references = {});

}  // namespace cresset::composite
