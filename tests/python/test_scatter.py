"""Elements and slices put at indices, as graph networks do: an index that is one vector for all columns moves whole rows. And windows that are added where they were."""

import pytest
import torch
import torch_cresset
from conftest import fallbacks

EDGES, NODES, WIDTH = 40, 12, 37
TO, FROM = torch.randint(0, NODES, (EDGES,), generator=torch.Generator().manual_seed(0)), torch.randint(0, NODES, (EDGES,), generator=torch.Generator().manual_seed(1))
X, UPDATES = torch.randn(NODES, WIDTH), torch.randn(EDGES, WIDTH)
REDUCTIONS = [(r, s) for r in ("sum", "mean", "prod", "amax", "amin") for s in (True, False)]


def rows(index):
    return index[:, None].expand(-1, WIDTH)


def columns(index):
    return index[None].expand(WIDTH, -1)


FUNCTIONS = {
    "scatter_add of rows": (lambda x, u: x.scatter_add(0, rows(TO.to(x.device)), u), (X, UPDATES)),
    "scatter_add of columns": (lambda x, u: x.scatter_add(1, columns(TO.to(x.device)), u), (X.T.contiguous(), UPDATES.T.contiguous())),
    "scatter_add of slices": (lambda x, u: x.scatter_add(1, TO.to(x.device)[None, :, None].expand(3, -1, WIDTH), u), (torch.randn(3, NODES, WIDTH), torch.randn(3, EDGES, WIDTH))),
    "scatter": (lambda x, u: x.scatter(0, rows(torch.arange(NODES, device=x.device).flip(0)), u), (X, torch.randn(NODES, WIDTH))),
    "scatter of less": (lambda x, u: x.scatter_add(0, TO.to(x.device)[:, None].expand(-1, 5), u[:, :5]), (X, UPDATES)),
    "gather": (lambda x, u: x.gather(0, rows(FROM.to(x.device))) * u, (X, UPDATES)),
    "gather of less": (lambda x, u: x.gather(0, FROM.to(x.device)[:, None].expand(-1, 5)) * u[:, :5], (X, UPDATES)),
    "an index that differs": (lambda x, u: x.scatter_add(0, rows(TO.to(x.device)) * (torch.arange(WIDTH, device=x.device) % 2), u), (X, UPDATES)),
    "messages": (lambda x, w: torch.zeros_like(x).scatter_add(0, rows(TO.to(x.device)), x[FROM.to(x.device)] * w[:, None].exp()), (X, torch.randn(EDGES))),
    **{f"{r}{', all' * s}": (lambda x, u, r=r, s=s: x.scatter_reduce(0, rows(TO.to(x.device)), u, r, include_self=s), (X, UPDATES)) for r, s in REDUCTIONS},
}  # fmt: skip


def results(function, inputs, device):
    leaves = [t.to(device).requires_grad_() for t in inputs]
    y = function(*leaves)
    weigh = (torch.arange(y.numel()) % 5 - 2.0).reshape(y.shape).to(y.device)
    return [t.cpu() for t in (y.detach(), *torch.autograd.grad((y * weigh).sum(), leaves))]


@pytest.mark.parametrize("road", ["device", "compile"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_along_a_dimension(name, road):
    function, inputs = FUNCTIONS[name]
    expected = results(function, inputs, "cpu")
    torch_cresset.reset_counters()
    actual = results(function, inputs, "cresset") if road == "device" else results(torch.compile(function, backend="cresset", fullgraph=True), inputs, "cpu")
    torch.testing.assert_close(actual, expected)
    assert not fallbacks()


def test_whole_rows_are_seen_in_the_text():
    text = str(torch_cresset.stablehlo(FUNCTIONS["scatter_add of rows"][0], *FUNCTIONS["scatter_add of rows"][1]))
    assert "update_window_dims = [1], inserted_window_dims = [0]" in text
    text = str(torch_cresset.stablehlo(FUNCTIONS["an index that differs"][0], *FUNCTIONS["an index that differs"][1]))
    assert "update_window_dims" not in text


@pytest.mark.parametrize("road", ["device", "compile"])
@pytest.mark.parametrize("length,size,step", [(12, 4, 4), (13, 4, 2), (20, 7, 3), (20, 3, 5), (40, 20, 1), (9, 9, 2)])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("signals", [1, 2])
def test_windows_are_added_where_they_were(signals, dim, length, size, step, road):
    sizes = [2, 3, 5]
    sizes[dim] = length
    windows = torch.randn(sizes).unfold(dim, size, step).contiguous()
    if signals == 1 and dim != 0:
        windows = windows[:1]  # of all alike
    function = lambda w: torch.ops.aten.unfold_backward(w, sizes, dim, size, step)
    expected = function(windows)
    torch_cresset.reset_counters()
    actual = function(windows.to("cresset")).cpu() if road == "device" else torch.compile(function, backend="cresset", fullgraph=True)(windows)
    torch.testing.assert_close(actual, expected)
    assert not fallbacks()
