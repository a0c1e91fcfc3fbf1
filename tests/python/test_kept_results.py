"""What depends on weights alone is computed once, and again as soon as a weight is another, however it was written."""

import copy
import os
import subprocess
import sys

import pytest
import torch

import torch_cresset

FINGERPRINT = "fingerprint of weights"


class Positions(torch.nn.Module):
    """Scores against projected positions, as models with relative positions have them: 256 positions are a product of weights alone."""

    def __init__(self):
        super().__init__()
        self.positions = torch.nn.Parameter(torch.randn(256, 256) / 16)
        self.project = torch.nn.Linear(256, 256)
        self.query = torch.nn.Linear(256, 256)

    def forward(self, x):
        return self.query(x) @ self.project(self.positions).t()


def kernels_of(call):
    with torch_cresset.profile() as profile:
        result = call().cpu()
    kernels = [row.kernel for row in profile for _ in range(row.calls)]
    return result, [kernel for kernel in kernels if kernel != FINGERPRINT], FINGERPRINT in kernels


def on_device(model):
    model.to("cresset")
    return lambda x: model(x.to("cresset"))


def compiled(model):
    return torch.compile(model, backend="cresset")


@pytest.mark.parametrize("run", [on_device, compiled])
def test_weights_alone_are_computed_once(run):
    torch.manual_seed(0)
    model, x, other = Positions(), torch.randn(8, 256), torch.randn(8, 256)
    with torch.no_grad():
        expected = model(other)
        call = run(model)
        call(x).cpu(), call(x).cpu()
        result, kernels, looked = kernels_of(lambda: call(other))
    torch.testing.assert_close(result, expected)
    assert looked and len(kernels) == 2, kernels  # the query, and its product with the positions


@pytest.mark.parametrize("run", [on_device, compiled])
def test_changed_weights_are_seen(run):
    torch.manual_seed(0)
    model, x = Positions(), torch.randn(8, 256)
    call = run(model)
    with torch.no_grad():
        call(x).cpu(), call(x).cpu()
        for change in (lambda w: w.mul_(2), lambda w: w.data.add_(0.01), lambda w: w[3, 4].fill_(0.5)):
            change(model.project.weight)
            torch.testing.assert_close(call(x).cpu(), on_cpu(model)(x))
            call(x).cpu()


def on_cpu(model):
    copy = Positions()
    copy.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    return copy


def test_numpy_writes_are_seen():
    torch.manual_seed(0)
    model, x = Positions(), torch.randn(8, 256)
    call = compiled(model)
    with torch.no_grad():
        call(x).cpu(), call(x).cpu()
        for row in range(4):
            model.positions.numpy()[row] = 0.5  # no counter of PyTorch's sees this
            torch.testing.assert_close(call(x), model(x))
            call(x), call(x)


def test_another_process_writes_are_seen():
    torch.manual_seed(0)
    model, x = Positions(), torch.randn(8, 256)
    model.share_memory()
    call = compiled(model)
    with torch.no_grad():
        for row in range(4):
            call(x), call(x)
            child = os.fork()
            if child == 0:
                model.positions.numpy()[row] = 0.5
                os._exit(0)
            os.waitpid(child, 0)
            torch.testing.assert_close(call(x), model(x))


def test_weights_that_always_change_are_not_looked_at():
    torch.manual_seed(0)
    model, x = Positions(), torch.randn(8, 256)
    call = compiled(model)
    with torch.no_grad():
        for _ in range(6):
            model.positions.add_(0.01)
            torch.testing.assert_close(call(x), model(x))
        _, kernels, looked = kernels_of(lambda: call(x))
    assert not looked and len(kernels) == 3, kernels


def test_training_keeps_nothing():
    torch.manual_seed(0)
    model, x = Positions(), torch.randn(8, 256)
    call = compiled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        call(x).square().mean().backward()
        optimizer.step()
    _, _, looked = kernels_of(lambda: call(x).detach())
    assert not looked


