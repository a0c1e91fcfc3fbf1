"""Graphs of Dynamo's that are recorded as the device records a user's model: forward and, in training, gradients by autograd itself, which a program each is made of.

That takes a hundredth of the time that AOTAutograd's tracing takes. Inputs that a graph writes to (batch norm's running statistics) are written in place. What it can't do
raises Unusual, and AOTAutograd traces the graph: graphs that return parts of inputs in training, that write to what has gradients or shares memory, or write what has gradients, that hold modules,
higher-order operators or functorch's transforms, or operators that are not lowered.
"""

import contextlib
import mmap
import operator
import pickle
import sys
import warnings

import torch

from . import _C, recurrent
from .programs import listed
from .recorder import _DEVICE, _on_device, recording

_STATEFUL = {"get_rng_state", "set_rng_state", "manual_seed", "seed", "initial_seed", "set_default_dtype", "set_default_device"}


class Unusual(Exception):
    """The graph is not one that can be recorded directly."""


def check(graph, inputs):
    """Whether gradients are wanted. Raises Unusual for graphs whose meaning would be lost; others that can't be recorded show it then."""
    tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
    if any(type(t) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or t.layout != torch.strided or t.device.type != "cpu" or t.is_quantized for t in tensors):
        raise Unusual("an input is no plain tensor on the CPU")
    trains = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    for node in graph.nodes:
        if node.op in ("call_module", "get_attr"):
            raise Unusual(f"{node.op} {node.target}")
        if node.op != "call_function":
            continue
        name, home = getattr(node.target, "__name__", ""), getattr(node.target, "__module__", None) or ""
        if isinstance(node.target, torch._ops.HigherOrderOperator) or "functorch" in home or name in _STATEFUL:
            raise Unusual(f"call of {node.target}")
        if name == "_set_grad_enabled" and node.args[0] and not trains and any(t.requires_grad for t in tensors):
            raise Unusual("gradients are switched on within it")
    return trains


