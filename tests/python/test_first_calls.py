"""The first call of an operator asks for shapes only: it must not wait for Dynamo, which takes longer to import than PyTorch, nor for
SymPy, which PyTorch's meta functions in Python import. Where Dynamo is wanted, it only traces."""

import contextlib
import gc
import itertools
import logging
import pathlib
import subprocess
import sys

import torch
import torch.nn.functional as F
import yaml
from torch._library import utils as library
from torch._subclasses import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from torch_cresset import direct, first_calls

ENTRIES = {entry["func"] for entry in yaml.safe_load((pathlib.Path(__file__).parents[2] / "ops" / "aten.yaml").read_text())}
NAMES = {entry.partition(".")[0] for entry in ENTRIES}

CALLER = """
import sys, torch, torch_cresset
from torch.utils._pytree import tree_map_only
assert "torch._dynamo" not in sys.modules, "import torch_cresset imports Dynamo"
sys.modules["torch._dynamo"] = sys.modules["sympy"] = None  # importing them is an error
for name, args, kwargs in torch.load(sys.argv[1]):
    packet, _, overload = name.partition(".")
    try:
        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.to("cresset"), (args, kwargs))
        getattr(getattr(torch.ops.aten, packet), overload or "default")(*args, **kwargs)
    except Exception as error:
        print(name, str(error).splitlines()[0], flush=True)
"""


STEPS = """
import sys, torch, torch_cresset
import torch.nn.functional as F
assert "torch._dynamo" not in sys.modules, "import torch_cresset imports Dynamo"
sys.modules["torch._dynamo"] = None  # importing it is an error

def of(*shape):
    return torch.randn(shape).to("cresset").requires_grad_()

for step in (
    lambda: F.layer_norm(of(4, 8), (8,), of(8), of(8)),
    lambda: F.group_norm(of(2, 8, 3, 3), 4, of(8), of(8)),
    lambda: F.batch_norm(of(2, 8, 3, 3), torch.zeros(8).to("cresset"), torch.ones(8).to("cresset"), of(8), of(8), training=True),
    lambda: F.rms_norm(of(4, 8), (8,), of(8)),
    lambda: F.gelu(of(4, 8)) + F.silu(of(4, 8)),
    lambda: F.scaled_dot_product_attention(of(2, 2, 8, 16), of(2, 2, 8, 16), of(2, 2, 8, 16), is_causal=True),
    lambda: F.softmax(of(4, 8), -1) @ of(8, 8),
    lambda: F.max_pool2d(F.conv2d(of(2, 3, 9, 9), of(4, 3, 3, 3), of(4)), 2),
    lambda: F.embedding(torch.tensor([1, 2]).to("cresset"), of(5, 8)),
    lambda: F.mse_loss(F.dropout(torch.addmm(of(8), of(2, 4), of(4, 8)), 0.5), of(2, 8)),
    lambda: F.cross_entropy(of(4, 8), torch.tensor([1, 2, 3, 4]).to("cresset")),
):
    step().sum().backward()
with torch.no_grad():
    F.linear(of(2, 4), of(8, 4), of(8)), F.linear(of(2, 3, 4), of(8, 4))
"""


class Calls(TorchDispatchMode):
    """The first call of each operator of the table."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::") + (f".{func._schema.overload_name}" if func._schema.overload_name else "")
        if name in ENTRIES and name not in self.seen:
            detached = tree_map_only(torch.Tensor, lambda t: t.detach().clone(), (args, kwargs or {}))
            if not any(isinstance(v, (torch.device, torch.Generator)) for v in tree_leaves(detached)):
                self.seen[name] = detached
        return func(*args, **(kwargs or {}))


def test_no_operator_imports_dynamo_or_sympy(tmp_path):
    calls = Calls()
    with calls:
        for info in op_db:
            if torch.float32 not in info.supported_dtypes("cpu") or not (info.name.startswith("nn.functional") or info.aten_name in NAMES) or info.variant_test_name:
                continue
            gradient = info.supports_autograd and torch.float32 in info.supported_backward_dtypes("cpu")
            for _, sample in zip(range(1), info.sample_inputs("cpu", torch.float32, requires_grad=gradient)):
                try:
                    results = [t for t in tree_leaves(info(sample.input, *sample.args, **sample.kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
                    if results:
                        torch.autograd.backward(results, [torch.ones_like(r) for r in results])
                except Exception:  # not of this device's concern
                    continue
    assert len(calls.seen) > 200
    torch.save([(name, *call) for name, call in calls.seen.items()], tmp_path / "calls.pt")
    output = subprocess.run([sys.executable, "-c", CALLER, tmp_path / "calls.pt"], capture_output=True, text=True, check=True).stdout
    assert output == ""


def test_layers_do_not_import_dynamo():
    """With their gradients. (An optimizer of PyTorch's imports Dynamo itself, torch.autograd.grad SymPy.)"""
    subprocess.run([sys.executable, "-c", STEPS], check=True)


def collected_while_compiling(monkeypatch, function, *inputs):
    """Whether Python's garbage collector was on while Dynamo compiled the function, which may fail."""
    seen, record = [], direct.Recorder.record
    monkeypatch.setattr(direct.Recorder, "record", lambda *args: seen.append(gc.isenabled()) or record(*args))
    with contextlib.suppress(torch._dynamo.exc.Unsupported):
        torch.compile(function, backend="cresset", fullgraph=True)(*inputs)
    return seen


def test_dynamo_compiles_without_garbage_collection(monkeypatch):
    x = torch.randn(4)
    first_calls.shorten()
    assert collected_while_compiling(monkeypatch, lambda x: x.exp() + 1, x) == [False] and gc.isenabled()
    torch._dynamo.reset()  # forgets it; the compilation after the next one knows it again
    assert collected_while_compiling(monkeypatch, lambda x: x.exp() + 2, x) == [True] and gc.isenabled()
    assert collected_while_compiling(monkeypatch, lambda x: x.exp() + 3, x) == [False] and gc.isenabled()
    assert collected_while_compiling(monkeypatch, lambda x: torch._dynamo.graph_break() or x, x) == [] and gc.isenabled()
    gc.disable()
    try:
        assert collected_while_compiling(monkeypatch, lambda x: x.exp() + 4, x) == [False] and not gc.isenabled()
    finally:
        gc.enable()


LAZY = """
import torch
def f(x, w):
    y = (x * w).view(-1)
    part = y[:2]  # of another result: AOTAutograd traces it, and compiles the gradient when it is asked for
    torch._dynamo.graph_break()
    return torch.autograd.grad(y.sum() + part.sum(), w)[0]
x, w = torch.randn(2, 3), torch.randn(2, 3, requires_grad=True)
torch.testing.assert_close(torch.compile(f, backend="cresset")(x, w), f(x, w))
"""


def test_a_gradient_that_is_compiled_within_a_compiled_function():
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=120)


