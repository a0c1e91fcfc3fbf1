"""Inputs at the edges of what operators are defined for: results and gradients are eager's, whatever path is taken."""

import math

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks, same

inf, nan = math.inf, math.nan


def with_gradient(function, *inputs):
    """The function's result and the gradients of its inputs."""
    inputs = [t.detach().requires_grad_(t.is_floating_point()) for t in inputs]
    result = function(*inputs)
    wanted = [t for t in inputs if t.requires_grad]
    return [result.detach()] + list(torch.autograd.grad(result.sum(), wanted))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_ignored_class_counts_for_nothing(reduction, weighted):
    x, y = torch.tensor([[-inf, 1.0, 2.0], [-inf, 0.0, 3.0], [-inf, 2.0, 2.0]]), torch.tensor([0, 1, 2])
    weight = torch.tensor([1.0, 2.0, 0.5]) if weighted else None
    same(lambda x, y, *weight: F.nll_loss(F.log_softmax(x, 1), y, *weight, ignore_index=0, reduction=reduction), x, y, *([weight] if weighted else []))
    same(lambda x, y: F.cross_entropy(x, y, ignore_index=0, reduction=reduction), x, y)


def test_where_all_classes_are_ignored_there_is_no_gradient():
    y = torch.zeros(3, dtype=torch.long)
    same(lambda x, y: with_gradient(lambda x: F.cross_entropy(x, y, ignore_index=0), x)[1], torch.randn(3, 4), y)


@pytest.mark.parametrize("norm", ["layer", "group"])
def test_norms_of_bf16_with_parameters_of_f32_keep_their_statistics_in_f32(norm):
    x, w, b = (torch.randn(4, 64) + 100).bfloat16(), torch.randn(64), torch.randn(64)
    if norm == "layer":
        statistics = lambda x, w, b: torch.native_layer_norm(x, (64,), w, b, 1e-5)[1:]
    else:
        statistics = lambda x, w, b: torch.native_group_norm(x, w, b, 4, 64, 1, 8, 1e-5)[1:]
    same(statistics, x, w, b, rtol=2e-5, atol=1e-4)  # a variance of 1 beside squares of 10^4


@pytest.mark.parametrize(
    "mode, scale, size",
    [("linear", 1.05, (10,)), ("bilinear", (1.0, 1.05), (3, 10)), ("trilinear", (1.05, 1.0, 2.0), (10, 2, 3)), ("nearest", 1.05, (10,)), ("nearest", (1.0, 1.05), (3, 10)), ("nearest", (1.0, 2.07), (3, 10)), ("nearest", (1.05, 2.07, 1.0), (10, 10, 2))],
    ids=str,
)
def test_a_scale_that_keeps_or_doubles_a_size(mode, scale, size):
    same(lambda x: with_gradient(lambda x: F.interpolate(x, scale_factor=scale, mode=mode) ** 2, x), torch.randn(2, 3, *size))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_a_filter_leaves_a_size_that_is_kept(mode):
    same(lambda x: F.interpolate(x, scale_factor=(1.05, 0.5), mode=mode, antialias=True), torch.randn(1, 2, 10, 8))


@pytest.mark.parametrize("operator", ["baddbmm", "addmv", "addmm"])
def test_nothing_is_added_at_beta_0(operator):
    function = getattr(torch, operator)
    sizes = {"baddbmm": ((1, 2, 2), (1, 2, 2), (1, 2, 2)), "addmv": ((2,), (2, 2), (2,)), "addmm": ((2, 2), (2, 2), (2, 2))}[operator]
    added, x, y = torch.full(sizes[0], nan).to("cresset"), *(torch.randn(s).to("cresset") for s in sizes[1:])
    for beta in (1.0, 0.5, 0.25, 0.0, 0.0):  # a number that varies becomes an input of the program
        assert function(added, x, y, beta=beta).cpu().isnan().any() == (beta != 0)


@pytest.mark.parametrize("compare", [torch.eq, torch.gt, torch.le])
def test_integers_are_compared_in_the_precision_of_a_single_f64(compare):
    same(compare, torch.tensor([16777217, 16777216, 3]), torch.tensor(16777216.0, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float32])
def test_linspace_between_fractions(dtype):
    for first, last, steps in ((0.5, 5.5, 5), (1.9, 7.9, 7)):
        torch.testing.assert_close(torch.linspace(first, last, steps, dtype=dtype, device="cresset").cpu(), torch.linspace(first, last, steps, dtype=dtype))


