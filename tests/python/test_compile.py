"""torch.compile without AOTAutograd: what is recorded directly, that it means what eager PyTorch means, and what goes AOTAutograd's way."""

import copy
import math
import mmap
import os
import pathlib
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import torch_cresset
import torch_cresset.compile
from conftest import fallbacks, traced_by_aot_autograd
from torch_cresset import training


def compiled(f, **options):
    return torch.compile(f, backend="cresset", **options)


class Block(torch.nn.Module):
    def __init__(self, size=32, p=0.0):
        super().__init__()
        self.norm, self.up, self.down, self.p = torch.nn.LayerNorm(size), torch.nn.Linear(size, 2 * size), torch.nn.Linear(2 * size, size), p
        self.unused = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)), approximate="tanh")), self.p, self.training)


def gradients(model, x):
    model.zero_grad()
    x = x.clone().requires_grad_()
    loss = model(x).square().mean()
    loss.backward()
    return [loss.detach(), x.grad, *[p.grad for p in model.parameters()]]


@pytest.mark.parametrize("training", [False, True])
def test_results_and_gradients_are_eager_s(training):
    model, x = Block().train(training), torch.randn(4, 32)
    fast = compiled(copy.deepcopy(model), fullgraph=True)
    for expected, actual in zip(gradients(model, x), gradients(fast, x), strict=True):
        assert (expected is None) == (actual is None)  # of a parameter that is not used
        if expected is not None:
            torch.testing.assert_close(actual, expected)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
    assert not traced_by_aot_autograd() and not fallbacks()


def test_what_only_leads_to_unused_results_has_no_gradient():
    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shared, self.first, self.second = (torch.nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            y = self.shared(x)
            return self.first(y), self.second(y).tanh()

    model, x = Heads(), torch.randn(4, 8)
    fast = compiled(copy.deepcopy(model), fullgraph=True)
    for used in ([0], [1], [0, 1]):
        for f in (model, fast):
            f.zero_grad()
            results = f(x)
            sum(results[i].square().sum() for i in used).backward()
        for (name, p), q in zip(model.named_parameters(), fast.parameters(), strict=True):
            assert (p.grad is None) == (q.grad is None), name  # an optimizer would decay it
            if p.grad is not None:
                torch.testing.assert_close(q.grad, p.grad)
    assert not traced_by_aot_autograd()


def test_gradients_of_unused_results_take_no_memory():
    resident = lambda: int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    before = resident()
    for shape, stride, dtype in [((64 << 18,), (1,), torch.float32), ((1 << 10, 1 << 12), (1, 1 << 10), torch.complex64), ((3, 0), (1, 3), torch.bool), ((), (), torch.bfloat16)]:
        zeros = training._zeros(shape, stride, dtype)
        assert zeros.shape == shape and zeros.stride() == stride and zeros.dtype == dtype and not zeros.count_nonzero()
    assert resident() - before < 16 << 20


def test_whole_operators_are_computed_once_and_pieces_again():
    def hand_written(x, w):
        y = x @ w
        return 0.5 * y * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)))

    x, w = torch.randn(64, 32), torch.randn(32, 32).div(6).requires_grad_()  # y where gelu bends
    with torch.no_grad():
        torch.testing.assert_close(compiled(hand_written)(x, w), hand_written(x, w))
    torch_cresset._C.begin_watch()
    compiled(hand_written)(x, w).sum().backward()
    names = [fate[0] for program in torch_cresset._C.end_watch() for fate in program]
    assert names.count("aten.gelu") == 1 and names.count("aten.gelu_backward") == 1
    expected = w.grad.clone()
    w.grad = None
    hand_written(x, w).sum().backward()
    torch.testing.assert_close(expected, w.grad)


def test_dropout_draws_anew_and_its_gradient_knows_the_mask():
    f = compiled(lambda x: F.dropout(x, 0.5, True))
    x = torch.ones(1000, requires_grad=True)
    masks = []
    for _ in range(3):
        x.grad = None
        y = f(x)
        y.sum().backward()
        assert torch.equal(x.grad, y)
        masks.append(y.detach())
    assert not torch.equal(masks[0], masks[1]) and not torch.equal(masks[1], masks[2])
    assert not traced_by_aot_autograd()


