"""Products with what follows them in one kernel: right at every edge of a tile, and really one kernel."""

import copy
import re

import pytest
import torch

import torch_cresset

F = torch.nn.functional


def kernels_of(function, *arguments):
    """The results on the device, and the kernels of the program that made them."""
    moved = [a.to("cresset") for a in arguments]
    torch.cresset.synchronize()
    before = len(torch_cresset.compile_records())
    results = function(*moved)
    torch.cresset.synchronize()
    (program,) = torch_cresset.compile_records()[before:]
    return results, program["kernels"]


def check(function, arguments, kernels, dtype=torch.float32):
    arguments = [a.to(dtype) if a.is_floating_point() else a for a in arguments]
    with torch.no_grad():
        results, count = kernels_of(function, *arguments)
        expected = function(*arguments)
    # bf16: eager adds the bias before it rounds the sum, or after: one unit of the last place of values below 4.
    options = {"rtol": 1.6e-2, "atol": 2**-6} if dtype == torch.bfloat16 else {}
    for ours, eager in zip(*[r if isinstance(r, tuple) else (r,) for r in (results, expected)]):
        torch.testing.assert_close(ours.cpu(), eager, **options)
    assert count == kernels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rows, inner, columns", [(1, 7, 5), (6, 16, 16), (37, 100, 51), (8, 64, 1), (1, 300, 700), (130, 33, 17), (3, 1, 9), (70, 96, 2), (20, 64, 130), (64, 40, 72)])
def test_linear_with_bias_activation_and_residual_is_one_kernel(rows, inner, columns, dtype):
    torch.manual_seed(0)
    x, w, b, r = torch.randn(rows, inner), torch.randn(columns, inner) / inner**0.5, torch.randn(columns), torch.randn(rows, columns)
    check(lambda x, w, b, r: F.relu(F.linear(x, w, b)) + r, (x, w, b, r), 1, dtype)


def test_sums_of_several_blocks_meet_before_the_epilogue():
    torch.manual_seed(0)
    x, w, b = torch.randn(50, 2000), torch.randn(70, 2000) / 40, torch.randn(70)
    check(lambda x, w, b: torch.tanh(F.linear(x, w, b)), (x, w, b), 1)
    check(lambda x, w: F.relu(x @ w.t()) * 2, (x, w), 1, torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("columns", [40, 192, 213])
def test_the_next_panel_is_packed_meanwhile(columns, dtype):
    torch.manual_seed(0)
    for rows, inner in ((20, 700), (50, 2001)):
        check(lambda x, w: F.relu(x @ w), (torch.randn(rows, inner), torch.randn(inner, columns) / inner**0.5), 1, dtype)


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_operands_in_every_orientation(layout):
    torch.manual_seed(0)
    a, b = torch.randn(45, 67), torch.randn(67, 39)
    a, b = (a.t().contiguous() if layout[0] == "t" else a), (b.t().contiguous() if layout[1] == "t" else b)
    check(lambda a, b: (a.t() if layout[0] == "t" else a) @ (b.t() if layout[1] == "t" else b) + 1, (a, b), 1)


def test_batches_and_reshaped_results():
    torch.manual_seed(0)
    q, k, mask = torch.randn(2, 3, 10, 8), torch.randn(2, 3, 12, 8), torch.rand(2, 1, 10, 12) > 0.3
    check(lambda q, k, mask: (q @ k.transpose(-1, -2) * 0.5).masked_fill(mask, -1e9), (q, k, mask), 1)
    x, w, b = torch.randn(4, 9, 20), torch.randn(30, 20), torch.randn(30)
    check(lambda x, w, b: F.silu(F.linear(x, w, b)), (x, w, b), 1)


def test_what_others_need_is_written_too():
    torch.manual_seed(0)
    x, w, b = torch.randn(20, 30), torch.randn(40, 30), torch.randn(40)

    def function(x, w, b):
        h = F.linear(x, w, b)
        return h, F.relu(h), F.linear(x, w)

    check(function, (x, w, b), 1)


@pytest.mark.parametrize("shape, window, options", [
    ((2, 3, 9, 9), (8, 3, 3, 3), {"padding": 1}), ((1, 8, 7, 5), (8, 1, 3, 3), {"groups": 8, "padding": 1}), ((2, 4, 8, 8), (6, 4, 1, 1), {"stride": 2}),
    ((1, 2, 11), (5, 2, 4), {}), ((1, 2, 5, 6, 7), (4, 2, 2, 3, 2), {}),
])
def test_convolution_with_what_follows_is_one_kernel(shape, window, options):
    torch.manual_seed(0)
    convolution = (F.conv1d, F.conv2d, F.conv3d)[len(shape) - 3]
    x, w, b = torch.randn(shape), torch.randn(window), torch.randn(window[0])
    scale = torch.rand(window[0]).reshape(-1, *[1] * (len(shape) - 2))
    residual = torch.randn_like(convolution(x, w, b, **options))
    check(lambda x, w, b, s, r: F.relu(convolution(x, w, b, **options) * s + r), (x, w, b, scale, residual), 1)


def test_an_epilogue_that_tells_rows_of_the_image_apart_stays_outside():
    torch.manual_seed(0)
    x, w, row = torch.randn(1, 2, 6, 6), torch.randn(3, 2, 1, 1), torch.randn(6)
    check(lambda x, w, row: F.conv2d(x, w) + row, (x, w, row), 2)


def test_an_epilogue_of_many_arrays_may_write_in_place():
    torch.manual_seed(0)
    model = torch.nn.Linear(50, 70)
    twin = torch.nn.Linear(50, 70)
    twin.load_state_dict(model.state_dict())
    twin.to("cresset")
    x = torch.randn(33, 50)
    for m, device in ((model, "cpu"), (twin, "cresset")):
        optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2, fused=True)
        for _ in range(3):
            optimizer.zero_grad()
            m(x.to(device)).square().sum().backward()
            optimizer.step()
    for ours, eager in zip(twin.parameters(), model.parameters()):
        torch.testing.assert_close(ours.detach().cpu(), eager.detach())


