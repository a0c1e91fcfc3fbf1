"""Graphs of Dynamo's that are recorded as the device records a user's model: forward and, in training, gradients by autograd itself, which a program each is made of.

That takes a hundredth of the time that AOTAutograd's tracing takes. Inputs that a graph writes to (batch norm's running statistics) are written in place. What it can't do
raises Unusual, and AOTAutograd traces the graph: graphs that return parts of inputs in training, that write to what has gradients and return such, or to what shares memory, or write what has gradients, that hold modules,
higher-order operators or functorch's transforms, or operators that are neither lowered nor calls of PyTorch's kernels (src/device/kernel_call.h).
"""

import contextlib
import operator
import pickle
import sys
import types

import torch
from torch.utils._device import _device_constructors

from . import _C, recurrent
from .programs import listed
from .recorder import _DEVICE, _on_device, recording
from .training import storages, with_gradients

_STATEFUL = {"get_rng_state", "set_rng_state", "manual_seed", "seed", "initial_seed", "set_default_dtype", "set_default_device"}


class Unusual(Exception):
    """The graph is not one that can be recorded directly."""


class SharesMemory(Unusual):
    """Not for these inputs."""


_OFFSET_OF = {"as_strided": 3, "as_strided_": 3, "as_strided_copy": 3, "as_strided_scatter": 4}


def counts_in_storage(node):
    """Whether it says where in a storage a view begins: a recording knows of an input's storage what the input shows, and nothing in front."""
    name = str(getattr(node.target, "__name__", node.target)).partition(".")[0]
    place = _OFFSET_OF.get(name)
    return place is not None and (node.args[place] if len(node.args) > place else node.kwargs.get("storage_offset")) is not None


