"""Calls of every composite in the catalogue, with the values of its attributes that change what it computes."""

import functools
import itertools
import pathlib

import torch
import torch.nn.functional as F
import yaml

CATALOGUE = {entry["name"]: entry for entry in yaml.safe_load((pathlib.Path(__file__).parents[2] / "ops" / "composites.yaml").read_text())}


def numbers(*shape, low=-3.0, high=3.0):
    """No two are equal, none is where a function bends."""
    n = torch.Size(shape).numel()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(n))
    return torch.linspace(low + 0.0173, high - 0.0119, n, dtype=torch.float64)[order].reshape(shape)


X, LINE, IMAGE, VOLUME, LABELS = numbers(4, 6), numbers(2, 4, 6), numbers(2, 4, 6, 6), numbers(2, 3, 3, 4, 5), torch.tensor([1, 5, 0, 5])
ROW, CHANNELS = numbers(6, low=0.5, high=1.5), numbers(4, low=0.5, high=1.5)
QUERY = numbers(2, 4, 5, 8, low=-1, high=1)
BYTES = torch.arange(-128, 128, 7, dtype=torch.int8)[:35].reshape(5, 7)
BETWEEN = numbers(4, 6, low=0.05, high=0.95)


def calls(function, *attributes):
    return [functools.partial(function, **a) for a in attributes or ({},)]


def attention(q, k, v, **attributes):
    return F.scaled_dot_product_attention(q, k, v, **attributes)


def grouped_mm(a, b, ends):
    if a.dtype != torch.float64:  # which PyTorch's does not take
        return F.grouped_mm(a, b, offs=ends)
    groups = list(itertools.pairwise([0, *ends.tolist()]))
    return torch.cat([a[i:j] @ m for (i, j), m in zip(groups, b)]) if b.dim() == 3 else torch.stack([a[:, i:j] @ b[i:j] for i, j in groups])


def ctc(x, targets, steps, labels, blank=0, zero_infinity=False):
    return torch.ops.aten._ctc_loss.Tensor(x, targets, steps, labels, blank, zero_infinity)[0]


def recurrent(kind, x, *states_and_parameters, **attributes):
    states = 2 if kind == "lstm" else 1
    attributes = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": True, "bidirectional": False, "batch_first": False} | attributes
    hx, parameters = states_and_parameters[:states], states_and_parameters[states:]
    return getattr(torch, kind)(x, hx if kind == "lstm" else hx[0], parameters, *attributes.values())


def recurrent_tensors(kind, inputs=3, size=2, batch=3, steps=3):
    """Of one layer: batch and steps are equal, so that either may come first."""
    gates = {"lstm": 4, "gru": 3}.get(kind, 1) * size
    states = [numbers(1, batch, size, low=-1, high=1)] * (2 if kind == "lstm" else 1)
    return [numbers(steps, batch, inputs, low=-1, high=1), *states, numbers(gates, inputs, low=-1, high=1), numbers(gates, size, low=-1, high=1), numbers(gates, low=-1, high=1), numbers(gates, low=-0.5, high=0.5)]


def recurrent_layer(mode, reverse, x, h, *rest):
    """What PyTorch's network of one layer gives; its own operator for layers is oneDNN's LSTM."""
    c, parameters = (rest[0], rest[1:]) if mode == 2 else (h, rest)
    if x.device.type == "cpu":
        kind = ("rnn_relu", "rnn_tanh", "lstm", "gru")[mode]
        states = (h[None], c[None]) if kind == "lstm" else h[None]
        output, *after = getattr(torch, kind)(x.flip(0) if reverse else x, states, parameters, True, 1, 0.0, True, False, False)
        return output.flip(0) if reverse else output, *[a[0] for a in after]
    results = torch.mkldnn_rnn_layer(x, *parameters, h, c, reverse, [], mode, h.shape[-1], 1, True, False, False, True)
    return results[:3] if mode == 2 else results[:2]


def recurrent_layers(mode, size=2):
    x, h, *rest = recurrent_tensors(("rnn_relu", "rnn_tanh", "lstm", "gru")[mode], size=size)
    return [x, h[0], *([rest[0][0]] + rest[1:] if mode == 2 else rest)]


