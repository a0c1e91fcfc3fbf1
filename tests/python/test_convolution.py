"""Convolutions with what follows them, and their gradients, as on the CPU."""

import copy

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks, same

# input, weight, and the arguments after bias: stride, padding, dilation, groups
CASES = {
    "pointwise": ((3, 10, 7, 7), (12, 10, 1, 1), ()),
    "pointwise_small": ((1, 40, 7, 7), (24, 40, 1, 1), ()),
    "pointwise_few_channels": ((1, 8, 14, 14), (40, 8, 1, 1), ()),
    "pointwise_small_images": ((4, 20, 7, 7), (16, 20, 1, 1), ()),
    "pointwise_plane": ((1, 20, 12, 13), (16, 20, 1, 1), ()),
    "pointwise_strided": ((2, 10, 9, 9), (12, 10, 1, 1), (2,)),
    "square": ((2, 9, 14, 14), (14, 9, 3, 3), (1, 1)),
    "square_small": ((1, 12, 7, 7), (16, 12, 3, 3), (1, 1)),
    "strided": ((2, 9, 15, 14), (14, 9, 3, 3), (2, 1)),
    "strided_rows": ((2, 4, 37, 35), (6, 4, 3, 3), (2, 1)),
    "strided_by_three": ((1, 2, 52, 50), (6, 2, 3, 3), (3, 1)),
    "strided_by_four": ((2, 3, 67, 84), (9, 3, 7, 7), (4, 3)),
    "stem": ((2, 3, 32, 32), (10, 3, 7, 7), (2, 3)),
    "patches": ((2, 3, 32, 32), (20, 3, 8, 8), (8,)),
    "dilated": ((1, 5, 16, 13), (6, 5, 3, 3), (1, (2, 3), (2, 3))),
    "grouped": ((2, 12, 8, 8), (18, 4, 3, 3), (1, 1, 1, 3)),
    "depthwise": ((2, 6, 14, 14), (6, 1, 3, 3), (1, 1, 1, 6)),
    "depthwise_strided": ((2, 6, 15, 15), (6, 1, 5, 5), (2, 2, 1, 6)),
    "depthwise_large": ((1, 4, 7, 7), (4, 1, 7, 7), (1, 3, 1, 4)),
    "depthwise_huge": ((1, 3, 24, 26), (3, 1, 15, 15), (1, 7, 1, 3)),
    "depthwise_twice": ((1, 4, 9, 9), (8, 1, 3, 3), (1, 1, 1, 4)),
    "pixels": ((4, 20, 1, 1), (6, 20, 1, 1), ()),
    "pixels_padded": ((4, 20, 1, 1), (6, 20, 3, 3), (1, 1)),
    "row_padded": ((4, 20, 1, 9), (6, 20, 3, 3), (1, 1)),
    "whole_image": ((3, 8, 7, 7), (12, 8, 7, 7), ()),
    "patches_apart": ((2, 3, 32, 31), (8, 3, 3, 2), (5,)),
    "patches_grouped": ((2, 6, 24, 24), (8, 3, 4, 4), (4, 0, 1, 2)),
    "filterbank": ((2, 1, 4000), (8, 1, 300), (75,)),
    "line": ((2, 5, 33), (6, 5, 4), (1, 3)),
    "causal_line": ((2, 5, 33), (5, 1, 4), (1, 3, 1, 5)),
    "volume": ((1, 3, 5, 6, 7), (4, 3, 3, 3, 3), (1, 1)),
}


def convolve(x, w, b, args):
    return (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3](x, w, b, *args)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_forward(case, dtype):
    x, w, args = CASES[case]
    tolerance = dict(rtol=2e-2, atol=2e-2) if dtype == torch.bfloat16 else {}
    same(lambda x, w, b: convolve(x, w, b, args), torch.randn(x, dtype=dtype), torch.randn(w, dtype=dtype) / 4, torch.randn(w[0], dtype=dtype), **tolerance)
    assert not fallbacks()


@pytest.mark.parametrize("case", CASES)
def test_backward(case):
    x, w, args = CASES[case]

    def gradients(*inputs):
        inputs = [v.requires_grad_() for v in inputs]
        return torch.autograd.grad(convolve(*inputs, args).square().sum(), inputs)

    same(gradients, torch.randn(x, dtype=torch.float64), torch.randn(w, dtype=torch.float64), torch.randn(w[0], dtype=torch.float64))
    assert not fallbacks()


def off(actual, exact):
    """How much of the largest element is off beyond the rounding of the result; `exact` is f64."""
    beyond = (actual.cpu().double() - exact).abs() - (exact.to(actual.dtype).double() - exact).abs()
    return float(beyond.max() / exact.abs().max())