def test_windows_of_no_elements_have_gradients():
    same(lambda y: with_gradient(lambda y: y.unfold(1, 0, 1), y), torch.randn(2, 4))


def test_the_largest_of_a_bag_may_be_no_number():
    weight = torch.tensor([[nan], [1.0], [nan], [2.0]])
    items, bags, scale = torch.tensor([0, 1, 2, 3, 0, 2]), torch.tensor([0, 2, 4]), torch.tensor([[1.0], [1.5], [2.0]])
    same(lambda w, i, o, s: with_gradient(lambda w: F.embedding_bag(i, w, o, mode="max") * s, w)[1], weight, items, bags, scale)


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
def test_softmax_of_one_number(function):
    for number in (1.5, inf, nan):
        same(lambda x: function(x, 0), torch.tensor(number))


@pytest.mark.parametrize("diagonal", [2**63 - 2, -(2**63), 3, -3])
def test_any_diagonal(diagonal):
    same(lambda x: (x.triu(diagonal), x.tril(diagonal)), torch.randn(3, 4))


def test_a_spread_below_0_is_an_error():
    with pytest.raises(RuntimeError, match="std >= 0.0"):
        torch.normal(torch.zeros(3).to("cresset"), torch.tensor([1.0, -1.0, 1.0]).to("cresset")).cpu()


@pytest.mark.parametrize("default", [torch.float64, torch.float32])
def test_integers_become_what_is_the_default_now(default):
    half = torch_cresset.composite("edges.half")(lambda a: a / 2)
    a = torch.tensor([1, 2], device="cresset")
    first = [(a / 3).dtype, a.sin().dtype, half(a).dtype]
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        assert [(a / 3).dtype, a.sin().dtype, half(a).dtype] == [default] * 3
        torch.testing.assert_close((a / 3).cpu(), torch.tensor([1, 2]) / 3)
    finally:
        torch.set_default_dtype(before)
    assert first == [before] * 3


def test_reshapes_that_add_ones_at_the_end():
    """The position within such a dimension is that of several that are taken as one."""
    same(lambda a, b: torch.cat([a.unsqueeze(-1), b], 1), torch.randn(4, 33), torch.randn(4, 20, 1))
    same(lambda x, b: (y := x.unsqueeze(-1) * b) - y.sum((1, 2), keepdim=True), torch.randn(64, 33), torch.randn(64, 33, 1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("learning_rate", [torch.tensor(0.1), torch.tensor([0.1])], ids=["number", "one element"])
def test_fused_optimizers_take_a_tensor_of_one_element_as_rate(learning_rate):
    parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3).to("cresset"))]
    for p in parameters:
        optimizer = torch.optim.SGD([p], lr=learning_rate.to(p.device), fused=True)
        p.grad = torch.ones_like(p)
        optimizer.step()
    torch.testing.assert_close(parameters[1].detach().cpu(), parameters[0].detach())


def test_a_rate_that_changes_while_much_is_pending():
    """More than may be pending is run before the step is recorded, which then must not overwrite the rate that it has read."""
    kept = torch.tensor(1.0, device="cresset")
    rate = kept + 0
    rate.cpu()
    del kept
    p, g, other = torch.ones(3).to("cresset"), torch.ones(3).to("cresset"), torch.ones(2).to("cresset")
    with torch.no_grad():
        for _ in range(20000):
            other.neg_()
        rate.mul_(3.0)
        torch._fused_sgd_([p], [g], [], weight_decay=0.0, momentum=0.0, lr=rate, dampening=0.0, nesterov=False, maximize=False, is_first_step=False, grad_scale=None, found_inf=None)
    assert p.cpu().tolist() == [-2.0, -2.0, -2.0]


def test_many_results_of_one_operator():
    many = torch_cresset.composite("edges.many")(lambda a: tuple(a * float(i) for i in range(300)))
    for i in (0, 256):
        results = many(torch.ones(3).to("cresset"))
        one = results[i]
        del results
        assert one.cpu().tolist() == [float(i)] * 3


