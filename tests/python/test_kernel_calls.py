"""Operators that are not lowered, within torch.compile: PyTorch's kernels run them between the programs of the others."""

import threading

import pytest
import torch

import torch_cresset
from conftest import traced_by_aot_autograd

FACTOR, EIGEN, SOLVE = "aten::linalg_cholesky_ex", "aten::_linalg_eigh", "aten::_linalg_solve_ex"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "allow")
    torch._dynamo.reset()
    torch.manual_seed(0)
    torch_cresset.reset_counters()


def positive(n, *batch):
    x = torch.randn(*batch, n, n)
    return x @ x.mT / n + torch.eye(n)


def gaussian_process(x, y):
    """The negative log likelihood."""
    factor = torch.linalg.cholesky(torch.exp(-torch.cdist(x, x).square() / 2) + 0.1 * torch.eye(len(x), device=x.device))
    weights = torch.cholesky_solve(y[:, None], factor)
    return (y @ weights)[0] / 2 + factor.diagonal().log().sum()


def whitened(x):
    values, vectors = torch.linalg.eigh(x.mT @ x / len(x))
    return (x @ (vectors * (values + 1e-3).rsqrt()) @ vectors.mT).relu() + 1


def solved(a, b):
    return torch.linalg.solve(a, b).tanh() * torch.linalg.slogdet(a)[1][..., None, None]


def most_frequent(x):
    values, indices = torch.mode((x * 4).round(), dim=1)
    return values * 2, indices + 1


CASES = {"gaussian_process": (gaussian_process, torch.randn(20, 3), torch.randn(20)), "whitened": (whitened, torch.randn(50, 8)), "solved": (solved, positive(6, 3), torch.randn(3, 6, 2)),
         "inverted": (lambda x: torch.linalg.inv(x).sin(), positive(5)), "most_frequent": (most_frequent, torch.randn(3, 8)), "factored": (lambda x: torch.linalg.qr(x)[0].abs() + 1, torch.randn(6, 4)),
         "rank": (lambda x: torch.linalg.svdvals(x * 2) + 1, torch.randn(6, 4)), "no_kernel_first": (lambda x: torch.special.bessel_j0(x), torch.randn(5))}


@pytest.mark.parametrize("device", ["cpu", "cresset"])
@pytest.mark.parametrize("name", CASES)
def test_results(name, device):
    function, *args = CASES[name]
    compiled = torch.compile(function, backend="cresset", fullgraph=True)
    for scale in (1, 1.5):
        args = [a * scale for a in args]
        ours, expected = compiled(*(a.to(device) for a in args)), function(*args)
        torch.testing.assert_close(torch.utils._pytree.tree_map(lambda t: t.cpu(), ours), expected)
        assert all(t.device.type == device for t in torch.utils._pytree.tree_leaves(ours))
    assert device != "cpu" or not traced_by_aot_autograd()


def test_each_run_counts():
    compiled = torch.compile(solved, backend="cresset")
    for _ in range(3):
        compiled(positive(6), torch.randn(6, 2))
    assert torch_cresset.counters()[SOLVE] == 3


@pytest.mark.parametrize("name", ["gaussian_process", "whitened", "solved", "inverted"])
def test_gradients(name):
    function, *args = CASES[name]
    expected = [a.clone().requires_grad_() for a in args]
    function(*expected).sum().backward()
    given = [a.clone().requires_grad_() for a in args]
    torch.compile(function, backend="cresset")(*given).sum().backward()
    for a, b in zip(given, expected):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)  # both round the solutions of systems, whose condition is up to 30
    assert not traced_by_aot_autograd()


def test_nothing_is_factored_twice():
    given = [a.clone().requires_grad_() for a in CASES["gaussian_process"][1:]]
    torch.compile(gaussian_process, backend="cresset")(*given).backward()
    assert torch_cresset.counters()[FACTOR] == 1


def test_elementwise_kernels_are_not_repeated_in_the_backward():
    x = torch.rand(5).requires_grad_()
    torch.compile(lambda x: torch.special.i0e(x).square(), backend="cresset")(x).sum().backward()
    y = x.detach().clone().requires_grad_()
    torch.special.i0e(y).square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert torch_cresset.counters()["aten::special_i0e"] == 1


