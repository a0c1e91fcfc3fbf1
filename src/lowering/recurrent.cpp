// A layer of a recurrent network in one direction, over all steps: RNN, LSTM (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997) and GRU (Cho et al., "Learning Phrase
// Representations using RNN Encoder-Decoder", 2014) as torch.nn defines them. What does not depend on the step before is one product of all steps, the rest a loop.
#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

enum Mode : int64_t { Relu, Tanh, Lstm, Gru };

/// Numbers of a layer: input [steps, batch, features], weights [gates * hidden, features] and [gates * hidden, hidden]. Computes in f32 where they are narrower.
struct Layer {
  Builder& b;
  int64_t mode;
  bool reverse;
  Value input, of_input, of_hidden, input_bias, hidden_bias;  // the biases are null if there are none
  int64_t steps = shape_of(input)[0], batch = shape_of(input)[1], features = shape_of(input)[2], hidden = shape_of(of_hidden)[1], gates = shape_of(of_hidden)[0];
  mlir::Type element = element_of(input), i64 = b.ops.getI64Type();

  Value wide(Value v) { return b.upcast(v); }
  mlir::Type wide_type() { return element.isF16() || element.isBF16() ? mlir::Type(b.ops.getF32Type()) : element; }
  Value narrow(Value v) { return b.convert(v, element); }
  Value number(int64_t v) { return b.constant(c10::Scalar(v), i64); }
  Value zeros(llvm::ArrayRef<int64_t> shape) { return b.constant(0.0, element, shape); }
  Value rows_of(Value v) { return b.reshape(v, {steps * batch, shape_of(v)[2]}); }
  Value steps_of(Value v) { return b.reshape(v, {steps, batch, shape_of(v)[1]}); }
  Value with_bias(Value v, Value bias) { return bias ? b.add(v, b.broadcast(wide(bias), shape_of(v))) : v; }
  Value part(Value v, int64_t k, int64_t size) { return b.slice(v, 1, k * size, (k + 1) * size); }

  /// What every step adds to the hidden state's product.
  Value from_input() { return steps_of(with_bias(b.dot(rows_of(input), of_input, {1}, {1}, {}, {}, wide_type()), mode == Gru ? input_bias : both_biases())); }
  Value both_biases() { return input_bias ? b.add(wide(input_bias), wide(hidden_bias)) : Value(); }
  Value from_hidden(Value h) { return with_bias(b.dot(h, of_hidden, {1}, {1}, {}, {}, wide_type()), mode == Gru ? hidden_bias : Value()); }

  /// The row of a step, as [batch, …]; and that row written.
  Value at(Value all, Value step) {
    Dims shape{1, batch, shape_of(all)[2]};
    Value zero = number(0), starts[] = {step, zero, zero};
    Value row = b.create<hlo::DynamicSliceOp>(mlir::RankedTensorType::get(shape, element_of(all)), all, mlir::ValueRange(starts), b.ops.getDenseI64ArrayAttr(shape));
    return b.reshape(row, {batch, shape[2]});
  }
  Value with(Value all, Value step, Value row, int64_t column = 0) {
    Value starts[] = {step, number(0), number(column)};
    return b.create<hlo::DynamicUpdateSliceOp>(all.getType(), all, b.reshape(b.convert(row, element_of(all)), {1, batch, shape_of(row)[1]}), mlir::ValueRange(starts));
  }

  /// The values after all steps, from the layer's first to its last or the other way round. `body` is given the step.
  Values loop(Values values, bool backwards, llvm::function_ref<Values(Value, llvm::ArrayRef<Value>)> body) {
    return b.repeat(steps, std::move(values), [&](Value round, llvm::ArrayRef<Value> now) { return body(backwards == reverse ? round : b.sub(number(steps - 1), round), now); });
  }

  /// The hidden state before each step.
  Value states_before(Value first, Value output) {
    first = b.reshape(first, {1, batch, hidden});
    if (steps == 1) return first;
    return reverse ? b.concatenate({b.slice(output, 0, 1, steps), first}, 0) : b.concatenate({first, b.slice(output, 0, 0, steps - 1)}, 0);
  }
  Value or_zeros(Value v, Value like) { return v ? v : zeros(shape_of(like)); }
};

Layer layer_of(Builder& b, int64_t mode, bool reverse, Value input, Value of_input, Value of_hidden, Value input_bias, Value hidden_bias, bool has_biases) {
  return {b, mode, reverse, input, of_input, of_hidden, has_biases ? input_bias : Value(), has_biases ? hidden_bias : Value()};
}

