"""A program that is recorded again begins to run while it is recorded: with the same results whatever comes in between."""

import copy
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import torch_cresset

SIZE, LAYERS = 256, 24


def make_model(layers=LAYERS):
    torch.manual_seed(1)
    return nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(SIZE, SIZE), nn.GELU())]).eval().requires_grad_(False)


def counts():
    all = torch_cresset.counters()
    return all.get("cresset.begun_early", 0), all.get("cresset.begun_in_vain", 0)


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def device_model(model):
    return copy.deepcopy(model).to("cresset")


def warm(module, calls=3, rows=64):
    for _ in range(calls):
        module(torch.zeros(rows, SIZE).to("cresset")).cpu()
    torch_cresset.reset_counters()


def test_repeated_calls_begin_early(model, device_model):
    warm(device_model)
    for _ in range(20):
        x = torch.randn(64, SIZE)
        torch.testing.assert_close(device_model(x.to("cresset")).cpu(), model(x))
    assert counts() == (20, 0)


def test_results_of_earlier_calls_stay(model, device_model):
    """Also those that are written before the last operator is recorded."""

    def hidden(m, x):
        all = []
        for layer in m:
            x = layer(x)
            all.append(x)
        return all

    inputs = [torch.randn(64, SIZE) for _ in range(6)]
    kept = []
    for x in inputs:
        kept.append(hidden(device_model, x.to("cresset")))
        torch_cresset.sync()
    assert counts()[0] >= 4
    for x, results in zip(inputs, kept):
        for expected, actual in zip(hidden(model, x), results):
            torch.testing.assert_close(actual.cpu(), expected)


def test_weights_that_change_between_calls(model, device_model):
    warm(device_model)
    x = torch.randn(64, SIZE)
    for i in range(8):
        layer = (i * 7) % LAYERS * 2
        for m in (model, device_model):
            torch.manual_seed(i)
            fresh = torch.randn(SIZE, SIZE) / 16
            if i % 3 == 0:
                m[layer].weight.copy_(fresh)
            elif i % 3 == 1:
                m[layer].weight.data = fresh.to(m[layer].weight.device)
            else:
                m[layer].weight.mul_(0.5).add_(fresh.to(m[layer].weight.device))
        torch.testing.assert_close(device_model(x.to("cresset")).cpu(), model(x))
    assert counts()[0] >= 4