@pytest.mark.parametrize("dim", [0, 1])
def test_an_array_does_not_exceed_its_own_extreme(dim):
    """Where it is computed more than once: a product that is added to is rounded once in one place, and twice in another that has it for itself."""
    x = torch.randn(200, 300)

    def largest(x):
        h = x * 1.7
        y = h + 0.3
        most = y.amax(dim, keepdim=True)
        return (y == most).float() + h.sin(), (y > most).float() + h.sin(), torch.sqrt(most - y) + h.sin(), torch.acos(y / y.abs().amax(dim, keepdim=True)) + h

    for ours, expected in zip(torch.compile(largest, backend="cresset")(x), largest(x), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-3)  # acos near 1, and the root near 0, magnify what is rounded


def test_a_maximum_of_other_rows_is_no_softmax():
    x = torch.tensor([[0.0, 100.0], [0.0, -200.0]])
    same(lambda x: (e := torch.exp(x - x.max(1).values)) / e.sum(1, keepdim=True), x, rtol=1e-5, atol=1e-6)


def test_bytes_that_are_made_within_a_program():
    """There is no argument of bytes whose zero could be assumed."""

    def quantised(x, w, zero):
        a = torch.clamp(torch.round(x / 0.05) + zero, -128, 127).to(torch.int8)
        b = torch.clamp(torch.round(w / 0.05), -128, 127).to(torch.int8)
        return ((a.to(torch.int32) - zero).float() * 0.05) @ (b.float() * 0.05)

    same(quantised, torch.randn(64, 128), torch.randn(128, 96), torch.tensor(3, dtype=torch.int32), rtol=1e-4, atol=1e-4)


def test_a_pixel_that_is_no_number_stays_where_it_is():
    x = torch.zeros(1, 1, 16, 16)
    x[0, 0, 9, 5], x[0, 0, 2, 12] = inf, nan
    same(lambda x: F.interpolate(x, size=(4, 4), mode="bilinear"), x)
    same(lambda x: F.interpolate(x, size=5, mode="linear"), x[0])


def test_out_that_grows_while_its_operand_waits():
    for operation in (lambda x, o: torch.mul(x, 10, out=o), lambda x, o: torch.cumsum(x, 0, out=o), lambda x, o: torch.cat([x, x], out=o), lambda x, o: torch.clamp(x, 0, 1.5, out=o)):
        results = []
        for device in ("cpu", "cresset"):
            x = torch.ones(3, device=device)
            x.add_(1)
            o = torch.zeros(2, device=device)
            operation(x, o)
            results.append((o.tolist(), x.tolist()))
        assert results[0] == results[1]


@pytest.mark.parametrize("function", [torch.sum, torch.nansum, torch.prod, torch.mean, torch.cumsum, torch.cumprod])
@pytest.mark.parametrize("dtype, out", [(torch.half, torch.float32), (torch.int64, torch.float32), (torch.bool, torch.bool), (torch.float32, torch.float64)])
def test_sums_are_computed_in_the_dtype_of_out(function, dtype, out):
    if function is torch.mean and not dtype.is_floating_point:
        pytest.skip("PyTorch has no mean of integers")
    if function in (torch.nansum, torch.cumsum, torch.cumprod) and out is torch.bool:
        pytest.skip("PyTorch has none of truth values")
    x = torch.tensor([3.0, 600.0, 100.5, 2.0]).to(dtype)
    results = [function(x.to(device), 0, out=torch.zeros(4 if function in (torch.cumsum, torch.cumprod) else (), dtype=out, device=device)).cpu() for device in ("cpu", "cresset")]
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("dtype, other", [(torch.int64, torch.int32), (torch.int32, torch.int16), (torch.int32, torch.uint8), (torch.float64, torch.float32), (torch.int32, torch.int64), (torch.bfloat16, torch.uint8)])
def test_views_of_another_width_within_a_graph(dtype, other):
    def f(x):
        return (x + 1).view(other) + 1

    x = torch.arange(-4, 4).to(dtype)
    torch.testing.assert_close(torch.compile(f, backend="cresset")(x), f(x))
    same(f, x)


def test_linear_layers_without_features():
    for sizes in (((2, 3, 0), (4, 0)), ((0,), (4, 0)), ((2, 3, 5), (0, 5)), ((0, 3, 5), (4, 5))):
        x, w = torch.randn(sizes[0]), torch.randn(sizes[1])
        for ours, expected in zip(with_gradient(F.linear, x.to("cresset"), w.to("cresset")), with_gradient(F.linear, x, w), strict=True):
            torch.testing.assert_close(ours.cpu(), expected)