def test_the_first_call_after_a_seed_draws_as_later_ones_do():
    f = torch.compile(lambda x: F.dropout(x, 0.5), backend="cresset")
    drawn = []
    for _ in range(3):
        torch.manual_seed(0)
        drawn += [f(torch.ones(1000)), f(torch.ones(1000))]
    assert torch.equal(drawn[0], drawn[2]) and torch.equal(drawn[2], drawn[4])
    assert torch.equal(drawn[1], drawn[3]) and not torch.equal(drawn[0], drawn[1])


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_what_is_checkpointed_is_computed_again_with_the_same_mask(p):
    torch.manual_seed(0)
    block = Block()
    region = lambda x: F.dropout(F.gelu(block(x)), p)
    x = torch.randn(64, 32, requires_grad=True)
    y = compiled(lambda x: torch.utils.checkpoint.checkpoint(region, x, use_reentrant=False))(x)
    mask = (y != 0) / (1 - p)
    expected = F.gelu(block(x)) * mask
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), [x, *block.up.parameters()]), torch.autograd.grad(expected.sum(), [x, *block.up.parameters()]))
    assert traced_by_aot_autograd() == 1


def test_an_extreme_is_found_again_in_the_backward():
    """Its input is saved: computed again there, no element need be equal to it."""
    f = lambda x: torch.linalg.vector_norm(x * x.cos() + x.sin(), float("inf"), -1)
    x = torch.randn(64, 40, requires_grad=True)
    y = torch.compile(f, backend=lambda module, inputs: torch_cresset.compile._through_aot_autograd(module, list(inputs)))(x)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x), torch.autograd.grad(f(x).sum(), x))


def test_batch_norm_in_training_moves_its_statistics():
    torch.manual_seed(0)
    n = torch.nn
    model = n.Sequential(n.Conv2d(3, 8, 3), n.BatchNorm2d(8), n.ReLU(), n.Conv2d(8, 4, 3), n.BatchNorm2d(4, momentum=0.3))
    other = copy.deepcopy(model)
    fast = compiled(other, fullgraph=True)
    for step in range(3):
        x = torch.randn(4, 3, 9, 9)
        for expected, actual in zip(gradients(model, x), gradients(fast, x), strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
        for expected, actual in zip(model.buffers(), other.buffers(), strict=True):
            torch.testing.assert_close(actual, expected)
    assert int(other[1].num_batches_tracked) == 3
    versions = [b._version for b in other.buffers()]
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert all(b._version > v for b, v in zip(other.buffers(), versions))
    assert not traced_by_aot_autograd() and not fallbacks()


def test_what_a_graph_overwrites_is_saved_for_its_gradient():
    def f(x, average):
        before = average.clone()
        average.mul_(0.5).add_(x.detach().mean(), alpha=0.5)
        return x * before

    results = []
    for function in (f, compiled(f, fullgraph=True)):
        x, average = torch.arange(6.0).requires_grad_(), torch.linspace(1, 2, 6)
        y = function(x, average)
        y = y + function(y, average)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        results.append((y.detach(), gradient, average))
    torch.testing.assert_close(results[1], results[0])
    assert not traced_by_aot_autograd()


def test_memory_that_inputs_share_is_not_written_behind_their_backs():
    def f(a, b):
        a.add_(1)
        return b * 2

    fast = compiled(f)
    for function in (f, fast):
        memory = torch.arange(8.0)
        torch.testing.assert_close(function(memory[:4], memory[4:]), torch.arange(4.0, 8) * 2)
        memory = torch.arange(8.0)
        torch.testing.assert_close(function(memory[:6], memory[2:]), (torch.arange(8.0)[2:] + torch.tensor([1.0] * 4 + [0.0] * 2)) * 2)
        torch.testing.assert_close(memory, torch.arange(8.0) + torch.tensor([1.0] * 6 + [0.0] * 2))


def test_several_results_of_which_some_have_no_gradient():
    def f(x):
        y = x.sin()
        return y, y.argmax(-1), (y * 2).detach(), y.sum(-1), 7

    x, z = torch.randn(3, 5, requires_grad=True), torch.randn(3, 5)
    actual, expected = compiled(f)(x), f(x)
    for a, e in zip(actual, expected):
        assert a.requires_grad == e.requires_grad and torch.allclose(a, e) if isinstance(e, torch.Tensor) else a == e
    (g,) = torch.autograd.grad(actual[3], x, z.sum(-1), retain_graph=True)  # nothing arrives for the first
    torch.testing.assert_close(g, torch.autograd.grad(expected[3], x, z.sum(-1), retain_graph=True)[0])
    again = torch.autograd.grad(actual[0], x, z.t().contiguous().t())[0]  # of other strides
    torch.testing.assert_close(again, torch.autograd.grad(expected[0], x, z)[0])


def test_results_of_equal_value_do_not_share_memory():
    def step(x):
        return torch.zeros_like(x), torch.zeros_like(x), x * 2, x * 2

    x = torch.randn(4, 8)
    for graph in (step, lambda x: (*step(x), torch.linalg.svdvals(x))):  # recorded directly, and in pieces
        results = torch.compile(graph, backend="cresset")(x)
        results[0].add_(1)
        results[2].zero_()
        torch.testing.assert_close(results[1], torch.zeros_like(x))
        torch.testing.assert_close(results[3], x * 2)


def test_filled_results_may_be_overwritten_before_the_backward():
    def step(x):
        x = torch.nn.functional.pad(x, (1, 1))
        x[..., 0] = 0.5
        return x.sin(), torch.zeros(x.shape[:-1])  # setitem's gradient is zero where it wrote, of the shape and value of the second result

    x = torch.randn(4, 8, requires_grad=True)
    y, filled = torch.compile(step, backend="cresset")(x)
    filled.add_(1)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, x.cos())


