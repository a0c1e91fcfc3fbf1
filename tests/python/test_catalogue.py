"""Every entry of ops/composites.yaml, forward and backward, with each combination of attributes and in each dtype, computed in five ways that agree within the
entry's tolerance: on the device with composites whole; with each run by a kernel, the reference interpreter; with all of them decomposed; by XLA from our
StableHLO; and by eager PyTorch on the CPU.

The inputs are PyTorch's own samples of the operator (OpInfo), those of one combination of attributes once; CASES has what they lack. All cases of an
entry are one program on each road.
"""

import functools
import itertools
import pathlib
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import torch_cresset
from composite_cases import grouped_mm, recurrent, recurrent_layer, recurrent_layers, recurrent_tensors
from conftest import fallbacks
from test_xla import execute

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "codegen"))
import catalogue  # noqa: E402

ENTRIES = {c.name: c for c in catalogue.read(ROOT / "ops" / "composites.yaml")}
GRADIENTS = {c.backward for c in ENTRIES.values()}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}
COMBINATIONS, ELEMENTS = 4, 600  # at most, of an entry in one dtype, and of a sample
LEARNING_RATE = 0.01

# Where the OpInfo is not nn.functional.<name> or <name>: its name, its variant.
RESIZES = {  # how torch.nn.functional.interpolate calls it, and of how many dimensions
    **{f"aten.upsample_{mode}{rank}d": (mode, rank) for mode, rank in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3))},
    **{f"aten.{name}{rank}d": (mode, rank) for name, mode in (("upsample_nearest", "nearest"), ("_upsample_nearest_exact", "nearest-exact")) for rank in (1, 2, 3)},
}
INFOS = {
    **{name: [("nn.functional.interpolate", mode)] for name, (mode, _) in RESIZES.items()},
    "aten.linalg_solve_triangular": [("linalg.solve_triangular", "")],
    "aten.log_sigmoid": [("nn.functional.logsigmoid", "")],
    "aten.cross_entropy_loss": [("nn.functional.cross_entropy", "")],
    "aten.convolution": [(f"nn.functional.{name}", "") for name in ("conv1d", "conv2d", "conv_transpose2d")],
    "aten.softmax": [("softmax", ""), ("softmax", "with_dtype")],
    "aten.log_softmax": [("log_softmax", ""), ("log_softmax", "with_dtype")],
}
# Samples that are not the composite: another operator, or one that is random, sparse or changes its arguments.
UNSUITABLE = {
    **{name: lambda s, rank=rank: s.input.dim() != rank + 2 for name, (_, rank) in RESIZES.items()},
    "aten.embedding": lambda s: s.kwargs.keys() & {"max_norm", "scale_grad_by_freq", "sparse"},
    "aten.group_norm": lambda s: (s.kwargs.get("weight") is None) != (s.kwargs.get("bias") is None),  # eager's gradient fails
    "aten.scaled_dot_product_attention": lambda s: s.kwargs.get("dropout_p") or s.input.dim() != 4,
    "aten.nll_loss": lambda s: s.input.dim() > 2,
}


class Case:
    """One call: a function of tensors; the floating-point ones have gradients."""

    def __init__(self, function, *tensors, gradients=True):
        self.function, self.tensors, self.gradients, self.all_differentiable = function, tensors, gradients, True

    def eager(self):
        try:
            return self.run(self.tensors)
        except RuntimeError as error:
            if "is not differentiable with respect to argument" not in str(error):
                raise
            self.all_differentiable = False
            return self.run(self.tensors)

    def run(self, tensors, cotangents=None):
        """Results and gradients of the inputs, those of all floating-point results taken together."""
        leaves = [t.detach().requires_grad_(self.gradients and t.is_floating_point() and (i == 0 or self.all_differentiable)) for i, t in enumerate(tensors)]
        results = [r for r in pytree.tree_leaves(self.function(*leaves)) if isinstance(r, torch.Tensor)]
        roots = [r for r in results if r.requires_grad]
        found = ()
        if roots:
            cotangents = [cotangent(r) for r in roots] if cotangents is None else cotangents
            found = torch.autograd.grad(roots, [t for t in leaves if t.requires_grad], cotangents, allow_unused=True)
        return [r.detach() for r in results], [g for g in found if g is not None], cotangents or []


def cotangent(t):
    return torch.randn(t.shape, generator=torch.Generator().manual_seed(t.numel())).to(t.dtype)


