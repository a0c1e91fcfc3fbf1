"""Tensors without elements: nothing is read, and results, gradients and errors are eager's."""

import pytest
import torch
import torch.nn.functional as F


def update(x, u):
    y = x * 1
    y[:, 2:2].copy_(u)
    return y + 1


def index(x):
    return torch.empty(0, dtype=torch.long, device=x.device)


CASES = {
    "an update": (update, (4, 50), (4, 0)),
    "a slice scattered": (lambda x, u: torch.slice_scatter(x * 2, u * 3, 1, 2, 2).exp(), (4, 5), (4, 0)),
    "parts joined": (lambda x, y: torch.cat([x, y, x], 1) * 2, (3, 0), (3, 4)),
    "padding": (lambda x: F.pad(x, (1, 2), value=3.0) * 2, (3, 0)),
    "indices": (lambda x: x[index(x)] * 2, (4, 3)),
    "indices put": (lambda x, u: torch.index_put(x * 2, (index(x),), u, accumulate=True), (4, 3), (0, 3)),
    "slices added": (lambda x, u: torch.index_add(x * 2, 0, index(x), u), (4, 3), (0, 3)),
    "a scatter": (lambda x, u: torch.scatter_add(x * 1, 1, torch.empty(4, 0, dtype=torch.long, device=x.device), u), (4, 3), (4, 0)),
    "an embedding": (lambda w: F.embedding(torch.empty(0, 5, dtype=torch.long, device=w.device), w), (10, 4)),
    "rows of a linear layer": (lambda x, w, b: F.gelu(F.linear(x, w, b)), (2, 0, 4), (5, 4), (5,)),
    "what a linear layer sums": (lambda x, w, b: F.relu(F.linear(x, w, b)), (3, 0), (5, 0), (5,)),
    "what products sum": (lambda x, y: torch.bmm(x, y) + 1, (2, 3, 0), (2, 0, 5)),
    "images": (lambda x, w, b: F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=1)), 2), (0, 3, 8, 8), (4, 3, 3, 3), (4,)),
    "channels": (lambda x, w: F.conv2d(x, w), (2, 0, 8, 8), (4, 0, 3, 3)),
    "a normalised batch": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (0, 4), (4,), (4,)),
    "normalised channels": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (0, 3, 4, 4), (3,), (3,)),
    "a normalised image": (lambda x: F.instance_norm(x), (0, 4, 5, 5)),
    "a softmax": (lambda x: (x * 2).softmax(0), (0, 4)),
    "queries": (F.scaled_dot_product_attention, (1, 2, 0, 8), (1, 2, 4, 8), (1, 2, 4, 8)),
    "keys": (F.scaled_dot_product_attention, (1, 2, 3, 8), (1, 2, 0, 8), (1, 2, 0, 8)),
    "a mean loss": (lambda x: F.cross_entropy(x, index(x)), (0, 4)),
    "a summed loss": (lambda x: F.cross_entropy(x, index(x), reduction="sum"), (0, 4)),
    "a loss of logits": (lambda x, y: F.binary_cross_entropy_with_logits(x, y), (0, 4), (0, 4)),
    "a divergence": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), (0, 4), (0, 4)),
    "a sum": (lambda x: (x * 2).sum((0, 2)), (4, 3, 0)),
    "a mean": (lambda x: (x * 2).mean(0), (0, 4)),
    "a product": (lambda x: (x * 2).prod(1), (4, 0)),
    "a variance": (lambda x: (x * 2).var(1), (3, 0)),
    "an extreme": (lambda x: (x * 2).amax(0), (0, 4)),
    "an extreme of all": (lambda x: (x * 2).max(), (0, 4)),
    "the least of all": (lambda x: (x * 2).min(), (0, 4)),
    "a place": (lambda x: (x * 2).argmax(), (0, 4)),
    "broadcast": (lambda x: (x.expand(3, 0, 4) * 2).sum(0), (1, 1, 4)),
}


def results(function, inputs):
    """Value and gradients, or that there is an error."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    try:
        y = function(*leaves)
        gradients = torch.autograd.grad((y * 1.5).sum(), leaves, allow_unused=True) if y.requires_grad else []
        return [v if v is None else v.detach().cpu() for v in (y, *gradients)]
    except (RuntimeError, IndexError):
        return None


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_like_eager(name, compiled):
    function, *shapes = CASES[name]
    inputs = [torch.randn(shape) for shape in shapes]
    expected = results(function, inputs)
    actual = results(torch.compile(function, backend="cresset"), inputs) if compiled else results(function, [x.to("cresset") for x in inputs])
    assert (actual is None) == (expected is None)
    for a, e in zip(actual or [], expected or [], strict=True):
        assert (a is None) == (e is None)
        if e is not None:
            torch.testing.assert_close(a, e, equal_nan=True)