def test_what_is_overwritten_before_the_backward_is_an_error():
    f = compiled(lambda x: torch.softmax(x, -1))
    y = f(torch.randn(8, requires_grad=True))
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    w = torch.randn(8, requires_grad=True)
    y = compiled(lambda w: w * w)(w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def _equation(u, x):
    """Of third order, as a network that solves one is trained."""
    (g,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g[:, 0].sum(), x, create_graph=True)
    (k,) = torch.autograd.grad(h[:, 1].sum(), x, create_graph=True)
    return ((u[:, 0] * g[:, 0] + h[:, 0] + k[:, 1]) ** 2).mean()


def _penalty(y, x):
    (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    return (g.flatten(1).norm(2, 1) - 1).square().mean() + y.mean()


@pytest.mark.parametrize("layers, shape, loss", [
    ([nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 1)], (6, 2), _equation),
    ([nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.GroupNorm(2, 8), nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.Softplus(), nn.Flatten(), nn.Linear(256, 4)], (4, 3, 8, 8), _penalty),
    ([nn.Linear(3, 4)], (5, 3), _penalty),
], ids=["equation", "penalty", "linear"])
def test_derivatives_of_any_order(layers, shape, loss):
    model, results = nn.Sequential(*layers), []
    for f in (model, torch.compile(model, backend="cresset")):
        for scale in (1, 2):  # recorded first, then found
            x = (scale * torch.linspace(-1, 1, math.prod(shape)).sin().reshape(shape)).requires_grad_()
            model.zero_grad()
            value = loss(f(x), x)
            value.backward()
            results.append([value.detach(), x.grad, *[p.grad for p in model.parameters()]])
    torch.testing.assert_close(results[2:], results[:2])


def test_gradients_are_differentiated_as_the_forward_was_computed():
    x, w = torch.randn(4, 32) / 8, torch.randn(32, 32) / 8
    results = []
    for f, narrow in ((lambda x, w: (x @ w).tanh(), False), (compiled(lambda x, w: (x @ w).tanh()), True)):
        leaves = [t.clone().requires_grad_() for t in (x, w)]
        y = f(*leaves).sum()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
            g = torch.autograd.grad(y, leaves[0], create_graph=True)[0]
        results.append([g.detach(), *torch.autograd.grad(g.square().sum(), leaves)])
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("f, change", [(lambda x, b: F.dropout(x) * x + b, False), (lambda x, b: x * x + b, True)], ids=["random", "changed since"])
def test_second_derivatives_that_are_refused(f, change):
    x, b = torch.randn(8, requires_grad=True), torch.randn(8, requires_grad=True)
    y = compiled(f)(x, b).sum()
    if change:
        with torch.no_grad():
            b.add_(1)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    with pytest.raises(RuntimeError, match="have none themselves"):
        (g.sum() + x.sum()).backward()


def test_gradients_are_off_and_on_within():
    def f(x):
        with torch.no_grad():
            scale = x.abs().amax()
        return x / scale

    x = torch.randn(8, requires_grad=True)
    (actual,), (expected,) = (torch.autograd.grad(g(x).sum(), x) for g in (compiled(f), f))
    torch.testing.assert_close(actual, expected)
    assert torch.is_grad_enabled()

    def inside_out(x):
        with torch.enable_grad():
            return x * x

    with torch.no_grad():
        assert compiled(inside_out)(x).requires_grad


def _an_input_is_given_gradients(x, w):
    losses = torch.zeros(3)
    torch._dynamo.graph_break()
    losses[0], losses[1] = (x * w).sum(), (x + w).sum()
    torch._dynamo.graph_break()
    return losses * 2


def _a_view_is_given_gradients(x, w):
    whole = torch.zeros(2, 3)
    part = whole[0]
    torch._dynamo.graph_break()
    part.add_((x * w)[0])
    torch._dynamo.graph_break()
    return whole * w


def _gradients_are_dropped(x, w):
    y = w * 1
    torch._dynamo.graph_break()
    y = y.detach()
    torch._dynamo.graph_break()
    return y.mul_(x) * w


def _a_result_is_expanded(x, w):
    return (x * w).sum(0).expand(4, 3)


@pytest.mark.parametrize("f", [_an_input_is_given_gradients, _a_view_is_given_gradients, _gradients_are_dropped, _a_result_is_expanded])
def test_gradients_pass_between_graphs(f):
    results = []
    for function in (f, torch.compile(f, backend="cresset")):
        x, w = torch.randn(2, 3, generator=torch.manual_seed(0)), torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        result = function(x, w)
        assert result.requires_grad
        (result * torch.linspace(1, 2, result.numel()).reshape(result.shape)).sum().backward()
        results.append((result.detach(), w.grad))
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("f", [lambda x: (x.view(-1), x + 1), lambda x: (x, x * 2), lambda x: (lambda y: (y, y[0]))(x * 2)], ids=["view", "input", "parts"])
def test_results_that_are_views_stay_views(f):
    for grad in (False, True):
        x = torch.randn(4, 4, requires_grad=grad)
        actual, expected = compiled(f)(x), f(x)
        for a, e in zip(actual, expected):
            torch.testing.assert_close(a, e)
            assert (a.data_ptr() == x.data_ptr()) == (e.data_ptr() == x.data_ptr()) and a.requires_grad == grad
        assert (actual[0].data_ptr() == actual[1].data_ptr()) == (expected[0].data_ptr() == expected[1].data_ptr())


def test_inputs_that_are_written_to():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).train()
    other, x = copy.deepcopy(model), torch.randn(2, 3, 8, 8)
    fast = compiled(other)
    for _ in range(3):
        torch.testing.assert_close(fast(x), model(x))
    torch.testing.assert_close(other[1].running_var, model[1].running_var)
    assert other[1].num_batches_tracked == 3
    a, b = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        compiled(lambda t: t.add_(1).mul(2))(a), compiled(lambda t: t.add_(1).mul(2))(a)
    assert torch.equal(a, b + 2)


