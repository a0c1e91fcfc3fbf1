// The CPU compiler: a StableHLO module in, native code out.
#pragma once

#include <memory>
#include <string>

#include "llvm/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "composite/selection.h"
#include "runtime/program.h"

namespace cresset::cpu {

struct CompileOptions {
  /// The instruction set to compile for: "" takes CRESSET_CPU, or else the machine's own; "amx", "avx512", "avx2"
  /// or "baseline" force one (tests of the fallbacks).
  std::string cpu = {};
  /// Goes on with what has become of composites so far; or null.
  const composite::Report* report = nullptr;
  /// Programs of other sizes have come before: kernels that take less time than their compilation are shared by all sizes.
  bool sizes_change = false;
  /// What an operator rounds to bf16 and the next one widens again need not be rounded, but for conversions with the attribute `cresset.rounds`.
  bool excess_precision = false;
};

/// Compiles the public function @main of `module`: ranked static tensors in and out. An argument with the attribute
/// `tf.aliasing_output = j : i32` is donated: output j may be written over it. One with `cresset.weight` is a weight:
/// what depends on such alone is computed again only when their bytes have changed. Composites that no kernel takes
/// (composite/kernels.h) are decomposed.
/// `module` is consumed (transformed in place). Errors name the operation that can't be compiled.
llvm::Expected<std::unique_ptr<Program>> compile(mlir::ModuleOp module, const CompileOptions& options = {});

/// The assembly of the program's kernels, one after the other, in place of running it; `options.cpu` may name what this machine lacks.
llvm::Expected<std::string> assembly(mlir::ModuleOp module, const CompileOptions& options = {});

}  // namespace cresset::cpu
