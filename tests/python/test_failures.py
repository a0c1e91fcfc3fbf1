"""What can't be right raises, once and where it belongs: indices out of range, work that can't be compiled."""

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks

OUTSIDE = [
    ("gather", RuntimeError, lambda x, i: x.gather(0, i)),
    ("scatter", RuntimeError, lambda x, i: x.scatter(0, i, 1.0)),
    ("scatter_add", RuntimeError, lambda x, i: x.scatter_add(0, i, x)),
    ("index_select", IndexError, lambda x, i: x.index_select(0, i)),
    ("index_add", IndexError, lambda x, i: x.index_add(0, i, x)),
    ("index_copy", IndexError, lambda x, i: x.index_copy(0, i, x)),
    ("index", IndexError, lambda x, i: x[i]),
    ("_index_put_impl_", IndexError, lambda x, i: x.index_put((i,), torch.zeros((), device=x.device))),
    ("embedding", IndexError, lambda x, i: F.embedding(i, x[:, None])),
    ("nll_loss_forward", IndexError, lambda x, i: F.nll_loss(x.expand(4, 4), i)),
]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name, error, function", OUTSIDE, ids=[case[0] for case in OUTSIDE])
def test_index_out_of_range(name, error, function, pending):
    x, index = torch.arange(4.0, device="cresset"), torch.tensor([0, 3, 1, 4]).to("cresset")
    with pytest.raises(error):
        function(x.cpu(), index.cpu())
    if pending:
        index = index + 0
        result = function(x, index)
        with pytest.raises(error, match=f"{name}.*outside.*4"):
            result.cpu()
        assert function(x, index - 1 if name in ("index", "_index_put_impl_") else index.clamp(0, 3)).cpu() is not None
    else:
        with pytest.raises(error, match=f"{name}.*index 4 lies outside"):
            function(x, index)
    torch_cresset.sync()


@pytest.mark.parametrize("function", [
    lambda d: torch.mm(torch.ones(2, 2, device=d), torch.ones(2, 2, dtype=torch.long, device=d)),
    lambda d: torch.bmm(torch.ones(1, 2, 2, device=d), torch.ones(1, 2, 2, dtype=torch.float64, device=d)),
    lambda d: torch.addmm(torch.ones(2, device=d), torch.ones(2, 2, device=d), torch.ones(2, 2, dtype=torch.half, device=d)),
    lambda d: torch.ones(2, 2, device=d) @ torch.ones(2, dtype=torch.long, device=d),
    lambda d: F.conv2d(torch.ones(1, 1, 3, 3, device=d), torch.ones(1, 1, 2, 2, dtype=torch.float64, device=d)),
])
def test_products_of_different_dtypes(function):
    with pytest.raises(RuntimeError):
        function("cpu")
    with pytest.raises(RuntimeError, match="dtype"):
        function("cresset")
    assert (torch.ones(2, device="cresset") + 1).tolist() == [2, 2]


@pytest.mark.parametrize("road", ["known", "later", "compile"])
def test_assertions_about_values(road):
    def checked(x):
        torch._assert_async((x if road == "known" else x.sum()) > 0, "the sum is not positive")
        return x * 2

    run = torch.compile(checked, backend="cresset", fullgraph=True) if road == "compile" else checked
    good, bad = torch.tensor([3.0], device="cresset"), torch.tensor([-3.0], device="cresset")
    torch_cresset.sync()
    torch_cresset.reset_counters()
    assert run(good).tolist() == [6.0]
    with pytest.raises(RuntimeError, match="the sum is not positive"):
        run(bad)
        torch_cresset.sync()  # also where nobody has kept a result
    assert fallbacks() == {}


def test_ignored_targets_are_in_range():
    x, target = torch.randn(3, 5), torch.tensor([0, -100, 4])
    expected = F.cross_entropy(x, target)
    torch.testing.assert_close(F.cross_entropy(x.to("cresset"), target.to("cresset") + 0).cpu(), expected)


def test_negative_indices_are_eager_s():
    x, index = torch.arange(5.0), torch.tensor([-1, -5, 2])
    torch.testing.assert_close(x.to("cresset")[index.to("cresset") + 0].cpu(), x[index])
    result = x.to("cresset")[index.to("cresset") - 1]
    with pytest.raises(IndexError, match="outside"):
        result.cpu()


def test_compiled_functions_check_indices():
    @torch.compile(backend="cresset")
    def take(x, i):
        return x.index_select(0, i) * 2

    x = torch.arange(4.0)
    torch.testing.assert_close(take(x, torch.tensor([0, 3])), torch.tensor([0.0, 6.0]))
    with pytest.raises(IndexError, match="index_select"):
        take(x, torch.tensor([0, 4]))
    torch.testing.assert_close(take(x, torch.tensor([1, 2])), torch.tensor([2.0, 4.0]))


def uncompilable():
    """A statistic of complex numbers has no code, which recording it does not see."""
    return torch.native_batch_norm(torch.ones(2, 3, dtype=torch.complex64, device="cresset"), None, None, None, None, True, 0.1, 1e-5)[1]


def test_work_that_cannot_be_compiled_is_nobody_else_s_problem():
    good = torch.ones(3, device="cresset") + 1
    bad = uncompilable()
    other = torch.ones(3, device="cresset") * 3
    assert good.tolist() == [2, 2, 2]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cresset"):
            bad.cpu()
    assert other.tolist() == [3, 3, 3]
    torch_cresset.sync()
    later = other + good
    assert later.tolist() == [5, 5, 5]
    bad.zero_()


