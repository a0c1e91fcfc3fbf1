// Systems of equations with a triangular matrix: each row of the solution is that of B, less the rows before it times elements of the matrix, divided by its
// diagonal. Vectors run along the columns of B, which don't depend on each other: a few of them stay in registers while all rows before pass.
#include "cpu/emit/kernels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

class TriangularSolveEmitter {
 public:
  explicit TriangularSolveEmitter(KernelContext& c) : c_(c), k_(c.k), b_(c.k.b), op_(cast<TriangularSolveOp>(c.fusion.roles.back().first)), type_(element(op_.getResult())) {
    auto shape = shaped(op_.getResult()).getShape();
    systems_ = product(shape.drop_back(2)), size_ = shape[shape.size() - 2], columns_ = shape.back();
    lanes_ = columns_ < k_.target.lanes ? 1 : k_.target.lanes;
  }

  void run() {
    int64_t block = std::min(kVectors * lanes_, columns_), blocks = ceil_div(columns_, block);
    c_.kernel.tasks = systems_ * blocks;
    c_.kernel.cost = double(systems_) * size_ * size_ * columns_;
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      Indices at = delinearise(k_, {systems_, blocks}, task);
      IR first = k_.mul(at[1].base, block), count = k_.min(k_.i64(block), b_.CreateSub(k_.i64(columns_), first));
      auto some = [&] { k_.along(count, int(lanes_), [&](IR n, int lanes) { solve(at[0].base, b_.CreateAdd(first, n), 1, lanes); }); };
      if (block < kVectors * lanes_) return some();
      k_.either(b_.CreateICmpEQ(count, k_.i64(block)), [&] { solve(at[0].base, first, kVectors, int(lanes_)); }, some);
    });
  }

 private:
  static constexpr int64_t kVectors = 4;

  // Some columns of one system.
  void solve(IR system, IR column, int64_t vectors, int lanes) {
    bool transposed = op_.getTransposeA() != Transpose::NO_TRANSPOSE, first_to_last = op_.getLower() != transposed;
    auto row = [&](IR step) { return first_to_last ? step : b_.CreateSub(k_.i64(size_ - 1), step); };
    auto coefficient = [&](IR i, IR j) {
      IR place = transposed ? k_.add(k_.mul(j, size_), i) : k_.add(k_.mul(i, size_), j);
      return k_.load(type_, c_.buffer(op_.getA()), k_.add(k_.mul(system, size_ * size_), place), 1);
    };
    auto place = [&](IR i, int64_t v) { return k_.add(k_.add(k_.mul(k_.add(k_.mul(system, size_), i), columns_), column), k_.i64(v * lanes)); };
    k_.loop(k_.i64(0), k_.i64(size_), [&](IR step) {
      IR i = row(step);
      IRs start;
      for (int64_t v = 0; v < vectors; ++v) start.push_back(k_.load(type_, c_.buffer(op_.getB()), place(i, v), lanes));
      IRs sums = k_.loop(k_.i64(0), step, 1, start, [&](IR before, ArrayRef<IR> carried) {
        IR j = row(before), factor = k_.splat(b_.CreateFNeg(coefficient(i, j)), lanes);
        IRs next;
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {factor->getType()}, {factor, k_.load(type_, c_.buffer(op_.getResult()), place(j, v), lanes), carried[v]}));
        return next;
      });
      IR diagonal = op_.getUnitDiagonal() ? nullptr : k_.splat(coefficient(i, i), lanes);
      for (int64_t v = 0; v < vectors; ++v) k_.store(type_, diagonal ? b_.CreateFDiv(sums[v], diagonal) : sums[v], c_.buffer(op_.getResult()), place(i, v), lanes);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  TriangularSolveOp op_;
  Type type_;
  int64_t systems_, size_, columns_, lanes_;
};

}  // namespace

llvm::Error emit_triangular_solve(KernelContext& c) {
  TriangularSolveEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
