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
    with pytest.raises(RuntimeError, match="one dtype"):
        torch.equal(x, x.double())