Values lstm(Layer& l, Value h, Value c) {
  auto& b = l.b;
  Value inputs = l.from_input();
  Values values{h, c, l.zeros({l.steps, l.batch, l.hidden}), l.zeros({l.steps, l.batch, 5 * l.hidden})};
  auto found = l.loop(values, false, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value sums = b.add(l.at(inputs, step), l.from_hidden(now[0]));
    auto gate = [&](int64_t k) { return l.part(sums, k, l.hidden); };
    Value c = b.add(b.mul(b.logistic(gate(1)), l.wide(now[1])), b.mul(b.logistic(gate(0)), b.tanh(gate(2))));
    Value h = l.narrow(b.mul(b.logistic(gate(3)), b.tanh(c)));
    return {h, l.narrow(c), l.with(now[2], step, h), l.with(l.with(now[3], step, sums), step, c, 4 * l.hidden)};
  });
  return {found[2], found[0], found[1], found[3]};
}

Values gru(Layer& l, Value h) {
  auto& b = l.b;
  Value inputs = l.from_input();
  Values values{h, l.zeros({l.steps, l.batch, l.hidden}), l.zeros({l.steps, l.batch, l.gates})};
  auto found = l.loop(values, false, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value in = l.at(inputs, step), sums = l.from_hidden(now[0]), before = l.wide(now[0]);
    auto both = [&](int64_t k) { return b.logistic(b.add(l.part(in, k, l.hidden), l.part(sums, k, l.hidden))); };
    Value fresh = b.tanh(b.add(l.part(in, 2, l.hidden), b.mul(both(0), l.part(sums, 2, l.hidden))));
    Value h = l.narrow(b.add(b.mul(b.sub(before, fresh), both(1)), fresh));
    return {h, l.with(now[1], step, h), l.with(now[2], step, sums)};
  });
  return {found[1], found[0], l.zeros({0}), found[2]};
}

Values rnn(Layer& l, Value h) {
  auto& b = l.b;
  Value inputs = l.from_input();
  auto found = l.loop({h, l.zeros({l.steps, l.batch, l.hidden})}, false, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value sum = b.add(l.at(inputs, step), l.from_hidden(now[0]));
    Value h = l.narrow(l.mode == Tanh ? b.tanh(sum) : b.max(sum, b.like(0, sum)));
    return {h, l.with(now[1], step, h)};
  });
  return {found[1], found[0], l.zeros({0}), l.zeros({0})};
}

/// Gradients that arrive at a layer's results, and its results.
struct Arrived {
  Value output, h, c;  // null where none does
  Value results, cells;
};

Value sigmoid_slope(Builder& b, Value y) { return b.mul(y, b.sub(b.like(1, y), y)); }
Value tanh_slope(Builder& b, Value y) { return b.sub(b.like(1, y), b.mul(y, y)); }

/// For each step the gradients of what is added up in it, of the input's part and of the hidden state's; and of the states before the first step.
struct Found {
  Value in, hidden, h, c;
};

Found lstm_backward(Layer& l, const Arrived& arrived, Value first_h, Value first_c) {
  auto& b = l.b;
  Values values{l.wide(l.or_zeros(arrived.h, first_h)), l.wide(l.or_zeros(arrived.c, first_c)), l.zeros({l.steps, l.batch, l.gates})};
  auto found = l.loop(values, true, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value kept = l.wide(l.at(arrived.cells, step)), h = arrived.output ? b.add(now[0], l.wide(l.at(arrived.output, step))) : now[0];
    Value earlier = b.add(step, l.number(l.reverse ? 1 : -1)), is_first = b.compare(Direction::EQ, step, l.number(l.reverse ? l.steps - 1 : 0));
    Value before = b.select(b.broadcast(is_first, {l.batch, l.hidden}), l.wide(first_c), l.part(l.wide(l.at(arrived.cells, earlier)), 4, l.hidden));
    Value in = b.logistic(l.part(kept, 0, l.hidden)), forget = b.logistic(l.part(kept, 1, l.hidden)), cell = b.tanh(l.part(kept, 2, l.hidden)), out = b.logistic(l.part(kept, 3, l.hidden));
    Value active = b.tanh(l.part(kept, 4, l.hidden)), c = b.add(now[1], b.mul(b.mul(h, out), tanh_slope(b, active)));
    Value sums = l.narrow(b.concatenate({b.mul(b.mul(c, cell), sigmoid_slope(b, in)), b.mul(b.mul(c, before), sigmoid_slope(b, forget)), b.mul(b.mul(c, in), tanh_slope(b, cell)),
                                         b.mul(b.mul(h, active), sigmoid_slope(b, out))}, 1));
    return {b.dot(sums, l.of_hidden, {1}, {0}, {}, {}, l.wide_type()), b.mul(c, forget), l.with(now[2], step, sums)};
  });
  return {found[2], found[2], found[0], found[1]};
}