class _FunctionRecorder(torch.fx.Interpreter):
    """Runs a graph of PyTorch's functions on device tensors; what asks for the CPU gets the device."""

    def __init__(self, graph, trains):
        super().__init__(torch.nn.Module(), graph=graph)
        self.trains = trains

    def placed(self, node, args, kwargs):
        args, kwargs = (torch.fx.node.map_aggregate(v, _on_device) for v in (args, kwargs))
        name = getattr(node, "__name__", node)
        if name == "_enter_autocast" and args[0] == "cpu":
            return (_DEVICE.type, *args[1:]), kwargs
        if name == "to" and len(args) > 1 and args[1] == "cpu":
            args = (args[0], _DEVICE, *args[2:])
        return args, {k: _DEVICE if k == "device" and v == "cpu" else v for k, v in kwargs.items()}

    def call_function(self, target, args, kwargs):
        args, kwargs = self.placed(target, args, kwargs)
        return super().call_function(recurrent.in_layers.get(target, target) if self.trains else target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return super().call_method(target, *self.placed(target, args, kwargs))


@contextlib.contextmanager
def _as_on_cpu():
    """What is on for the CPU is on for the device; grad mode is as before at the end."""
    grad = torch.is_grad_enabled()
    autocast = torch.autocast(_DEVICE.type, dtype=torch.get_autocast_dtype("cpu"), cache_enabled=torch.is_autocast_cache_enabled()) if torch.is_autocast_enabled("cpu") else contextlib.nullcontext()
    try:
        with autocast, _DEVICE:
            yield
    finally:
        torch.set_grad_enabled(grad)


class _Training:
    """The programs of a forward and its gradients. `differentiable`: which results have gradients; `used`: which inputs the gradients need; `sources`: for each input the
    numbers of the differentiable results that its gradient comes from."""

    def __init__(self, forward, backward, differentiable, used, sources, tangents):
        self.forward, self.backward, self.differentiable, self.used, self.sources = forward, backward, differentiable, used, sources
        self.layouts = [(t.shape, t.stride(), t.dtype) for t in tangents]

    def written(self):
        return self.forward.written()

    def takes(self, tensors):
        return self.forward.takes(tensors)

    def run(self, tensors):
        results = self.forward.run(tensors)
        return None if results is None else list(_Step.apply(self, results, *tensors))


_nothing = torch.empty(0, dtype=torch.uint8)  # the longest zeros so far


def _zeros(shape, stride, dtype):
    """Zeros to read only. Pages that were never written are all the system's one page of zeros: they take no memory, and are read from the cache."""
    global _nothing
    size = (1 + sum((n - 1) * step for n, step in zip(shape, stride))) * dtype.itemsize
    zeros = _nothing
    if len(zeros) < size:
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        with warnings.catch_warnings(action="ignore"):  # that nobody may write there
            zeros = _nothing = torch.frombuffer(pages, dtype=torch.uint8)
    return zeros.view(dtype).as_strided(shape, stride)


_SECOND = b"cresset: a compiled function has no second derivatives; leave what they are taken of out of torch.compile, or run it on the device"


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, programs, results, *tensors):
        outputs, saved = results[:len(programs.differentiable)], results[len(programs.differentiable):]
        # A result that is saved shares its memory: whoever overwrites it must hear of it.
        watched = [t for t in outputs if any(s.data_ptr() <= t.data_ptr() < s.data_ptr() + s.nbytes for s in saved)]
        ctx.programs, ctx.watched = programs, len(watched)
        ctx.save_for_backward(*[tensors[i] for i in programs.used], *saved, *watched)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[t for t, d in zip(outputs, programs.differentiable) if not d])
        return tuple(outputs)

    @staticmethod
    @torch._dynamo.disable
    def backward(ctx, *gradients):
        with torch.no_grad():
            found = _Step.gradients(ctx, gradients)
        if torch.is_grad_enabled():  # create_graph: whoever differentiates these by what they depend on is told, and not given zeros
            causes = [t for t in (*ctx.saved_tensors, *gradients) if t is not None and t.requires_grad]
            error = torch._C._functions.DelayedError(_SECOND, 1 + len(causes))
            found = [None if g is None else error(g.requires_grad_(), *causes)[0] for g in found]
        return None, None, *found

    @staticmethod
    def gradients(ctx, gradients):
        programs, saved = ctx.programs, ctx.saved_tensors
        tangents = [g for g, d in zip(gradients, programs.differentiable) if d]
        # Of a result that nobody used there is no gradient, and none of what only led there: an optimizer leaves those alone.
        unused = {i for i, g in enumerate(tangents) if g is None}
        for i, (shape, stride, dtype) in enumerate(programs.layouts):
            if i in unused:
                tangents[i] = _zeros(shape, stride, dtype)
            elif tangents[i].stride() != stride:
                tangents[i] = torch.empty_strided(shape, stride, dtype=dtype).copy_(tangents[i])
        found = iter(programs.backward.run([*saved[:len(saved) - ctx.watched], *tangents]))
        found = [next(found) if sources else None for sources in programs.sources]
        return [None if sources <= unused else g for g, sources in zip(found, programs.sources)] if unused else found


def _storages(tensors):
    return {t.untyped_storage()._cdata for t in tensors}


def to_bytes(graph):
    """A graph for another process. Raises what can't be written."""
    def name_of(target):
        name = torch.fx.node._get_qualified_name(target) if callable(target) else target
        if callable(target) and _find(name) is not target:
            raise pickle.PicklingError(f"{target} is not found by its name")
        return name

    place = {node: i for i, node in enumerate(graph.nodes)}
    flat = lambda v: torch.fx.node.map_arg(v, lambda node: _Place(place[node]))
    return pickle.dumps([(node.op, node.name, name_of(node.target), flat(node.args), flat(node.kwargs)) for node in graph.nodes])


def from_bytes(data):
    graph, nodes = torch.fx.Graph(), []
    for op, name, target, args, kwargs in pickle.loads(data):
        args, kwargs = (torch.fx.node.map_aggregate(v, lambda part: nodes[part.number] if isinstance(part, _Place) else part) for v in (args, kwargs))
        nodes.append(graph.create_node(op, _find(target) if op == "call_function" else target, args, kwargs, name))
    return graph


