"""ATen's operators that PyTorch decomposes above every device, kept whole on this one and where torch.compile traces for it.

Those that the catalogue calls implicit are composites of their decompositions, as a user's own are: losses, instance_norm. `linear` is an operator of the
device; PyTorch's tracer would decompose it, so that it passes there as an operator of ours.
"""

import contextlib
import functools
import inspect
import math
import threading
from typing import Optional

import torch
from torch._C import DispatchKey
from torch.utils.flop_counter import register_flop_formula

from . import _C, recurrent
from .composite import define

_kernels = torch.library.Library("aten", "IMPL")
_library = torch.library.Library("cresset", "FRAGMENT")
_tracing = threading.local()
_IMPLICIT = DispatchKey.CompositeImplicitAutograd

traced = {torch.ops.aten.linear}  # operators whose Python kernels, for PyTorch's tracer, are the ones here


@contextlib.contextmanager
def whole():
    """Within it graphs of CPU tensors keep these operators whole, too: torch.compile traces for this backend."""
    before = getattr(_tracing, "on", False)
    _tracing.on = True
    try:
        yield
    finally:
        _tracing.on = before


def _traced():
    return getattr(_tracing, "on", False) and torch._C._functorch.peek_interpreter_stack() is None


def _signature(schema, left_out):
    """The operator's arguments as Python's; optional tensors are annotated, so that they are operands even where they are absent."""
    parameters = []
    for a in schema.arguments:
        if a.name not in left_out:
            optional = isinstance(a.type, torch.OptionalType) and isinstance(a.type.getElementType(), torch.TensorType)
            parameters.append(inspect.Parameter(a.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=a.default_value if a.has_default_value() else inspect.Parameter.empty,
                                                annotation=Optional[torch.Tensor] if optional else inspect.Parameter.empty))
    return inspect.Signature(parameters)


def _is_function(operator, values):
    """Whether a call moves nothing in place and asks for no tensor's values, as instance_norm does of statistics, cross_entropy of which labels count for the weights' sum, and draws
    nothing at random. Programs have no code for complex numbers."""
    if any(isinstance(v, torch.Tensor) and v.is_complex() for v in values.values()):
        return False
    if operator == "instance_norm":
        return not values["use_input_stats"] or values["running_mean"] is None
    if "num_layers" in values:
        return not values["train"] or values["dropout"] == 0
    return operator != "cross_entropy_loss" or values["weight"] is None or values["label_smoothing"] == 0 or values["target"].is_floating_point()


def _keep(name, operator, version):
    """One implicit operator."""
    packet, _, overload = operator.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")
    has = functools.partial(torch._C._dispatch_has_kernel_for_dispatch_key, op.name())
    alias = _IMPLICIT if has(_IMPLICIT) else DispatchKey.CompositeExplicitAutograd
    left_out = {"cudnn_enabled": False} if operator == "instance_norm" else {}
    every = _signature(op._schema, ())
    keyword_only = {a.name for a in op._schema.arguments if a.kwarg_only}

    def decomposition(*args, **kwargs):
        values = every.bind(*args, **kwargs, **left_out).arguments
        return op._op_dk(alias, *[v for n, v in values.items() if n not in keyword_only], **{n: v for n, v in values.items() if n in keyword_only})

    decomposition = recurrent.layers(operator, decomposition)
    decomposition.__signature__ = _signature(op._schema, left_out)
    call = define(name, version)(decomposition)

    def arguments(args, kwargs):
        values = every.bind(*args, **kwargs)
        values.apply_defaults()
        return {n: v for n, v in values.arguments.items() if n not in left_out}

    def kernel(*args, **kwargs):
        values = arguments(args, kwargs)
        return call(**values) if _is_function(operator, values) else decomposition(**values)

    def repeated(*args, **kwargs):
        values = arguments(args, kwargs)
        return call.repeated(**values) if _is_function(operator, values) else None

    def keep_in_graphs(key):
        pytorchs = op.py_kernels.pop(key, None) or functools.partial(op._op_dk, alias)
        op.py_impl(key)(lambda *args, **kwargs: kernel(*args, **kwargs) if _traced() else pytorchs(*args, **kwargs))

    _C.keep_operator(operator, kernel, repeated)
    _kernels.impl(operator, kernel, "PrivateUse1")
    for key in (_IMPLICIT,) if alias == _IMPLICIT else (DispatchKey.AutogradCPU, DispatchKey.CPU):
        keep_in_graphs(key)
    traced.add(op.overloadpacket)


for _name, _operator, _version in _C.implicit_composites():
    _keep(_name, _operator, _version)


_library.define("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor")
_library.define("linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)")


def _linear(input, weight, bias):
    return torch.ops.aten.linear.default(input, weight, bias)


def _linear_backward(x, gradient, weight, mask):
    return torch.ops.aten.linear_backward.default(x, gradient, weight, mask)


def _linear_shape(input, weight, bias):
    return input.new_empty(input.shape[:-1] + weight.shape[:-1])


def _linear_backward_shapes(x, gradient, weight, mask):
    empty = gradient.new_empty
    return empty(x.shape if mask[0] else 0), empty(weight.shape if mask[1] else 0), empty(weight.shape[:-1] if mask[2] else 0)


_library.impl("linear", _linear, "CompositeExplicitAutograd")
_library.impl("linear_backward", _linear_backward, "CompositeExplicitAutograd")
torch.library.register_fake("cresset::linear", _linear_shape, lib=_library)
torch.library.register_fake("cresset::linear_backward", _linear_backward_shapes, lib=_library)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        return torch.ops.cresset.linear(input, weight, bias)

    @staticmethod
    def backward(ctx, gradient):
        mask = list(ctx.needs_input_grad)
        found = torch.ops.cresset.linear_backward(ctx.saved_tensors[0], gradient, ctx.saved_tensors[1], mask)
        return tuple(g if wanted else None for g, wanted in zip(found, mask))


@torch.ops.aten.linear.default.py_impl(_IMPLICIT)
def _traced_linear(input, weight, bias=None):
    if not _traced():
        return torch.ops.aten.linear.default._op_dk(_IMPLICIT, input, weight, bias)
    return _Linear.apply(input, weight, bias)


@register_flop_formula(torch.ops.aten.linear_backward)
def _linear_backward_flops(x, gradient, weight, mask, **_):
    """For torch.utils.flop_counter, which knows of the operators that PyTorch makes a linear layer's gradient of."""
    return 2 * math.prod(gradient) * weight[-1] * sum(mask[:2])


def _grouped_mm(input, weight, offs):
    return torch.ops.aten._grouped_mm(input, weight, offs.to(torch.int32))


def _grouped_mm_backward(input, weight, offs, grad_output):
    grad_weight = _grouped_mm(grad_output.t(), input, offs).transpose(1, 2) if weight.stride(-2) == 1 else _grouped_mm(input.t(), grad_output, offs)
    return _grouped_mm(grad_output, weight.transpose(1, 2), offs), grad_weight


# What transformers' mixtures of experts call in place of PyTorch's grouped_mm where a graph is traced, because Inductor takes that in bf16 only: a loop in Python over the groups.
_mixtures = torch.library.Library("transformers", "FRAGMENT")
_mixtures.impl("grouped_mm_fallback", _grouped_mm, "PrivateUse1")
_mixtures.impl("grouped_mm_fallback_backward", _grouped_mm_backward, "PrivateUse1")