@pytest.mark.parametrize("function, text", [(torch.linalg.inv, "linalg.inv: The diagonal element 2 is zero"), (torch.linalg.cholesky, "linalg.cholesky: .*leading minor of order 2 is not positive-definite")])
def test_errors_are_pytorchs(function, text):
    compiled = torch.compile(lambda x: function(x) * 2, backend="cresset")
    good = torch.eye(3) * 2
    torch.testing.assert_close(compiled(good), function(good) * 2)
    with pytest.raises(torch.linalg.LinAlgError, match=text):
        compiled(torch.diag(torch.tensor([1.0, 0, 1])))
    torch.testing.assert_close(compiled(good), function(good) * 2)


def test_profiles_name_them():
    a, b = positive(6), torch.randn(6, 2)
    compiled = torch.compile(solved, backend="cresset")
    compiled(a, b)
    with torch_cresset.profile() as rows:
        compiled(a, b)
    assert {row.kernel: row.calls for row in rows}[SOLVE] == 1


def test_an_error_without_a_reader_is_raised():
    def checked(x):
        torch.linalg.inv(x)
        return x + 1

    with pytest.raises(torch.linalg.LinAlgError):
        torch.compile(checked, backend="cresset")(torch.zeros(2, 2))


def test_wrong_arguments_are_pytorchs_errors():
    with pytest.raises(Exception, match="batches of square matrices"):
        torch.compile(lambda x: torch.linalg.inv(x + 1), backend="cresset")(torch.randn(2, 3))


def test_strides_are_pytorchs():
    x = positive(5)
    assert torch.compile(torch.linalg.inv, backend="cresset")(x).stride() == torch.linalg.inv(x).stride()


def test_inputs_are_written():
    def step(state, a):
        state.mul_(0.5).add_(torch.linalg.inv(a))
        return state.sum()

    ours, eager, compiled = torch.zeros(4, 4), torch.zeros(4, 4), torch.compile(step, backend="cresset")
    for _ in range(3):
        a = positive(4)
        torch.testing.assert_close(compiled(ours, a), step(eager, a))
        torch.testing.assert_close(ours, eager)


def test_sizes_change():
    compiled = torch.compile(solved, backend="cresset", dynamic=True)
    for n in (3, 5, 3, 7, 5, 4, 9):
        a, b = positive(n), torch.randn(n, 2)
        torch.testing.assert_close(compiled(a, b), solved(a, b))


def test_random_numbers_and_sizes_of_results_that_depend_on_values():
    def function(x):
        return torch.poisson(x.abs()).shape, x[x > 0].sum() + torch.linalg.inv(torch.eye(2)).sum()

    x = torch.randn(10)
    ours, expected = torch.compile(function, backend="cresset")(x), function(x)
    assert ours[0] == expected[0]
    torch.testing.assert_close(ours[1], expected[1])


def test_exported_programs_and_threads():
    class Module(torch.nn.Module):
        def forward(self, a, b):
            return solved(a, b)

    a, b = positive(6), torch.randn(6, 2)
    run = torch_cresset.load(torch.export.export(Module(), (a, b)))
    torch.testing.assert_close(run(a, b), solved(a, b))
    assert "cresset.in_pieces" not in torch_cresset.counters()
    results = [None] * 4

    def client(i):
        results[i] = [run(a, b * i) for _ in range(50)]

    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(4):
        for result in results[i]:
            torch.testing.assert_close(result, solved(a, b * i))


def test_what_is_written_down_is_lowered():
    with pytest.raises(RuntimeError, match="aten::.*eigh is not lowered"):
        torch_cresset.stablehlo(whitened, torch.randn(50, 8))


def test_fallbacks_as_errors(monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "error")
    with pytest.raises(Exception, match="_linalg_eigh is not lowered"):
        torch.compile(whitened, backend="cresset")(torch.randn(50, 8))


def test_whoever_is_not_lowered_is_named_once(monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "warn")
    with pytest.warns(UserWarning, match="aten::frexp is not lowered and runs eagerly, which splits the compiled graph there"):
        torch.compile(lambda x: torch.frexp(x)[0] + 1, backend="cresset")(torch.randn(3))