def copied_rows(cache, at, rows):
    cache.index_copy_(1, at, rows)
    return cache.sum(-1)


def rows_twice(cache, at, rows):
    cache.index_copy_(1, at, rows)
    cache.index_copy_(1, at + 1, rows * 2)
    return cache.sum(-1)


def rows_and_what_was_there(cache, at, rows):
    before = cache * 1
    cache.index_copy_(1, at, rows + cache[:, :2])
    return before, cache.sum(-1)


def rows_of_itself(cache, at, rows):
    cache.index_copy_(1, at, cache[:, 3:5] + rows)
    return cache


def rows_added(cache, at, rows):
    cache.index_add_(1, at, rows)
    cache.mul_(2)
    return cache[0].sum()


def assigned_slice(cache, at, rows):
    cache[:, 2:4] = rows
    return cache.mean()


def indexed_assignment(cache, at, rows):
    cache[:, at] = rows
    return cache @ cache.transpose(-1, -2)


def swapped(cache, at, rows):
    """Each is written with what the other one was."""
    first, second = cache[:, :2] * 1, rows * 1
    rows.copy_(first)
    cache[:, :2] = second
    return rows.sum()


@pytest.mark.parametrize("f", [copied_rows, rows_twice, rows_and_what_was_there, rows_of_itself, rows_added, assigned_slice, indexed_assignment, swapped])
@pytest.mark.parametrize("view", [False, True])
def test_what_a_graph_writes_to_is_written_where_it_is(f, view):
    """And nowhere else: of a cache of keys one row, as a token is generated."""
    torch.manual_seed(0)
    width = 5 if view else 4  # a program of its own
    caches = [torch.randn(3, 2, 8, width)[1] if view else torch.randn(2, 8, width)]
    caches.append(torch.cat([caches[0][None] * 0, caches[0][None]])[1] if view else caches[0].clone())
    at, rows = torch.tensor([5, 1]), torch.randn(2, 2, width)
    known, place, version = len(torch_cresset.compile_records()), caches[1].data_ptr(), caches[1]._version
    compiled = torch.compile(f, backend="cresset")
    for _ in range(3):
        own = [rows.clone(), rows.clone()]
        expected = f(caches[0], at, own[0])
        torch.testing.assert_close(compiled(caches[1], at, own[1]), expected)
        torch.testing.assert_close(caches[1], caches[0])
        torch.testing.assert_close(own[1], own[0])
    assert caches[1].data_ptr() == place and caches[1]._version > version
    if view:
        assert not caches[1]._base[0].any()
    if f is copied_rows:
        assert torch_cresset.compile_records()[known]["donated_bytes"] >= caches[1].nbytes


