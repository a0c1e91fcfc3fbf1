"""Takes out of first calls what Dynamo spends there besides tracing.

Python's garbage collector walks all objects again and again while Dynamo makes new ones, next to none of which become garbage before it is done and collects them itself
(torch._dynamo.config.run_gc_after_compile). For each operator Dynamo looks up the function that its line stands in, for which it cuts whole source files into tokens, also
where the only reader, the log of TORCH_LOGS=trace_call, is off. The operators that PyTorch registers while Dynamo imports modules look up where they are
written, for which Python resolves the files of all modules. Guards are timed once, with all caches emptied before, for the log of TORCH_LOGS=guards. And each function is compared with
torch.distributed's local_map, for which its experiments are imported, also where nobody has asked for that. And convolutions ask which of PyTorch's kernels would run them, which
goes by the number of elements: a guard for each, with one image of changing size, and a graph for each outcome (a ResNet-18 of 24 sizes 5 graphs in 9.8 s, without 2 in 4.4).
"""

import contextlib
import gc
import logging
import sys

import torch
from torch._dynamo import disable, guards, output_graph, symbolic_convert
from torch._dynamo.callback import callback_handler
from torch._dynamo.variables.higher_order_ops import LocalMapWrappedHigherOrderVariable as LocalMap
from torch._library import utils as library
from torch._prims_common import make_contiguous_strides_for
from torch.fx.experimental.symbolic_shapes import statically_known_true

_until_compiled = contextlib.ExitStack()


def _caller(stacklevel):
    """As PyTorch's, of the frame itself."""
    frame = sys._getframe(stacklevel)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_row_major(t):
    return all(statically_known_true(a == b) for a, b in zip(t.stride(), make_contiguous_strides_for(t.shape)))


_select_conv_backend = torch._C._select_conv_backend


def _conv_backend(input, weight, *args, **kwargs):
    """As PyTorch's, if the format of the result depends on it; on the CPU it does where channels are last."""
    if input.device.type == "cpu" and not input.is_mkldnn and _is_row_major(input) and _is_row_major(weight):
        return torch._C._ConvBackend.Overrideable
    return _select_conv_backend(input, weight, *args, **kwargs)


def _replace(module, name, function):
    _until_compiled.callback(setattr, module, name, getattr(module, name))
    setattr(module, name, function)


@disable  # a gradient that is compiled by need calls these within functions that Dynamo follows, and waits for itself if it begins to compile them
def _begin(_):
    if gc.isenabled():
        gc.disable()
        _until_compiled.callback(gc.enable)
    if not output_graph.trace_call_log.isEnabledFor(logging.DEBUG):
        _replace(symbolic_convert, "get_funcname", lambda filename, line: None)
    _replace(library, "get_source", _caller)
    if not guards.guards_log.isEnabledFor(logging.DEBUG):
        _replace(guards, "profile_guard_manager", lambda *_: 0.0)
    _replace(torch._C, "_select_conv_backend", _conv_backend)
    is_local_map = LocalMap.should_wrap_in_hop
    _replace(LocalMap, "should_wrap_in_hop", lambda value: LocalMap._enabled and is_local_map(value))


@disable
def _end(_):
    _until_compiled.close()


def shorten():
    """From the next compilation on, until torch._dynamo.reset() forgets it. Dynamo calls both once for an outermost frame."""
    if _begin not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_begin)
        callback_handler.register_end_callback(_end)
