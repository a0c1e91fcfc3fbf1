"""torch.compile(model, backend="cresset"): inference and training from the same lowerings as the device.

Dynamo guards; each graph is recorded once on stand-ins for its inputs, with its gradients, and becomes one program or two, which are then called
directly (direct.py). An operator that is not lowered runs eagerly between two programs, counted and named once in a warning. AOTAutograd traces what can't be recorded so. CPU tensors go in and come out without copies.
"""

import contextlib
import functools
import logging
import operator
import os
import pickle
import warnings

import torch
from torch._C._dynamo.guards import compute_overlapping_tensors
from torch._dynamo.aot_compile_types import SerializableCallable
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.convert_frame import innermost_backend
from torch._dynamo.precompile_context import BackendCacheArtifact, PrecompileContext
from torch._dynamo.variables.builder import VariableBuilder
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.autograd import forward_ad
from torch.fx.passes.split_module import split_module
from torch.utils.checkpoint import CheckpointPolicy

from . import _C, direct, first_calls, operators
from .programs import Programs, listed
from .recorder import _DEVICE, _NotLowered, _Recorder, recording
from .training import apart

_log = logging.getLogger(__name__)


def _stand_in(value):
    """A device tensor to record on, over the bytes of the real input."""
    if not isinstance(value, torch.Tensor):
        return value
    return _C.wrap(value.detach())


_warned = set()


class _Eager(torch.nn.Module):
    """One operator of a graph that can't be part of a captured program."""

    def __init__(self, module, target):
        super().__init__()
        self.module, self.name = module, str(target).removesuffix(".default").replace(".", "::", 1)

    def forward(self, *inputs):
        if all(not isinstance(v, torch.Tensor) or v.device.type == "cpu" for v in inputs):  # on the device the fallback counts and warns
            _C.count(self.name)
            if self.name not in _warned and os.environ.get("CRESSET_FALLBACK") != "allow":
                _warned.add(self.name)
                warnings.warn(f"cresset: {self.name} is not lowered and runs eagerly, which splits the compiled graph there. "
                              "To lower it see docs/adding-an-op.md; to silence this, CRESSET_FALLBACK=allow")
        return self.module(*inputs)


class _Piece(torch.nn.Module):
    """A part of a graph between such operators."""

    def __init__(self, module):
        super().__init__()
        self.graph = Graph(module)

    def forward(self, *inputs):
        results = self.graph(inputs)
        return results[0] if len(results) == 1 else tuple(results)


def _split(module, not_lowered):
    """The module as pieces that are compiled and operators that run eagerly, in the order of the graph."""
    piece, pieces = 0, {}
    for node in list(module.graph.nodes):  # several results are taken apart where they are made: only tensors pass between pieces
        if node.target is operator.getitem and node.args[0].name in not_lowered:
            node.args[0].append(node)
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        if node.name in not_lowered:
            pieces[node] = piece + 1
            piece += 2
        elif node.target is operator.getitem and node.args[0].name in not_lowered:
            pieces[node] = pieces[node.args[0]]
        else:
            pieces[node] = piece
    parts = split_module(module, None, lambda node: pieces[node], keep_original_order=True)
    eager = {f"submod_{pieces[node]}": node.target for node in pieces if node.name in not_lowered}
    for name, child in list(parts.named_children()):
        setattr(parts, name, _Eager(child, eager[name]) if name in eager else _Piece(child))
    return parts


def _results_elsewhere(module):
    """The results that are to be elsewhere than the graph's inputs, by number and device."""
    def place(node):
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        return value.device.type if isinstance(value, torch.Tensor) else None

    places = {place(node) for node in module.graph.nodes if node.op == "placeholder"}
    results = listed(next(node for node in module.graph.nodes if node.op == "output").args[0])
    home = _DEVICE.type if _DEVICE.type in places else "cpu"
    return [(i, place(node)) for i, node in enumerate(results) if place(node) not in (None, home)]


def _is_view_of_input(node):
    while node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and node.target.is_view:
        node = node.args[0]
    return node.op == "placeholder"


