"""The torch.cresset module, and what PyTorch asks of a device in Python."""

import os
import sys
import types

import torch

from . import _C


def _index(device):
    if device is None:
        return 0
    index = device if isinstance(device, int) else torch.device(device).index
    if index not in (None, 0, -1):
        raise RuntimeError(f"cresset: invalid device ordinal {index}; this backend has one device, cresset:0")
    return 0


class _Device:
    """Context manager `with torch.cresset.device(0)`; there is one device, so it changes nothing."""

    def __init__(self, device=None):
        self.idx = _index(device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class _Refusal(type):
    def __getattr__(cls, name):
        raise RuntimeError('cresset: Inductor does not compile for this device; write torch.compile(model, backend="cresset")')


class _NoInductor(metaclass=_Refusal):
    """What Inductor finds as its code generator for this device: whatever it asks for, it is told what to do."""


def _for_inductor(name):
    """Attributes that Inductor looks up once it compiles anything."""
    if name not in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):
        raise AttributeError(f"module 'torch.cresset' has no attribute {name!r}")
    from torch._inductor.codegen.common import get_device_op_overrides, register_device_op_overrides

    get_device_op_overrides("cpu")  # PyTorch registers its own with the first look-up, if there are none yet
    register_device_op_overrides("cresset", None)
    return _NoInductor


def _module():
    m = types.ModuleType("torch.cresset", "The device \"cresset\".")
    generator = _C.default_generator()

    def manual_seed(seed):
        generator.manual_seed(int(seed))

    m.is_available = lambda: True
    m.is_initialized = lambda: True
    m._initialized = True  # torch.utils.checkpoint asks, before it restores the state of random numbers
    m._is_in_bad_fork = lambda: False
    m.init = lambda: None
    m.device_count = lambda: 1
    m.current_device = lambda: 0
    m.set_device = lambda device: _index(device) and None
    m.get_device_name = lambda device=None: "cresset (CPU)"
    m.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    m.synchronize = lambda device=None: (_index(device), _C.sync())[1]
    m.manual_seed = manual_seed
    m.manual_seed_all = manual_seed
    m.seed = generator.seed
    m.initial_seed = generator.initial_seed
    m.get_rng_state = lambda device=None: generator.get_state()
    m.set_rng_state = lambda state, device=None: generator.set_state(state)
    m.default_generators = (generator,)
    m.memory_stats = lambda device=None: _C.memory_stats()
    m.memory_allocated = lambda device=None: _C.memory_stats()["in_use"]
    m.max_memory_allocated = lambda device=None: _C.memory_stats()["peak"]
    m.memory_reserved = lambda device=None: _C.memory_stats()["in_use"] + _C.memory_stats()["cached"]
    m.reset_peak_memory_stats = lambda device=None: _C.reset_peak_memory()
    m.empty_cache = _C.empty_cache
    m.device = _Device
    m._DeviceGuard = _Device
    m.Stream = torch.Stream
    m.Event = torch.Event
    m.__getattr__ = _for_inductor
    m.current_stream = lambda device=None: torch.Stream(device=torch.device("cresset", 0))
    return m


def _support_optimizers():
    """foreach and fused optimizers list the devices they work on; an optimizer step ends a window of the trace."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    from torch.utils import _foreach_utils

    name = torch._C._get_privateuse1_backend_name()
    for getter in ("_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices"):
        known = getattr(_foreach_utils, getter)()
        if name not in known:
            setattr(_foreach_utils, getter, lambda known=known: [*known, name])
    register_optimizer_step_pre_hook(_unless_compiling(_C.begin_optimizer_step))
    register_optimizer_step_post_hook(_unless_compiling(_C.end_optimizer_step))


def _unless_compiling(call):
    def hook(*_):
        if not torch.compiler.is_compiling():  # Dynamo would break its graph at the call
            call()

    return hook


def _follow_threads():
    original = torch.set_num_threads

    def set_num_threads(threads):
        original(threads)
        _C.set_num_threads(threads)

    set_num_threads.__doc__ = original.__doc__
    torch.set_num_threads = set_num_threads
    if not os.environ.get("CRESSET_THREADS"):
        _C.set_num_threads(torch.get_num_threads())


_registered = False


def register():
    """Makes the device known to PyTorch, once."""
    global _registered
    if _registered:
        return
    _registered = True
    torch.utils.rename_privateuse1_backend("cresset")
    module = _module()
    sys.modules["torch.cresset"] = module
    torch._register_device_module("cresset", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=False, for_storage=True)
    _support_optimizers()
    _follow_threads()