def gradient_of_kernel(x, w, y, args):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(convolve(x, w, None, args), w, y)[0]


@pytest.mark.parametrize("x, w, args", [((3, 64, 13, 14), (70, 64, 3, 3), (1, 1)), ((2, 128, 7, 7), (128, 64, 3, 3), (1, 1, 1, 2)), ((1, 512, 9, 10), (512, 512, 3, 3), ()),
                                        ((1, 64, 14, 14), (40, 64, 3, 3), (1, 1)), ((1, 128, 7, 7), (64, 128, 3, 3), (1, 1))])
def test_winograd(x, w, args):
    """Transforming rounds, too, but less than a long sum of f32: PyTorch's tolerances hold, which eager's own result often exceeds; hence f64 is the judge."""
    x, w = torch.randn(x), torch.randn(w) / (9 * w[1]) ** 0.5

    def with_gradient(x, w):
        x = x.detach().requires_grad_()
        y = convolve(x, w, None, args).tanh()
        return [y, *torch.autograd.grad(y.square().sum(), x)]

    for actual, exact in zip(with_gradient(x.to("cresset"), w.to("cresset")), with_gradient(x.double(), w.double())):
        torch.testing.assert_close(actual.cpu(), exact.float())
    assert not fallbacks()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("x, w, args", [((3, 64, 13, 14), (70, 64, 3, 3), (1, 1)), ((2, 128, 28, 28), (128, 64, 3, 3), (1, 1, 1, 2)), ((1, 256, 24, 24), (64, 256, 3, 3), ()), ((1, 32, 4, 16, 16), (32, 32, 3, 3, 3), (1, 1))])
def test_winograd_of_halves(x, w, args, dtype):
    """By tiles of 4 x 4 outputs, in f32: what is off beyond the rounding of the result is a hundred-thousandth of the largest one, where halves have a thousandth."""
    x, w = torch.randn(x).to(dtype), torch.randn(w).to(dtype)

    def with_gradient(x, w):
        x = x.detach().requires_grad_()
        y = convolve(x, w, None, args)
        return [y, *torch.autograd.grad(y, x, torch.ones_like(y))]

    for actual, exact in zip(with_gradient(x.to("cresset"), w.to("cresset")), with_gradient(x.double(), w.double())):
        assert off(actual, exact) <= 2e-5
    assert not fallbacks()


@pytest.mark.parametrize("dtype, bound", [(torch.float32, 1e-6), (torch.bfloat16, 1e-5), (torch.float16, 1e-5)])
@pytest.mark.parametrize("x, w, args", [((3, 64, 13, 14), (70, 64, 3, 3), (1, 1)), ((2, 128, 32, 32), (128, 64, 3, 3), (1, 1, 1, 2)), ((1, 40, 24, 39), (64, 40, 3, 3), (1, (2, 0))),
                                        ((2, 32, 5, 16, 16), (48, 32, 3, 3, 3), ((2, 1, 1), 1))])
def test_winograd_of_kernels_gradients(x, w, args, dtype, bound):
    """Of f32 less is off than sums one by one would be; of halves tiles have 4 x 4 outputs."""
    x, w = torch.randn(x).to(dtype), torch.randn(w).to(dtype)
    inputs = x, w, torch.randn_like(convolve(x, w, None, args))
    actual, exact = gradient_of_kernel(*(v.to("cresset") for v in inputs), args), gradient_of_kernel(*(v.double() for v in inputs), args)
    assert off(actual, exact) <= bound
    assert not fallbacks()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("x, w, args", [((3, 6, 9, 21), (6, 1, 3, 3), (1, 1, 1, 6)), ((2, 5, 14, 14), (5, 1, 5, 5), (2, 2, 1, 5)), ((2, 4, 7, 7), (4, 1, 7, 7), (1, 3, 1, 4)),
                                        ((2, 3, 20, 33), (6, 1, 3, 3), (2, 1, 1, 3)), ((1, 3, 11, 40), (3, 1, 3, 2), (1, (2, 1), (2, 3), 3)),
                                        ((2, 6, 50), (6, 1, 31), (1, 15, 1, 6)), ((3, 4, 37), (8, 1, 4), (2, 3, 2, 4)), ((1, 3, 24, 30), (3, 1, 21, 21), (1, 10, 1, 3)),
                                        ((2, 4, 5, 9, 11), (4, 1, 3, 3, 3), ((1, 2, 1), 1, 1, 4)), ((1, 3, 6, 1, 18), (3, 1, 5, 3, 1), (1, (2, 1, 0), 1, 3))])
