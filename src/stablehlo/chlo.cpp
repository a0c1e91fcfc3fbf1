#include "stablehlo/chlo.h"

#include "mlir/IR/DialectImplementation.h"

#include "stablehlo/chlo_dialect.cpp.inc"
#define GET_OP_CLASSES
#include "stablehlo/chlo_ops.cpp.inc"

namespace mlir::chlo {

void CHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "stablehlo/chlo_ops.cpp.inc"
      >();
}

}  // namespace mlir::chlo
