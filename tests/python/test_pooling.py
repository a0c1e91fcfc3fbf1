# Rows of windows that are longer than vectors, whose first and last windows reach beyond the image.
import pytest
import torch
import torch.nn.functional as F
import torch_cresset


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [24, 56, 57, 112])
@pytest.mark.parametrize("kernel, stride, padding, dilation", [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 1), (5, 3, 2, 1), (3, 4, 1, 2), (13, 1, 6, 1), (9, 4, 3, 1), ((2, 20), (1, 3), (1, 4), 1)])
def test_pools(kernel, stride, padding, dilation, size, dtype):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, size).to(dtype) - 5
    x[0, 0, 0, 0] = x[1, 0, 8, size - 1] = float("nan")
    on_device = x.to("cresset")
    pools = [lambda x: F.max_pool2d(x, kernel, stride, padding, dilation), lambda x: F.max_pool2d(x * 2, kernel, stride, padding, dilation)]
    if dilation == 1:
        pools.append(lambda x: F.avg_pool2d(x, kernel, stride, padding, count_include_pad=False))
    for pool in pools:
        torch.testing.assert_close(pool(on_device).cpu(), pool(x), equal_nan=True)
    best, places = F.max_pool2d(on_device, kernel, stride, padding, dilation, return_indices=True)
    wanted = F.max_pool2d(x, kernel, stride, padding, dilation, return_indices=True)
    torch.testing.assert_close((best.cpu(), places.cpu()), wanted, equal_nan=True)


@pytest.mark.parametrize("kernel", [3, 9])
def test_first_of_equal_places(kernel):
    torch.manual_seed(0)
    x = torch.randint(0, 3, (2, 3, 20, 21)).float()
    x[torch.rand(x.shape) < 0.02] = float("nan")  # of several the last one
    pool = lambda x: F.max_pool2d(x, kernel, 2, 1, return_indices=True)
    best, places = pool(x.to("cresset"))
    torch.testing.assert_close((best.cpu(), places.cpu()), pool(x), equal_nan=True)


@pytest.mark.parametrize("kernel, stride, padding, dilation", [(3, 2, 1, 1), (3, 1, 1, 2), (13, 3, 6, 1)])
@pytest.mark.parametrize("lowest", [float("-inf"), torch.iinfo(torch.int32).min])
def test_padding_is_not_the_largest_element(kernel, stride, padding, dilation, lowest):
    """However low the others are."""
    x = torch.full((2, 3, 20, 21), lowest, dtype=torch.float32 if isinstance(lowest, float) else torch.int32)
    x[0, :, 5, 3] = 1
    pool = lambda x: F.max_pool2d(x, kernel, stride, padding, dilation, return_indices=True)
    best, places = pool(x.to("cresset"))
    torch.testing.assert_close((best.cpu(), places.cpu()), pool(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_largest_elements_and_their_places_are_one_kernel(dtype):
    """Each window is read once; places are counted in 32 bits."""
    x = torch.randn(2, 3, 20, 23).to(dtype).to("cresset")
    torch.cresset.synchronize()
    programs = len(torch_cresset.compile_records())
    results = F.max_pool2d(x, 3, 2, 1, return_indices=True)  # noqa: F841 what nobody holds is not computed
    torch.cresset.synchronize()
    (program,) = torch_cresset.compile_records()[programs:]
    assert program["kernels"] == 1


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_steps_through_padding(step):
    x = torch.randn(5, 203)
    for low, high in ((5, 70), (40, -7), (-3, 400)):
        f = lambda x: F.pad(x, (low, high), value=3)[:, 2::step] + 1
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x))


def gradient(pool, x, weight):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(pool(x), x, weight.to(x))[0].cpu()


@pytest.mark.parametrize("size", [24, 57, 112])
@pytest.mark.parametrize("count_padding, divisor", [(True, None), (False, None), (False, 7)])
@pytest.mark.parametrize("kernel, stride, padding", [(3, 2, 1), (2, 2, 0), (3, 1, 1), (5, 3, 2), (2, 3, 0), (9, 4, 4), ((9, 24), (1, 24), 0)])
def test_gradients_of_means(kernel, stride, padding, count_padding, divisor, size):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, size)
    pool = lambda x: F.avg_pool2d(x, kernel, stride, padding, ceil_mode=True, count_include_pad=count_padding, divisor_override=divisor)
    weight = torch.randn_like(pool(x))
    weight[0, 0, 0, 0], weight[1, 2, -1, -1] = float("inf"), float("nan")  # which reach their own windows alone
    # PyTorch's kernel divides each gradient, ours multiplies by what one over the number is rounded to.
    torch.testing.assert_close(gradient(pool, x.to("cresset"), weight), gradient(pool, x, weight), equal_nan=True)
    adaptive = lambda x: F.adaptive_avg_pool2d(x, (4, 11))
    weight = torch.randn_like(adaptive(x))
    torch.testing.assert_close(gradient(adaptive, x.to("cresset"), weight), gradient(adaptive, x, weight))


@pytest.mark.parametrize("how", [dict(scale_factor=2.0, mode="nearest"), dict(scale_factor=2.0, mode="bilinear"), dict(scale_factor=0.5, mode="bilinear"), dict(scale_factor=0.5, mode="nearest")])
def test_infinities_stay_where_they_are(how):
    torch.manual_seed(0)
    x = torch.randn(1, 2, 8, 40)
    resize = lambda x: F.interpolate(x, **how)
    weight = torch.randn_like(resize(x))
    weight[0, 0, 1, 3] = float("inf")
    torch.testing.assert_close(gradient(resize, x.to("cresset"), weight), gradient(resize, x, weight))