def test_indices_beyond_a_cache_that_is_written_are_an_error():
    cache, compiled = torch.zeros(2, 8, 4), torch.compile(copied_rows, backend="cresset")
    compiled(cache, torch.tensor([3]), torch.ones(2, 1, 4))
    with pytest.raises((IndexError, RuntimeError), match="index"):
        compiled(cache, torch.tensor([8]), torch.ones(2, 1, 4))
    compiled(cache, torch.tensor([4]), torch.ones(2, 1, 4))
    assert cache.sum() == 16 and cache[:, 3:5].min() == 1


def test_what_is_made_within_is_made_on_the_device():
    def f(x):
        n = x.size(-1)
        mask = torch.tril(torch.ones(n, n, dtype=torch.bool))
        bias = torch.tensor([1.0, 2.0]).sum() + torch.arange(n, device=x.device) + torch.zeros(n, device="cpu")
        return x.masked_fill(~mask, -1.0).to("cpu") + bias.to(x.device)

    x = torch.randn(2, 5, 5)
    torch.testing.assert_close(compiled(f, fullgraph=True)(x), f(x))
    assert not traced_by_aot_autograd() and not fallbacks()


def test_a_gradient_that_reads_a_value():
    """Which of prod's gradients it is depends on the number of zeros; what leads there, a norm without a weight, has operands that are absent."""
    def f(x):
        y = F.group_norm(x, 1) / 2
        return y * y.prod(2, keepdim=True)

    x = torch.randn(2, 4, 6, requires_grad=True)
    expected, actual = (torch.autograd.grad(function(x).square().sum(), x)[0] for function in (f, compiled(f)))
    torch.testing.assert_close(actual, expected)
    assert traced_by_aot_autograd() == 1