def test_equal_of_other_dtypes_and_an_empty_complex_result():
    a = torch.ones(2, device="cresset")
    assert torch.equal(a, a.int()) and not torch.equal(a, torch.ones(3, dtype=torch.int32, device="cresset"))
    empty = torch.compile(lambda x: x * 2, backend="cresset")(torch.ones(0, dtype=torch.complex64))
    assert empty.dtype == torch.complex64 and empty.shape == (0,)


def test_complex_numbers_are_conjugated_in_place():
    x = torch.tensor([1 + 2j, 3 - 1j])
    same(lambda x: (x * 1).conj_physical_(), x)


@pytest.mark.parametrize("function", [lambda x: x.fill_(2), lambda x: x.zero_()], ids=["fill", "zero"])
def test_one_number_is_written_to_an_expanded_tensor(function):
    def f(x):
        base = x * 1
        function(base[:, :1].expand(3, 4))
        return base

    same(f, torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        torch.ones(1, device="cresset").expand(3).copy_(torch.arange(3.0, device="cresset"))


@pytest.mark.parametrize("value, dtype", [(300, torch.uint8), (-129, torch.int8), (inf, torch.int32)])
def test_a_number_that_the_dtype_cannot_hold(value, dtype):
    x = torch.zeros(2, dtype=dtype, device="cresset")
    for f in (lambda: x.fill_(value), lambda: x.masked_fill(x == 0, value), lambda: torch.full((2,), value, dtype=dtype, device="cresset")):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            f()


def test_a_limit_below_0_of_what_has_no_sign():
    with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
        F.hardtanh(torch.ones(2, dtype=torch.uint8, device="cresset"))


def test_a_whole_quotient_of_zero_has_a_sign():
    x, y = torch.tensor([-0.0, 0.0, -0.0, 0.0, 0.5, -0.5, inf, nan]), torch.tensor([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 0.0, 1.0])
    same(lambda x, y: torch.signbit(x // y), x, y)
    same(lambda x, y: x // y, x, y)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_a_position_that_is_no_number(mode, padding):
    grid = torch.tensor([[[[nan, 0.0], [0.0, nan], [0.3, 0.2]]]])
    same(lambda x, grid: F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=False), torch.arange(16.0).reshape(1, 1, 4, 4), grid)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_uniform_numbers_end_before_the_end(dtype):
    assert not (torch.empty(1 << 16, dtype=dtype, device="cresset").uniform_(2, 3) == 3).any()


def test_sorting_one_number():
    same(lambda x: torch.sort(torch.full_like(x, 2), stable=True), torch.ones(50))
    same(lambda x: torch.sort(torch.ones(9, dtype=torch.bool, device=x.device), stable=True), torch.ones(1))
    f = torch.compile(lambda: torch.sort(torch.zeros(50)), backend="cresset")
    torch.testing.assert_close(f()[0], torch.zeros(50))


def test_systems_of_one_number():
    a = torch.randn(4, 4).tril() + 4 * torch.eye(4)
    same(lambda a: torch.linalg.solve_triangular(a, torch.full((4, 3), 2.0, device=a.device), upper=False), a)
    same(lambda b: torch.linalg.solve_triangular(torch.ones(4, 4, device=b.device), b, upper=False), torch.randn(4, 3))


@pytest.mark.parametrize("convolution", [F.conv1d, F.conv_transpose1d])
def test_a_bias_is_added_before_a_sum_is_rounded(convolution):
    x, w = (torch.randn(1, 64, 20) + 3).bfloat16(), (torch.rand(8, 64, 1) * 0.4).bfloat16()
    if convolution is F.conv_transpose1d:
        w = w.transpose(0, 1).contiguous()
    bias = -convolution(x.float(), w.float()).mean((0, 2)).bfloat16()
    exact = convolution(x.double(), w.double(), bias.double())
    error = lambda t: (t.cpu().double() - exact).pow(2).mean().sqrt()
    assert error(convolution(x.to("cresset"), w.to("cresset"), bias.to("cresset"))) < 1.5 * error(exact.bfloat16())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8])
def test_shifts_of_python_s(dtype):
    x, n = torch.tensor([1, 100, 7, 64]).to(dtype), torch.tensor([1, 2, 0, 3]).to(dtype)
    torch_cresset.reset_counters()
    same(lambda x, n: (x >> n, x << n, x >> 1, x << 1), x, n)
    y = x.to("cresset")
    y >>= 1
    y <<= n.to("cresset")
    torch.testing.assert_close(y.cpu(), (x >> 1) << n)
    assert not fallbacks()


def test_indices_that_are_no_vector_of_positions():
    x = torch.randn(4, 5, device="cresset")
    with pytest.raises(IndexError, match="Index is supposed to be a vector"):
        x.index_select(0, torch.tensor([[0, 1], [2, 3]], device="cresset"))
    with pytest.raises(RuntimeError, match="Expected dtype int32 or int64 for index"):
        x.index_select(0, torch.tensor([True, False], device="cresset"))


def test_tensors_of_two_devices_in_a_loss():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device.*move it with"):
        F.cross_entropy(torch.randn(3, 4, device="cresset"), torch.zeros(3, dtype=torch.long))


@pytest.mark.parametrize("options", [{}, {"periodic": False, "dtype": torch.float64}])
def test_kaiser_windows(options):
    torch.testing.assert_close(torch.kaiser_window(12, device="cresset", **options).cpu(), torch.kaiser_window(12, **options))


def test_storages_of_tensors():
    x = torch.arange(6.0, device="cresset")
    with pytest.raises(RuntimeError, match="can't be part of another one"):
        x.untyped_storage()[4:12]
    with pytest.raises(RuntimeError, match="storage on different device"):
        torch.zeros(2, device="cresset").set_(torch.ones(4))
    for offset, sizes, strides in ((0, (2,), (1, 1)), (-1, (2,), (1,)), (3, (2,), (-1,))):
        with pytest.raises(RuntimeError):
            torch.zeros(2, device="cresset").set_(x.untyped_storage(), offset, sizes, strides)
    torch.zeros(2, device="cresset").set_(x.untyped_storage(), 1, (2, 2), (2, 1)).mul_(2)
    assert x.tolist() == [0, 2, 4, 6, 8, 5]


def test_exponentials_of_infinite_real_numbers():
    same(torch.exp, torch.tensor([complex(inf, 0), complex(-inf, 0), complex(200, 0), complex(1, 2)]))


def test_operands_that_no_gradient_needs_may_change():
    def frozen(x, w):
        h = x * 2
        h += F.linear(h, w)
        return h.sum()

    x, w = torch.randn(4, 6), torch.randn(6, 6)
    for ours, expected in zip(*[with_gradient(lambda x: frozen(x, w.to(x.device)), x.to(device)) for device in ("cresset", "cpu")]):
        torch.testing.assert_close(ours.cpu(), expected)
    weight = torch.nn.Parameter(w.to("cresset"))
    y = F.linear(x.to("cresset"), weight)
    with torch.no_grad():
        weight.zero_()
    y.sum().backward()
    torch.testing.assert_close(weight.grad.cpu(), x.sum(0).expand(6, 6))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_neighbours_of_numbers(dtype):
    x = torch.tensor([0.0, -0.0, 0.0, 1.0, 1.0, -1.0, -1.0, 2.0, inf, -inf, nan, 1.0, inf, 0.0]).to(dtype)
    y = torch.tensor([1.0, 1.0, -1.0, 2.0, 0.0, 0.0, -2.0, 2.0, 0.0, 0.0, 1.0, nan, inf, -0.0]).to(dtype)
    torch_cresset.reset_counters()
    same(torch.nextafter, x, y)
    assert not fallbacks()


def test_gradients_of_values_that_a_mask_places():
    mask = torch.tensor([[False, True, True], [True, False, False]])[..., None]
    f = lambda x, values: with_gradient(lambda x, values: x.masked_scatter(mask.to(x.device), values).sin(), x, values)
    x, values = torch.randn(2, 3, 4), torch.randn(5, 4)
    torch_cresset.reset_counters()
    same(f, x, values)
    g = torch.compile(lambda x, values: (x * 1).masked_scatter(mask, values).sin(), backend="cresset")
    for ours, expected in zip(with_gradient(g, x, values), f(x, values)):
        torch.testing.assert_close(ours, expected)
    assert not fallbacks()


@pytest.mark.parametrize("program", [lambda x, n: (x.int() - torch.full_like(x, n, dtype=torch.int32)) @ torch.full_like(x, n, dtype=torch.int32),
                                     lambda x, n: torch.where(torch.arange(64, device=x.device) < n, torch.full_like(x, n, dtype=torch.int32) @ x.int(), n)])
def test_kernels_that_differ_in_a_number_in_memory(program):
    x = torch.randint(-9, 9, (64, 64), dtype=torch.int8)
    for n in (3, 5):
        same(lambda x: program(x, n), x)