def test_a_profile_names_each_kernel():
    x, w = torch.randn(8, 9, device="cresset"), torch.randn(9, 7, device="cresset")
    with torch_cresset.profile() as profile:
        y = torch.relu(x @ w)
        torch.cresset.synchronize()
    assert any(row.kernel.startswith("dot f32[8x9] f32[9x7]") and "maximum" in row.kernel and row.calls == 1 for row in profile), profile
    assert "share" in str(profile) and y is not None


@pytest.mark.parametrize("dtype, written", [(torch.bfloat16, "bf16"), (torch.float32, "f32")])
def test_what_is_transposed_is_written_as_narrow_as_it_is(dtype, written):
    """A linear layer whose result becomes an image: sums are f32 in both."""
    torch.manual_seed(0)
    x, w, b, scale = (t.to(dtype) for t in (torch.randn(1, 196, 40), torch.randn(72, 40) / 6, torch.randn(72), torch.randn(72, 1, 1)))
    function = lambda x, w, b, scale: F.linear(x, w, b).transpose(1, 2).reshape(1, 72, 14, 14) * scale
    moved = [t.to("cresset") for t in (x, w, b, scale)]
    with torch.no_grad(), torch_cresset.profile() as profile:
        actual = function(*moved).cpu()
    torch.testing.assert_close(actual, function(x, w, b, scale), **({"rtol": 1.6e-2, "atol": 2**-6} if dtype == torch.bfloat16 else {}))  # as check() has them
    assert re.search(rf"dot {written}\[196x40\] {written}\[72x40\] -> {written}\[[0-9x]*\]", str(profile)), profile


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
def test_few_rows(rows, layout, dtype):
    torch.manual_seed(0)
    inner = {"nn": 130, "nt": 131, "tn": 132}[layout]  # distinct programs: each is compiled within the check
    a, b, bias = torch.randn(rows, inner), torch.randn(inner, 77) / 11, torch.randn(77)
    a, b = (a.t().contiguous() if layout[0] == "t" else a), (b.t().contiguous() if layout[1] == "t" else b)
    check(lambda a, b, bias: F.relu((a.t() if layout[0] == "t" else a) @ (b.t() if layout[1] == "t" else b) + bias), (a, b, bias), 1, dtype)


