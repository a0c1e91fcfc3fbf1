"""Functions of your own that stay whole: on the device, under torch.compile and in torch.export, forward and backward.

    @torch_cresset.composite("acme.swiglu", version=2)
    def swiglu(x, w, v, *, beta: float = 1.0):
        return F.silu(beta * (x @ w)) * (x @ v)

A call is one `stablehlo.composite "acme.swiglu" {beta = 1.0 : f64}` with the function as its decomposition; its gradient is
`acme.swiglu_backward`, derived from the function or given with `@swiglu.backward`. On plain CPU tensors the function just runs.
"""

import contextlib
import functools
import inspect
import itertools
import json
import numbers
import re
import typing
from typing import Optional

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from . import _C

_library = torch.library.Library("cresset", "DEF")
_library.define("composite(str key, str attributes, Tensor?[] inputs) -> Tensor[]")
_library.define("composite_backward(str key, str attributes, bool[] wanted, Tensor?[] gradients, Tensor?[] inputs) -> Tensor[]")

_registry = {}  # key → _Definition; a redefinition gets a new key, so that what was traced before keeps its meaning


def _sizes(tensor):
    """As numbers, also of symbols."""
    return tuple(s if isinstance(s, int) else s.node.hint for s in tensor.shape)


def _structure_key(attributes, inputs):
    """What the number and the structure of a function's results may depend on."""
    return attributes, tuple([t if t is None else (t.dtype, _sizes(t)) for t in inputs])