class Graph:
    """A functional graph, as AOTAutograd's are. Called with a list of inputs of any sizes, it runs as one program, or in pieces around operators that can't be part of one."""

    def __init__(self, module, apart=False):
        """`apart`: results share no memory, as gradients."""
        self.module, self.apart, self.programs = module, apart, Programs()
        self.elsewhere = _results_elsewhere(module)
        self.not_lowered = set()
        self.parts = None
        self.counting = {node.name for node in module.graph.nodes if direct.counts_in_storage(node) and _is_view_of_input(node.args[0])}
        self._boxed_call = True  # AOTAutograd hands over a list

    def record(self, inputs):
        with torch.no_grad(), recording():
            stand_ins = [_stand_in(v) for v in inputs]
            results = [v.to(_DEVICE) if isinstance(v, torch.Tensor) else v for v in listed(_Recorder(self.module).run(*stand_ins))]  # the token that orders effects is the CPU's
            tensors = [v for v in stand_ins if isinstance(v, torch.Tensor)]
            outputs = [v for v in results if isinstance(v, torch.Tensor)]
            program = _C.captured_program(tensors, apart(outputs, tensors) if self.apart else outputs)
        self.programs.add(inputs, program, results)

    def __call__(self, inputs):
        results = self.run(inputs)
        for i, device in self.elsewhere:
            results[i] = results[i].to(device)
        return results

    def run(self, inputs):
        if self.counting and any(isinstance(v, torch.Tensor) and v.storage_offset() for v in inputs):
            self.not_lowered |= self.counting
            self.parts, self.counting = _split(self.module, self.not_lowered), set()
        if self.parts is not None:
            return listed(self.parts(*inputs))
        results = self.programs.run(inputs)
        if results is not None:
            return results
        try:
            self.record(inputs)
        except _NotLowered as error:
            self.not_lowered.add(error.node.name)
            self.parts = _split(self.module, self.not_lowered)
            return self.run(inputs)
        return self.programs.run(inputs)


def _compile(module, inputs):
    return Graph(module)


def _compile_backward(module, inputs):
    return Graph(module, apart=True)


_DECOMPOSED = (torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd)


@functools.cache
def _ours_decomposed_in_python():
    """Operators that the device has a kernel for, but that PyTorch's Python takes apart before autograd records them (hardshrink, upsampling)."""
    tables = torch._decomp.global_decomposition_table.values()
    decomposed = {op for table in tables for op in table if isinstance(op, torch._ops.OpOverload) and any(key in op.py_kernels for key in _DECOMPOSED)}
    ours = {op.overloadpacket for op in decomposed if torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "PrivateUse1")}
    ours.discard(torch.ops.aten.native_batch_norm)  # changes its running statistics, which its schema does not say
    ours -= operators.traced  # it is Python of ours that keeps those whole
    return [op for op in decomposed if op.overloadpacket in ours]


@contextlib.contextmanager
def _whole():
    """While it lasts, AOTAutograd finds these operators whole."""
    decomposed = _ours_decomposed_in_python()
    kernels = {op: dict(op.py_kernels) for op in decomposed}
    try:
        for op in decomposed:
            for key in _DECOMPOSED:
                op.py_kernels.pop(key, None)
            op._dispatch_cache.clear()
        yield
    finally:
        for op in decomposed:
            op.py_kernels.update(kernels[op])
            op._dispatch_cache.clear()


# What PyTorch's tracer sees of those that operators.py keeps whole, and of users' own.
_OURS = {"cresset.linear", "cresset.composite"}


def _is_random(node):
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags


# Their gradients compare the input with the extreme, which is equal to an element only if that is not computed once more. (Within a program the kernels see to it:
# keep_apart in src/cpu/loops/rows.cpp goes by what is compared, which no operator's name says there.)
_EXTREMES = {"aten.amax", "aten.amin", "aten.max", "aten.min", "aten.aminmax", "aten.linalg_vector_norm"}


def _partition(joint, inputs, **options):
    """Forward and backward as two graphs. Results of whole operators are saved for the backward, but for those under torch.utils.checkpoint; of these what draws numbers, so that
    the backward has the same. Pieces of what is written by hand are computed again there, where raising the gradient needs all of them: gelu_backward is seen from x, not from
    the tanh inside. Equal operators become one where they are recorded."""
    for node in joint.graph.nodes:
        name = str(node.target).removesuffix(".default")
        if node.op != "call_function":
            continue
        if _is_random(node) or (node.target is operator.getitem and _is_random(node.args[0])):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        elif name in _OURS or _C.is_saved(name):
            node.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
        if name in _EXTREMES and node.args[0].op == "call_function":
            node.args[0].meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
    with torch._functorch.config.patch(ban_recompute_used_far_apart=False, ban_recompute_long_fusible_chains=False, ban_recompute_materialized_backward=False,
                                       ban_recompute_reductions=False, cse=False):
        return min_cut_rematerialization_partition(joint, inputs, **options)


def _has_tangents(inputs):
    """Whether forward-mode AD follows one of them: programs run below it and would lose them."""
    return forward_ad._current_level >= 0 and any(isinstance(v, torch.Tensor) and forward_ad.unpack_dual(v).tangent is not None for v in inputs)


def _through_aot_autograd(module, inputs):
    with operators.whole(), _whole():
        traced = aot_autograd(fw_compiler=_compile, bw_compiler=_compile_backward, partition_fn=_partition)(module, inputs)
    return lambda *inputs: module(*inputs) if _has_tangents(inputs) else traced(*inputs)


