// The fused cells of LSTM and GRU, which PyTorch calls on every device but the CPU: they have no CPU kernel to fall back to. They are made of
// ordinary operators, as on the CPU. The workspace keeps what the gradient needs.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace cresset {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

at::Tensor biased(const at::Tensor& gates, const MaybeTensor& bias) { return bias && bias->defined() ? gates + *bias : gates; }
at::Tensor or_zeros(const MaybeTensor& gradient, const at::Tensor& like) { return gradient && gradient->defined() ? *gradient : at::zeros_like(like); }
at::Tensor sigmoid_slope(const at::Tensor& y) { return y * (1 - y); }
at::Tensor tanh_slope(const at::Tensor& y) { return 1 - y * y; }
at::Tensor bias_gradient(const at::Tensor& gates, bool has_bias) { return has_bias ? gates.sum(0) : at::Tensor(); }

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
                                                         const MaybeTensor& input_bias, const MaybeTensor& hidden_bias) {
  auto gates = (biased(input_gates, input_bias) + biased(hidden_gates, hidden_bias)).chunk(4, 1);
  at::Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(), out = gates[3].sigmoid();
  at::Tensor cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const MaybeTensor& grad_hy, const MaybeTensor& grad_cy, const at::Tensor& cx, const at::Tensor& cy,
                                                                  const at::Tensor& workspace, bool has_bias) {
  auto kept = workspace.chunk(4, 1);
  const at::Tensor &in = kept[0], &forget = kept[1], &cell = kept[2], &out = kept[3];
  at::Tensor hidden = or_zeros(grad_hy, cy), active = cy.tanh();
  at::Tensor state = hidden * out * tanh_slope(active) + or_zeros(grad_cy, cy);
  at::Tensor gates = at::cat({state * cell * sigmoid_slope(in), state * cx * sigmoid_slope(forget), state * in * tanh_slope(cell), hidden * active * sigmoid_slope(out)}, 1);
  return {gates, state * forget, bias_gradient(gates, has_bias)};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& hx, const MaybeTensor& input_bias,
                                            const MaybeTensor& hidden_bias) {
  auto input = biased(input_gates, input_bias).chunk(3, 1), hidden = biased(hidden_gates, hidden_bias).chunk(3, 1);
  at::Tensor reset = (input[0] + hidden[0]).sigmoid(), update = (input[1] + hidden[1]).sigmoid(), fresh = (input[2] + reset * hidden[2]).tanh();
  return {(hx - fresh) * update + fresh, at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  auto kept = workspace.chunk(5, 1);
  const at::Tensor &reset = kept[0], &update = kept[1], &fresh = kept[2], &hx = kept[3], &hidden = kept[4];
  at::Tensor fresh_in = grad_hy * (1 - update) * tanh_slope(fresh), update_in = grad_hy * (hx - fresh) * sigmoid_slope(update);
  at::Tensor reset_in = fresh_in * hidden * sigmoid_slope(reset);
  at::Tensor input = at::cat({reset_in, update_in, fresh_in}, 1), recurrent = at::cat({reset_in, update_in, fresh_in * reset}, 1);
  return {input, recurrent, grad_hy * update, bias_gradient(input, has_bias), bias_gradient(recurrent, has_bias)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

}  // namespace
}  // namespace cresset