class _Definition:
    """One version of one function."""

    def __init__(self, name, version, function):
        self.name, self.version, self.function, self.gradient = name, version, function, None
        self.results = {}  # _structure_key() → pytree of the results, None for those that are no tensors
        self.recorded = {}  # signature → _C.Composite
        self.without = {}  # signature → which inputs get no gradient
        self.plans = {}  # arguments but for their tensors → _Plan

    def run(self, attributes, inputs):
        """The tensors among the function's results."""
        results = _applied(self.function, (), attributes, inputs)
        flat, spec = pytree.tree_flatten(results)
        for value in flat:
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(f"composite {self.name}: a result is {type(value).__name__}; results are tensors, None, or tuples, lists and dicts of them")
        self.results[_structure_key(attributes, inputs)] = ([value is None for value in flat], spec)
        return [value for value in flat if value is not None]

    def run_backward(self, attributes, wanted, gradients, inputs, differentiable=False):
        """The gradients of the wanted inputs; zeros where there is none. With `differentiable` they have gradients themselves."""
        if self.gradient is not None:
            found = self.gradient_given(attributes, wanted, gradients, inputs)
        else:
            with torch.enable_grad(), _seen_by_autograd():
                leaves = inputs if differentiable else [t if t is None else t.detach().requires_grad_(w) for t, w in zip(inputs, wanted)]
                results = self.run(attributes, leaves)
                used = [(r, g) for r, g in zip(results, gradients) if g is not None and r.requires_grad]
                targets = [t for t, w in zip(leaves, wanted) if w]
                found = torch.autograd.grad([r for r, _ in used], targets, [g for _, g in used], allow_unused=True, create_graph=differentiable) if used else [None] * len(targets)
        targets = [t for t, w in zip(inputs, wanted) if w]
        return [torch.zeros_like(t) if g is None else g if differentiable else g.detach() for t, g in zip(targets, found)]

    def without_gradient(self, attributes, wanted, gradients, inputs):
        """Which inputs get no gradient from these results' gradients: None, as from the plain function, and not zeros."""
        like = lambda t: None if t is None else torch.empty(_sizes(t), dtype=t.dtype, device="meta")
        signature = (tuple(wanted), tuple(g is None for g in gradients), _structure_key(attributes, inputs))
        if signature not in self.without:
            with torch.utils._python_dispatch._disable_current_modes(), torch.enable_grad():
                leaves = [None if t is None else like(t).requires_grad_(w) for t, w in zip(inputs, wanted)]
                try:
                    if self.gradient is not None:
                        found = iter(self.gradient_given(attributes, wanted, [like(g) for g in gradients], leaves))
                    else:
                        used = [r for r, g in zip(self.run(attributes, leaves), gradients) if g is not None and r.requires_grad]
                        found = iter(torch.autograd.grad(used, [t for t, w in zip(leaves, wanted) if w], [torch.empty_like(r) for r in used], allow_unused=True) if used else
                                     [None] * sum(wanted))
                    self.without[signature] = [w and next(found) is None for w in wanted]
                except Exception:  # it does not run on meta tensors; what is wrong with it shows where it is recorded
                    self.without[signature] = [False] * len(wanted)
        return self.without[signature]

    def gradient_given(self, attributes, wanted, gradients, inputs):
        found = _applied(self.gradient, gradients, attributes, inputs)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(inputs):
            raise TypeError(f"composite {self.name}: its backward returns {len(found)} gradients for {len(inputs)} tensors; give one, or None, for each")
        for gradient, t, w in zip(found, inputs, wanted):
            if w and gradient is not None and gradient.shape != t.shape:
                raise ValueError(f"composite {self.name}: its backward returns a gradient of shape {tuple(gradient.shape)} for a tensor of shape {tuple(t.shape)}")
        return [g for g, w in zip(found, wanted) if w]

    def recorded_for(self, wanted, attributes, inputs, run):
        """Of these tensors' shapes: the body is recorded when they are first seen. `wanted`: of the gradient, which inputs' are its results."""
        signature = (wanted, attributes, torch.get_default_dtype(), tuple(None if t is None else (t.dtype, t.shape, t.stride()) for t in inputs))
        composite = self.recorded.get(signature)
        if composite is None:
            placeholders = _C.begin_body(inputs)
            try:
                results = run(placeholders)
                shown = _decode(attributes)[0]["shown"]
                if wanted is None:
                    composite = _C.end_body(self.name, self.version, shown, results)
                else:
                    composite = _C.end_body(self.name + "_backward", self.version, shown | {"output_mask": list(wanted)}, results)
            except BaseException:
                _C.abort_body()
                raise
            self.recorded[signature] = composite
        return composite

    def forward_for(self, attributes, inputs):
        return self.recorded_for(None, attributes, inputs, lambda placeholders: self.run(attributes, placeholders))

    def backward_for(self, attributes, wanted, gradients, inputs):
        def run(placeholders):
            return self.run_backward(attributes, wanted, placeholders[:len(gradients)], placeholders[len(gradients):])

        return self.recorded_for(tuple(wanted), attributes, list(gradients) + list(inputs), run)

    def with_gradient(self, attributes, wanted, gradients, inputs):
        """`wanted` without the inputs that get no gradient."""
        return [w and not none for w, none in zip(wanted, self.without_gradient(attributes, wanted, gradients, inputs))]

    def repeated(self, key, attributes):
        """Calls with these attributes that are ordinary, without Python once their shapes are known."""

        def record_gradient(wanted, gradients, inputs):
            wanted = self.with_gradient(attributes, wanted, gradients, inputs)
            return wanted, self.backward_for(attributes, wanted, gradients, inputs) if any(wanted) else None

        return _C.RepeatedCall(functools.partial(self.forward_for, attributes), record_gradient,
                               lambda wanted, gradients, inputs: _gradients(key, attributes, wanted, gradients, inputs))

    def new_gradient(self, function):
        self.gradient = function
        self.recorded.clear()
        self.without.clear()
        for plan in self.plans.values():
            plan.repeated.forget()


# A call's arguments as text, which is what a graph can carry: the pytree of arguments with the tensors taken out.

def _encode(attributes):
    return json.dumps(attributes, sort_keys=True, default=_encode_value)


def _encode_value(value):
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, numbers.Integral):  # numpy's
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"cresset: an argument of a composite is a tensor, bool, int, float, str, torch.dtype, None, or a list of those, not {value!r}")


def _shown(signature, arguments):
    """The composite's attributes: of arguments that are one by their names, of what is nested by the way to it, as `states.0`."""
    shown = {}

    def add(name, value):
        if isinstance(value, _Operand):
            return
        if isinstance(value, dict):
            parts = value.items()
        elif isinstance(value, (list, tuple)) and not all(isinstance(v, numbers.Real) for v in value):
            parts = enumerate(value)
        else:
            shown[name] = value
            return
        for key, part in parts:
            add(f"{name}.{key}" if name else str(key), part)

    for name, value in arguments.items():
        parameter = signature.parameters[name]
        # Typed: 1 for a float is 1.0.
        if (parameter.annotation in (float, "float") or type(parameter.default) is float) and type(value) is int:
            value = float(value)
        add("" if parameter.kind is parameter.VAR_KEYWORD else name, value)
    return shown