@pytest.mark.parametrize("training", [False, True])
def test_autocast_inside_and_outside(training):
    model, x = Block(), torch.randn(4, 32)

    def inside(x):
        with torch.autocast("cpu", torch.bfloat16):
            return model(x)

    def outside(f):
        def call(x):
            with torch.autocast("cpu", torch.bfloat16):
                return f(x)
        return call

    for expected, actual in ((inside, compiled(inside)), (outside(model), outside(compiled(model)))):
        with torch.set_grad_enabled(training):
            e, a = expected(x), actual(x)
        assert a.dtype == e.dtype
        torch.testing.assert_close(a, e, atol=2e-2, rtol=2e-2)
        if training:
            for p, q in zip(torch.autograd.grad(a.float().sum(), list(model.parameters()), allow_unused=True), torch.autograd.grad(e.float().sum(), list(model.parameters()), allow_unused=True)):
                assert (p is None) == (q is None)
                if p is not None:
                    assert p.dtype == q.dtype
                    torch.testing.assert_close(p, q, atol=5e-2, rtol=5e-2)
    assert not traced_by_aot_autograd()


def test_other_sizes_compile_only_what_they_change():
    model = Block()
    fast = compiled(model)
    graphs = torch._dynamo.utils.counters["stats"]
    before = graphs["unique_graphs"]
    for batch in (2, 3, 5, 5, 9):
        x = torch.randn(batch, 4, 32)
        for e, a in zip(gradients(model, x), gradients(fast, x)):
            if e is not None:
                torch.testing.assert_close(a, e)
    assert graphs["unique_graphs"] - before == 2  # the second has symbolic sizes
    assert not traced_by_aot_autograd()


def test_many_sizes_are_bounded_and_said(monkeypatch):
    monkeypatch.setattr(torch_cresset.programs, "_MANY_SIZES", 4)
    monkeypatch.setattr(torch_cresset.programs, "_MOST_SIZES", 5)
    f = compiled(lambda x: F.softmax(x, -1) * 2, dynamic=True)
    with pytest.warns(UserWarning, match="4 sizes.*pad them"):
        for n in (*range(2, 12), 2):
            x = torch.randn(3, n)
            torch.testing.assert_close(f(x), F.softmax(x, -1) * 2)


CACHED = """
import sys, torch, torch_cresset
import torch.nn.functional as F
torch.manual_seed(0)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
    def forward(self, x):
        return F.gelu(self.linear(x)).sum()
model, x = Model(), torch.randn(4, 8)
fast = torch.compile(model, backend="cresset")
fast(x).backward()
got = model.linear.weight.grad.clone()
model.zero_grad()
model(x).backward()
torch.testing.assert_close(got, model.linear.weight.grad)
torch.compiler.save_cache_artifacts()
print(torch._dynamo.utils.counters["stats"].get("unique_graphs", 0), torch_cresset.counters().get("cresset::gelu", 0), torch_cresset.counters().get("cresset.kernel_compile", 0))
"""


def test_dynamo_s_cache_serves_the_next_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CACHED)

    def run():
        environment = os.environ | {"TORCH_CACHING_PRECOMPILE": "1", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "dynamo"), "CRESSET_CACHE_DIR": str(tmp_path / "kernels")}
        result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, env=environment)
        assert result.returncode == 0, result.stderr
        return [int(n) for n in result.stdout.split()]

    graphs, recorded, kernels = run()
    assert graphs == 1 and recorded and kernels
    assert run() == [0, recorded, 0]  # nothing traced by Dynamo, recorded again, no kernel compiled