def lifted(module):
    """The module's graph, of which tensors that the module holds (an optimizer's parameters and states) are inputs in front of the others, and a function that fetches them, or None:
    Dynamo takes them from the module when the optimizer dies."""
    held = {node.target: operator.attrgetter(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    held = {target: fetch for target, fetch in held.items() if isinstance(fetch(module), torch.Tensor)}
    if not held:
        return module.graph, None
    graph = torch.fx.Graph()
    inputs, copies = {target: graph.placeholder(target) for target in held}, {}
    for node in module.graph.nodes:
        copies[node] = inputs[node.target] if node.op == "get_attr" and node.target in inputs else graph.node_copy(node, copies.get)
    return graph, lambda: [fetch(module) for fetch in held.values()]


def home_of(inputs):
    """Where the tensors among a graph's inputs are, the CPU or the device, and its results will be; numbers on the CPU may be among those on the device, as an optimizer's steps are."""
    tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
    homes = {v.device.type for v in tensors}
    if len(homes) > 1:
        homes = {v.device.type for v in tensors if v.dim() or v.device.type != "cpu"}
    if len(homes) > 1 or not homes <= {"cpu", _DEVICE.type}:
        raise Unusual(f"inputs on {', '.join(sorted(homes))}")
    return homes.pop() if homes else "cpu"


def check(graph, inputs):
    """Whether gradients are wanted. Raises Unusual for graphs whose meaning would be lost; others that can't be recorded show it then."""
    tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
    if any(type(t) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or t.layout != torch.strided or t.is_quantized for t in tensors):
        raise Unusual("an input is no plain tensor")
    if any(t.is_conj() or t.is_neg() for t in tensors):
        raise Unusual("an input is seen as its conjugate or negative")  # it shows other numbers than its bytes
    trains, home = torch.is_grad_enabled() and any(t.requires_grad for t in tensors), home_of(inputs)
    for node in graph.nodes:
        if node.op in ("call_module", "get_attr"):
            raise Unusual(f"{node.op} {node.target}")
        if home == "cpu" and any(name.partition(":")[0] == _DEVICE.type for name in _names(node)):
            raise Unusual(f"call of {node.target} on the device, of what is on the CPU")
        if counts_in_storage(node):
            raise Unusual(f"call of {node.target}, which counts from a storage's beginning")
        if node.op != "call_function":
            continue
        name, module = getattr(node.target, "__name__", ""), getattr(node.target, "__module__", None) or ""
        if isinstance(node.target, torch._ops.HigherOrderOperator) or "functorch" in module or name in _STATEFUL:
            raise Unusual(f"call of {node.target}")
        if name == "_set_grad_enabled" and node.args[0] and not trains and any(t.requires_grad for t in tensors):
            raise Unusual("gradients are switched on within it")
    return trains


def _names(node):
    """The texts among a node's arguments, and the types of devices: what may name one."""
    parts = []
    torch.fx.node.map_aggregate((node.args, dict(node.kwargs)), parts.append)
    return [v.type if isinstance(v, torch.device) else v for v in parts if isinstance(v, (torch.device, str))]


def _asks_for_cpu(node):
    """Whether it makes a tensor on the CPU whatever its arguments are."""
    return "cpu" in _names(node) or node.target == "cpu" or (node.target in _device_constructors() and node.kwargs.get("device") is None)


def _placed(target, args, kwargs):
    """The arguments of a call, with the device where they ask for the CPU, or as a constructor's for nothing."""
    args, kwargs = (torch.fx.node.map_aggregate(v, _on_device) for v in (args, kwargs))
    name = getattr(target, "__name__", target)
    if name == "_enter_autocast" and args[0] == "cpu":
        args = (_DEVICE.type, *args[1:])
    if name == "to" and len(args) > 1 and args[1] == "cpu":
        args = (args[0], _DEVICE, *args[2:])
    kwargs = {k: _DEVICE if k == "device" and v == "cpu" else v for k, v in kwargs.items()}
    if target in _device_constructors() and kwargs.get("device") is None:
        kwargs["device"] = _DEVICE
    return args, kwargs


def _method(name):
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


def _with_device(function):
    """A function of Python's, whose own constructors are to make device tensors."""
    def call(*args, **kwargs):
        with _DEVICE:
            return function(*args, **kwargs)
    return call


class _Calls:
    """A graph of PyTorch's functions as the calls that it makes, of device tensors: torch.fx.Interpreter takes several times as long, in every call of a graph whose sizes change."""

    def __init__(self, graph, trains, home):
        self.trains, self.home = trains, home
        self.values = []  # placeholders in front, then constants and room for results
        self.calls = []  # function, the places of its arguments, the names of the last of them, the place of its result, and the node
        self.places = {}
        for node in graph.nodes:
            if node.op == "placeholder":
                self.places[node] = self._add(None)
        for node in graph.nodes:
            if node.op == "output":
                self.result = self._place(node.args[0])
            elif node.op != "placeholder":
                if home != "cpu" and _asks_for_cpu(node):
                    raise Unusual(f"a tensor on the CPU, in {node.format_node()}")
                args, kwargs = _placed(node.target, node.args, node.kwargs) if home == "cpu" else (node.args, node.kwargs)
                self.places[node] = self._call(self._function(node), args, kwargs, node)

    def _add(self, value):
        self.values.append(value)
        return len(self.values) - 1

    def _function(self, node):
        if node.op == "call_method":
            return _method(node.target)
        function = recurrent.in_layers.get(node.target, node.target) if self.trains else node.target
        return function if self.home != "cpu" or isinstance(function, types.BuiltinFunctionType) else _with_device(function)

    def _call(self, function, args, kwargs, node=None):
        arguments = [self._place(v) for v in (*args, *kwargs.values())]
        place = self._add(None)
        self.calls.append((function, arguments, tuple(kwargs), place, node))
        return place

    def _place(self, value):
        """Of a node's result, of a constant, or of what is put together of those."""
        if isinstance(value, torch.fx.Node):
            return self.places[value]
        parts = []
        torch.fx.node.map_arg(value, parts.append)
        if not parts:
            return self._add(value)
        if isinstance(value, slice):
            return self._call(slice, (value.start, value.stop, value.step), {})
        if isinstance(value, dict):
            return self._call(dict, (), value)
        made = list if isinstance(value, list) else type(value)._make if hasattr(value, "_make") else tuple
        return self._call(lambda *parts: made(parts), value, {})

    def __call__(self, inputs):
        values = [*inputs, *self.values[len(inputs):]]
        for function, arguments, names, place, node in self.calls:
            found = [values[i] for i in arguments]
            try:
                if names:
                    split = len(found) - len(names)
                    values[place] = function(*found[:split], **dict(zip(names, found[split:])))
                else:
                    values[place] = function(*found)
            except Exception as error:
                raise Unusual(f"{error}, in {node.format_node()}") from error
        return listed(values[self.result])


@contextlib.contextmanager
def _as_at(home):
    """What is on there is on for the device; grad mode is as before at the end."""
    grad = torch.is_grad_enabled()
    autocast = torch.autocast(_DEVICE.type, dtype=torch.get_autocast_dtype(home), enabled=torch.is_autocast_enabled(home), cache_enabled=torch.is_autocast_cache_enabled())
    try:
        with autocast:
            yield
    finally:
        torch.set_grad_enabled(grad)


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


def weights(graph):
    """For each input whether it is a module's parameter or buffer, as Dynamo notes."""
    tensors = [node.meta.get("tensor_dict") or {} for node in graph.nodes if node.op == "placeholder"]
    return [tensor.get("_dynamo_static_input_type") is not None for tensor in tensors]


class Recorder:
    """Makes programs of a graph, for inputs of any sizes. `weights`: for each input whether it is a parameter or buffer, which few calls change; `home`: where all inputs are."""

    def __init__(self, graph, trains, weights, home="cpu"):
        self.trains, self.home, self.calls = trains, home, _Calls(graph, trains, home)
        self.weights = [weight and not trains for weight in weights]

    def _results(self, stand_ins):
        with _as_at(self.home):
            return self.calls(stand_ins)

    def record(self, inputs):
        """What runs the graph for inputs of these sizes, and the results that were recorded."""
        numbers = [None if isinstance(v, torch.Tensor) else (v,) for v in inputs]

        def again(stand_ins):
            stand_ins = iter(stand_ins)
            return [v for v in self._results([next(stand_ins) if n is None else n[0] for n in numbers]) if isinstance(v, torch.Tensor)]

        with recording():
            stand_ins = [_C.wrap(v.detach(), weight=weight).requires_grad_(self.trains and v.requires_grad) if isinstance(v, torch.Tensor) else v
                         for v, weight in zip(inputs, self.weights, strict=True)]
            given = [v for v in stand_ins if isinstance(v, torch.Tensor)]
            results = self._results(stand_ins)
            tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
            if any(isinstance(v, torch.Tensor) and (v.device.type == "cpu" or any(t.device.type != self.home for t in tensors)) for v in results):
                raise Unusual("a result may be on the CPU")
            if any(stand_in.requires_grad and not v.requires_grad for stand_in, v in zip(given, tensors)):
                raise Unusual("an input without gradients is given what has them")
            outputs = [v for v in results if isinstance(v, torch.Tensor)]
            differentiable = any(v.requires_grad for v in outputs)
            if not differentiable:
                if self.trains and storages(outputs) & storages(v for v in given if v.requires_grad):
                    raise Unusual("an input is returned without its gradients")
                program = _C.captured_program(given, outputs)
            elif len(storages(outputs)) < len(outputs) or storages(outputs) & storages(given):
                raise Unusual("results are parts of one another or of an input")
            else:
                program = with_gradients(None if torch.is_autocast_enabled(self.home) else again, given, outputs)
            _check_written(program, tensors, differentiable)
            return program, results


def _check_written(program, tensors, differentiable):
    """Of an input with gradients only torch.no_grad() let the recording change anything: a weight's average, an optimizer's step. If the results have gradients too, what these need of it is
    AOTAutograd's to say."""
    if differentiable and any(tensors[i].requires_grad for i in program.written()):
        raise Unusual("it changes an input that has gradients")
    if not program.takes(tensors):
        raise SharesMemory("it changes an input that shares memory with another")
