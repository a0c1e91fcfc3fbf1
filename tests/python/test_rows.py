"""Reductions of any dimension, scans, and copies that turn and join, at sizes on both sides of what a vector, a task and a part hold."""

import pytest
import torch

from conftest import same


def on_device(f, *args):
    return f(*[a.to("cresset") for a in args]).cpu()


@pytest.mark.parametrize("columns", [1, 3, 7, 8, 16, 40, 63, 64, 129, 1030])
@pytest.mark.parametrize("rows", [5, 1024, 1040])
def test_reductions_of_the_first_dimension(rows, columns):
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows + columns))
    exact = x.double()
    torch.testing.assert_close(on_device(lambda x: x.sum(0), x), exact.sum(0).float(), rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(on_device(lambda x: x.amax(0), x), x.amax(0), rtol=0, atol=0)
    torch.testing.assert_close(on_device(lambda x: (x > 2).any(0), x), (x > 2).any(0))
    i = (x * 100).long()
    torch.testing.assert_close(on_device(lambda i: i.amin(0), i), i.amin(0))
    torch.testing.assert_close(on_device(lambda i: i.sum(0), i), i.sum(0))


@pytest.mark.parametrize("shape, dims", [((32, 64, 64), (0, 1)), ((1024, 1, 65), (0,)), ((64, 33, 40), (0, 1)), ((2048, 5, 9), 0)])
def test_reductions_of_leading_dimensions(shape, dims):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for f in (lambda x: x.sum(dims), lambda x: x.mean(dims), lambda x: (x * 2 + 1).sum(dims), lambda x: x.amin(dims)):
        torch.testing.assert_close(on_device(f, x), f(x.double()).float(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape, dim", [((7,), 0), ((5, 1000), 1), ((1000, 5), 0), ((100, 37), 0), ((3, 50, 16), 1), ((2, 1, 4), 1), ((0, 3), 0), ((7, 9, 2), 1), ((8, 33), 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.float64])
def test_scans(shape, dim, dtype):
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3).to(dtype)
    torch.testing.assert_close(on_device(lambda x: x.cumsum(dim), x), x.cumsum(dim))
    y = (x / 8 + 1).to(dtype) if dtype.is_floating_point else x.sign()
    torch.testing.assert_close(on_device(lambda y: y.cumprod(dim), y), y.cumprod(dim), rtol=2e-2 if dtype is torch.bfloat16 else None, atol=1e-3 if dtype is torch.bfloat16 else None)


def test_long_scans_keep_their_digits():
    x = torch.rand(300_000, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(on_device(lambda x: x.cumsum(0), x), x.double().cumsum(0).float(), rtol=2e-7, atol=0)


@pytest.mark.parametrize("shape", [(8 << 20,), ((8 << 20) + 5,), (4097, 2048)])
def test_results_that_no_cache_holds(shape):
    """They are written past the caches, where they don't overwrite what is read, and read again by others."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    y = x.to("cresset")
    torch.testing.assert_close((y * 2 + 1).cpu(), x * 2 + 1)
    torch.testing.assert_close((y.softmax(-1) if len(shape) > 1 else y.exp()).sum(-1).cpu(), (x.softmax(-1) if len(shape) > 1 else x.exp()).sum(-1), rtol=1e-4, atol=0)
    y.mul_(2).add_(y)
    torch.testing.assert_close(y.cpu(), x * 4)


def test_gradient_of_a_scan():
    x = torch.randn(4, 100, requires_grad=True)
    w = torch.randn(4, 100)
    (expected,) = torch.autograd.grad((x.cumsum(1) * w).sum(), x)
    d = x.detach().to("cresset").requires_grad_()
    (actual,) = torch.autograd.grad((d.cumsum(1) * w.to("cresset")).sum(), d)
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("index_shape", [(6, 7, 40), (6, 7, 3), (2, 5, 40), (6, 2, 40)])
def test_gathers_and_scatters_side_by_side(dim, index_shape):
    x = torch.randn(6, 7, 40)
    i = torch.randint(0, x.shape[dim], index_shape, generator=torch.Generator().manual_seed(1))
    s = torch.randn(index_shape)
    torch.testing.assert_close(on_device(lambda x, i: x.gather(dim, i), x, i), x.gather(dim, i), rtol=0, atol=0)
    torch.testing.assert_close(on_device(lambda x, i, s: x.scatter_add(dim, i, s), x, i, s), x.scatter_add(dim, i, s))
    once = i.flatten().argsort().argsort().view(index_shape) % x.shape[dim] if index_shape[dim] == 1 else torch.arange(index_shape[dim]).view([-1 if d == dim else 1 for d in range(3)]).expand(index_shape).contiguous()
    torch.testing.assert_close(on_device(lambda x, i, s: x.scatter(dim, i, s), x, once, s), x.scatter(dim, once, s), rtol=0, atol=0)


@pytest.mark.parametrize("n, k", [(10, 3), (1000, 1), (1000, 5), (1000, 250), (1000, 251), (5000, 256), (5000, 300), (40, 0)])
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_a_sorted_line(n, k, largest):
    x = torch.randn(3, n, generator=torch.Generator().manual_seed(n + k))
    x[1] = x[1].round()  # many are equal
    x[2, n // 2] = float("nan")
    values, indices = (t.cpu() for t in x.to("cresset").topk(k, largest=largest))
    expected = x.topk(k, largest=largest)[0]
    torch.testing.assert_close(values, expected, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(x.gather(1, indices), expected, rtol=0, atol=0, equal_nan=True)
    assert all(len(set(line)) == k for line in indices.tolist())
    # The same sort with all of it wanted is another kernel.
    torch.testing.assert_close(x.to("cresset").sort(1, descending=largest)[0].cpu(), x.sort(1, descending=largest)[0], rtol=0, atol=0, equal_nan=True)


def wide_numbers(kind, n):
    """Of 64 bits, with many equal ones and some at the ends; `kind` says which bits tell them apart."""
    g = torch.Generator().manual_seed(n)
    if kind == "f64":
        x = torch.randn(n, dtype=torch.float64, generator=g).mul(3).round(decimals=1)
        x[::7] = torch.randn(len(x[::7]), dtype=torch.float64, generator=g) * 1e300
        return torch.cat([x, torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 5e-324, float("nan")], dtype=torch.float64)])
    if kind == "last bits of f64":
        return 1e15 + torch.randint(0, 50, (n,), generator=g).double() / 8
    if kind == "far apart":
        return torch.cat([torch.randint(0, 100, (n,), generator=g), torch.tensor([2**63 - 1, -(2**63), 2**40, -1])])
    return torch.randint(0, 64, (n,), generator=g) + 2**60


@pytest.mark.parametrize("n", [5, 100, 1000, 5000])
@pytest.mark.parametrize("kind", ["f64", "last bits of f64", "far apart", "near each other"])
def test_numbers_of_64_bits_are_sorted(kind, n):
    x = wide_numbers(kind, n)
    d = x.to("cresset")
    for descending in (False, True):
        ours, expected = d.sort(stable=True, descending=descending), x.sort(stable=True, descending=descending)
        torch.testing.assert_close(ours.values.cpu(), expected.values, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(ours.indices.cpu(), expected.indices)
        for k in (1, min(4, n), n // 5 + 1, n // 2):
            values, indices = (t.cpu() for t in d.topk(k, largest=descending))
            torch.testing.assert_close(values, expected.values[:k], rtol=0, atol=0, equal_nan=True)
            torch.testing.assert_close(x[indices], values, rtol=0, atol=0, equal_nan=True)
            assert len(indices.unique()) == k
    table = torch.stack([x, x.flip(0)], 1)
    assert torch.equal(table.to("cresset").sort(dim=0, stable=True).indices.cpu(), table.sort(dim=0, stable=True).indices)


@pytest.mark.parametrize("columns", [5, 8, 31, 1024])
def test_rows_turned_around(columns):
    x = torch.randn(6, columns)
    for f in (lambda x: x.flip(1), lambda x: x.flip(0, 1) * 2, lambda x: x.flip(1)[:, 1:], lambda x: x.t().flip(0)):
        torch.testing.assert_close(on_device(f, x), f(x), rtol=0, atol=0)


@pytest.mark.parametrize("shapes, dim", [([(300, 64), (5, 64), (200, 64)], 0), ([(40_000,), (3,), (7001,)], 0), ([(1, 20_000), (1, 31)], 1), ([(2, 3, 9000), (2, 1, 9000)], 1), ([(17, 2000), (17, 3)], 1)])
def test_joined_pieces(shapes, dim):
    pieces = [torch.randn(s) for s in shapes]
    torch.testing.assert_close(on_device(lambda *p: torch.cat(p, dim), *pieces), torch.cat(pieces, dim), rtol=0, atol=0)


@pytest.mark.parametrize("shape, order", [((33, 70), (1, 0)), ((7, 100), (1, 0)), ((16, 16), (1, 0)), ((8, 17, 9, 40), (0, 2, 3, 1)), ((5, 8, 9), (0, 2, 1)), ((3, 40, 16, 24), (3, 2, 0, 1))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool])
def test_transposed(shape, order, dtype):
    """Squares in registers; what is left at the ends is written with what comes before it."""
    x = (torch.randn(shape) * 9).to(dtype)
    torch.testing.assert_close(on_device(lambda x: x.permute(order).contiguous(), x), x.permute(order).contiguous(), rtol=0, atol=0)
    if dtype == torch.float32:
        y = torch.randn(x.permute(order).shape)
        torch.testing.assert_close(on_device(lambda x: (x.permute(order) * 2).exp(), x), (x.permute(order) * 2).exp())
        torch.testing.assert_close(on_device(lambda x, y: x.permute(order) + y, x, y), x.permute(order) + y)


@pytest.mark.parametrize("n", [5, 127, 128, 1024, 5000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool, torch.int64, torch.float64])
@pytest.mark.parametrize("descending", [False, True])
def test_stable_order(n, dtype, descending):
    x = torch.randn(5, n, generator=torch.Generator().manual_seed(n))
    x[0, ::3] = x[0, 0]
    x[1, 1], x[1, 2] = -0.0, 0.0
    x[3] = 1
    if dtype.is_floating_point:
        x[2, n // 2], x[2, 3], x[2, 1], x[2, 0] = float("nan"), float("nan"), float("inf"), -float("inf")
    elif dtype == torch.bool:
        x = x > 0
    else:
        x = (x * 50).int()
    x = x.to(dtype)
    for t, dim in ((x, 1), (x.t().contiguous(), 0)):
        expected = t.sort(dim=dim, descending=descending, stable=True)
        sorted = t.to("cresset").sort(dim=dim, descending=descending, stable=True)
        torch.testing.assert_close(sorted[0].cpu(), expected[0], rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(sorted[1].cpu(), expected[1])


@pytest.mark.parametrize("pad", [(1, 1, 1, 1), (3, 0), (0, 5, 2, 0), (-2, 3), (20, 20, 1, 1)])
@pytest.mark.parametrize("shape", [(7, 9), (30, 40), (64, 257)])
def test_padding_within_a_kernel(pad, shape):
    """Most vectors lie wholly within; what is computed for the others must not be taken for theirs."""
    x = torch.randn(2, *shape)
    f = lambda x: torch.nn.functional.pad(x, pad, value=2.0)
    torch.testing.assert_close(on_device(f, x), f(x), rtol=0, atol=0)
    torch.testing.assert_close(on_device(lambda x: f(x) * f(x) + x.amax(), x), f(x) * f(x) + x.amax())
    torch.testing.assert_close(on_device(lambda x: (f(x) + 1).exp().sum(-1), x), (f(x) + 1).exp().sum(-1))


@pytest.mark.parametrize("place", [0, 63, 64, 5000, 6399])
@pytest.mark.parametrize("index", [64, -1, 2**62, -(2**63)])
def test_an_index_out_of_range_is_found_wherever_it_is(place, index):
    i = torch.randint(0, 64, (100, 64))
    i.view(-1)[place] = index
    with pytest.raises(RuntimeError, match=f"index {index} lies outside"):
        torch.randn(100, 64).to("cresset").gather(1, i.to("cresset"))


def test_an_extreme_is_found_again():
    """The gradient compares the elements with the extreme: they have to be the same numbers, although a multiply-add is contracted here and not there."""

    def gradient(x):
        x = x.detach().requires_grad_()
        (x + x.sum() * 1e-3 + x.exp().clamp(max=3)).amax(-1).sum().backward()
        return x.grad

    same(gradient, torch.randn(19, 21, 3, 7), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [40, 300_000])
@pytest.mark.parametrize("name", ["equal", "place", "quotient"])
def test_an_extreme_is_found_again_in_rows_of_any_length(columns, name):
    """What a product is used for beside its sum differs between the walks; and the longest rows are not kept from one to the next."""

    def f(x):
        y = x * x.cos()
        z = y + x.sin()
        if name == "equal":
            return (y * (z == z.amax(-1, keepdim=True))).sum(-1)
        if name == "place":
            return (y * y).sum(-1) + z.max(-1)[1]
        return ((z / z.abs().amax(-1, keepdim=True)).abs() == 1).sum(-1) + y.sum(-1)

    same(f, torch.randn(5, columns, generator=torch.Generator().manual_seed(1)), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("columns", [2, 3, 6, 7, 14])
def test_extremes_of_short_rows(columns):
    """With CRESSET_CPU=baseline, halves of vectors are two lanes."""
    x = torch.randn(5, columns)
    x[2, 1] = float("nan")
    same(lambda x: x.amax(-1), x)
    same(lambda x: x.softmax(-1), x)


def test_the_sign_of_zero_is_kept():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.tensor([-0.0, 0.0] * 40, dtype=dtype)
        for f in (torch.relu, lambda x: x.clamp(min=0), lambda x: torch.nn.functional.hardtanh(x, 0, 1)):
            assert torch.equal(on_device(f, x).signbit(), f(x).signbit())


@pytest.mark.parametrize("rows, columns", [(64, 96), (67, 83), (19, 130)])
def test_what_is_partly_read_transposed_is_overwritten_once(rows, columns):
    torch.manual_seed(0)
    p, y = torch.randn(rows, columns), torch.randn(columns, rows)
    on_device = p.to("cresset")
    update = torch.compile(lambda p, y: p.add_(y.t()).mul_(0.5), backend="cresset")
    in_place = p.clone()
    for _ in range(3):
        p.add_(y.t()).mul_(0.5)
        on_device.add_(y.to("cresset").t()).mul_(0.5)
        update(in_place, y)
        torch.testing.assert_close(on_device.cpu(), p)
        torch.testing.assert_close(in_place, p)
