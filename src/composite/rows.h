// Rows: what works along some dimensions, and alike along all others. Shared by what raises softmax and norms, and their gradients.
#pragma once

#include "composite/region.h"

namespace cresset::composite {

constexpr int64_t kLongestRow = 1 << 16;

bool is_row_operation(mlir::Operation* op);

Row random_row(int64_t n, unsigned seed, double scale = 1);
/// The largest difference, relative to b's elements, or to `unit` where they are smaller.
double difference(const Row& a, const Row& b, double unit);
/// Points far from 0, up to the largest numbers of f32: there it shows whether a function bends once more (relu, or a clamp at 255).
const Row& far_points();
/// The largest difference, relative to b's elements, of what is finite: formulas may overflow, which their operator does not.
double difference_of_finite(const Row& a, const Row& b);
double largest(const Row& row);
double mean_of(const Row& row);
double mean_square(const Row& row);
/// A recovered number as it was written: the shortest decimal within the relative precision, if it has at most so many digits.
double tidy_number(double v, int most_digits = 6, double precision = 1e-6);

/// A reduction of one value along dimensions that make rows.
struct Anchor {
  mlir::Operation* reduce;
  Space space;
};
llvm::SmallVector<Anchor> anchors(Program& program);
bool is_full(const Space& space, mlir::Value v);
bool is_weight(const Space& space, mlir::Value v);
bool is_trailing(const Space& space);
/// The shape of a row's number with its dimensions kept.
llvm::SmallVector<int64_t> kept_shape(const Space& space);

/// Values of full shape that are computed from `from` by row operations, the last first.
llvm::SmallVector<mlir::Value> descendants(Program& program, const Space& space, mlir::ArrayRef<mlir::Value> from);

/// `v` for one row of each input.
std::optional<Row> evaluate(const Space& space, mlir::Value v, mlir::ArrayRef<std::pair<mlir::Value, Row>> inputs, llvm::SmallVector<mlir::Value>* obstacles = nullptr);

}  // namespace cresset::composite
