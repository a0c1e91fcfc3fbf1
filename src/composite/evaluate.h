// What a region of a program computes, in f64: one row at a time. A value of the region is a row (one number for each position along the
// reduced dimensions) or one number of the row; all other dimensions are alike. Without reduced dimensions a row is a set of samples.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "stablehlo/dialect.h"

namespace cresset::composite {

/// A row, or one number (size 1).
using Row = std::vector<double>;

/// The region's space: full values have this shape, of which `reduced` are the dimensions of a row.
struct Space {
  llvm::SmallVector<int64_t> shape, reduced;
  int64_t row_size() const {
    int64_t n = 1;
    for (int64_t d : reduced) n *= shape[d];
    return n;
  }
  int64_t rows() const {
    int64_t n = 1;
    for (size_t d = 0; d < shape.size(); ++d) n *= is_reduced(int64_t(d)) ? 1 : shape[d];
    return n;
  }
  bool is_reduced(int64_t d) const { return llvm::is_contained(reduced, d); }
};

inline mlir::RankedTensorType type_of(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }
inline llvm::ArrayRef<int64_t> shape_of(mlir::Value v) { return type_of(v).getShape(); }
/// A float tensor of static shape.
bool is_float(mlir::Value v);
/// An integer tensor of static shape, not of bools.
bool is_integer(mlir::Value v);
/// f16, bf16 or less.
inline bool is_narrow(mlir::Value v) { return type_of(v).getElementType().getIntOrFloatBitWidth() < 32; }
/// How far what a program computes may be from a formula, relatively. Its constants are rounded to f32 at the coarsest, where a wrong fourth digit shows at 1e-5; in f16 and bf16
/// they have 8 bits.
constexpr double kTolerance = 1e-6, kNarrowTolerance = 4e-3;
inline double tolerance_of(mlir::Value v) { return is_narrow(v) ? kNarrowTolerance : kTolerance; }

/// An operation that is evaluated element by element: arithmetic, comparisons, conversions between floats, composites with a formula.
bool is_pointwise(mlir::Operation* op);
/// The same with arithmetic on integers and bools.
bool is_elementwise(mlir::Operation* op);
/// What it makes of its operands' elements, to be looked up once for all of them; null where that is not known.
using ElementFunction = std::function<double(mlir::ArrayRef<double> operands)>;
ElementFunction element_function(mlir::Operation* op);
/// One number in all elements: a splat constant, also broadcast or converted.
std::optional<double> constant_number(mlir::Value v);

/// What a reduction or a scatter combines two elements by, if it is one operation of both, in any order; or null.
mlir::Operation* combiner(mlir::Region& region);

/// A root, or its reciprocal, as of a variance.
bool is_norm_root(mlir::Operation& op);
/// A product of rows with rows of the same place, summed: one number for each row.
bool is_row_product(mlir::Operation* op);

class Evaluator {
 public:
  /// `samples`: the size of a row where nothing is reduced.
  Evaluator(const Space& space, int64_t samples = 0) : space_(space), n_(samples ? samples : space.row_size()), reduces_(samples == 0) {}
  void set(mlir::Value v, Row row) { known_[v] = std::move(row); }
  /// Nothing if the value depends on something that is not set or is computed by an operation without meaning for a row.
  const Row* get(mlir::Value v);
  /// The values that stood in the way of the last failed `get`.
  const llvm::SmallVector<mlir::Value>& obstacles() const { return obstacles_; }

 private:
  std::optional<Row> compute(mlir::Value v);
  std::optional<Row> reduce(mlir::stablehlo::ReduceOp op);
  std::optional<Row> dot(mlir::stablehlo::DotGeneralOp op);
  bool keeps_rows(mlir::stablehlo::BroadcastInDimOp op, bool is_number);
  const Space& space_;
  int64_t n_;
  bool reduces_;
  llvm::DenseMap<mlir::Value, std::optional<Row>> known_;
  llvm::SmallVector<mlir::Value> obstacles_;
};

}  // namespace cresset::composite
