"""What a recorded graph is in training: a program of the forward and one of its gradients, which autograd calls.

Gradients that are differentiated themselves (create_graph) are recorded as a graph of their own, from the forward's inputs and the gradients of its results, when they are first asked for; it has
programs of its gradients, and so on.
"""

import logging
import mmap
import warnings
import weakref

import torch

from . import _C
from .recorder import recording

_log = logging.getLogger(__name__)


class Training:
    """`again` records the graph's results on other stand-ins, or is None; `keeps`: whether inputs that only gradients of the gradients need are kept, or are there if somebody else
    keeps them. `differentiable`: which results have gradients; `used`: which inputs the gradients need; `sources`: for each input the numbers of the differentiable results that its
    gradient comes from."""

    def __init__(self, again, keeps, forward, backward, differentiable, used, sources, tangents):
        self.forward, self.backward, self.differentiable, self.used, self.sources = forward, backward, differentiable, used, sources
        self.layouts = [(t.shape, t.stride(), t.dtype) for t in tangents]
        self.refer = _kept if keeps else weakref.ref
        self.again = None if forward.written() or forward.draws() else again
        self.others = sorted(set(range(len(sources))) - set(used)) if self.again else []  # inputs that gradients of the gradients need besides
        self.of_gradients = {}  # programs, by which tangents have gradients

    def written(self):
        return self.forward.written()

    def takes(self, tensors):
        return self.forward.takes(tensors)

    def run(self, tensors):
        results = self.forward.run(tensors)
        return None if results is None else list(_Step.apply(self, results, *tensors))

    def tangents(self, gradients):
        """What autograd gives of the results, as it was recorded, and the numbers of those that nobody used."""
        tangents = [g for g, d in zip(gradients, self.differentiable) if d]
        unused = {i for i, g in enumerate(tangents) if g is None}
        for i, (shape, stride, dtype) in enumerate(self.layouts):
            if i in unused:
                tangents[i] = _zeros(shape, stride, dtype)
            elif tangents[i].stride() != stride:
                tangents[i] = torch.empty_strided(shape, stride, dtype=dtype, device=tangents[i].device).copy_(tangents[i])
        return tangents, unused

    def of_inputs(self, found, unused):
        """The gradient of each input. Of what only led to unused results there is none: an optimizer leaves those alone."""
        found = iter(found)
        found = [next(found) if sources else None for sources in self.sources]
        return [None if sources <= unused else g for g, sources in zip(found, self.sources)] if unused else found

    def differentiated(self, tensors, tangents):
        """The gradients, with gradients of their own; None if they can't be recorded."""
        key = tuple(t.requires_grad for t in tangents)
        if self.again and key not in self.of_gradients:
            try:
                self.of_gradients[key] = self._record_gradients(tensors, tangents)
            except Exception as error:
                _log.debug("no gradients of gradients: %s", error)
                self.again = None
        return self.of_gradients[key].run([*tensors, *tangents]) if self.again else None

    def _record_gradients(self, tensors, tangents):
        def again(stand_ins):
            inputs, tangents = stand_ins[:len(tensors)], stand_ins[len(tensors):]
            outputs = [t for t, d in zip(self.again(inputs), self.differentiable) if d]
            found = torch.autograd.grad(outputs, [t for t in inputs if t.requires_grad], tangents, allow_unused=True, create_graph=True)
            return apart([g for g in found if g is not None], stand_ins)

        with torch.autocast("cpu", enabled=False), recording():  # the forward was not under it
            stand_ins = [_C.wrap(t.detach()).requires_grad_(t.requires_grad) for t in (*tensors, *tangents)]
            outputs = again(stand_ins)
            return with_gradients(again, stand_ins, outputs, keeps=True) if any(t.requires_grad for t in outputs) else _C.captured_program(stand_ins, outputs)


def storages(tensors):
    return {t.untyped_storage()._cdata for t in tensors}