# name: the tensors it is called with (floating ones take the dtype that is tested and have gradients), and the calls
CASES = {
    "aten.relu": ([X], calls(F.relu)),
    "aten.gelu": ([X], calls(F.gelu, {}, {"approximate": "tanh"})),
    "aten.silu": ([X], calls(F.silu)),
    "aten.mish": ([X], calls(F.mish)),
    "aten.softplus": ([X], calls(F.softplus, {}, {"beta": 2}, {"beta": 0.5, "threshold": 1.0})),
    "aten.hardswish": ([X], calls(F.hardswish)),
    "aten.hardsigmoid": ([2 * X], calls(F.hardsigmoid)),
    "aten.hardtanh": ([X], calls(F.hardtanh, {}, {"min_val": -0.5, "max_val": 2.0})),
    "aten.elu": ([X], calls(F.elu, {}, {"alpha": 0.5}) + [F.selu, functools.partial(F.celu, alpha=2.0)]),
    "aten.leaky_relu": ([X], calls(F.leaky_relu, {}, {"negative_slope": 0.3})),
    "aten.prelu": ([X, torch.tensor([0.3], dtype=torch.float64)], calls(F.prelu)),
    "aten.threshold": ([X], [lambda x: F.threshold(x, 0.5, -1.0), lambda x: F.threshold(x, -1.0, 7.0)]),
    "aten.glu": ([X], calls(F.glu, {}, {"dim": 0})),
    "aten.log_sigmoid": ([X], calls(F.logsigmoid)),
    "aten.hardshrink": ([X], calls(F.hardshrink, {}, {"lambd": 1.5})),
    "aten.softshrink": ([X], calls(F.softshrink, {}, {"lambd": 1.5})),
    "aten.logit": ([BETWEEN], calls(torch.logit, {}, {"eps": 0.2})),
    "aten.sigmoid": ([X], calls(torch.sigmoid)),
    "aten.tanh": ([X], calls(torch.tanh)),
    "aten.erf": ([X], calls(torch.erf)),
    "aten.softmax": ([X], calls(F.softmax, {"dim": -1}, {"dim": 0})),
    "aten.log_softmax": ([X], calls(F.log_softmax, {"dim": -1}, {"dim": 0})),
    "aten.layer_norm": ([X, ROW, ROW - 1], [lambda x, w, b: F.layer_norm(x, (6,), w, b), lambda x, w, b: F.layer_norm(x, (6,), w, b, eps=0.5),
                                            lambda x, w, b: F.layer_norm(x, (4, 6)) * w + b]),
    "aten.rms_norm": ([X, ROW], [lambda x, w: F.rms_norm(x, (6,), w, eps=1e-5), lambda x, w: F.rms_norm(x, (6,), w, eps=0.5), lambda x, w: F.rms_norm(x, (4, 6), eps=1e-5) * w]),
    "aten.group_norm": ([IMAGE, CHANNELS, CHANNELS - 1], [lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 4, w, b), lambda x, w, b: F.group_norm(x, 2, w, b, eps=0.5)]),
    "aten.batch_norm": ([IMAGE, CHANNELS, CHANNELS - 1],
                        [lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=0.5),
                         lambda x, w, b: F.batch_norm(x, w.detach() - 1, w.detach() + 1, w, b, training=False)]),
    "aten.instance_norm": ([IMAGE, CHANNELS, CHANNELS - 1],
                           [lambda x, w, b: F.instance_norm(x, None, None, w, b), lambda x, w, b: F.instance_norm(x, w.detach() - 1, w.detach() + 1, w, b, use_input_stats=False, eps=0.5)]),
    "aten.scaled_dot_product_attention": ([QUERY, QUERY + 0.5, QUERY - 0.3], calls(attention, {}, {"is_causal": True}, {"scale": 0.9}, {"is_causal": True, "scale": 0.9})),
    "aten.nll_loss": ([X, LABELS], calls(lambda x, t, **a: F.nll_loss(x, t, **a), {}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 5})),
    "aten.nll_loss2d": ([IMAGE, torch.arange(72).remainder(4).reshape(2, 6, 6)],
                        calls(lambda x, t, **a: F.nll_loss(x, t, **a), {}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 3})),
    "aten.ctc_loss": ([numbers(8, 2, 5), torch.tensor([[1, 1, 3], [3, 2, 0]]), torch.tensor([8, 6]), torch.tensor([3, 2])], calls(ctc, {}, {"blank": 4})),
    "aten.cross_entropy_loss": ([X, LABELS], calls(lambda x, t, **a: F.cross_entropy(x, t, **a), {}, {"reduction": "sum"}, {"label_smoothing": 0.1}, {"ignore_index": 5})),
    **{f"aten.{kind}": (recurrent_tensors(kind), calls(functools.partial(recurrent, kind), {}, {"batch_first": True})) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "aten.mkldnn_rnn_layer": (recurrent_layers(2), [functools.partial(recurrent_layer, 2, reverse) for reverse in (False, True)]),
    "aten.kl_div": ([X, BETWEEN.flip(0)], calls(lambda x, t, **a: F.kl_div(x, t.detach(), **a), {"reduction": "batchmean"}, {"reduction": "none", "log_target": True})),
    "aten.l1_loss": ([X, X.flip(0)], calls(F.l1_loss, {}, {"reduction": "sum"}, {"reduction": "none"})),
    "aten.mse_loss": ([X, X.flip(0)], calls(F.mse_loss, {}, {"reduction": "sum"}, {"reduction": "none"})),
    "aten.huber_loss": ([X, X.flip(0)], calls(F.huber_loss, {}, {"delta": 0.3}, {"reduction": "sum"})),
    "aten.smooth_l1_loss": ([X, X.flip(0)], calls(F.smooth_l1_loss, {}, {"beta": 0.3}, {"reduction": "none"})),
    "aten.binary_cross_entropy": ([BETWEEN, BETWEEN.flip(0)], calls(lambda x, t, **a: F.binary_cross_entropy(x, t.detach(), **a), {}, {"reduction": "sum"}, {"reduction": "none"})),
    "aten.binary_cross_entropy_with_logits": ([X, BETWEEN.flip(0), ROW], [
        lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w.detach()),
        lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, w.detach(), reduction="sum")]),
    "aten.embedding": ([LABELS, numbers(6, 5)], calls(F.embedding, {}, {"padding_idx": 5}, {"scale_grad_by_freq": True})),
    "aten.dropout": ([X], calls(F.dropout, {"p": 0.25}, {"p": 0.75})),
    "aten.linear": ([X, numbers(5, 6), numbers(5)], [F.linear, lambda x, w, b: F.linear(x, w) * b]),
    "aten.mm": ([X, numbers(6, 5)], [torch.mm]),
    "aten._int_mm": ([BYTES, (BYTES.t() + 3).contiguous()], [torch._int_mm]),
    "aten._weight_int8pack_mm": ([numbers(4, 64), BYTES.repeat(1, 10)[:, :64].contiguous(), numbers(5)], [torch.ops.aten._weight_int8pack_mm]),
    "aten._weight_int4pack_mm_for_cpu": ([numbers(3, 64), torch.arange(80 * 32).remainder(251).to(torch.uint8).reshape(80, 32), numbers(2, 80, 2)],
                                         [lambda x, w, s: torch.ops.aten._weight_int4pack_mm_for_cpu(x, w, 32, s)]),
    "aten.fake_quantize_per_tensor_affine": ([X], [lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 0, -128, 127)]),
    "aten.fake_quantize_per_channel_affine": ([X, torch.tensor([0, 3, -2, 1], dtype=torch.int32)], [
        lambda x, z: torch.fake_quantize_per_channel_affine(x, 0.05 * z + 0.4, z, 0, -8, 7), lambda x, z: torch.fake_quantize_per_channel_affine(x, 0.05 * z + 0.4, z, 0, -128, 127)]),
    "aten.bmm": ([numbers(2, 3, 4), numbers(2, 4, 5)], [torch.bmm]),
    "aten._grouped_mm": ([numbers(16, 8, low=-1, high=1), numbers(3, 8, 16, low=-1, high=1), torch.tensor([5, 5, 16], dtype=torch.int32)],
                         [grouped_mm]),
    "aten.addmm": ([numbers(5), X, numbers(6, 5)], calls(torch.addmm, {}, {"beta": 0.5, "alpha": 2.0})),
    "aten.convolution": ([IMAGE, numbers(6, 4, 3, 3, low=-1, high=1), numbers(6)],
                         calls(F.conv2d, {}, {"stride": 2, "padding": 1}, {"dilation": 2}) + [lambda x, w, b: F.conv2d(x, w[:, :2], b, groups=2),
                                                                                              lambda x, w, b: F.conv_transpose2d(x, w[:4], b[:4], stride=2, output_padding=1)]),
    "aten.max_pool2d": ([IMAGE], calls(F.max_pool2d, {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "dilation": 2}, {"kernel_size": 4, "ceil_mode": True})),
    "aten.avg_pool2d": ([IMAGE], calls(F.avg_pool2d, {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 3, "padding": 1, "count_include_pad": False},
                                       {"kernel_size": 3, "divisor_override": 2}, {"kernel_size": 4, "ceil_mode": True})),
    "aten.adaptive_avg_pool2d": ([IMAGE], calls(F.adaptive_avg_pool2d, {"output_size": 2}, {"output_size": (3, 4)})),
    "aten.adaptive_max_pool2d": ([IMAGE], calls(F.adaptive_max_pool2d, {"output_size": 2}, {"output_size": (3, 4)})),
    "aten.upsample_nearest2d": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0}, {"size": (5, 9)})),
    "aten.upsample_bilinear2d": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "bilinear"}, {"size": (5, 9), "mode": "bilinear", "align_corners": True})),
    "aten.upsample_bicubic2d": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "bicubic"}, {"size": (5, 9), "mode": "bicubic", "align_corners": True})),
    "aten.upsample_linear1d": ([LINE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "linear"}, {"size": (9,), "mode": "linear", "align_corners": True})),
    "aten.upsample_trilinear3d": ([VOLUME], calls(F.interpolate, {"scale_factor": 2.0, "mode": "trilinear"}, {"size": (2, 5, 9), "mode": "trilinear", "align_corners": True})),
    "aten.upsample_nearest1d": ([LINE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "nearest"}, {"size": (9,), "mode": "nearest"})),
    "aten.upsample_nearest3d": ([VOLUME], calls(F.interpolate, {"scale_factor": 2.0, "mode": "nearest"}, {"size": (2, 5, 9), "mode": "nearest"})),
    "aten._upsample_nearest_exact1d": ([LINE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "nearest-exact"}, {"size": (9,), "mode": "nearest-exact"})),
    "aten._upsample_nearest_exact2d": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "nearest-exact"}, {"size": (5, 9), "mode": "nearest-exact"})),
    "aten._upsample_nearest_exact3d": ([VOLUME], calls(F.interpolate, {"scale_factor": 2.0, "mode": "nearest-exact"}, {"size": (2, 5, 9), "mode": "nearest-exact"})),
    "aten._upsample_bilinear2d_aa": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "bilinear", "antialias": True}, {"size": (5, 9), "mode": "bilinear", "antialias": True, "align_corners": True})),
    "aten._upsample_bicubic2d_aa": ([IMAGE], calls(F.interpolate, {"scale_factor": 2.0, "mode": "bicubic", "antialias": True}, {"size": (5, 9), "mode": "bicubic", "antialias": True, "align_corners": True})),
    "aten.linalg_solve_triangular": ([numbers(5, 5, low=-0.5, high=0.5) + 2 * torch.eye(5, dtype=torch.float64), numbers(2, 5, 5)],
                                     calls(torch.linalg.solve_triangular, *({"upper": upper, "left": left, "unitriangular": unit} for upper, left, unit in itertools.product((False, True), repeat=3)))),
    "aten.topk": ([X], calls(torch.topk, {"k": 2}, {"k": 3, "dim": 0}, {"k": 2, "largest": False})),
    "aten.sort": ([X], calls(torch.sort, {}, {"dim": 0}, {"descending": True})),
    "aten.cumsum": ([X], calls(torch.cumsum, {"dim": -1}, {"dim": 0}, {"dim": 0, "dtype": torch.float64})),
    "aten.cumprod": ([X], calls(lambda x, dim: torch.cumprod(x.detach(), dim), {"dim": -1}, {"dim": 0})),  # its gradient looks at values
    "aten.argmax": ([X], calls(torch.argmax, {}, {"dim": -1}, {"dim": 0, "keepdim": True})),
    "aten.argmin": ([X], calls(torch.argmin, {}, {"dim": -1}, {"dim": 0, "keepdim": True})),
}


