// Connectionist temporal classification (Graves et al., "Connectionist Temporal Classification", ICML 2006): the sum, in logarithms, over all ways in which the steps of an
// input may spell a target, with blanks between the labels and labels that last for several steps.
#include <limits>

#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of a problem: log_probs [steps, batch, classes], targets [batch, labels].
struct Ctc {
  Builder& b;
  Value log_probs, targets, input_lengths, target_lengths;
  int64_t blank;
  int64_t steps = shape_of(log_probs)[0], batch = shape_of(log_probs)[1], classes = shape_of(log_probs)[2], labels = shape_of(targets)[1];
  int64_t states = 2 * labels + 1;  // the labels with blanks around them
  mlir::Type i64 = b.ops.getI64Type();
  Dims space{batch, steps, states};

  Value integer(int64_t v, llvm::ArrayRef<int64_t> shape) { return b.constant(c10::Scalar(v), i64, shape); }
  Value iota(int64_t dim, llvm::ArrayRef<int64_t> shape) { return b.iota(dim, shape, i64); }
  Value of_batch(Value v, llvm::ArrayRef<int64_t> shape, int64_t dim = 0) { return b.broadcast(v, shape, {dim}); }
  Value less(Value x, Value y) { return b.compare(Direction::LT, x, y); }
  Value infinite(double sign, Value like) { return b.like(sign * kInfinity, like); }
  // What begins with these many elements, from its end on; 0 for what lies behind.
  Value reversed(Value lengths, int64_t dim, llvm::ArrayRef<int64_t> shape) {
    Value place = b.sub(b.sub(of_batch(lengths, shape), integer(1, shape)), iota(dim, shape));
    return b.max(place, integer(0, shape));
  }
  Value count_states() { return b.add(b.add(target_lengths, target_lengths), integer(1, {batch})); }
  // Elements of [batch, a, b] at the places of the last two dimensions.
  Value at(Value v, Value first, Value second) {
    Dims shape(shape_of(first));
    Value place = b.add(b.mul(iota(0, shape), integer(shape_of(v)[1], shape)), first);
    place = b.add(b.mul(place, integer(shape_of(v)[2], shape)), second);
    return b.take(b.reshape(v, {type_of(v).getNumElements()}), place, 0);
  }

  // The class of each state, of targets that are read from the front or from the end.
  Value classes_of_states(bool from_end) {
    if (labels == 0) return integer(blank, {batch, 1});
    Dims shape{batch, labels};
    Value labels_in_order = targets;
    if (from_end) {
      Value place = b.add(b.mul(iota(0, shape), integer(labels, shape)), reversed(target_lengths, 1, shape));
      labels_in_order = b.take(b.reshape(targets, {batch * labels}), place, 0);
    }
    return b.pad(labels_in_order, double(blank), {0, 1}, {0, 1}, {0, 1});
  }
  // The logarithm of the probability of each state at each step, -inf beyond the target.
  Value emissions(Value classes_of_state, bool from_end) {
    Value step = from_end ? of_rows(reversed(input_lengths, 1, {batch, steps})) : iota(1, space);
    Value place = b.add(b.mul(step, integer(batch, space)), iota(0, space));
    place = b.add(b.mul(place, integer(classes, space)), b.broadcast(classes_of_state, space, {0, 2}));
    Value found = b.take(b.reshape(log_probs, {steps * batch * classes}), place, 0);
    return b.select(less(iota(2, space), of_batch(count_states(), space)), found, infinite(-1, found));
  }
  Value of_rows(Value v) { return b.broadcast(v, space, {0, 1}); }

  // The logarithm of the probability that the first steps, from the front or from the end, end in each state.
  Value scores(bool from_end);
};

// log(e^x + e^y + …)
Value log_of_sum(Builder& b, llvm::ArrayRef<Value> terms) {
  Value largest = terms[0], sum;
  for (Value v : terms.drop_front()) largest = b.max(largest, v);
  largest = b.select(b.compare(Direction::EQ, largest, b.like(-kInfinity, largest)), b.like(0, largest), largest);
  for (Value v : terms) {
    Value e = b.exp(b.sub(v, largest));
    sum = sum ? b.add(sum, e) : e;
  }
  return b.add(b.log(sum), largest);
}