def test_weights_that_change_within_a_call(model, device_model):
    """What was read before the change is read as it was, also if the kernel has not run yet."""
    x = torch.randn(64, SIZE)

    def run(m, x, i):
        x = m(x)
        for layer in m:
            if isinstance(layer, nn.Linear):
                layer.weight.mul_(1.01 if i % 2 else 1 / 1.01)
        return x + m(x)

    for i in range(8):
        torch.testing.assert_close(run(device_model, x.to("cresset"), i).cpu(), run(model, x, i), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("at", [1, LAYERS, 2 * LAYERS - 1])
def test_a_window_that_goes_another_way(model, device_model, at):
    warm(device_model)
    for i in range(4):
        x = torch.randn(64, SIZE)

        def run(m, x):
            for n, layer in enumerate(m):
                x = layer(x)
                if n == at:
                    x = x.relu() if i % 2 else x
            return x

        torch.testing.assert_close(run(device_model, x.to("cresset")).cpu(), run(model, x))
    assert counts() == (2, 2)  # the other one is expected from the second time on that it follows


def test_operands_that_change_places(device_model, model):
    """The operators are the same, what they read is not."""
    warm(device_model)
    layers, moved = list(model), list(device_model)
    x = torch.randn(64, SIZE)
    for i in range(6):
        order = [(n + 2 * i) % len(layers) for n in range(len(layers))]
        other = x.to("cresset")
        expected = x
        for n in order:
            expected, other = layers[n](expected), moved[n](other)
        torch.testing.assert_close(other.cpu(), expected)
    assert counts()[0] >= 5


def test_one_weight_in_place_of_two(model, device_model):
    """Leaves that were two before are one: another program, of which nothing of the first may be used."""
    warm(device_model)
    model[2].weight, device_model[2].weight = model[0].weight, device_model[0].weight
    x = torch.randn(64, SIZE)
    for _ in range(4):
        torch.testing.assert_close(device_model(x.to("cresset")).cpu(), model(x))
    assert counts()[1] >= 1 and counts()[0] >= 2


def test_results_nobody_reads(model, device_model):
    warm(device_model)
    for _ in range(5):
        device_model(torch.randn(64, SIZE, device="cresset"))  # gone before it is computed
        torch_cresset.sync()
    torch.cresset.empty_cache()
    x = torch.randn(64, SIZE)
    torch.testing.assert_close(device_model(x.to("cresset")).cpu(), model(x))


def test_errors_between(model, device_model):
    warm(device_model)
    x = torch.randn(64, SIZE)
    for _ in range(4):
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            device_model[:20](x.to("cresset")) @ torch.zeros(3, 3, device="cresset")
        torch.testing.assert_close(device_model(x.to("cresset")).cpu(), model(x))


def test_numbers_that_change(model, device_model):
    """Learning rates and the like are inputs of the program."""
    x = torch.randn(64, SIZE)
    for i in range(10):
        scale = 1 + i / 10
        expected, actual = x * scale, x.to("cresset") * scale
        expected, actual = model(expected) + scale, device_model(actual) + scale
        torch.testing.assert_close(actual.cpu(), expected)
    assert counts()[0] >= 4


def test_random_numbers(device_model):
    module = nn.Sequential(nn.Dropout(0.5), *device_model, nn.Dropout(0.5))
    module[0].train(), module[-1].train()
    x = torch.randn(64, SIZE, device="cresset")
    results = []
    for _ in range(6):
        torch.manual_seed(3)
        results.append([module(x).cpu() for _ in range(2)])
    assert counts()[0] >= 8
    assert not torch.equal(*results[0])
    for result in results[1:]:
        assert torch.equal(result[0], results[0][0]) and torch.equal(result[1], results[0][1])


def test_training():
    model = make_model().requires_grad_(True)
    models = [model, copy.deepcopy(model).to("cresset")]
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-3) for m in models]
    for i in range(8):
        torch.manual_seed(i)
        x, y = torch.randn(64, SIZE), torch.randn(64, SIZE)
        losses = []
        for m, optimizer in zip(models, optimizers):
            device = next(m.parameters()).device
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(m(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().cpu())
        torch.testing.assert_close(losses[1], losses[0])


def test_a_compiled_model_in_between(model, device_model):
    """torch.compile has programs, and memory, of the same kind."""
    compiled = torch.compile(device_model, backend="cresset")
    x = torch.randn(64, SIZE)
    expected = model(x)
    for _ in range(6):
        begun = device_model[:10](x.to("cresset"))
        torch.testing.assert_close(compiled(x.to("cresset")).cpu(), expected)
        torch.testing.assert_close(device_model[10:](begun).cpu(), expected)
        torch.testing.assert_close(device_model(x.to("cresset")).cpu(), expected)


def test_threads(model, device_model):
    """Two threads' operators are one trace, in any order."""
    x = [torch.randn(64, SIZE) for _ in range(2)]
    expected = [model(t) for t in x]

    def work(i):
        for _ in range(20):
            torch.testing.assert_close(device_model(x[i].to("cresset")).cpu(), expected[i])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))  # raises what a thread raised


def test_a_fork_while_it_runs(model, device_model):
    warm(device_model)
    x = torch.randn(64, SIZE)
    expected = model(x)
    for at in (1, LAYERS):
        begun = device_model[:at](x.to("cresset"))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if torch.allclose(device_model[at:](begun).cpu(), expected, atol=1e-5) and torch.allclose(device_model(x.to("cresset")).cpu(), expected, atol=1e-5) else 2
            finally:
                os._exit(status)
        torch.testing.assert_close(device_model[at:](begun).cpu(), expected)
        assert os.waitpid(child, 0)[1] == 0
    torch.testing.assert_close(device_model(x.to("cresset")).cpu(), expected)


PROGRAM = """
import torch, torch_cresset
from torch import nn
torch.manual_seed(1)
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(24)]).requires_grad_(False)
moved = nn.Sequential(*[nn.Linear(256, 256) for _ in range(24)]).requires_grad_(False)
moved.load_state_dict(model.state_dict())
moved.to("cresset")
for i in range(6):
    x = torch.randn(64, 256)
    torch.testing.assert_close(moved(x.to("cresset")).cpu(), model(x))
print("early", torch_cresset.counters().get("cresset.begun_early", 0))
moved(x.to("cresset"))  # begun, and left so when the process ends
"""


@pytest.mark.parametrize("setting, early", [({}, 5), ({"CRESSET_EARLY": "0"}, 0), ({"CRESSET_THREADS": "1"}, 0), ({"CRESSET_GUARD": "end"}, 5),
                                                  ({"CRESSET_SCRATCH": "nan"}, 5), ({"CRESSET_CPU": "avx2"}, 5)])
def test_settings(setting, early):
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **setting}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout.split("early")[1]) == early