@pytest.mark.parametrize("road", ["direct", "aot_autograd"])
def test_gradients_share_no_memory(road):
    """Each becomes a leaf's .grad, to which later ones are added in place."""
    w, d, x = nn.Parameter(torch.ones(3, 3)), nn.Parameter(torch.zeros(3, 3)), torch.ones(2, 3)
    backend = "cresset" if road == "direct" else lambda module, inputs: torch_cresset.compile._through_aot_autograd(module, list(inputs))
    f = torch.compile(lambda x: (x @ (w + d)).sum(), backend=backend)
    for _ in range(2):
        f(x).backward()
    assert w.grad.tolist() == d.grad.tolist() == [[4.0] * 3] * 3
    x, y, g = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True), torch.full((4,), 2.0)
    add = torch.compile(lambda x, y: x + y, backend=backend)
    for _ in range(2):
        add(x, y).backward(g)
    assert x.grad.tolist() == y.grad.tolist() == [4.0] * 4 and g.tolist() == [2.0] * 4


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_around_a_compiled_function(reentrant):
    linear = nn.Linear(4, 4)
    f = compiled(lambda x: torch.tanh(linear(x)))
    x = torch.randn(3, 4, requires_grad=True)
    checkpoint(f, x, use_reentrant=reentrant).sum().backward()
    (expected,) = torch.autograd.grad(torch.tanh(linear(x)).sum(), x)
    torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_draws_the_same_numbers_again(reentrant):
    f = compiled(lambda x: F.dropout(x, 0.5) * 2)
    for _ in range(2):
        x = torch.ones(1000, requires_grad=True)
        y = checkpoint(f, x, use_reentrant=reentrant)
        y.sum().backward()
        torch.testing.assert_close(x.grad, y.detach())
    torch.manual_seed(1)
    first = f(torch.ones(9))
    with torch.random.fork_rng():
        assert not torch.equal(f(torch.ones(9)), first)
    torch.manual_seed(1)
    assert torch.equal(f(torch.ones(9)), first)


def test_two_inputs_become_the_same():
    def f(a, b, x):
        a.add_(x)
        b.copy_(a)

    a, b = torch.zeros(4), torch.zeros(4)
    compiled(f)(a, b, torch.arange(4.0))
    assert a.tolist() == b.tolist() == [0, 1, 2, 3]


def test_a_buffer_takes_over_another_input_in_training():
    def shifted(w, previous, now, x):
        old = now.clone()
        previous.copy_(now)
        now.copy_(x)
        return w * old

    w = torch.ones(4, requires_grad=True)
    compiled(shifted)(w, torch.zeros(4), torch.full((4,), 3.0), torch.arange(4.0)).sum().backward()
    assert w.grad.tolist() == [3.0] * 4

    def kept(w, x, buffer):
        buffer.copy_(x)
        return w * x

    w, buffer = torch.ones(4, requires_grad=True), torch.zeros(4)
    y = compiled(kept)(w, torch.arange(4.0), buffer)
    assert buffer.tolist() == [0, 1, 2, 3]
    buffer.zero_()
    y.sum().backward()
    assert w.grad.tolist() == [0, 1, 2, 3]


def test_an_input_that_pieces_overwrite_is_copied_before():
    def f(previous, now):
        previous.copy_(now)
        now.copy_(torch.special.bessel_j0(now) + 1)
        return now * 2

    previous, now = torch.zeros(4), torch.arange(4.0)
    expected = [torch.zeros(4), torch.arange(4.0)]
    torch.testing.assert_close(compiled(f)(previous, now), f(*expected))
    torch.testing.assert_close([previous, now], expected)