Found gru_backward(Layer& l, const Arrived& arrived, Value first_h) {
  auto& b = l.b;
  Value inputs = l.from_input(), states = l.states_before(first_h, arrived.results), none = l.zeros({l.steps, l.batch, l.gates});
  auto found = l.loop({l.wide(l.or_zeros(arrived.h, first_h)), none, none}, true, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value in = l.at(inputs, step), kept = l.wide(l.at(arrived.cells, step)), h = arrived.output ? b.add(now[0], l.wide(l.at(arrived.output, step))) : now[0];
    auto both = [&](int64_t k) { return b.logistic(b.add(l.part(in, k, l.hidden), l.part(kept, k, l.hidden))); };
    Value reset = both(0), update = both(1), fresh = b.tanh(b.add(l.part(in, 2, l.hidden), b.mul(reset, l.part(kept, 2, l.hidden))));
    Value of_fresh = b.mul(b.mul(h, b.sub(b.like(1, update), update)), tanh_slope(b, fresh));
    Value of_update = b.mul(b.mul(h, b.sub(l.wide(l.at(states, step)), fresh)), sigmoid_slope(b, update));
    Value of_reset = b.mul(b.mul(of_fresh, l.part(kept, 2, l.hidden)), sigmoid_slope(b, reset));
    Value of_input = b.concatenate({of_reset, of_update, of_fresh}, 1), sums = l.narrow(b.concatenate({of_reset, of_update, b.mul(of_fresh, reset)}, 1));
    return {b.add(b.dot(sums, l.of_hidden, {1}, {0}, {}, {}, l.wide_type()), b.mul(h, update)), l.with(now[1], step, of_input), l.with(now[2], step, sums)};
  });
  return {found[1], found[2], found[0], {}};
}

Found rnn_backward(Layer& l, const Arrived& arrived, Value first_h) {
  auto& b = l.b;
  auto found = l.loop({l.wide(l.or_zeros(arrived.h, first_h)), l.zeros({l.steps, l.batch, l.hidden})}, true, [&](Value step, llvm::ArrayRef<Value> now) -> Values {
    Value y = l.wide(l.at(arrived.results, step)), h = arrived.output ? b.add(now[0], l.wide(l.at(arrived.output, step))) : now[0], zero = b.like(0, y);
    Value sum = l.narrow(l.mode == Tanh ? b.mul(h, tanh_slope(b, y)) : b.select(b.compare(Direction::GT, y, zero), h, zero));
    return {b.dot(sum, l.of_hidden, {1}, {0}, {}, {}, l.wide_type()), l.with(now[1], step, sum)};
  });
  return {found[1], found[1], found[0], {}};
}

}  // namespace

// `workspace`, for the gradient: of an LSTM each step's sums [4 * hidden] and new cells [hidden], of a GRU the hidden state's product with its bias [3 * hidden].
Values mkldnn_rnn_layer(Builder& b, Value input, Value weight0, Value weight1, Value weight2, Value weight3, Value hx_, Value cx_, bool reverse, int64_t mode, bool has_biases) {
  Layer l = layer_of(b, mode, reverse, input, weight0, weight1, weight2, weight3, has_biases);
  return mode == Lstm ? lstm(l, hx_, cx_) : mode == Gru ? gru(l, hx_) : rnn(l, hx_);
}

Values mkldnn_rnn_layer_backward(Builder& b, Value input, Value weight1, Value weight2, Value weight3, Value weight4, Value hx_, Value cx_tmp, Value output, Value hy_, Value cy_,
                                 Value grad_output, Value grad_hy, Value grad_cy, bool reverse, int64_t mode, bool has_biases, Value workspace) {
  Layer l = layer_of(b, mode, reverse, input, weight1, weight2, weight3, weight4, has_biases);
  Arrived arrived{grad_output, grad_hy, grad_cy, output, workspace};
  Found found = mode == Lstm ? lstm_backward(l, arrived, hx_, cx_tmp) : mode == Gru ? gru_backward(l, arrived, hx_) : rnn_backward(l, arrived, hx_);
  Value in = l.rows_of(found.in), hidden = l.rows_of(found.hidden), states = l.rows_of(l.states_before(hx_, output));
  return {l.steps_of(b.dot(in, weight1, {1}, {0})), b.dot(in, l.rows_of(input), {0}, {0}), b.dot(hidden, states, {0}, {0}), has_biases ? b.sum(in, {0}) : l.zeros(shape_of(weight3)),
          has_biases ? b.sum(hidden, {0}) : l.zeros(shape_of(weight4)), l.narrow(found.h), found.c ? l.narrow(found.c) : l.zeros(shape_of(cx_tmp))};
}

}  // namespace cresset::lowering::aten