@functools.lru_cache(maxsize=4096)
def _decode(attributes):
    values = json.loads(attributes, object_hook=lambda d: getattr(torch, d["dtype"]) if set(d) == {"dtype"} else d)
    return values, values["autocast"]


def _fill(slots, inputs):
    tensors = iter(inputs)
    return [next(tensors) if slot == ["tensor"] else slot[1] for slot in slots]


@functools.lru_cache(maxsize=4096)
def _spec(text):
    return pytree.treespec_loads(text)


def _applied(function, before, attributes, inputs):
    """The function of what is before the composite's arguments, and of those."""
    values, mixed = _decode(attributes)
    args, kwargs = pytree.tree_unflatten(_fill(values["slots"], inputs), _spec(values["tree"]))
    with _autocast(mixed):
        return function(*before, *args, **kwargs)


class _autocast:
    """What autocast was on when the composite was called; off otherwise."""

    def __init__(self, modes):
        self.contexts = [torch.autocast(device, dtype=getattr(torch, dtype)) if dtype else torch.autocast(device, enabled=False) for device, dtype in modes]

    def __enter__(self):
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *error):
        for context in reversed(self.contexts):
            context.__exit__(*error)


@contextlib.contextmanager
def _seen_by_autograd():
    """Below a TorchDispatchMode autograd sees nothing: gradients would be zero, and nobody would say so. Nor would a view know of what it is one, so that the gradient
    would pass by what is written to it."""
    seen, keys = torch._C._SetExcludeDispatchKeyGuard, torch._C.DispatchKey
    with seen(keys.AutogradFunctionality, False), seen(keys.ADInplaceOrView, False):
        yield


_DEVICES = ("cpu", "cresset")  # that autocast is taken over from


def _autocast_modes():
    return [[device, str(torch.get_autocast_dtype(device)).removeprefix("torch.") if torch.is_autocast_enabled(device) else ""] for device in _DEVICES]


def _definition(key):
    if key not in _registry:
        raise RuntimeError(f"composite {key} is not defined in this process; import the module that defines it")
    return _registry[key]


def _forward(key, attributes, inputs):
    return _definition(key).run(attributes, inputs)


def _backward(key, attributes, wanted, gradients, inputs):
    return _definition(key).run_backward(attributes, wanted, gradients, inputs)


def _forward_on_device(key, attributes, inputs):
    return _definition(key).forward_for(attributes, inputs).record(inputs)


def _backward_on_device(key, attributes, wanted, gradients, inputs):
    return _definition(key).backward_for(attributes, wanted, gradients, inputs).record(list(gradients) + list(inputs))


def _backward_shapes(key, attributes, wanted, gradients, inputs):
    return [torch.empty_like(t) for t, w in zip(inputs, wanted) if w]


_library.impl("composite", _forward, "CompositeExplicitAutograd")
_library.impl("composite_backward", _backward, "CompositeExplicitAutograd")
_library.impl("composite", _forward_on_device, "PrivateUse1")
_library.impl("composite_backward", _backward_on_device, "PrivateUse1")
for _name in ("composite", "composite_backward"):
    _library.impl(_name, torch.library.fallthrough_kernel, "Autograd")
torch.library.register_fake("cresset::composite", _forward, lib=_library)
torch.library.register_fake("cresset::composite_backward", _backward_shapes, lib=_library)


def _gradients(key, attributes, wanted, gradients, inputs):
    """Of all inputs; None of those without one."""
    definition = _registry[key]
    if any(g is not None for g in gradients):
        wanted = definition.with_gradient(attributes, wanted, gradients, inputs)
    if all(g is None for g in gradients) or not any(wanted):
        return [None] * len(inputs)
    if torch.is_grad_enabled():
        # A derivative of the gradient may follow: it is taken of the decomposition.
        found = iter(definition.run_backward(attributes, wanted, gradients, inputs, differentiable=True))
    else:
        found = iter(torch.ops.cresset.composite_backward(key, attributes, wanted, list(gradients), list(inputs)))
    return [next(found) if w else None for w in wanted]