def _overlapping(inputs):
    """Which of the inputs share elements with others."""
    sharing = {}
    for i, v in enumerate(inputs):
        if isinstance(v, torch.Tensor):
            sharing.setdefault(v.untyped_storage()._cdata, []).append(i)
    return tuple(tuple(group[i] for i in sorted(compute_overlapping_tensors([inputs[i] for i in group], symbolic=False))) for group in sharing.values() if len(group) > 1)


def _hint(value):
    """An example of a symbolic size."""
    return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


class _Direct(SerializableCallable):
    """A graph of Dynamo's without AOTAutograd, whose first inputs are what `held()` returns, if there is such. Raises what keeps it from being recorded directly.

    Dynamo can write it down for other processes (aot_compile, caching_precompile), which record it when they first call it."""

    def __init__(self, graph, trains, home, held=None):
        self.graph, self.trains, self.home, self.held, self.programs = graph, trains, home, held, Programs()
        self.is_unusual, self.otherwise = False, {}  # AOTAutograd's, by which inputs overlap: it guards sizes, but that only where they are symbolic
        self.recorder = direct.Recorder(graph, trains, direct.weights(graph), home)

    @classmethod
    def serialize_compile_artifacts(cls, fn):
        if fn.held:
            raise pickle.PicklingError("what the graph holds is of this process")
        return pickle.dumps((direct.to_bytes(fn.graph), fn.trains, fn.home))

    @classmethod
    def deserialize_compile_artifacts(cls, data):
        graph, trains, home = pickle.loads(data)
        return cls(direct.from_bytes(graph), trains, home)

    @functools.cached_property
    def plain(self):
        """The graph as PyTorch's functions."""
        return torch.fx.GraphModule({}, self.graph)

    def record(self, inputs):
        self.programs.add(inputs, *self.recorder.record(inputs))

    def __call__(self, *inputs):
        if self.held:
            inputs = (*self.held(), *inputs)
        if _has_tangents(inputs):
            return self.plain(*inputs)
        results = self.programs.run(inputs)
        if results is not None:
            return results
        overlapping = _overlapping(inputs)
        if not self.is_unusual and overlapping not in self.otherwise:
            try:
                self.record(inputs)
                return self.programs.run(inputs)
            except Exception as error:  # of these sizes
                _say_why(error)
                self.is_unusual = not isinstance(error, direct.SharesMemory)
        if overlapping not in self.otherwise:
            self.otherwise[overlapping] = torch.compile(torch.fx.GraphModule({}, self.graph), backend=_through_aot_autograd)
        return self.otherwise[overlapping](*inputs)


class _Artifact(BackendCacheArtifact):
    """What Dynamo's cache (torch._dynamo.config.caching_precompile) keeps of a graph."""

    def after_deserialization(self):
        return _Direct.deserialize_compile_artifacts(self.content)


def _say_why(error):
    _C.count("cresset.aot_autograd")
    _log.debug("traced by AOTAutograd: %s", error)


def backend(module, inputs, **_):
    """The backend function that Dynamo calls with an FX graph and example inputs."""
    first_calls.shorten()
    try:
        graph, held = direct.lifted(module)
        examples = [*(held() if held else ()), *(_hint(v) for v in inputs)]
        compiled = _Direct(graph, direct.check(graph, examples), direct.home_of(examples), held)
        with contextlib.suppress(direct.SharesMemory):  # others may not
            compiled.record(examples)
    except Exception as error:  # whatever it is: AOTAutograd's way raises what is the user's
        _say_why(error)
        return _through_aot_autograd(module, inputs)
    if torch._dynamo.config.caching_precompile and hasattr(module, "_backend_id"):
        with contextlib.suppress(Exception):  # what can't be written is traced again
            PrecompileContext.record_artifact(_Artifact(module._backend_id, _Direct.serialize_compile_artifacts(compiled)))
    return compiled


def _is_ours(compiler):
    compiler = innermost_backend(compiler)
    return getattr(compiler, "compiler_fn", compiler) is backend  # what torch.compile makes of a backend has it


_wrap_module = VariableBuilder.wrap_module


@functools.wraps(_wrap_module)
def _with_recurrent_networks(self, value):
    """Dynamo ends a graph at nn.LSTM, GRU and RNN, because compilers see all operators of all steps. This one sees one operator."""
    allowed = torch._dynamo.config.patch(allow_rnn=True) if isinstance(value, torch.nn.RNNBase) and _is_ours(self.tx.output.compiler_fn) else contextlib.nullcontext()
    with allowed:
        return _wrap_module(self, value)


VariableBuilder.wrap_module = _with_recurrent_networks
first_calls.shorten()
