"""torch.compile of what is on the device already: recorded as on the CPU, results stay on the device."""

import copy

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks, traced_by_aot_autograd


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch_cresset.reset_counters()


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.GELU(), torch.nn.LayerNorm(40), torch.nn.Linear(40, 5))


def pictures():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 5))


MODELS = {"perceptron": (perceptron, (6, 12)), "pictures": (pictures, (4, 3, 9, 9))}


@pytest.mark.parametrize("model", MODELS)
def test_inference(model):
    make, sizes = MODELS[model]
    plain, x = make().eval(), torch.randn(sizes)
    ours = torch.compile(copy.deepcopy(plain).to("cresset"), backend="cresset")
    with torch.no_grad():
        for scale in (1, 2, 3):
            result = ours((x * scale).to("cresset"))
            assert result.device.type == "cresset"
            torch.testing.assert_close(result.cpu(), plain(x * scale))
        plain[0].weight.mul_(2)
        ours.get_parameter("0.weight").mul_(2)
        torch.testing.assert_close(ours(x.to("cresset")).cpu(), plain(x))
    assert not traced_by_aot_autograd() and not fallbacks()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("compiled_step", [False, True])
def test_training(model, compiled_step):
    make, sizes = MODELS[model]
    plain, x, wanted = make(), torch.randn(sizes), torch.randint(0, 5, (sizes[0],))
    moved = copy.deepcopy(plain).to("cresset")
    losses = []
    for device, model, run in (("cpu", plain, plain), ("cresset", moved, torch.compile(moved, backend="cresset"))):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        step = torch.compile(optimizer.step, backend="cresset") if compiled_step and device == "cresset" else optimizer.step
        losses.append([])
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(run(x.to(device)), wanted.to(device))
            loss.backward()
            step()
            losses[-1].append(loss.item())
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)  # of the steps before
    for name, value in plain.state_dict().items():
        assert moved.state_dict()[name].device.type == "cresset"
        # AdamW divides tiny gradients by their own size: rounding of one shows in its sign.
        torch.testing.assert_close(moved.state_dict()[name].cpu(), value, rtol=1e-4, atol=1e-4)
    assert not traced_by_aot_autograd() and not fallbacks()


def test_gradients_that_nobody_wants_and_those_in_other_orders():
    x = torch.randn(4, 6)

    def function(x):
        return x.sin(), x.cos().t(), x * 2

    def gradients(function, device):
        given = x.clone().to(device).requires_grad_()
        one, other, _ = function(given)
        return torch.autograd.grad((one.sum() + (other.t().contiguous() * x.to(device)).sum()), given)[0].cpu()

    torch.testing.assert_close(gradients(torch.compile(function, backend="cresset"), "cresset"), gradients(function, "cpu"))
    assert not traced_by_aot_autograd()


def test_a_saved_result_that_is_overwritten_is_saved_all_the_same():
    x = torch.randn(5)
    given = x.to("cresset").requires_grad_()
    y = torch.compile(lambda x: x.exp(), backend="cresset")(given)
    with torch.no_grad():
        y.mul_(0)
    y.sum().backward()
    torch.testing.assert_close(given.grad.cpu(), x.exp())


def test_inputs_that_are_written_and_views():
    def function(x, y):
        x[1:].add_(y)
        return x[0], y.t()

    results = []
    for device, run in (("cpu", function), ("cresset", torch.compile(function, backend="cresset"))):
        x, y = torch.arange(12.0).reshape(3, 4).to(device), torch.ones(2, 4).to(device)
        first, second = run(x, y)
        x.mul_(2)
        results.append([t.cpu() for t in (x, first, second)])
    for ours, plain in zip(results[1], results[0]):
        torch.testing.assert_close(ours, plain)
    assert not traced_by_aot_autograd()


def test_the_same_random_numbers_after_the_same_seed():
    function = torch.compile(lambda x: F.dropout(x, 0.5), backend="cresset")
    x = torch.ones(1000, device="cresset")
    drawn = []
    for _ in range(2):
        torch.manual_seed(3)
        drawn.append([function(x).cpu(), function(x).cpu()])
    assert torch.equal(drawn[0][0], drawn[1][0]) and torch.equal(drawn[0][1], drawn[1][1]) and not torch.equal(drawn[0][0], drawn[0][1])
    assert 400 < drawn[0][0].count_nonzero() < 600
    assert not traced_by_aot_autograd()


def test_autocast_around_and_within():
    weight, x = torch.randn(8, 8).to("cresset"), torch.randn(4, 8).to("cresset")

    def within(x):
        with torch.autocast("cresset", dtype=torch.bfloat16):
            return x @ weight

    with torch.autocast("cresset", dtype=torch.bfloat16):
        around = torch.compile(lambda x: x @ weight, backend="cresset")(x)
    assert around.dtype == torch.compile(within, backend="cresset")(x).dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.compile(lambda x: x @ weight + 1, backend="cresset")(x).dtype == torch.float32


@pytest.mark.parametrize("function", [lambda x: (x, torch.arange(3)), lambda x: x.cpu() + 1, lambda x: torch.zeros(3) + 1, lambda x: x + torch.tensor(2.0)])
def test_what_is_made_on_the_cpu_stays_there(function):
    x = torch.randn(3)
    expected, ours = function(x.to("cresset")), torch.compile(function, backend="cresset")(x.to("cresset"))
    for a, b in zip(*([v] if isinstance(v, torch.Tensor) else v for v in (ours, expected)), strict=True):
        assert a.device == b.device
        torch.testing.assert_close(a.cpu(), b.cpu())


def test_inputs_on_both():
    function = lambda x, y: (x + 1, y * 2)
    x, y = torch.randn(3), torch.randn(3)
    ours = torch.compile(function, backend="cresset")(x, y.to("cresset"))
    assert [t.device.type for t in ours] == ["cpu", "cresset"]
    torch.testing.assert_close(ours[0], x + 1)
    torch.testing.assert_close(ours[1].cpu(), y * 2)


@pytest.mark.parametrize("dynamic", [None, True])
def test_attention_of_sizes_that_change(dynamic):
    f = torch.compile(lambda q, k: F.scaled_dot_product_attention(q, k, k), backend="cresset", dynamic=dynamic)
    for n in (7, 8, 9):
        q, k = torch.randn(3, 4, 2, 8), torch.randn(3, 4, n, 8)
        torch.testing.assert_close(f(q.to("cresset"), k.to("cresset")).cpu(), F.scaled_dot_product_attention(q, k, k))