def test_a_run_that_began_early_sees_changed_weights():
    torch.manual_seed(0)

    class Deep(Positions):
        def forward(self, x):
            for _ in range(6):
                x = torch.tanh(self.query(x))
            return super().forward(x)

    model, x = Deep(), torch.randn(1024, 256)
    fresh = Deep()
    call = on_device(model)
    with torch.no_grad():
        for _ in range(6):
            call(x).cpu()
        for change in (lambda w: w.mul_(2), lambda w: w.data.add_(0.01)):
            change(model.positions)
            for _ in range(3):
                fresh.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
                torch.testing.assert_close(call(x).cpu(), fresh(x))


PACKED = """
import copy, os, torch, torch_cresset

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(64, 96, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(96, 64, 1), torch.nn.Flatten(1), torch.nn.Linear(64 * 36, 160), torch.nn.GELU(), torch.nn.Linear(160, 130))
net = net.bfloat16().eval()
if {shared}:
    net.share_memory()
x = torch.randn(16, 64, 6, 6).bfloat16()


def check(call, device):
    with torch.no_grad():
        for _ in range(5):
            torch.testing.assert_close(call(x.to(device)).cpu(), net(x), rtol=3e-2, atol=3e-2)


def decay(model):
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.95)


on_device = copy.deepcopy(net).to("cresset")
compiled = torch.compile(net, backend="cresset")
for _ in range(3):
    check(on_device, "cresset"), check(compiled, "cpu")
    decay(net), decay(on_device)
check(on_device, "cresset"), check(compiled, "cpu")
net[4].weight.data.view(torch.int16).numpy()[7] = 0  # no counter of PyTorch's sees this
check(compiled, "cpu")
# Steps of training between, in which weights always change.
ours, theirs = copy.deepcopy(net).float(), copy.deepcopy(net).float()
step = torch.compile(ours, backend="cresset")
for model, call in ((ours, step), (theirs, theirs)):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            call(x).square().mean().backward()
        optimizer.step()
torch.testing.assert_close(ours(x.float()), theirs(x.float()), rtol=5e-2, atol=5e-2)  # bf16 products, four steps
print("kept", max(record["kept_bytes"] for record in torch_cresset.compile_records()))
"""


@pytest.mark.parametrize("shared", [False, True])
def test_packed_weights(shared):
    """By tiles, which are emulated where there are none, in a process of its own: kept as they are packed where writes are watched, and packed anew when they are others."""
    result = subprocess.run([sys.executable, "-c", PACKED.format(shared=shared)], capture_output=True, text=True, env={**os.environ, "CRESSET_BF16_DOT": "tiles", "CRESSET_THREADS": "2"})
    assert result.returncode == 0, result.stderr[-3000:]
    watches = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 7) and os.environ.get("CRESSET_WRITE_WATCH") != "0"
    if watches and subprocess.run([sys.executable, "-c", "import ctypes, os; os._exit(ctypes.CDLL(None).syscall(323, 1) < 0)"]).returncode == 0:  # userfaultfd, in user mode
        assert int(result.stdout.split()[-1]) > 2 * (96 * 64 * 9 + 64 * 96)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_weights_of_a_loop(dtype, device):
    """Packed in the first round of each run, not in the first run alone."""
    torch.manual_seed(0)
    model = torch.nn.LSTM(96, 64, 2).to(dtype).eval()
    ours = torch.compile(model, backend="cresset") if device == "cpu" else copy.deepcopy(model).to(device)
    x = torch.randn(40, 8, 96, dtype=dtype)
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {}  # bf16: eager rounds in other places
    with torch.no_grad():
        for _ in range(4):
            torch.testing.assert_close(ours(x.to(device))[0].cpu(), model(x)[0], **tolerance)
            for each in [model] if device == "cpu" else [model, ours]:
                each.weight_hh_l0.mul_(-0.9)


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_a_backward_keeps_nothing(device):
    """Gradients are asked for of weights that are about to change: what is made of these alone, kernels in another order here, would be held in vain."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(64, 64, 3, groups=4, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 128, 3, stride=2, groups=4, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(128, 128, 3, padding=1))
    net.to(device)
    call = torch.compile(net, backend="cresset") if device == "cpu" else net
    x = torch.randn(2, 64, 14, 14, device=device, requires_grad=True)
    known = len(torch_cresset.compile_records())
    for _ in range(3):
        call(x).square().sum().backward()
    x.grad.cpu()
    records = torch_cresset.compile_records()[known:]
    assert records and all(record["kept_bytes"] == 0 for record in records)