class _Place:
    """Stands for a node in what is written."""

    def __init__(self, number):
        self.number = number


def _find(name):
    """The function of a qualified name."""
    home, _, rest = name.rpartition(".")
    while home and home not in sys.modules:
        home, _, part = home.rpartition(".")
        rest = f"{part}.{rest}"
    return operator.attrgetter(rest)(sys.modules[home])


def _weights(graph):
    """For each input whether it is a module's parameter or buffer, as Dynamo notes."""
    tensors = [node.meta.get("tensor_dict") or {} for node in graph.nodes if node.op == "placeholder"]
    return [tensor.get("_dynamo_static_input_type") is not None for tensor in tensors]


def record(graph, inputs, trains):
    """What runs the graph for inputs of these sizes, and the results that were recorded."""
    with recording():
        stand_ins = [_C.wrap(v.detach(), weight=weight and not trains).requires_grad_(trains and v.requires_grad) if isinstance(v, torch.Tensor) else v
                     for v, weight in zip(inputs, _weights(graph), strict=True)]
        given = [v for v in stand_ins if isinstance(v, torch.Tensor)]
        with _as_on_cpu():
            results = listed(_FunctionRecorder(graph, trains).run(*stand_ins))
        tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
        if any(stand_in.requires_grad and not v.requires_grad for stand_in, v in zip(given, tensors)):
            raise Unusual("an input without gradients is given what has them")
        outputs = [v for v in results if isinstance(v, torch.Tensor)]
        differentiable = [v.requires_grad for v in outputs]
        if not any(differentiable):
            if trains and _storages(outputs) & _storages(v for v in given if v.requires_grad):
                raise Unusual("an input is returned without its gradients")
            program = _C.captured_program(given, outputs)
        else:
            program = _with_gradients(given, outputs, differentiable)
        _check_written(program, tensors)
        return program, results


def _check_written(program, tensors):
    for i in program.written():
        if tensors[i].requires_grad and torch.is_grad_enabled():
            raise Unusual("it changes an input that has gradients")
    if not program.takes(tensors):
        raise Unusual("it changes an input that shares memory with another")


def _sources(outputs, inputs, gradients):
    """For each input the numbers of the outputs that its gradient comes from: none if it has no gradient."""
    if len(outputs) == 1:
        return [set() if g is None else {0} for g in gradients]
    found = {id(t): set() for t in inputs}
    for i, output in enumerate(outputs):
        stack, seen = [output.grad_fn], {output.grad_fn}
        while stack:
            node = stack.pop()
            if hasattr(node, "variable"):
                found.setdefault(id(node.variable), set()).add(i)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append(following)
    return [set() if g is None else found[id(t)] or set(range(len(outputs))) for t, g in zip(inputs, gradients)]


def _with_gradients(inputs, outputs, differentiable):
    storages = _storages(outputs)
    if len(storages) < len(outputs) or storages & _storages(inputs):
        raise Unusual("results are parts of one another or of an input")
    tangents = [_C.wrap(torch.empty_like(t, device="cpu")) for t, d in zip(outputs, differentiable) if d]  # of an expanded result each element has its own
    targets = [t for t in inputs if t.requires_grad]
    found = torch.autograd.grad([t for t, d in zip(outputs, differentiable) if d], targets, tangents, allow_unused=True)
    found = iter(found)
    gradients = [next(found) if t.requires_grad else None for t in inputs]
    sources = _sources([t for t, d in zip(outputs, differentiable) if d], inputs, gradients)
    gradients = [g for g in gradients if g is not None]
    inputs, outputs = [t.detach() for t in inputs], [t.detach() for t in outputs]
    saved, saved_stand_ins, used = _C.partition(inputs, outputs, tangents, gradients)
    forward = _C.captured_program(inputs, outputs, saved)
    backward = _C.captured_program([inputs[i] for i in used] + saved_stand_ins + tangents, gradients)
    return _Training(forward, backward, differentiable, used, sources, tangents)
