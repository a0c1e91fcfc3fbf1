"""Exported programs as functions of native code: what Dynamo guards in every call, torch.export has settled ahead."""

import collections
import functools
import logging
import operator

import torch
from torch._export import utils as export_utils
from torch.export._unlift import _check_inputs_match
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from . import _C, compile, direct
from .programs import Programs, listed
from .training import storages

_log = logging.getLogger(__name__)
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_WITHIN_NO_GRAD = torch.ops.higher_order.wrap_with_set_grad_enabled
_WRITTEN = (OutputKind.PARAMETER_MUTATION, OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class Executable:
    """What torch_cresset.load() returns. A call takes what the exported function took, tensors on the CPU of its dtypes and of sizes that its dynamic_shapes allow, and returns what it returned, without gradients.

    The first call of each combination of sizes records and compiles, or finds in the kernel cache. Raises as torch.export's own module does if arguments are of another structure, type or size (ValueError,
    RuntimeError), and says which one. An operator that is not lowered runs eagerly, counted and named in a warning. Threads may call it at the same time: they run beside each other
    as long as there are processors for all of their teams (torch.set_num_threads(1): one each), and else take turns.
    """

    def __init__(self, program):
        self._program = program
        self._graph, self._weights = _lifted(program)
        self._user_inputs = [node for node in self._graph.nodes if node.op == "placeholder"][len(self._weights):]
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        arguments, named = self._in_spec.children()
        # Nothing has to be taken apart, as of most models: how many arguments, and the names of the others.
        self._is_flat = all(child.is_leaf() for child in arguments.children() + named.children())
        self._count, self._names = arguments.num_children, named.context
        self._programs = collections.defaultdict(Programs)  # by the autocast that they were recorded under
        self._recorder = direct.Recorder(self._graph, False, [True] * len(self._weights) + [False] * len(self._user_inputs))
        self._in_pieces = None  # what runs sizes that can't be recorded as a whole
        self._writes, self._refuses_shared = _writes(program), False  # arguments that share memory

    def __call__(self, *args, **kwargs):
        inputs = [*self._weights, *self._flattened(args, kwargs)]
        programs = self._programs[torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu")]
        results = programs.run(inputs)
        if results is None:
            results = self._first_call(programs, args, kwargs, inputs)
        return pytree.tree_unflatten(results, self._out_spec)

    def _flattened(self, args, kwargs):
        if self._is_flat and len(args) == self._count and len(kwargs) == len(self._names):
            inputs = [*args, *(kwargs.get(name) for name in self._names)]
            if all(isinstance(v, torch.Tensor) and v.is_cpu for v in inputs):
                return inputs
        return [value for _, value in self._checked(args, kwargs)]

    def _checked(self, args, kwargs):
        """The user's arguments with their names, if their structure and types are the exported ones'."""
        arguments = _check_inputs_match(args, kwargs, self._in_spec)
        for (path, value), node in zip(arguments, self._user_inputs):
            _check_type(export_utils.get_keystr(path), value, node.meta.get("val"))
        return arguments

    def _first_call(self, programs, args, kwargs, inputs):
        """Of arguments of these sizes."""
        arguments = self._checked(args, kwargs)
        export_utils._check_input_constraints_for_graph(self._user_inputs, arguments, self._program.range_constraints)
        tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
        shares = self._writes and len(storages(tensors)) < len(tensors)
        with torch.no_grad():
            if self._in_pieces is None and not (shares and self._refuses_shared):
                try:
                    direct.check(self._graph, inputs)
                    if direct.home_of(inputs) != "cpu":
                        raise direct.Unusual("inputs on the device")
                    programs.add(inputs, *self._recorder.record(inputs))
                    return programs.run(inputs)
                except Exception as error:  # whatever it is: the pieces raise what is the user's
                    _C.count("cresset.in_pieces")
                    _log.debug("runs in pieces: %s", error)
                    if shares:
                        self._refuses_shared = True
                    else:
                        self._in_pieces = _Pieces(self._program)
            if shares:  # what one operator writes the next may see in another tensor
                return listed(self._plain(*inputs))
            return self._in_pieces(inputs[len(self._weights):])

    @functools.cached_property
    def _plain(self):
        """The program as PyTorch's operators, in their order."""
        return torch.fx.GraphModule(self._program.graph_module, self._graph)


class _Pieces:
    """A program in pieces, between which only values pass: what one writes would not show in what another has of the same memory."""

    def __init__(self, program):
        program = program.run_decompositions({})  # takes nothing apart, but writes only at its end
        graph, self._weights = _lifted(program)
        self._graph = compile.Graph(torch.fx.GraphModule(program.graph_module, graph))

    def __call__(self, inputs):
        return self._graph([*self._weights, *inputs])


def _writes(program):
    """Whether something is changed in place, if only what the program makes itself."""
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    operators = [node.target for graph in graphs for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    return any(spec.kind in _WRITTEN for spec in program.graph_signature.output_specs) or any(operator._schema.is_mutable for operator in operators)


def _lifted(program):
    """The program's graph, of weights and the user's inputs, and the weights."""
    return _with_writes(program), [_weight(program, spec) for spec in program.graph_signature.input_specs if spec.kind in _WEIGHTS]


def _with_writes(program):
    """The program's graph, which returns the user's results and writes by itself what it changes."""
    signature, graph, by_name = program.graph_signature, torch.fx.Graph(), {}
    placeholders = [graph.node_copy(node) for node in program.graph.nodes if node.op == "placeholder"]
    results = _copied(program.graph_module, graph, placeholders)
    for spec, node in zip(signature.input_specs, placeholders, strict=True):
        if spec.kind not in (*_WEIGHTS, InputKind.USER_INPUT):
            raise ValueError(f"cresset: the exported program's input {spec.arg.name} is a {spec.kind.name}, which compiled code can't take")
        by_name[spec.target or spec.arg.name] = node
    returned = []
    for spec, value in zip(signature.output_specs, results, strict=True):
        if spec.kind in _WRITTEN:
            graph.call_function(torch.ops.aten.copy_.default, (by_name[spec.target], value))
        elif spec.kind == OutputKind.USER_OUTPUT:
            returned.append(value)
        else:
            raise ValueError(f"cresset: the exported program's result {spec.arg.name} is a {spec.kind.name}; torch.compile(model, backend=\"cresset\") trains")
    graph.output(tuple(returned))
    return graph


def _copied(module, graph, inputs):
    """Copies the module's operators to the graph, and returns their results. What torch.no_grad() encloses is a module of its own in an exported one; here nothing has gradients anyway."""
    inputs, copies = iter(inputs), {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            copies[node] = next(inputs)
        elif node.op == "output":
            return torch.fx.node.map_arg(node.args[0], copies.get)
        elif node.op == "get_attr" and all(user.target is _WITHIN_NO_GRAD for user in node.users):
            continue
        elif node.target is _WITHIN_NO_GRAD:
            _, enclosed, *arguments = node.args
            copies[node] = _copied(getattr(module, enclosed.target), graph, torch.fx.node.map_arg(arguments, copies.get))
        elif node.target is operator.getitem and isinstance(copies[node.args[0]], (tuple, list)):
            copies[node] = copies[node.args[0]][node.args[1]]
        else:
            copies[node] = graph.node_copy(node, copies.get)


def _weight(program, spec):
    tensor = program.state_dict.get(spec.target) if spec.persistent is not False else None
    tensor = program.constants[spec.target] if tensor is None else tensor
    if tensor.device.type != "cpu":
        raise ValueError(f"cresset: {spec.target} of the exported program is on {tensor.device}; export the model on the CPU")
    return tensor.detach()


def _check_type(name, value, expected):
    """What torch.export leaves out where it looks at sizes and numbers."""
    if not isinstance(expected, torch.Tensor):
        return
    if not isinstance(value, torch.Tensor):
        raise RuntimeError(f"Expected input at {name} to be a tensor, but got {type(value)}")
    if value.dtype != expected.dtype:
        raise RuntimeError(f"Expected input at {name} to be of {expected.dtype}, but got {value.dtype}")
    if value.device.type != "cpu":
        raise RuntimeError(f"Expected input at {name} to be on the CPU, but it is on {value.device}")