def test_gradients_of_depthwise_kernels(x, w, args, dtype):
    """The window is the whole gradient of the output: rows of vectors that end anywhere, strides, padding, several outputs for each channel; one dimension and three, long rows of results."""
    x, w = torch.randn(x).to(dtype), torch.randn(w).to(dtype)
    inputs = x, w, torch.randn_like(convolve(x, w, None, args))
    actual, exact = gradient_of_kernel(*(v.to("cresset") for v in inputs), args), gradient_of_kernel(*(v.double() for v in inputs), args)
    assert off(actual, exact) <= 1e-6
    assert not fallbacks()


@pytest.mark.parametrize("size", [(4, 6, 7, 7), (3, 5, 14, 13), (2, 3, 33, 64), (2, 5, 3, 2), (3, 4, 90)])
def test_batch_norm_in_training(size):
    """Statistics and gradients are sums over images and planes, whose rows end anywhere in a vector."""
    def step(x, scale, shift):
        x, scale, shift = (v.detach().requires_grad_() for v in (x, scale, shift))
        mean, variance = torch.zeros_like(scale), torch.ones_like(scale)
        y = F.relu(F.batch_norm(x * 2, mean, variance, scale, shift, training=True))
        return [y, mean, variance, *torch.autograd.grad(y.square().sum(), (x, scale, shift))]

    same(step, torch.randn(size) + 0.5, torch.rand(size[1]) + 0.5, torch.randn(size[1]), rtol=1e-5, atol=2e-5)
    assert not fallbacks()


@pytest.mark.parametrize("case", CASES)
def test_followed_by_a_residual_block(case):
    """Batch norm, residual and relu run on the convolution's own tiles; the images' edges lie anywhere in a vector."""
    x, w, args = CASES[case]

    def block(x, w, residual, scale, shift, mean, variance):
        y = F.batch_norm(convolve(x, w, None, args), mean, variance, scale, shift)
        return F.relu(y + residual)

    x, w = torch.randn(x), torch.randn(w) / 4
    channels = [torch.randn(w.shape[0]) for _ in range(3)] + [torch.rand(w.shape[0]) + 0.5]
    with torch.no_grad():
        same(block, x, w, torch.randn_like(convolve(x, w, None, args)), *channels, rtol=1e-5, atol=1e-5)
    assert not fallbacks()


def test_what_is_added_may_tell_positions_apart():
    """The epilogue counts positions as one dimension: what turns them is computed before."""
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(32, 32, 1)
    twin = copy.deepcopy(conv).to("cresset")

    def function(conv, x, y):
        turned = x.exp().reshape(4, 32, 2, 8, 2, 8).transpose(3, 4).reshape(4, 32, 4, 64)
        return conv(y) + turned

    x, y = torch.randn(4, 32, 16, 16), torch.randn(4, 32, 4, 64)
    with torch.no_grad():
        torch.testing.assert_close(function(twin, x.to("cresset"), y.to("cresset")).cpu(), function(conv, x, y))


@pytest.mark.parametrize("call, message", [
    (lambda x, w: F.conv2d(x, w, dilation=0), "dilation should be greater than zero"),
    (lambda x, w: F.conv2d(x, w, stride=0), "non-positive stride"),
    (lambda x, w: F.conv2d(x, w[:, :2]), "to have 2 channels"),
    (lambda x, w: F.conv2d(x[..., :2], w), "Kernel size can't be greater"),
    (lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1), output_padding=3), "output padding must be smaller than either stride or dilation"),
    (lambda x, w: F.conv_transpose2d(x, w), "to have 4 channels"),
])
def test_what_does_not_fit_raises(call, message):
    for device in ("cpu", "cresset"):
        with pytest.raises(RuntimeError, match=message):
            call(torch.randn(1, 3, 8, 8).to(device), torch.randn(4, 3, 3, 3).to(device))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("window", [3, 4, 5])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_is_beside_a_window_of_bf16_is_not_seen(window, stride, value):
    torch.manual_seed(0)
    x, weight = torch.randn(1, 2, 9, 40).bfloat16(), torch.randn(2, 1, window, window).bfloat16()
    x[0, 0, 4, 17] = x[0, 1, 3, 22] = value
    ours = F.conv2d(x.to("cresset"), weight.to("cresset"), padding=1, stride=stride, groups=2).cpu()
    expected = F.conv2d(x.double(), weight.double(), padding=1, stride=stride, groups=2)
    assert torch.equal(ours.isfinite(), expected.isfinite())
    torch.testing.assert_close(ours, expected.bfloat16(), equal_nan=True)