def test_sync_raises_once():
    bad = uncompilable()
    with pytest.raises(RuntimeError, match="cresset"):
        torch_cresset.sync()
    torch_cresset.sync()
    with pytest.raises(RuntimeError, match="cresset"):
        (bad + 1).cpu()
    torch_cresset.sync()


@pytest.mark.parametrize("draw", [
    lambda: torch.randint(0, 1000, (20,), device="cresset"),
    lambda: torch.randperm(50, device="cresset"),
    lambda: torch.empty(20, device="cresset").exponential_(),
    lambda: torch.empty(20, device="cresset").bernoulli_(0.5),
    lambda: torch.multinomial(torch.ones(30, device="cresset"), 10),
])
def test_every_random_operator_follows_the_seed(draw):
    torch.manual_seed(3)
    cpu = torch.rand(4)
    first, second = draw().cpu(), draw().cpu()
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), cpu)
    assert torch.equal(draw().cpu(), first)
    assert not torch.equal(first, second)


def test_a_fallback_leaves_the_cpu_s_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    torch.randperm(10, device="cresset").cpu()
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_compile_runs_around_operators_that_are_not_lowered(device):
    def function(x):
        y = torch.special.bessel_j0(x * 2) + 1
        return (y.cumsum(0) * torch.special.i1(y)).sum(), y

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="cresset", fullgraph=True)
    x = torch.rand(5)
    torch_cresset.reset_counters()
    results = compiled(x.to(device))
    for ours, eager in zip(results, function(x)):
        torch.testing.assert_close(ours.cpu(), eager)
    counts = torch_cresset.counters()
    assert counts["aten::special_bessel_j0"] == 1 and counts["aten::special_i1"] == 1
    for ours, eager in zip(compiled((x + 1).to(device)), function(x + 1)):
        torch.testing.assert_close(ours.cpu(), eager)


def test_compile_runs_around_an_operator_of_several_results():
    def function(x):
        values, indices = torch.mode((x * 4).round(), dim=1)
        return values * 2, indices + 1

    torch._dynamo.reset()
    x = torch.rand(3, 8)
    with pytest.warns(UserWarning, match="aten::mode is not lowered"):
        results = torch.compile(function, backend="cresset", fullgraph=True)(x)
    for ours, eager in zip(results, function(x)):
        torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_compiled_functions_return_empty_tensors(device):
    x = torch.randn(4, 3, device=device)
    for function in (lambda x: x[:0] * 2, lambda x: (x + 1, x.new_empty(0)), lambda x: x.new_zeros(0, 3), lambda x: (x, x.new_empty(3, 0, 2).sum(1))):
        torch._dynamo.reset()
        ours, eager = torch.compile(function, backend="cresset")(x), function(x)
        torch.testing.assert_close(ours, eager)


def test_masks_choose_elements():
    torch_cresset.reset_counters()
    x = torch.arange(12.0).reshape(3, 4)
    d = x.to("cresset").requires_grad_()
    x.requires_grad_()
    for a, m in ((x, x > 4), (d, d > 4)):
        (a[m] ** 2).sum().backward()
        (torch.masked_select(a, m) * 3).sum().backward()
        (a.clone().masked_scatter(m, torch.ones(12, device=a.device)) * 2).sum().backward()
    assert torch.equal(d.grad.cpu(), x.grad)
    rows = torch.tensor([True, False, True])
    assert torch.equal(d.detach()[rows.to("cresset"), 1:3].cpu(), x.detach()[rows, 1:3])
    a, b = x.detach().clone(), x.detach().to("cresset").clone()
    a[a > 7] = torch.arange(4.0)
    b[b > 7] = torch.arange(4.0).to("cresset")
    assert torch.equal(b.cpu(), a)
    assert torch.equal((b > 3).nonzero().cpu(), (a > 3).nonzero())
    with pytest.raises(IndexError, match="mask"):
        b[torch.ones(5, dtype=torch.bool, device="cresset")]
    repr(b)
    assert not [name for name in torch_cresset.counters() if name.startswith("aten::")]


@pytest.mark.parametrize("divide", [torch.remainder, torch.fmod, torch.floor_divide, lambda x, y: torch.div(x, y, rounding_mode="trunc")])
@pytest.mark.parametrize("computed", [False, True])
def test_integers_divided_by_zero_are_the_cpus_error(divide, computed):
    x, y = torch.tensor([7, -7, -(2**63)]), torch.tensor([2, 0, -1])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x, y)
    divisor = y.to("cresset") * 1 if computed else y.to("cresset")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x.to("cresset"), divisor).cpu()
    assert divide(x.to("cresset"), (divisor if computed else y.to("cresset")) + 3).cpu().tolist() == divide(x, y + 3).tolist()


def test_the_least_integer_divided_by_minus_one_does_not_trap():
    x = torch.tensor([-(2**63), 5], device="cresset")
    assert torch.div(x, torch.tensor([-1, -1], device="cresset"), rounding_mode="trunc").cpu().tolist() == [-(2**63), -5]
    assert torch.remainder(x, torch.tensor([-1, 3], device="cresset")).cpu().tolist() == [0, 2]


def test_inductor_says_what_to_do():
    with pytest.raises(Exception, match='backend="cresset"'):
        torch.compile(lambda x: x.sin() + 1)(torch.randn(4, device="cresset"))
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(lambda x: x.sin() + 1)(torch.ones(4)), torch.ones(4).sin() + 1)  # of CPU tensors as ever
