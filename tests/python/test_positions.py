"""Operators that read by position, against the CPU with their gradients: sampling of images, padding with the input's own elements, windows, distances."""

import itertools

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks


def check(function, *inputs, **tolerance):
    """Values and gradients of all floating inputs."""
    found = {}
    for device in ("cpu", "cresset"):
        leaves = [t.to(device).detach().requires_grad_(t.is_floating_point()) for t in inputs]
        result = function(*leaves)
        weight = torch.arange(result.numel(), dtype=result.dtype).reshape(result.shape).to(device) / result.numel() + 0.5
        found[device] = [result.detach().cpu(), *(g.cpu() for g in torch.autograd.grad((result * weight).sum(), [t for t in leaves if t.requires_grad]))]
    for actual, expected in zip(found["cresset"], found["cpu"], strict=True):
        torch.testing.assert_close(actual, expected, **tolerance)
    assert not fallbacks()


@pytest.mark.parametrize("mode, padding, align", itertools.product(["bilinear", "nearest"], ["zeros", "border", "reflection"], [False, True]))
def test_grid_sample(mode, padding, align):
    image, grid = torch.randn(2, 3, 5, 4), torch.rand(2, 6, 7, 2) * 5 - 2.5  # many positions lie outside, some far
    check(lambda x, g: F.grid_sample(x, g, mode, padding, align), image, grid, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_of_bfloat16(padding):
    image, grid = torch.randn(2, 3, 5, 4).bfloat16(), (torch.rand(2, 6, 7, 2) * 2.4 - 1.2).bfloat16()
    exact = F.grid_sample(image.double(), grid.double(), padding_mode=padding, align_corners=False)
    result = F.grid_sample(image.to("cresset"), grid.to("cresset"), padding_mode=padding, align_corners=False)
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result.cpu(), exact.bfloat16())


def test_grid_sample_of_one_pixel_and_of_infinities_outside():
    grid = torch.rand(1, 2, 2, 2) * 2 - 1
    for align in (False, True):
        check(lambda x, g: F.grid_sample(x, g, "bilinear", "reflection", align), torch.randn(1, 2, 1, 1), grid)
    image = torch.full((1, 1, 2, 2), float("inf"))
    far = torch.full((1, 1, 1, 2), 9.0)
    assert F.grid_sample(image.to("cresset"), far.to("cresset"), align_corners=True).item() == 0


def test_grid_sample_says_what_is_wrong():
    image = torch.ones(1, 1, 2, 2, device="cresset")
    with pytest.raises(RuntimeError, match="last dimension"):
        F.grid_sample(image, torch.ones(1, 2, 2, 3, device="cresset"))
    with pytest.raises(RuntimeError, match="dtype"):
        F.grid_sample(image, torch.ones(1, 2, 2, 2, device="cresset", dtype=torch.float64))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("shape, padding", [((2, 3, 7), (2, 3)), ((3, 6), (5, 0)), ((2, 3, 5, 6), (1, 4, 3, 2)), ((3, 4, 5), (-1, 2, 0, -2))])
