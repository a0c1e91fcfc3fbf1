"""A function, module or exported program as StableHLO text, for somebody else's compiler."""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from . import _C
from .recorder import _DEVICE, _on_device, _Recorder, recording


class _Exported(torch.nn.Module):
    """An exported program whose tensors, and those it makes itself on the CPU, are on the device."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        return _Recorder(self.module).run(*pytree.tree_leaves((args, kwargs)), enable_io_processing=False)


class _OnDevice(TorchDispatchMode):
    """What the function has or makes on the CPU joins its arguments on the device as soon as it meets them."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(isinstance(v, torch.Tensor) and v.device == _DEVICE for v in pytree.tree_leaves((args, kwargs))):
            written = {a.name for a in function._schema.arguments if a.alias_info and a.alias_info.is_write}
            args = [v if a.name in written else pytree.tree_map(self.place, v) for a, v in zip(function._schema.arguments, args)]
            kwargs = {k: v if k in written else pytree.tree_map(self.place, v) for k, v in kwargs.items()}
        return function(*args, **kwargs)

    @staticmethod
    def place(value):
        return value.contiguous().to(_DEVICE) if isinstance(value, torch.Tensor) and value.device.type == "cpu" else _on_device(value)


class _AheadOfDispatch(TorchFunctionMode):
    """What looks at tensors before the dispatcher does: tolist and numpy read memory on the CPU of what was to be moved there; cdist refuses tensors of two devices."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.Tensor.tolist, torch.Tensor.numpy) and args[0].device == _DEVICE:
            with _disable_current_modes():
                args = (args[0].cpu(), *args[1:])
        elif function is torch.cdist:
            args = pytree.tree_map(_OnDevice.place, args)
        return function(*args, **(kwargs or {}))


def stablehlo(function, *args, custom_calls=False, **kwargs):
    """The StableHLO of `function(*args, **kwargs)`, with composites whole as torch_cresset.composites selects them.

    function: any callable, a torch.nn.Module, or a torch.export.ExportedProgram, which without arguments takes those that it was exported with; on CPU or device tensors. It is run once
    on stand-ins and must not read a value that depends on them. Gradients that it takes (torch.autograd.grad, torch.func.grad) are part of the text, their operators whole as well.
    custom_calls: each composite becomes a `stablehlo.custom_call` of its name, its attributes as `backend_config` (typed FFI, API version 4).

    @main takes the tensors among the arguments in order, then the module's parameters and buffers in the order of named_parameters() and named_buffers(), then
    other tensors that the function uses. Its results are the tensors among the results; complex ones are pairs, in a last dimension of 2. Sizes are static. The integers among a module's
    buffers may be read, as strides and sizes that some keep there: the text then holds for these values. Raises RuntimeError if an operator is not lowered or reads another value.
    """
    if isinstance(function, torch.export.ExportedProgram):
        if not args and not kwargs and function.example_inputs:
            args, kwargs = function.example_inputs
        function = _Exported(function.module())
    state = dict(function.named_parameters()) | dict(function.named_buffers()) if isinstance(function, torch.nn.Module) else {}
    flat, spec = pytree.tree_flatten((args, kwargs))
    given = [v for v in flat if isinstance(v, torch.Tensor)]
    with recording(calls_kernels=False):
        # Somebody else's compiler knows a tensor by its shape, not by how it lies in memory.
        stand_ins = [_C.wrap(t.detach().contiguous()).requires_grad_(t.requires_grad) for t in given]
        stand_ins += [_C.wrap(t.detach().contiguous(), known=not t.is_floating_point() and not t.is_complex()).requires_grad_(t.requires_grad) for t in state.values()]
        left = iter(stand_ins)
        args, kwargs = pytree.tree_unflatten([next(left) if isinstance(v, torch.Tensor) else v for v in flat], spec)
        # As under torch.compile and torch.export, a library leaves out what depends on values (transformers: a look at the padding mask).
        with torch.compiler._compile_session_context(), _OnDevice(), _AheadOfDispatch():
            if isinstance(function, torch.nn.Module):
                results = torch.func.functional_call(function, dict(zip(state, left)), args, kwargs)
            else:
                results = function(*args, **kwargs)
        outputs = [v for v in pytree.tree_leaves(results) if isinstance(v, torch.Tensor)]
        return _C.end_capture_as_text(stand_ins, outputs, custom_calls)