def sampled(entry, dtype):
    """PyTorch's samples, each combination of attributes and ranks once."""
    name = entry.name.partition(".")[2]
    wanted = INFOS.get(entry.name, [(f"nn.functional.{name}", ""), (name, "")])
    for info in op_db:
        if (info.name, info.variant_test_name) not in wanted or dtype not in info.supported_dtypes("cpu"):
            continue
        seen = set()
        for sample in info.sample_inputs("cpu", dtype):
            flat, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
            tensors = [v for v in flat if isinstance(v, torch.Tensor)]
            form = repr([(t.dim(), t.dtype) if isinstance(t, torch.Tensor) else t for t in flat]) + repr(spec)
            if form in seen or any(not 0 < t.numel() <= ELEMENTS for t in tensors) or UNSUITABLE.get(entry.name, lambda s: False)(sample):
                continue
            seen.add(form)
            yield Case(called(info.op, flat, spec), *(t.contiguous() for t in tensors))  # XLA is given arrays in the order of the text's
            if len(seen) == COMBINATIONS:
                break


def called(op, flat, spec):
    def function(*tensors):
        left = iter(tensors)
        x, args, kwargs = pytree.tree_unflatten([next(left) if isinstance(v, torch.Tensor) else v for v in flat], spec)
        return op(x, *args, **kwargs)

    return function


def nll_loss2d(dtype):
    x, target = torch.randn(2, 3, 2, 4, dtype=dtype), torch.randint(0, 3, (2, 2, 4))
    for reduction, weight, ignored in (("mean", None, -100), ("mean", torch.rand(3, dtype=dtype), 1), ("sum", torch.rand(3, dtype=dtype), -100), ("none", None, 1)):
        options = {"reduction": reduction, "ignore_index": ignored}
        yield Case(lambda x, t, w=None, options=options: F.nll_loss(F.log_softmax(x, 1), t, w if w is None else w.detach(), **options), x, target, *([] if weight is None else [weight]))


def ctc(dtype):
    if dtype == torch.bfloat16:
        return
    for lengths, blank, zero_infinity in (([9, 9], 0, False), ([9, 7], 4, True), ([2, 0], 0, True)):
        yield Case(lambda x, t, n, m, b=blank, z=zero_infinity: torch.ops.aten._ctc_loss.Tensor(x.log_softmax(-1), t, n, m, b, z)[0],
                   torch.randn(9, 2, 5, dtype=dtype), torch.tensor([[1, 1, 3], [3, 2, 0]]), torch.tensor(lengths), torch.tensor([3, 2]))


def antialiased(mode):
    def cases(dtype):
        if dtype == torch.bfloat16:  # not implemented in PyTorch
            return
        for how in ({"scale_factor": 0.4}, {"size": (3, 9)}, {"size": (2, 3), "align_corners": True}):
            yield Case(lambda x, how=how: F.interpolate(x, mode=mode, antialias=True, **how), torch.randn(2, 3, 5, 6, dtype=dtype))

    return cases


def distinct(shape, dtype):
    """No ties, in bfloat16 either."""
    count = torch.Size(shape).numel()
    return ((torch.randperm(count) - count // 2) / 8).to(dtype).reshape(shape)


def ordered(function, *combinations, gradients=True):
    def cases(dtype):
        for options in combinations:
            yield Case(lambda x, options=options: function(x, **options), distinct((3, 4, 5), dtype), gradients=gradients)

    return cases


def attention(dtype):
    q, k, v = (torch.randn(2, heads, n, 8, dtype=dtype) for heads, n in ((4, 5), (4, 6), (4, 6)))
    yield Case(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), q, k, v, torch.randn(2, 1, 5, 6, dtype=dtype))
    yield Case(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.5), q, k, v)
    yield Case(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    yield Case(lambda q, k, v: F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True), q, k, v)


def experts(dtype):
    if dtype == torch.float64:
        return
    x, y, weights, ends = torch.randn(16, 8, dtype=dtype), torch.randn(16, 24, dtype=dtype), torch.randn(3, 8, 24, dtype=dtype), torch.tensor([5, 5, 16], dtype=torch.int32)
    yield Case(grouped_mm, x, weights, ends)
    yield Case(lambda x, y, ends: grouped_mm(x.t(), y, ends), x, y, ends)


def norms(function, shape, present=tuple(itertools.product((True, False), repeat=2))):
    """Weight and bias present and absent."""
    def cases(dtype):
        for has_weight, has_bias in present:
            parameters = [torch.randn(shape[1], dtype=dtype) for present in (has_weight, has_bias) if present]

            def run(x, *parameters, has_weight=has_weight, has_bias=has_bias):
                left = iter(parameters)
                return function(x, next(left) if has_weight else None, next(left) if has_bias else None)

            yield Case(run, torch.randn(shape, dtype=dtype), *parameters)

    return cases