def test_sizes_are_not_those_of_a_call_that_could_not_be_recorded():
    def f(x, b):
        b.add_(x)
        return b * 2 + x.shape[0], x.view(2, -1).sum(0) / x.shape[0]

    g = compiled(f, dynamic=True)
    for n, shared in [(4, False), (6, False), (8, True), (10, False), (4, False), (12, True)]:
        base = torch.arange(2.0 * n)
        a = [base[:n], base[n:]] if shared else [torch.arange(float(n)), torch.ones(n)]
        b = [t.clone() for t in a]
        torch.testing.assert_close(g(*a), f(*b))


def test_views_of_another_dtype_are_results():
    def of_result(x):
        y = x + 1
        return y, y.view(torch.int32), y.view(torch.uint8)

    functions = [of_result, lambda x: x.view(torch.int32), lambda x: (x.view(torch.int32), x[1:]), lambda x: ((y := x * 2).view(torch.int32), y), lambda x: (x[2:].view(torch.int64), x * 1)]
    for f in functions:
        torch._dynamo.reset()
        actual, expected = compiled(f)(torch.arange(4.0)), f(torch.arange(4.0))
        for a, e in zip(*((r if isinstance(r, tuple) else (r,)) for r in (actual, expected)), strict=True):
            assert a.dtype == e.dtype
            torch.testing.assert_close(a, e)


def test_results_on_the_device_of_what_is_on_the_cpu():
    assert compiled(lambda: torch.ones(3, device="cresset"))().device.type == "cresset"
    assert compiled(lambda x: x.to("cresset") * 2)(torch.ones(3)).device.type == "cresset"
    assert compiled(lambda a, b: a * b)(torch.tensor(2.0), torch.tensor(3.0).to("cresset")).device.type == "cresset"
    assert compiled(lambda a, b: a * b)(torch.tensor(2.0), torch.tensor(3.0)).device.type == "cpu"


def test_results_can_be_resized():
    assert compiled(lambda x: x + 1)(torch.ones(2)).resize_(4)[:2].tolist() == [2.0, 2.0]
    torch.testing.assert_close(compiled(lambda x: torch.clamp(x, 0, 1, out=torch.zeros(0)))(torch.ones(2)), torch.ones(2))


def test_an_input_that_is_changed_and_returned_is_that_tensor():
    def scale(x):
        return x.mul_(2)

    p = torch.nn.Parameter(torch.ones(3))
    with torch.no_grad():
        y = compiled(scale)(p)
    assert y is p
    (y * 3).sum().backward()
    assert p.grad.tolist() == [3, 3, 3]


def test_a_view_counts_from_the_beginning_of_its_storage():
    base = torch.arange(24.0)
    f = compiled(lambda x: x.as_strided((3,), (1,), 6) * 1)
    for offset in (4, 0, 6):
        assert f(base[offset:offset + 12]).tolist() == [6, 7, 8]


@pytest.mark.parametrize("first", [False, True], ids=["at once", "after others"])
def test_conjugate_inputs_are_written(first):
    def double(y):
        return y.mul_(2).sum()

    f, x = compiled(double), torch.arange(4.0) * (1 + 2j)
    if first:
        f(x.clone())
    expected = x * 2
    f(x.conj())
    torch.testing.assert_close(x, expected)


def test_tangents_from_outside():
    from torch.autograd import forward_ad

    f = compiled(torch.sin)
    for _ in range(2):
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(torch.ones(3), torch.ones(3)))).tangent
        torch.testing.assert_close(tangent, torch.ones(3).cos())
        f(torch.ones(3))


@pytest.mark.parametrize("order", ["apart halves same", "same apart", "halves apart same halves"])
def test_inputs_that_overlap_in_some_calls(order):
    def f(x, y):
        x.add_(1)
        return x * y

    def inputs(kind):
        base = torch.arange(24.0).reshape(4, 6)
        return {"apart": (base[:2], base[2:].clone()), "halves": (base[:2], base[2:]), "same": (base[:2], base[:2].view(2, 6))}[kind]

    g = compiled(f, dynamic=False)
    for kind in order.split():
        ours, expected = inputs(kind), inputs(kind)
        torch.testing.assert_close(g(*ours), f(*expected))
        torch.testing.assert_close(ours, expected)