def test_a_feed_forward_block_is_two_kernels():
    torch.manual_seed(0)
    x, v, w = torch.randn(4, 9, 20), torch.randn(30, 20), torch.randn(20, 30)
    check(lambda x, v, w: F.linear(F.gelu(F.linear(x, v, v[:, 0])), w, w[:, 0]) + x, (x, v, w), 2)


def test_the_scale_of_a_channel_is_computed_once():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).eval()
    net[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 3, 24, 24)
    with torch.no_grad():
        expected = net(x)
        with torch_cresset.profile() as profile:
            y = net.to("cresset")(x.to("cresset")).cpu()
    torch.testing.assert_close(y, expected)
    product, = [row.kernel for row in profile if row.kernel.startswith("convolution")]
    assert "maximum" in product and "rsqrt" not in product


def test_a_kernels_gradient_takes_its_optimizer_as_epilogue():
    torch.manual_seed(0)
    w, x = torch.randn(6, 3, 3, 3), torch.randn(2, 3, 9, 9)
    cpu, device = torch.nn.Parameter(w.clone()), torch.nn.Parameter(w.to("cresset"))

    def step(p, x):
        loss = torch.nn.functional.conv2d(x, p, padding=1).square().sum()
        loss.backward()
        torch.optim.SGD([p], lr=0.01).step()

    step(cpu, x)
    with torch_cresset.profile() as profile:
        step(device, x.to("cresset"))
        torch.cresset.synchronize()
    torch.testing.assert_close(device.detach().cpu(), cpu.detach())
    kernels = [row.kernel for row in profile if row.kernel.startswith("convolution") and "-> f32[6x3x3x3]" in row.kernel]
    assert len(kernels) == 1 and "multiply" in kernels[0], profile


def test_steps_that_read_two_values_each_do_not_double_in_one_kernel():
    def cumulative(x):
        for step in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            x = x + F.pad(x[:, :-step], (step, 0))
        return x

    x = torch.arange(300.0)[None]
    assert torch.equal(cumulative(x.to("cresset")).cpu(), cumulative(x))
    (record,) = torch_cresset.compile_records()[-1:]
    assert 2 <= record["kernels"] <= 3  # one would read 512 elements for each


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_cumulative_sums_of_what_is_no_buffer(dtype):
    """Constants, and other views of what is one."""
    x = torch.ones(3, 40, dtype=dtype, device="cresset")
    for dim in (0, 1):
        torch.testing.assert_close(torch.ones(3, 40, dtype=dtype, device="cresset").cumsum(dim).cpu(), x.cpu().cumsum(dim))
    x = torch.arange(48).to(dtype).reshape(4, 12)
    for view in (lambda x: x.flatten().cumsum(0), lambda x: x.t().cumsum(0), lambda x: x.t().cumsum(1), lambda x: x.reshape(2, 2, 12).cumsum(1), lambda x: x[:, 1:].cumsum(1)):
        torch.testing.assert_close(view(x.to("cresset")).cpu(), view(x))


@pytest.mark.parametrize("rows, width, shape, padding", [(5000, 48, (2, 32), None), (1000, 33, (16,), 3), (4096, 16, (1,), None), (300, 8, (7,), None)])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_an_embeddings_gradient(rows, width, shape, padding, by_frequency):
    """Also where it is added to another one, as of tied weights; rows that come several times are summed up."""
    torch.manual_seed(0)
    weight, index, gradient = torch.randn(rows, width), torch.randint(0, rows, shape), torch.randn(*shape, width)
    index.flatten()[-1] = index.flatten()[0]
    if padding is not None:
        index.flatten()[1:4] = padding

    def derive(weight, index, gradient, tied):
        p = weight.detach().requires_grad_()
        loss = (F.embedding(index, p, padding_idx=padding, scale_grad_by_freq=by_frequency) * gradient).sum()
        (loss + (p * p).sum() if tied else loss).backward()
        return p.grad

    for tied in (False, True):
        moved = [t.to("cresset") for t in (weight, index, gradient)]
        torch.testing.assert_close(derive(*moved, tied).cpu(), derive(weight, index, gradient, tied))