// The decomposition of cresset.alignment_scores: a state is reached from itself, from the one before, and where it may skip that, from the one before it. Before the first
// step that is the first state.
Value step_by_step(Builder& b, Value emissions, Value may_skip) {
  mlir::Type i64 = b.ops.getI64Type();
  Dims shape(shape_of(emissions)), row{shape[0], shape[2]};
  mlir::Type element = element_of(emissions);
  Value start = b.compare(Direction::EQ, b.iota(1, row, i64), b.constant(c10::Scalar(0), i64, row));
  Value first = b.select(start, b.constant(0.0, element, row), b.constant(-kInfinity, element, row));
  Value none = b.constant(-kInfinity, element, row), zero = b.constant(c10::Scalar(0), i64);
  return b.repeat(shape[1], {first, b.constant(-kInfinity, element, shape)}, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value before = b.pad(now[0], -kInfinity, {0, 1}, {0, -1}), skipped = b.select(may_skip, b.pad(now[0], -kInfinity, {0, 2}, {0, -2}), none);
    Value starts[] = {zero, step, zero};
    Dims line{shape[0], 1, shape[2]};
    Value emission = b.create<hlo::DynamicSliceOp>(mlir::RankedTensorType::get(line, element), emissions, mlir::ValueRange(starts), b.ops.getDenseI64ArrayAttr(line));
    Value next = b.add(b.reshape(emission, row), log_of_sum(b, {now[0], before, skipped}));
    return {next, b.create<hlo::DynamicUpdateSliceOp>(now[1].getType(), now[1], b.reshape(next, line), mlir::ValueRange(starts))};
  })[1];
}

Value Ctc::scores(bool from_end) {
  Value state = classes_of_states(from_end);
  Dims shape(shape_of(state));
  // A label that follows another one needs no blank between, unless they are the same.
  Value other = b.compare(Direction::NE, state, b.pad(state, double(blank), {0, 2}, {0, -2})), second = b.compare(Direction::GT, iota(1, shape), integer(1, shape));
  Value operands[] = {emissions(state, from_end), b.logical_and(second, other)};
  return b.composite("cresset.alignment_scores", operands, operands[0].getType(), b.ops.getDictionaryAttr({}), [](Builder& b, mlir::ValueRange v) { return step_by_step(b, v[0], v[1]); });
}

}  // namespace

Values _ctc_loss_Tensor(Builder& b, Value log_probs, Value targets, Value input_lengths, Value target_lengths, int64_t blank, bool zero_infinity) {
  Ctc c{b, log_probs, targets, input_lengths, target_lengths, blank};
  Value scores = c.scores(false), zero = c.integer(0, {c.batch}), one = c.integer(1, {c.batch});
  Value last_step = b.max(b.sub(input_lengths, one), zero), last_state = b.add(target_lengths, target_lengths), no_labels = b.compare(Direction::EQ, target_lengths, zero);
  Value in_blank = c.at(scores, last_step, last_state), in_label = c.at(scores, last_step, b.max(b.sub(last_state, one), zero));
  in_label = b.select(no_labels, c.infinite(-1, in_label), in_label);
  Value loss = b.neg(log_of_sum(b, {in_blank, in_label}));
  Value of_nothing = b.select(no_labels, b.like(0, loss), c.infinite(1, loss));
  return {b.select(b.compare(Direction::EQ, input_lengths, zero), of_nothing, loss), scores};
}

// What a class is expected to be less often than it was spelled. The scores from the end are those of the reversed problem; both contain the step's own probability.
Value _ctc_loss_backward_Tensor(Builder& b, Value grad, Value log_probs, Value targets, Value input_lengths, Value target_lengths, Value neg_log_likelihood, Value log_alpha,
                                int64_t blank, bool zero_infinity) {
  Ctc c{b, log_probs, targets, input_lengths, target_lengths, blank};
  Value state = c.classes_of_states(false);
  Value rest = c.at(c.scores(true), c.of_rows(c.reversed(input_lengths, 1, {c.batch, c.steps})), c.reversed(c.count_states(), 2, c.space));
  Value loss = c.of_batch(neg_log_likelihood, c.space);
  Value share = b.exp(b.sub(b.add(b.add(log_alpha, rest), loss), c.emissions(state, false)));
  Value inside = b.logical_and(c.less(c.iota(1, c.space), c.of_batch(input_lengths, c.space)), c.less(c.iota(2, c.space), c.of_batch(c.count_states(), c.space)));
  share = b.select(inside, share, b.like(0, share));
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(b.ops.getContext(), {}, {2}, {0, 1}, {0, 1}, {2}, 3);
  Value spelled = b.scatter(b.constant(0.0, element_of(share), {c.batch, c.steps, c.classes}), b.broadcast(state, c.space, {0, 2}), share, numbers,
                            [&](Value x, Value y) { return b.add(x, y); });
  Dims shape(shape_of(log_probs));
  Value impossible = b.compare(Direction::EQ, neg_log_likelihood, c.infinite(1, neg_log_likelihood)), nothing = b.like(0, log_probs);
  Value gradient = b.sub(b.exp(log_probs), b.transpose(spelled, {1, 0, 2}));
  gradient = b.select(c.of_batch(impossible, shape, 1), zero_infinity ? nothing : b.like(std::numeric_limits<double>::quiet_NaN(), log_probs), b.mul(gradient, c.of_batch(grad, shape, 1)));
  return b.select(c.less(c.iota(0, shape), c.of_batch(input_lengths, shape, 1)), gradient, nothing);
}

}  // namespace cresset::lowering::aten
