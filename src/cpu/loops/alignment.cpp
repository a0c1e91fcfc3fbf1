// cresset.alignment_scores: how probable it is, in logarithms, that the steps up to one end in each state of a row. A state is reached from itself, from the state
// before and, where it may skip that, from the one before it; the first two begin. A task is a row of states through all steps.
#include <limits>

#include "cpu/emit/kernels.h"
#include "cpu/emit/vector_math.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;

bool is_alignment(Operation* operation) {
  auto op = dyn_cast_or_null<CompositeOp>(operation);
  if (!op || op.getName() != "cresset.alignment_scores" || op->getNumOperands() != 2 || op->getNumResults() != 1 || op.getVersion() != 1) return false;
  auto emissions = shaped(op->getOperand(0)), may_skip = shaped(op->getOperand(1));
  return emissions == op->getResult(0).getType() && emissions.getRank() == 3 && emissions.getNumElements() > 0 && isa<Float32Type, Float64Type>(emissions.getElementType()) &&
         may_skip == RankedTensorType::get({emissions.getDimSize(0), emissions.getDimSize(2)}, IntegerType::get(op->getContext(), 1));
}

llvm::Error emit_alignment(KernelContext& c) {
  auto& k = c.k;
  auto& b = k.b;
  auto op = cast<CompositeOp>(c.fusion.roles.back().first);
  Value emissions = op->getOperand(0), may_skip = op->getOperand(1), result = op->getResult(0);
  Type type = element(result);
  int64_t batch = shaped(result).getDimSize(0), steps = shaped(result).getDimSize(1), states = shaped(result).getDimSize(2), bytes = element_bytes(type);
  c.kernel.tasks = batch;
  c.kernel.cost = double(shaped(result).getNumElements()) * 16;
  // Two rows of scores, before each of which two states can't be reached.
  constexpr int64_t kBefore = 2;
  int64_t pitch = kBefore + states, rows_at = c.kernel.reserve(2 * pitch * bytes);
  auto* scalar = k.memory_type(type);
  auto of_row = [&](IR row, IR state) { return k.in_scratch(scalar, rows_at, b.CreateAdd(k.mul(row, pitch), state)); };
  auto unreachable = [&](int lanes) { return llvm::ConstantFP::getInfinity(k.vector(scalar, lanes), true); };

  k.loop(k.begin(), k.end(), [&](IR task) {
    // Before the first step only the state before all others is reached, so that this is a step like any other.
    for (int64_t row : {0, 1})
      k.along(k.i64(row ? kBefore : pitch), k.target.lanes, [&](IR i, int lanes) { b.CreateAlignedStore(unreachable(lanes), of_row(k.i64(row), i), llvm::Align(bytes)); });
    b.CreateAlignedStore(llvm::ConstantFP::get(scalar, 0), of_row(k.i64(0), k.i64(kBefore)), llvm::Align(bytes));
    k.loop(k.i64(0), k.i64(steps), [&](IR step) {
      IR from = b.CreateAnd(step, k.i64(1)), to = b.CreateXor(from, k.i64(1)), first = k.mul(k.add(k.mul(task, steps), step), states);
      k.along(k.i64(states), k.target.lanes, [&](IR state, int lanes) {
        auto before = [&](int64_t back) { return b.CreateAlignedLoad(k.vector(scalar, lanes), of_row(from, k.add(state, k.i64(kBefore - back))), llvm::Align(bytes)); };
        IR skips = k.load(element(may_skip), c.buffer(may_skip), k.add(k.mul(task, states), state), lanes);
        IRs terms{before(0), before(1), b.CreateSelect(skips, before(2), unreachable(lanes))};
        IR largest = b.CreateMaximum(terms[0], b.CreateMaximum(terms[1], terms[2])), sum = nullptr;
        largest = b.CreateSelect(b.CreateFCmpOEQ(largest, unreachable(lanes)), llvm::Constant::getNullValue(largest->getType()), largest);
        for (IR term : terms) {
          IR e = emit_exp_at_most_zero(k, b.CreateFSub(term, largest));
          sum = sum ? b.CreateFAdd(sum, e) : e;
        }
        IR score = b.CreateFAdd(k.load(type, c.buffer(emissions), k.add(first, state), lanes), b.CreateFAdd(emit_log(k, sum), largest));
        k.store(type, score, c.buffer(result), k.add(first, state), lanes);
        b.CreateAlignedStore(score, of_row(to, k.add(state, k.i64(kBefore))), llvm::Align(bytes));
      });
    });
  });
  return llvm::Error::success();
}

}  // namespace cresset::cpu