def test_who_logs_calls_sees_the_names_of_functions():
    def named(x):
        return x.exp()

    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("torch._dynamo.output_graph.__trace_call")
    try:
        torch._logging.set_logs(trace_call=True)
        logger.addHandler(handler)
        torch.compile(named, backend="cresset")(torch.randn(4))
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()
    assert any("TRACE FX call exp" in line and "test_who_logs_calls_sees_the_names_of_functions.named)" in line for line in lines), lines


def test_an_operator_registered_while_dynamo_traces_knows_its_place():
    places, plain = [], library.get_source

    def note(module, inputs):
        assert library.get_source is not plain
        places.extend((library.get_source(1), plain(1)))  # of the same line
        return module.forward

    first_calls.shorten()
    torch.compile(lambda x: x.exp() + 5, backend=note)(torch.randn(4))
    assert len(places) == 2 and places[0] == places[1] and library.get_source is plain


def test_guards_are_timed_for_who_logs_it_only(monkeypatch):
    from torch._dynamo import guards

    timed, time = [], guards.profile_guard_manager
    monkeypatch.setattr(guards, "profile_guard_manager", lambda *args: timed.append(args) or time(*args))
    first_calls.shorten()
    torch.compile(lambda x: x.exp() + 6, backend="cresset")(torch.randn(4))
    assert not timed
    monkeypatch.setattr(guards.guards_log, "isEnabledFor", lambda level: True)
    torch.compile(lambda x: x.exp() + 7, backend="cresset")(torch.randn(4))
    assert len(timed) == 1


def test_experiments_of_distributed_are_imported_by_who_asks_for_them():
    subprocess.run([sys.executable, "-c", """
import sys, torch_cresset
from torch._dynamo.variables.higher_order_ops import LocalMapWrappedHigherOrderVariable as LocalMap
from torch_cresset import first_calls
first_calls._begin(None)
assert not LocalMap.should_wrap_in_hop(len)
assert "torch.distributed.tensor.experimental" not in sys.modules
with LocalMap.enable():
    from torch.distributed.tensor.experimental._func_map import _local_map_wrapped
    assert LocalMap.should_wrap_in_hop(_local_map_wrapped)
first_calls._end(None)
assert not LocalMap.should_wrap_in_hop(_local_map_wrapped)
"""], check=True)


def test_convolutions_of_one_image_are_two_graphs():
    """One of the first size, one of all: PyTorch's choice among its own kernels, from 20480 elements on, guards none."""
    torch._dynamo.reset()
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 1))
    compiled = torch.compile(net, backend="cresset")
    torch._dynamo.utils.counters.clear()
    with torch.no_grad():
        for size in (40, 21, 52, 73, 94, 151):
            x = torch.randn(1, 3, size, size + 1)
            torch.testing.assert_close(compiled(x), net(x))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2


def test_formats_of_convolutions_are_pytorchs(monkeypatch):
    """Where that choice is left out, and where it is not."""
    formats = torch.contiguous_format, torch.channels_last
    for c, h, w, o, k, of_input, of_kernel in itertools.product((1, 3), (1, 5), (1, 6), (1, 4), (1, 3), formats, formats):
        def strides():
            with FakeTensorMode() as mode:
                FakeTensorMode.cache.clear()
                return F.conv2d(mode.from_tensor(x), mode.from_tensor(kernel), padding=1).stride()

        x, kernel = torch.randn(2, c, h, w).to(memory_format=of_input), torch.randn(o, c, k, k).to(memory_format=of_kernel)
        expected = strides()
        with monkeypatch.context() as patched:
            patched.setattr(torch._C, "_select_conv_backend", first_calls._conv_backend)
            assert strides() == expected