def normalised(function, shape):
    """By the input's own statistics, and by running ones."""
    def cases(dtype):
        yield from norms(lambda x, w, b: function(x, None, None, w, b, True), shape)(dtype)
        mean, var = torch.randn(shape[1], dtype=dtype), torch.rand(shape[1], dtype=dtype) + 0.5
        yield Case(lambda x, w, b, m, v: function(x, m.detach(), v.detach(), w, b, False), torch.randn(shape, dtype=dtype), *(torch.randn(shape[1], dtype=dtype) for _ in range(2)), mean, var)

    return cases


def optimizer(step, states, *combinations, counted=True):
    """The parameter and its states after a step."""
    def cases(dtype):
        for options in combinations:
            tensors = [torch.randn(6, 4).to(dtype) for _ in range(2)] + [torch.rand(6, 4).to(dtype) for _ in range(states)] + [torch.tensor(3.0)] * counted

            def run(p, *others, options=options):
                p, states = p.clone(), [t.clone() for t in others[1:]]
                step([p], [others[0]], *[[t] for t in states], options)
                return p, states

            yield Case(run, *tensors, gradients=False)

    return cases


def adam(function):
    def step(p, g, m, v, largest, count, options):
        options = {"lr": LEARNING_RATE, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-6, "amsgrad": False, "maximize": False} | options
        function(p, g, m, v, largest if options["amsgrad"] else [], count, **options)

    return step


def sgd(p, g, buffer, options):
    options = {"lr": LEARNING_RATE, "weight_decay": 0.1, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False, "is_first_step": False} | options
    torch._fused_sgd_(p, g, buffer if options["momentum"] else [], **options)


def adagrad(p, g, total, count, options):
    torch._fused_adagrad_(p, g, total, count, **{"lr": LEARNING_RATE, "lr_decay": 0.0, "weight_decay": 0.1, "eps": 1e-6, "maximize": False} | options)


ADAM = ({}, {"amsgrad": True}, {"maximize": True, "weight_decay": 0.0})

def layers(dtype):
    for mode, reverse in itertools.product(range(4), (False, True)):
        yield Case(functools.partial(recurrent_layer, mode, reverse), *(t.to(dtype) for t in recurrent_layers(mode)))


def networks(kind):
    def cases(dtype):
        for attributes in ({}, {"batch_first": True}):
            yield Case(lambda *t, attributes=attributes: recurrent(kind, *t, **attributes), *(t.to(dtype) for t in recurrent_tensors(kind)))

    return cases


def bytes_(dtype):
    for kind in (torch.int8, torch.uint8):
        yield Case(torch._int_mm, torch.randint(0, 256, (5, 9)).to(kind), torch.randint(-128, 128, (9, 6), dtype=torch.int8))


def of_few_bits(product, *weights_of):
    """PyTorch has these in f32 at most, and no derivative."""

    def run(x, w, s):
        return product(x.float(), w, s.float()).double() if x.dtype == torch.float64 else product(x, w, s)

    def cases(dtype):
        for w, scales in weights_of if dtype != torch.float64 else ():
            yield Case(run, torch.randn(3, 64, dtype=dtype) / 8, w, torch.randn(*scales, dtype=dtype) / 8, gradients=False)

    return cases


def fake_quantised(per_channel):
    def cases(dtype):
        for low, high in ((-8, 7), (0, 255)):
            x = 4 * torch.randn(3, 5, dtype=dtype)
            if per_channel:
                for axis in (0, 1):
                    yield Case(lambda x, z, axis=axis, low=low, high=high: torch.fake_quantize_per_channel_affine(x, 0.05 * z + 0.4, z, axis, low, high), x, torch.arange(x.shape[axis], dtype=torch.int32))
            else:
                yield Case(lambda x, low=low, high=high: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, low, high), x)

    return cases