class _Call(torch.autograd.Function):
    """Whole in the gradient, too."""

    @staticmethod
    def forward(ctx, key, attributes, *inputs):
        ctx.key, ctx.attributes = key, attributes
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)
        results = torch.ops.cresset.composite(key, attributes, list(inputs))
        ctx.mark_non_differentiable(*[r for r in results if not (r.is_floating_point() or r.is_complex())])
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, *_gradients(ctx.key, ctx.attributes, list(ctx.needs_input_grad[2:]), gradients, ctx.saved_tensors))


_OPTIONAL = (Optional[torch.Tensor], "torch.Tensor | None", "Tensor | None", "Optional[torch.Tensor]", "Optional[Tensor]")


class _Operand:
    """Stands for tensor number `place` of a call, None for an absent one."""

    def __init__(self, place):
        self.place = place


class _Plan(typing.NamedTuple):
    """What calls have in common that differ in their tensors only."""
    attributes: str
    places: list  # of the operands among the tensors, None for absent ones
    repeated: object  # _C.RepeatedCall; None for calls that are planned each time


def _plan(key, values, spec, repeats):
    """`values` are a call's flat arguments with _Operand for tensors."""
    definition = _registry[key]
    args, kwargs = pytree.tree_unflatten(values, spec)
    arguments = definition.signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    for name in definition.optional:
        if arguments.arguments[name] is None:
            arguments.arguments[name] = _Operand(None)
    flat, tree = pytree.tree_flatten((arguments.args, arguments.kwargs))
    shown = _shown(definition.signature, arguments.arguments)
    attributes = _encode({"slots": [["tensor"] if isinstance(v, _Operand) else ["value", v] for v in flat], "tree": pytree.treespec_dumps(tree),
                          "shown": shown, "autocast": _autocast_modes()})
    return _Plan(attributes, [v.place for v in flat if isinstance(v, _Operand)], definition.repeated(key, attributes) if repeats else None)


_ORDINARY = (torch.Tensor, torch.nn.Parameter)  # a subclass may want to see what is called with it
_PLAIN = (type(None), bool, int, float, str, torch.dtype)


