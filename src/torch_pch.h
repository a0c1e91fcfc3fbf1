// What nearly every source of the device includes, parsed once.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