def cases(*, backward=False):
    """(composite, number of the call) of each, or of those whose gradient is a composite."""
    return [(name, i) for name, (_, functions) in CASES.items() for i in range(len(functions)) if not backward or "backward" in CATALOGUE[name]]


NOT_DIFFERENTIABLE = ("aten._weight_int8pack_mm", "aten._weight_int4pack_mm_for_cpu")  # in PyTorch


def inputs(name, dtype=torch.float32, device="cpu"):
    """Leaves; those of floating dtype have gradients, if there are any."""
    tensors = [t.to(dtype) if t.is_floating_point() else t for t in CASES[name][0]]
    return [t.detach().clone().to(device).requires_grad_(t.is_floating_point() and name not in NOT_DIFFERENTIABLE) for t in tensors]


# Exact in any dtype.
def weights(like):
    return (torch.arange(like.numel(), device=like.device).mul(37).remainder(31).sub(15) / 8).reshape(like.shape).to(like.dtype)


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def with_gradients(function):
    """The function's results, and the gradients of its inputs for a loss in which elements count differently; None for an input without."""

    def run(*tensors):
        results = flat(function(*tensors))
        loss = sum((r * weights(r)).sum() for r in results if r.requires_grad)
        leaves = [t for t in tensors if t.requires_grad]
        found = iter(torch.autograd.grad(loss, leaves, allow_unused=True) if isinstance(loss, torch.Tensor) else [None] * len(leaves))
        return results, [next(found) if t.requires_grad else None for t in tensors]

    return run