@pytest.mark.parametrize("shape, dims", [((37, 100), 0), ((128, 3072), 0), ((7, 33, 50), (0, 1)), ((64, 10), 0), ((5, 70, 17), 1), ((4, 9), 0), ((9, 8), 0)])
def test_sums_of_columns(shape, dims):
    """Whole vectors, several at a time, the last ones computed twice, and fewer columns than a vector has."""
    torch.manual_seed(0)
    x = torch.randn(shape)
    for function in (lambda x: x.sum(dims), lambda x: x.amax(dims), lambda x: (x * x + 1).sum(dims)):
        torch.testing.assert_close(function(x.to("cresset")).cpu(), function(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape, groups", [((2, 12, 5, 16), 4), ((1, 8, 64), 4), ((3, 10, 9, 21), 10), ((2, 6, 4, 7, 20), 2), ((2, 64, 56, 56), 32)])
def test_a_norm_of_groups_with_its_activation_is_one_kernel(shape, groups, dtype):
    torch.manual_seed(0)
    scale, shift = torch.randn(2, shape[1])
    check(lambda x, w, b: F.silu(F.group_norm(x, groups, w, b)), (torch.randn(shape), scale, shift), 1, dtype)


@pytest.mark.parametrize("side, kernels", [(4, 1), (32, 2)])
def test_a_norm_of_what_is_transposed_reads_neighbours(side, kernels):
    """A kernel that reduces rows reads each array more than once: elements of a row that lie apart are brought together before, unless all of them stay in the nearest cache."""
    check(lambda x: F.silu(F.group_norm(x.permute(0, 3, 1, 2), 8)), (torch.randn(2, side, side, 32),), kernels)


@pytest.mark.parametrize("shape, normalised", [((5, 3, 7, 11), 3), ((2, 3, 40, 17), 2), ((6, 1, 33), 2)])
@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
def test_a_norm_over_several_dimensions_with_its_activation_is_one_kernel(norm, shape, normalised):
    torch.manual_seed(0)
    check(lambda x, w: F.gelu(norm(x, x.shape[-normalised:], w)), (torch.randn(shape), torch.randn(shape[-normalised:])), 1)


def gradients(norm, x, weights, g):
    """What the norm and a relu give, and all gradients."""
    leaves = [v.detach().requires_grad_() for v in (x, *weights)]
    y = F.relu(norm(*leaves))
    y.backward(g)
    return (y.detach(), *(v.grad for v in leaves))


@pytest.mark.parametrize(
    "norm, kernels",
    [
        # Rows: sine, mean and variance; the rest of the forward, and both sums; the input's gradient. Of groups: rstd, means. Of channels: weights' gradients.
        (lambda x, w, b: F.group_norm(x.sin(), 4, w, b), 7),
        # Planes likewise; all else of channels.
        (lambda x, w, b: F.batch_norm(x.sin(), None, None, w, b, training=True), 11),
    ],
)
@pytest.mark.parametrize("shape", [(2, 12, 8, 16), (2, 12, 9, 13)])
def test_a_norms_gradients_read_each_array_twice(norm, kernels, shape):
    torch.manual_seed(0)
    x, w, b, g = torch.randn(shape), torch.randn(12), torch.randn(12), torch.randn(shape)
    moved = [v.to("cresset") for v in (x, w, b, g)]
    torch.cresset.synchronize()
    before = len(torch_cresset.compile_records())
    results = gradients(norm, moved[0], moved[1:3], moved[3])
    torch.cresset.synchronize()
    (program,) = torch_cresset.compile_records()[before:]
    for ours, eager in zip(results, gradients(norm, x, (w, b), g)):
        torch.testing.assert_close(ours.cpu(), eager)
    assert program["kernels"] == kernels


@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (4, 3, 8, 8), (4, 3, 1000), (4, 3), (1, 3, 70)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_statistics_of_a_batch_far_from_zero(shape, dtype):
    torch.manual_seed(0)
    x, w, b, g = torch.randn(shape) + 100, torch.randn(3), torch.randn(3), torch.randn(shape)
    x, g = x.to(dtype), g.to(dtype)
    if dtype == torch.float64:
        w, b = w.double(), b.double()
    running = [torch.zeros(3, dtype=w.dtype), torch.ones(3, dtype=w.dtype)]
    moved = [v.to("cresset") for v in running]
    exact = gradients(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x.double(), (w.double(), b.double()), g.double())
    results = gradients(lambda x, w, b: F.batch_norm(x, *moved, w, b, training=True), x.to("cresset"), (w.to("cresset"), b.to("cresset")), g.to("cresset"))
    F.batch_norm(x, *running, w, b, training=True)
    # Numbers of 100 have 2^-17 left of their distances from the mean in f32; bf16 rounds the results.
    tolerance = {torch.float32: 2**-15, torch.float64: 1e-6, torch.bfloat16: 2**-7}[dtype]
    for ours, expected in zip(results, exact):
        assert (ours.cpu().double() - expected).abs().max() <= tolerance * expected.abs().max().clamp(min=1)
    for ours, eager in zip(moved, running):
        torch.testing.assert_close(ours.cpu(), eager, rtol=1e-4, atol=1e-4)


def test_a_long_chain_is_few_kernels_and_looked_at_once():
    """What its links might be, with which constants, is asked of a bounded number of operators above each, and no kernel grows beyond 256 operations: 600 take about a second
    to compile, not minutes."""
    x = torch.linspace(-1, 1, 64)
    y, expected = x.to("cresset"), x
    for i in range(600):
        y, expected = y * (1 + i / 1e5), expected * (1 + i / 1e5)
    torch.testing.assert_close(y.cpu(), expected)
    assert 600 // 256 < torch_cresset.compile_records()[-1]["kernels"] < 10


def test_a_long_chain_of_norms_is_looked_at_once():
    """Norms that are no known norm, each of the one before: 400 take about 6 s to compile; looked at from each to the chain's beginning they took minutes."""
    x = torch.randn(8, 32, generator=torch.Generator().manual_seed(0))

    def chain(x):
        for _ in range(400):
            x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3) + x * 0.1
        return x

    # The chain is stable: a norm divides the error of what it reads by about as much as it multiplies the values.
    torch.testing.assert_close(chain(x.to("cresset")).cpu(), chain(x), rtol=1e-4, atol=1e-4)
    assert 10 < torch_cresset.compile_records()[-1]["kernels"] < 60


class Cells(torch.nn.Module):
    """A recurrent network written by hand, one step after the other."""

    def __init__(self, kind, size, layers):
        super().__init__()
        self.cells = torch.nn.ModuleList(kind(size, size) for _ in range(layers))

    def forward(self, x):
        for cell in self.cells:
            state, outputs = None, []
            for step in x:
                state = cell(step, state)
                outputs.append(state[0] if isinstance(state, tuple) else state)
            x = torch.stack(outputs)
        return x


@pytest.mark.parametrize("kind", [torch.nn.LSTMCell, torch.nn.GRUCell])
def test_steps_of_recurrent_layers_share_products(kind):
    """What waits for no state is one product for all steps: of the inputs, forward and backward, and the gradients of all weights."""
    torch.manual_seed(0)
    steps, batch, size, layers = 6, 2, 128, 2
    model, x = Cells(kind, size, layers), torch.randn(steps, batch, size)
    twin = copy.deepcopy(model).to("cresset")
    results = []
    for m, given in ((model, x.clone().requires_grad_()), (twin, x.to("cresset").requires_grad_())):
        with torch_cresset.profile() as profile:
            y = m(given)
            results.append([t.cpu() for t in (y.detach(), *torch.autograd.grad(y.square().sum(), (given, *m.parameters())))])
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected)
    calls = {}
    for row in profile:
        if row.kernel.startswith("dot"):
            rows = int(re.search(r"-> f32\[(\d+)x", row.kernel)[1])
            calls[rows] = calls.get(rows, 0) + row.calls
    assert calls.pop(steps * batch) == 2 * layers
    assert calls.pop(batch) <= 2 * layers * steps
    assert sum(calls.values()) == 2 * layers, profile  # weights