def apart(results, inputs):
    """Results that share no memory with an input or with each other."""
    seen, found = storages(inputs), []
    for t in results:
        found.append(t.clone() if storages([t]) & seen else t)
        seen |= storages([t])
    return found


def with_gradients(again, inputs, outputs, keeps=False):
    """Of what was recorded on stand-ins, which must share no memory."""
    differentiable, roots = [t.requires_grad for t in outputs], [t for t in outputs if t.requires_grad]
    tangents = [_C.wrap(torch.empty_like(t, device="cpu")) for t in roots]  # of an expanded result each element has its own
    found = iter(torch.autograd.grad(roots, [t for t in inputs if t.requires_grad], tangents, allow_unused=True))
    gradients = [next(found) if t.requires_grad else None for t in inputs]
    sources = _sources(roots, inputs, gradients)
    # Each of its own memory: autograd makes them leaves' .grad, which are then written to in place.
    gradients = apart([g for g in gradients if g is not None], [*inputs, *tangents])
    inputs, outputs = [t.detach() for t in inputs], [t.detach() for t in outputs]
    saved, saved_stand_ins, used = _C.partition(inputs, outputs, tangents, gradients)
    forward = _C.captured_program(inputs, outputs, saved)
    backward = _C.captured_program([inputs[i] for i in used] + saved_stand_ins + tangents, gradients)
    return Training(again, keeps, forward, backward, differentiable, used, sources, tangents)


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


_SECOND = (b"cresset: these gradients of a compiled function have none themselves: it draws random numbers, changes an input or was called under autocast, or an input was changed since or is gone; "
           b"leave what they are taken of out of torch.compile, or run it on the device")


def _kept(t):
    return lambda: t


def _version(t):
    return None if t.is_inference() else t._version


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, programs, results, *tensors):
        outputs, saved = results[:len(programs.differentiable)], results[len(programs.differentiable):]
        # A result that is saved shares its memory, on the CPU: whoever overwrites it must hear of it.
        watched = [t for t in outputs if t.device.type == "cpu" and any(s.data_ptr() <= t.data_ptr() < s.data_ptr() + s.nbytes for s in saved)]
        ctx.programs, ctx.watched = programs, len(watched)
        ctx.save_for_backward(*[tensors[i] for i in programs.used], *saved, *watched)
        ctx.others = [(programs.refer(tensors[i]), _version(tensors[i])) for i in programs.others]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[t for t, d in zip(outputs, programs.differentiable) if not d])
        return tuple(outputs)

    @staticmethod
    @torch._dynamo.disable
    def backward(ctx, *gradients):
        programs = ctx.programs
        tangents, unused = programs.tangents(gradients)
        found = _Step.differentiated(ctx, tangents) if torch.is_grad_enabled() else _Step.gradients(ctx, tangents)
        return None, None, *programs.of_inputs(found, unused)

    @staticmethod
    def gradients(ctx, tangents):
        saved = ctx.saved_tensors
        return ctx.programs.backward.run([*saved[:len(saved) - ctx.watched], *tangents])

    @staticmethod
    def differentiated(ctx, tangents):
        """With create_graph."""
        programs, saved = ctx.programs, ctx.saved_tensors
        others = [reference() for reference, _ in ctx.others]
        found = None
        if programs.again and all(t is not None and _version(t) == version for t, (_, version) in zip(others, ctx.others)):
            inputs = dict(zip([*programs.used, *programs.others], [*saved[:len(programs.used)], *others]))
            found = programs.differentiated([inputs[i] for i in range(len(inputs))], tangents)
        if found is not None:
            return found
        with torch.no_grad():
            found = _Step.gradients(ctx, tangents)
        # Whoever differentiates these by what they depend on is told, and not given zeros.
        causes = [t for t in (*saved, *tangents) if t.requires_grad]
        return [torch._C._functions.DelayedError(_SECOND, 1 + len(causes))(g.requires_grad_(), *causes)[0] for g in found]