def test_padding_with_own_elements(mode, shape, padding):
    check(lambda x: F.pad(x, padding, mode), torch.randn(shape))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("shape, padding", [((2, 3, 18, 66), (1, 1, 1, 1)), ((2, 2, 20, 37), (3, 2, 5, 1)), ((3, 33), (9, 17)), ((2, 5, 40), (-3, 4)), ((1, 2, 3, 17), (16, 2, 2, -1)),
                                            ((0, 3, 8, 20), (1, 2, 3, 4))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_padding_in_pieces(mode, shape, padding, dtype):
    """Rows of several vectors and what is left of them, few and many of an element's uses; also compiled, with what uses the result."""
    x = torch.randn(shape, dtype=dtype)
    if dtype is torch.bfloat16:  # eager adds an element's uses in bf16: exact is what is added in f32
        wide, narrow = x.float().requires_grad_(), x.to("cresset").requires_grad_()
        exact, padded = F.pad(wide, padding, mode), F.pad(narrow, padding, mode)
        weight = torch.randn(exact.shape).bfloat16()
        exact.backward(weight.float()), padded.backward(weight.to("cresset"))
        torch.testing.assert_close(padded.cpu(), exact.bfloat16(), rtol=0, atol=0)
        torch.testing.assert_close(narrow.grad.cpu(), wide.grad.bfloat16())
    else:
        check(lambda x: F.pad(x, padding, mode), x)
    if dtype is torch.float32:
        function = lambda x: (F.pad(x, padding, mode) * 2).abs()
        torch.testing.assert_close(torch.compile(function, backend="cresset")(x), function(x))


def test_padding_is_one_copy_and_its_gradient_one_sum():
    x = torch.randn(2, 3, 20, 20)
    for mode in ("reflect", "replicate"):
        text = torch_cresset.stablehlo(lambda x: F.pad(x, (1, 1, 1, 1), mode), x)
        assert text.count('"stablehlo.gather"') == 1 and text.count("stablehlo.concatenate") == 1  # of rows; of their pieces
        text = torch_cresset.stablehlo(lambda x: torch.autograd.grad(F.pad(x, (1, 1, 1, 1), mode).sum(), x)[0], x.requires_grad_())
        assert "scatter" not in text and text.count("stablehlo.concatenate") == 1


def test_padding_of_integers_and_of_two_kernels():
    x = torch.randint(-128, 128, (2, 3, 9, 21)).to(torch.int8)
    torch.testing.assert_close(F.pad(x.to("cresset"), (2, 1, 1, 2), "replicate").cpu(), F.pad(x.int(), (2, 1, 1, 2), "replicate").to(torch.int8))
    x, w = torch.randn(2, 3, 17, 19), torch.randn(4, 3, 3, 3)
    check(lambda x, w: F.conv2d(F.pad(x.relu(), (1, 1, 1, 1), "reflect"), w), x, w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool])
@pytest.mark.parametrize("width", [1, 7, 16, 31, 47])
def test_pieces_of_every_width_side_by_side(width, dtype):
    x, y = ((torch.randn(5, n) * 3).to(dtype) for n in (width, 20))
    for f in (lambda x, y: torch.cat([x, y, x], 1), lambda x, y: torch.cat([x.flip(1), y, x], 1), lambda x, y: torch.cat([x[0], y[1], x[2]])):
        torch.testing.assert_close(f(x.to("cresset"), y.to("cresset")).cpu(), f(x, y), rtol=0, atol=0)
        if width == 31 and dtype is torch.float32:
            torch.testing.assert_close(torch.compile(f, backend="cresset")(x, y), f(x, y), rtol=0, atol=0)


@pytest.mark.parametrize("rows, width", [(5, 520), (9, 130), (40, 67), (1, 200), (100, 64)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_rows_that_are_updated_in_ranges(rows, width, dtype):
    """Several updates of a row stay in order; rows are ranges of different sizes."""
    x, y = ((torch.randn(n, 3, width) * 2).round().to(dtype) for n in (rows, 50))  # sums are exact in bf16
    i = torch.randint(0, rows, (50,))
    i[10:20] = rows - 1
    for f in (lambda x, y, i: x.index_add(0, i, y), lambda x, y, i: x.index_put((i,), y, accumulate=True),
              lambda x, y, i: x.index_copy(0, i[:1], y[:1]), lambda x, y, i: x[:, 1].index_add(0, i[:3], y[:3, 1])):
        torch.testing.assert_close(f(x.to("cresset"), y.to("cresset"), i.to("cresset")).cpu(), f(x, y, i), rtol=0, atol=0)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_positions_of_sorted_numbers(dim, dtype):
    """Of numbers with up to 32 bits and of others."""
    x = (torch.randn(5, 40, 7) * 99).to(dtype)
    for f in (lambda x: x.argsort(dim=dim, stable=True), lambda x: x.sort(dim=dim, stable=True, descending=True)[1] * 2, lambda x: x.sort(dim=dim, stable=True)[1].narrow(dim, 1, 3),
              lambda x: torch.arange(7, device=x.device) + x.argsort(dim=-1, stable=True)):
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x), rtol=0, atol=0)


def test_compared_positions():
    for n, m in ((3, 70), (70, 3), (65, 65)):
        for f in (lambda d: torch.eye(n, m, device=d), lambda d: torch.ones(n, m, device=d).tril(-1), lambda d: torch.ones(n, m, device=d, dtype=torch.bfloat16).triu(2),
                  lambda d: (torch.arange(m, device=d) < torch.arange(n, device=d)[:, None]).double(),
                  lambda d: ((torch.arange(m, device=d) * 2**33) == (torch.arange(n, device=d)[:, None] * 2**32)).half()):
            torch.testing.assert_close(f("cresset").cpu(), f("cpu"), rtol=0, atol=0)


@pytest.mark.parametrize("size, step", [(16, 8), (5, 3), (33, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_windows_that_overlap(size, step, dtype):
    x = (torch.randn(7, 130) * 9).to(dtype)
    for f in (lambda x: x.unfold(1, size, step).contiguous(), lambda x: x.unfold(1, size, step).transpose(1, 2) * 2, lambda x: x.t().unfold(0, size, step) + 1,
              lambda x: x.as_strided((4, 3, 9, 20), (130, 5, 7, 1), 11).contiguous(), lambda x: x[1:].unfold(0, 3, 1).sum(-1)):
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x), rtol=0, atol=0)
        if size == 16 and dtype is torch.float32:
            torch.testing.assert_close(torch.compile(f, backend="cresset")(x), f(x), rtol=0, atol=0)
    assert not fallbacks()


@pytest.mark.parametrize("options", [dict(kernel_size=3), dict(kernel_size=(2, 3), stride=2, padding=1), dict(kernel_size=2, dilation=(2, 1), padding=(0, 1))])
def test_unfold_and_fold(options):
    check(lambda x: F.unfold(x, **options), torch.randn(2, 3, 7, 6))
    check(lambda x: F.unfold(x, **options), torch.randn(3, 7, 6))
    columns = F.unfold(torch.randn(2, 3, 7, 6), **options)
    check(lambda x: F.fold(x, (7, 6), **options), columns)
    check(lambda x: F.fold(x, (7, 6), **options), columns[0])


@pytest.mark.parametrize("dim, size, step", [(0, 2, 1), (1, 3, 2), (-1, 4, 4), (2, 2, 3)])
def test_gradient_of_windows(dim, size, step):
    check(lambda x: x.unfold(dim, size, step) * 2, torch.randn(3, 7, 8))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances_of_all_pairs(p):
    x, y = torch.randn(2, 5, 4), torch.randn(3, 4)
    if p in (0.5, 1.5, 3.0):
        x, y = x.double(), y.double()
    check(lambda x, y: torch.cdist(x, y, p), x, y)
    check(lambda x: torch.cdist(x, x, p), x[0])  # distances of zero
    assert torch.cdist(torch.ones(2, 0, device="cresset"), torch.ones(3, 0, device="cresset"), p).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("align", [False, True])
def test_resampled_lines(align):
    for size in (11, 3, 5):
        check(lambda x: F.interpolate(x, size, mode="linear", align_corners=align), torch.randn(2, 3, 5))


def test_repeats_that_are_values():
    x, repeats = torch.randn(4, 2), torch.tensor([2, 0, 3, 1])
    check(lambda x: x.repeat_interleave(repeats.to(x.device), 0), x)
    assert repeats.to("cresset").repeat_interleave(repeats.to("cresset"), output_size=6).tolist() == repeats.repeat_interleave(repeats).tolist()
    assert not fallbacks()


def test_equal():
    x = torch.randn(3, 4).to("cresset")
    assert torch.equal(x, x.clone()) and not torch.equal(x, x + 1) and not torch.equal(x, x[:2])
    assert not fallbacks()
    assert torch.equal(x, x.double())
    with pytest.raises(RuntimeError, match="on one device"):
        torch.equal(x, x.cpu())
