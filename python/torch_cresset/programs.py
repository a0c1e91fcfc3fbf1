"""The programs that a graph has become, for torch.compile."""

import warnings

import torch

from . import _C

_MANY_SIZES, _MOST_SIZES = 32, 256  # of a graph's inputs: from which on it is said, and how many are kept


def listed(results):
    """What a graph returns, as a list: a tensor is one result, not its rows."""
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Programs:
    """One for each set of sizes that a graph is called with: Dynamo's symbolic sizes are specialised here."""

    def __init__(self):
        self._numbers = None  # which inputs are no tensors: the same in every call
        self._all = {}  # by the composites that stay whole and the numbers; each a list, for tensors of several sizes

    def _key(self, inputs):
        return _C.composites(), *(inputs[i] for i in self._numbers)

    def run(self, inputs):
        """The graph's results, or None if there is no program for inputs of these sizes."""
        if not self._all:
            return None
        tensors = [v for v in inputs if isinstance(v, torch.Tensor)] if self._numbers else inputs
        for program, others in self._all.get(self._key(inputs), ()):
            results = program.run(tensors)
            if results is not None:
                return results if others is None else self._merged(results, others)
        return None

    def _merged(self, results, others):
        results = iter(results)
        return [next(results) if other is None else other[0] for other in others]

    def add(self, inputs, program, results):
        """`program.run` takes the tensors among the inputs, and returns the tensors among the results or None. `results`: what was recorded; of it what is no tensor is the same in every call."""
        others = [None if isinstance(v, torch.Tensor) else (v,) for v in results]
        self._numbers = [i for i, v in enumerate(inputs) if not isinstance(v, torch.Tensor)]
        self._all.setdefault(self._key(inputs), []).append((program, others if any(others) else None))
        sizes = sum(map(len, self._all.values()))
        if sizes == _MANY_SIZES:
            warnings.warn(f"cresset: a graph has come with {sizes} sizes of its inputs, each of which is recorded anew, run by PyTorch's own kernels or compiled; fewer are faster: pad them, as to multiples of 64, or generate with cache_implementation=\"static\"")
        if sizes > _MOST_SIZES:
            oldest = next(iter(self._all))
            del self._all[oldest][0]
            if not self._all[oldest]:
                del self._all[oldest]