CASES = {
    **{f"aten._upsample_{mode}2d_aa": antialiased(mode) for mode in ("bilinear", "bicubic")},
    **{f"aten.{kind}": networks(kind) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "aten.mkldnn_rnn_layer": layers,
    "aten.nll_loss2d": nll_loss2d,
    "aten.layer_norm": norms(lambda x, w, b: F.layer_norm(x, (6,), w, b), (4, 6)),
    "aten.group_norm": norms(lambda x, w, b: F.group_norm(x, 2, w, b), (3, 6, 4), ((True, True), (False, False))),
    "aten.batch_norm": normalised(lambda x, m, v, w, b, own: F.batch_norm(x, m, v, w, b, training=own), (3, 6, 4)),
    "aten.instance_norm": normalised(lambda x, m, v, w, b, own: F.instance_norm(x, m, v, w, b, use_input_stats=own), (3, 6, 4)),
    "aten.scaled_dot_product_attention": attention,
    "aten._grouped_mm": experts,
    "aten._int_mm": bytes_,
    "aten._weight_int8pack_mm": of_few_bits(torch.ops.aten._weight_int8pack_mm, (torch.randint(-16, 16, (6, 64), dtype=torch.int8), [6])),
    "aten._weight_int4pack_mm_for_cpu": of_few_bits(lambda x, w, s: torch.ops.aten._weight_int4pack_mm_for_cpu(x, w, 64 // len(s), s),
                                                    *((torch.randint(0, 256, (80, 32), dtype=torch.uint8), [64 // group, 80, 2]) for group in (32, 64))),
    "aten.fake_quantize_per_tensor_affine": fake_quantised(False),
    "aten.fake_quantize_per_channel_affine": fake_quantised(True),
    "aten.ctc_loss": ctc,
    "aten.topk": ordered(torch.topk, {"k": 2}, {"k": 3, "dim": 1}, {"k": 2, "largest": False}),
    "aten.sort": ordered(torch.sort, {}, {"dim": 1}, {"descending": True}, {"stable": True}),
    "aten.argmax": ordered(torch.argmax, {}, {"dim": 1}, {"dim": -1, "keepdim": True}),
    "aten.argmin": ordered(torch.argmin, {}, {"dim": 1}, {"dim": -1, "keepdim": True}),
    "aten.cumprod": ordered(torch.cumprod, {"dim": 0}, {"dim": -1}, {"dim": 1, "dtype": torch.float64}, gradients=False),  # its gradient reads values
    "aten.fused_adam": optimizer(adam(torch._fused_adam_), 3, *ADAM),
    "aten.fused_adamw": optimizer(adam(torch._fused_adamw_), 3, *ADAM),
    "aten.fused_sgd": optimizer(sgd, 1, {}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.1, "maximize": True}, counted=False),
    "aten.fused_adagrad": optimizer(adagrad, 1, {}, {"lr_decay": 0.5}, {"maximize": True, "weight_decay": 0.0}),
}
# PyTorch's samples have ties, whose order is not defined, or running statistics with gradients, or which are moved, or numbers in tensors that are read.
ONLY_OURS = {"aten.ctc_loss", "aten.topk", "aten.sort", "aten.argmax", "aten.argmin", "aten.cumprod", "aten.batch_norm", "aten.instance_norm"}
DRAWN = {"aten.dropout"}  # random: test_dropout


def cases_of(entry):
    for name, dtype in DTYPES.items():
        torch.manual_seed(0)
        own = list(CASES.get(entry.name, lambda dtype: [])(dtype))
        for case in own + (list(sampled(entry, dtype)) if entry.name not in ONLY_OURS else []):
            yield name, case


def on_xla(text, inputs, extra):
    import ml_dtypes
    import numpy

    def to_numpy(t):
        return t.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16) if t.dtype == torch.bfloat16 else t.contiguous().numpy()

    def to_torch(a):
        return torch.from_numpy(a.view(numpy.int16).copy()).view(torch.bfloat16) if a.dtype == ml_dtypes.bfloat16 else torch.from_numpy(a.copy())

    return [to_torch(a) for a in execute(text, [to_numpy(t) for t in inputs] + extra)]


def close(actual, expected, tolerance, what, truth=None):
    """Within the tolerance. Where eager rounds its intermediate results, or terms cancel, it is enough to be as near to the value in float64 as eager is."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, f"{what}: {actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not expected.is_floating_point():
        assert torch.equal(actual, expected), what
        return
    relative, absolute = tolerance
    good = torch.isclose(actual, expected, rtol=relative, atol=absolute, equal_nan=True)
    if truth is not None and not good.all():
        good |= (actual.double() - truth.double()).abs() <= (expected.double() - truth.double()).abs() + absolute
        good |= torch.isclose(actual, truth.to(actual.dtype), rtol=relative, atol=absolute)
    assert good.all(), f"{what}: {actual[~good][:4].tolist()} instead of {expected[~good][:4].tolist()}"


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in GRADIENTS | DRAWN])
def test_all_ways(name):
    entry = ENTRIES[name]
    cases = list(cases_of(entry))
    assert cases, f"{name} has no sample inputs in PyTorch; write some in CASES"
    eager = [case.eager() for _, case in cases]
    inputs = [t for _, case in cases for t in case.tensors]
    cotangents = [c for _, _, found in eager for c in found]

    def every(*tensors):
        left, given = iter(tensors[:len(inputs)]), iter(tensors[len(inputs):])
        runs = [case.run([next(left) for _ in case.tensors], [next(given) for _ in found]) for (_, case), (_, _, found) in zip(cases, eager)]
        return [r for results, gradients, _ in runs for r in results + gradients]

    torch_cresset.reset_counters()
    on_device = [t.to("cresset") for t in inputs + cotangents]
    roads = {}
    kept = {c.name for c in torch_cresset.explain(lambda: roads.update(whole=every(*on_device)))}
    roads["whole"] = [t.cpu() for t in roads["whole"]]
    assert {name, entry.backward or name} <= kept, f"the cases of {name} give {sorted(kept)}"
    with torch_cresset.interpreted():
        explained = torch_cresset.explain(lambda: roads.update(interpreted=every(*on_device)))
        assert {c.became for c in explained} == {"kernel reference interpreter"}
        roads["interpreted"] = [t.cpu() for t in roads["interpreted"]]
    with torch_cresset.composites(only="none"):
        roads["decomposed"] = [t.cpu() for t in every(*on_device)]
    assert not fallbacks()
    text = torch_cresset.stablehlo(every, *inputs, *cotangents)
    numbers = text[text.index("@main("):text.index(") -> ")].count("%arg") - len(inputs) - len(cotangents)
    roads["XLA"] = on_xla(text, inputs + cotangents, [torch.tensor(LEARNING_RATE, dtype=torch.float64).numpy()] * numbers)

    for road, actual in roads.items():
        left = iter(actual)
        for i, ((dtype, case), (results, gradients, _)) in enumerate(zip(cases, eager)):
            truth = [None] * len(results + gradients)
            if dtype != "f64":
                wide = [t.double() if t.is_floating_point() else t for t in case.tensors]
                found = case.run(wide, [c.double() for c in eager[i][2]])
                truth = found[0] + found[1]
            for j, (expected, true) in enumerate(zip(results + gradients, truth, strict=True)):
                owner = entry if j < len(results) else ENTRIES.get(entry.backward, entry)
                close(next(left), expected, owner.tolerance[dtype], f"{road}: {name}, case {i} in {dtype}, {'result' if j < len(results) else 'gradient'} {j}", true)


def test_dropout():
    """The mask is drawn: the same on all roads, and what the others compute with it is eager's."""
    for name, dtype in DTYPES.items():
        for p in (0.25, 0.5):
            x, g = torch.randn(64, 32).to(dtype), torch.randn(64, 32).to(dtype)

            def run(x, g):
                x = x.detach().requires_grad_()
                y, mask = torch.native_dropout(x, p, True)
                return y.detach(), mask, *torch.autograd.grad(y, x, g)

            found = []
            for only in ("default", "none"):
                with torch_cresset.composites(only=only):
                    torch.manual_seed(5)
                    explained = torch_cresset.explain(lambda: found.append(run(x.to("cresset"), g.to("cresset"))))
                    if only == "default":
                        assert {c.name for c in explained} == {"aten.dropout", "aten.dropout_backward"}
            (y, mask, gradient), decomposed = ([t.cpu() for t in road] for road in found)
            assert all(torch.equal(a, b) for a, b in zip((y, mask, gradient), decomposed))
            assert abs(mask.double().mean() - (1 - p)) < 0.05
            torch.testing.assert_close(y, (x * mask / (1 - p)).to(dtype))
            torch.testing.assert_close(gradient, torch.ops.aten.native_dropout_backward(g, mask, 1 / (1 - p)))
            on_xla_too = on_xla(torch_cresset.stablehlo(run, x, g), [x, g], [torch.tensor(5).numpy(), torch.tensor(0).numpy()])
            for a, b in zip(on_xla_too, (y, mask, gradient)):
                torch.testing.assert_close(a, b)


def test_every_gradient_is_reached():
    backward = {name for name in ENTRIES if name.endswith("_backward")}
    assert backward == GRADIENTS - {""}, "a gradient that no entry names as its backward has no case"