def _planned(key, flat, spec):
    """A loop calls again and again with other tensors; types are told apart, as 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    plans = _registry[key].plans
    known = tuple(_Operand if isinstance(v, torch.Tensor) else (type(v), v.hex() if type(v) is float else v) for v in flat), spec, tuple(torch.is_autocast_enabled(d) and torch.get_autocast_dtype(d) for d in _DEVICES)
    repeats = all(isinstance(v, (torch.Tensor, *_PLAIN)) for v in flat)
    plan = plans.get(known) if repeats else None
    if plan is None:
        places = itertools.count()
        plan = _plan(key, [_Operand(next(places)) if isinstance(v, torch.Tensor) else v for v in flat], spec, repeats)
        if repeats:
            plans[known] = plan
    return plan


def _call(key, *args, **kwargs):
    """The results and their structure."""
    definition = _registry[key]
    flat, spec = pytree.tree_flatten((args, kwargs))
    tensors = [v for v in flat if isinstance(v, torch.Tensor)]
    plain = all(t.device.type != "cresset" for t in tensors) and torch._C._len_torch_dispatch_stack() == 0
    # functorch's transforms and forward-mode AD look into the function; so there it is its decomposition. So it is of complex numbers, for which programs have no code.
    if plain or torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0 or any(t.is_complex() for t in tensors):
        return pytree.tree_flatten(definition.function(*args, **kwargs))
    attributes, places, repeated = _planned(key, flat, spec)
    operands = [None if place is None else tensors[place] for place in places]
    results = repeated(operands) if repeated and all(type(t) in _ORDINARY for t in tensors) else None
    results = iter(_Call.apply(key, attributes, *operands) if results is None else results)
    absent, structure = definition.results[_structure_key(attributes, operands)]
    return [None if a else next(results) for a in absent], structure


def _places(structure):
    """A pytree of numbers in terms that Dynamo can take for a constant: (number,), or (kind, keys, places)."""
    if isinstance(structure, dict):
        return "dict", tuple(structure), tuple(map(_places, structure.values()))
    if isinstance(structure, (list, tuple)):
        return "list" if isinstance(structure, list) else "tuple", (), tuple(map(_places, structure))
    return (structure,)


def _placed(results, places):
    """tree_unflatten in such terms; it can't trace PyTorch's."""
    if len(places) == 1:
        return results[places[0]]
    kind, keys, inner = places
    values = [_placed(results, place) for place in inner]
    return dict(zip(keys, values)) if kind == "dict" else tuple(values) if kind == "tuple" else values


class Composite:
    """What `composite` makes of a function; called like it."""

    def __init__(self, definition, key):
        self._definition, self._key = definition, key
        functools.update_wrapper(self, definition.function)

        def call(*args, **kwargs):
            results, structure = _call(key, *args, **kwargs)
            self._places = _places(pytree.tree_unflatten(range(len(results)), structure))
            return results

        self._call = functools.wraps(definition.function)(call)

    def show_dynamo(self):
        """Dynamo does not look inside: the call is one node of its graph, whose results are a list. Where they belong is a constant. For functions that users call:
        Dynamo takes longer to import than PyTorch."""
        self._in_graph = torch._dynamo.allow_in_graph(self._call)
        self._places_in_graph = torch._dynamo.assume_constant_result(lambda: self._places)
        return self

    def __call__(self, /, *args, **kwargs):
        if torch.compiler.is_dynamo_compiling():
            results = self._in_graph(*args, **kwargs)
            return _placed(results, self._places_in_graph())
        return pytree.tree_unflatten(*_call(self._key, *args, **kwargs))

    def repeated(self, /, *args, **kwargs):
        """The _C.RepeatedCall of calls with these arguments and other tensors in the same places."""
        return _planned(self._key, *pytree.tree_flatten((args, kwargs))).repeated

    def backward(self, function):
        """Decorator: `function(*gradients, *arguments, **attributes)` returns a gradient, or None, for each tensor among the arguments; a
        result that no gradient arrived for has None in `gradients`. Without it the gradient is derived from the function."""
        self._definition.new_gradient(function)
        return function

    def raises(self, *args, **kwargs):
        """From here on, programs in which somebody wrote out what the function does with these example arguments show the composite instead.

        An element-wise function of up to four tensors of one shape is found in any shape and dtype, any other in the examples' shapes. The attributes are those of the examples; more calls
        add more. Returns self. Raises ValueError if the function can't be found like this: several results, or more than four tensors."""
        from .export import stablehlo  # which needs this module

        _C.add_raised(stablehlo(lambda *tensors: self(*_fill_tensors(args, tensors), **kwargs), *[a for a in args if isinstance(a, torch.Tensor)]))
        return self


def _fill_tensors(args, tensors):
    rest = iter(tensors)
    return [next(rest) if isinstance(a, torch.Tensor) else a for a in args]


def composite(name, *, version=1):
    """Decorator: makes a function of tensors one composite.

    name: with a namespace, as in "acme.swiglu"; version: of the function's meaning, from 1 on. The tensors among the arguments (positional or by keyword, also
    in lists and dicts) are the composite's operands; all other arguments are its attributes: bool, int, float, str, torch.dtype, lists of
    numbers; None is left out. One annotated `torch.Tensor | None` is an operand even if it is None: operands that are absent before others are named by their
    places in the attribute `absent_operands`. The gradient's `output_mask` says which operands' gradients are its results. Results are a tensor, or a tuple, list or dict of tensors and None.

    Raises ValueError for a name without a namespace or a version below 1; on a call TypeError for other arguments and results, RuntimeError if the function changes an
    argument in place, draws random numbers, reads a value or uses a tensor that is not an argument. Second derivatives, and torch.func's transforms,
    are those of the decomposition.
    """
    decorate = define(name, version)
    return lambda function: decorate(function).show_dynamo()


def define(name, version):
    """The same for functions that only the dispatcher calls."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", name):
        raise ValueError(f"a composite's name has a namespace, as in 'acme.{name}'; not {name!r}")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"composite {name}: version is a number from 1 on, not {version!r}")

    def decorate(function):
        definition = _Definition(name, version, function)
        definition.signature = inspect.signature(function)
        definition.optional = [name for name, p in definition.signature.parameters.items() if p.annotation in _OPTIONAL]
        same = sum(1 for key in _registry if key.partition("#")[0] == name)
        key = name if not same else f"{name}#{same}"
        _registry[key] = definition
        _C.define_composite(name)
        return Composite(definition, key)

    return decorate
