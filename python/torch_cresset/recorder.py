"""Runs an FX graph on device tensors, for torch.compile and for exports. Stands by itself because Dynamo, which only torch.compile needs, takes
longer to import than PyTorch, and every `import torch` loads this package.
"""

import contextlib
import os
import warnings

import torch

from . import _C

_DEVICE = torch.device("cresset", 0)


@contextlib.contextmanager
def recording(calls_kernels=True):
    """While it lasts, operators on device tensors are recorded and none of them runs; with `calls_kernels` also those that are not lowered, which PyTorch's kernels are to run.
    Random numbers that are asked for meanwhile are not used up: the first call draws the same as later ones after the same seed."""
    generator = torch.cresset.default_generators[0]
    state = generator.get_state()
    _C.begin_capture(calls_kernels)
    hooks = torch._C._autograd._saved_tensors_hooks_set_tracing(True)  # the caller's, as a checkpoint's, are not for what is recorded
    try:
        yield
    finally:
        torch._C._autograd._saved_tensors_hooks_set_tracing(hooks)
        texts = _C.abort_capture()
        generator.set_state(state)
        for text in texts:
            warnings.warn(text)


def _on_device(value):
    """Devices and constants inside the graph move to cresset."""
    if isinstance(value, torch.device) and value.type == "cpu":
        return _DEVICE
    return value


# What a composite's function may not do (src/trace/composite.cpp). Run eagerly its gradient would draw other numbers, or find its arguments changed.
_FORBIDDEN = "must not draw random numbers", "must not write to a tensor", "changes its argument"


class _NotLowered(Exception):
    """A node can't be part of a captured program."""

    def __init__(self, node):
        self.node = node


class _Recorder(torch.fx.Interpreter):
    """Runs a graph on device tensors; what asks for the CPU gets the device."""

    def run_node(self, node):
        try:
            return super().run_node(node)
        except (RuntimeError, NotImplementedError) as error:
            if node.op != "call_function" or os.environ.get("CRESSET_FALLBACK") == "error" or any(text in str(error) for text in _FORBIDDEN):
                raise
            raise _NotLowered(node) from error

    def call_function(self, target, args, kwargs):
        kwargs = {k: _on_device(v) for k, v in kwargs.items()}
        return super().call_function(target, tuple(_on_device(a) for a in args), kwargs)

    def get_attr(self, target, args, kwargs):
        value = super().get_attr(target, args, kwargs)
        return value.to(_DEVICE) if isinstance(value, torch.Tensor) and value.device.type == "cpu" else value
