"""torch.compile(model, backend="cresset"): inference and training from the same lowerings as the device.

Dynamo guards and AOTAutograd splits forward and backward; each graph is recorded once on stand-ins for its inputs and becomes
one program, which is then called directly. CPU tensors go in and come out without copies.
"""

import torch
from torch._dynamo.backends.common import aot_autograd

from . import _C

_DEVICE = torch.device("cresset", 0)


def _on_device(value):
    """Devices and constants inside the graph move to cresset."""
    if isinstance(value, torch.device) and value.type == "cpu":
        return _DEVICE
    return value


class _Recorder(torch.fx.Interpreter):
    """Runs a graph on device tensors; what asks for the CPU gets the device."""

    def call_function(self, target, args, kwargs):
        kwargs = {k: _on_device(v) for k, v in kwargs.items()}
        return super().call_function(target, tuple(_on_device(a) for a in args), kwargs)

    def get_attr(self, target, args, kwargs):
        value = super().get_attr(target, args, kwargs)
        return value.to(_DEVICE) if isinstance(value, torch.Tensor) and value.device.type == "cpu" else value


def _stand_in(value):
    """A device tensor to record on, over the bytes of the real input."""
    if not isinstance(value, torch.Tensor):
        return value
    return _C.wrap(value.detach())


class _Graph:
    """The programs of one FX graph, one for each set of sizes it is called with (Dynamo's symbolic sizes are specialised here)."""

    def __init__(self, module):
        self.module = module
        self.programs = {}
        self._boxed_call = True  # AOTAutograd hands over a list

    def key(self, inputs):
        return _C.composites(), *((*v.shape, -1, *v.stride(), v.dtype, v.device.type) if isinstance(v, torch.Tensor) else v for v in inputs)

    def record(self, inputs):
        with torch.no_grad():
            _C.begin_capture()
            try:
                stand_ins = [_stand_in(v) for v in inputs]
                results = _Recorder(self.module).run(*stand_ins)
                flat = list(results) if isinstance(results, (tuple, list)) else [results]
                tensors = [v for v in stand_ins if isinstance(v, torch.Tensor)]
                outputs = [v for v in flat if isinstance(v, torch.Tensor)]
                program = _C.end_capture(tensors, outputs)
            finally:
                _C.abort_capture()
        return program, [None if isinstance(v, torch.Tensor) else (v,) for v in flat]

    def __call__(self, inputs):
        key = self.key(inputs)
        if key not in self.programs:
            self.programs[key] = self.record(inputs)
        program, others = self.programs[key]
        results = iter(program.run([v for v in inputs if isinstance(v, torch.Tensor)]))
        return [next(results) if other is None else other[0] for other in others]


def _compile(module, inputs):
    return _Graph(module)


def backend(module, inputs, **_):
    """The backend function that Dynamo calls with an FX graph and example inputs."""
    return aot_autograd(fw_compiler=_compile, bw_compiler=_compile)(module, inputs)
