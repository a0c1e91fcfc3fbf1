"""Cresset: an out-of-tree device and compiler for PyTorch.

`import torch` loads it (entry point torch.backends); tensors on torch.device("cresset") are traced, lowered to StableHLO in
which high-level operators stay whole, and compiled for the CPU.
"""

import contextlib


def _autoload():
    """Registers the device. `import torch` calls it through the entry point torch.backends, also from within the import below
    when torch_cresset is imported first: so it stands above that."""
    from . import device

    device.register()


import torch

if not torch.__version__.startswith("2.13."):
    raise ImportError(f"torch_cresset was built for PyTorch 2.13, this is {torch.__version__}; pip install torch==2.13.0")

from . import _C

__version__ = "0.1.0"


def counters():
    """Counts by name: "cresset::gelu" an operator recorded, "aten::gelu" one that fell back to the CPU, "cresset.compile",
    "cresset.execute" and "cresset.cache_hit" programs compiled, run and found compiled, "cresset.kernel_compile", "cresset.kernel_hit" and
    "cresset.kernel_disk_hit" kernels compiled and found, in memory or on disk; "cresset.begun_early" programs of which kernels ran while
    they were recorded again, "cresset.begun_in_vain" such runs thrown away because something else was recorded; "cresset.split" programs run in pieces because some of their
    sizes keep changing, "cresset.kernel_shared" kernels that run the code of another size; "cresset.eager" programs, or their parts, of sizes that came for the first time and were left to PyTorch's own kernels,
    "cresset.eager_failed" such that had to be compiled after all; "cresset.in_pieces" exported programs that run in pieces around operators that are not lowered."""
    return _C.counters()


def reset_counters():
    """Sets all counters to zero."""
    _C.reset_counters()


def metrics_report():
    """Counters, each compilation with its reason, and memory, as text."""
    return _C.metrics_report()


def compile_records():
    """One dict for each program compiled: hash, nodes, seconds, why, path (with CRESSET_DUMP), kernels, unique_kernels, arena_bytes, temporary_bytes, donated_bytes, kept_bytes."""
    return _C.compile_records()


def sync():
    """Runs all pending work."""
    _C.sync()


@contextlib.contextmanager
def step():
    """Joins forward, backward and optimizer into one program: within the scope only reads execute, its end executes the rest."""
    _C.begin_step()
    try:
        yield
    finally:
        _C.end_step()


def load(program):
    """An exported program, ready to run: `torch_cresset.load(torch.export.export(model.eval(), (x,)))(x)`.

    program: a torch.export.ExportedProgram on the CPU, or the name of a file of torch.export.save's, or such a file. Its weights are not copied: what is written to them in place holds from the next
    call on. Returns a torch_cresset.executable.Executable, to be called as the model was. Raises ValueError for what can't be run: tensors on other devices, tokens and objects of classes in C++ among
    the inputs, gradients among the results."""
    from .executable import Executable  # and Dynamo, which takes as long to import as PyTorch

    return Executable(program if isinstance(program, torch.export.ExportedProgram) else torch.export.load(program))


from .composite import composite  # noqa: E402
from .control import composites, explain, include_path, interpreted, load_plugin, profile  # noqa: E402
from .export import stablehlo  # noqa: E402
from . import operators  # noqa: E402, F401

_autoload()
