// Writes the arithmetic of decompositions.
#pragma once

#include "composite/evaluate.h"

namespace cresset::composite {

class Emit {
 public:
  Emit(mlir::OpBuilder& b, mlir::Location loc) : b_(b), loc_(loc) {}
  /// A constant of `like`'s type.
  mlir::Value number(double v, mlir::Value like) { return number(v, type_of(like)); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::stablehlo::AddOp::create(b_, loc_, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::stablehlo::SubtractOp::create(b_, loc_, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::stablehlo::MulOp::create(b_, loc_, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return mlir::stablehlo::DivOp::create(b_, loc_, x, y); }
  mlir::Value exp(mlir::Value x) { return mlir::stablehlo::ExpOp::create(b_, loc_, x); }
  mlir::Value log(mlir::Value x) { return mlir::stablehlo::LogOp::create(b_, loc_, x); }
  mlir::Value sqrt(mlir::Value x) { return mlir::stablehlo::SqrtOp::create(b_, loc_, x); }
  mlir::Value rsqrt(mlir::Value x) { return mlir::stablehlo::RsqrtOp::create(b_, loc_, x); }
  mlir::Value negate(mlir::Value x) { return mlir::stablehlo::NegOp::create(b_, loc_, x); }
  mlir::Value convert(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, mlir::ArrayRef<int64_t> shape);
  /// Over these dimensions, which go.
  mlir::Value sum(mlir::Value x, mlir::ArrayRef<int64_t> dims) { return reduce(x, dims, false); }
  mlir::Value maximum(mlir::Value x, mlir::ArrayRef<int64_t> dims) { return reduce(x, dims, true); }
  /// `x`, which lacks these dimensions of `like`, in all of its places.
  mlir::Value spread(mlir::Value x, mlir::ArrayRef<int64_t> dims, mlir::Value like);
  mlir::Value softmax(mlir::Value x, mlir::ArrayRef<int64_t> dims, bool logarithm);
  mlir::Value number(double v, mlir::RankedTensorType type);

 private:
  mlir::Value reduce(mlir::Value x, mlir::ArrayRef<int64_t> dims, bool maximum);
  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

}  // namespace cresset::composite
