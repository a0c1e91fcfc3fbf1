"""The device as PyTorch sees it: autoload, copies, views with in-place writes, serialization, errors."""

import copy
import io
import math
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
import torch

import torch_cresset
from conftest import fallbacks, same


def test_import_torch_loads_the_device():
    code = "import torch; t = torch.ones(2, device='cresset'); assert (t + t).sum().item() == 4; print(t.device)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "cresset:0", done.stderr


def test_exit_with_pending_work_is_clean():
    code = "import torch; x = torch.ones(3, device='cresset'); y = x * 2; z = y @ y"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_round_trip(dtype):
    t = (torch.randn(3, 4) * 3).to(dtype)
    for u in (t, t.t(), t[1:, ::2]):
        back = u.to("cresset").cpu()
        assert back.dtype == dtype and torch.equal(back, u)


VIEWS = {
    "row": lambda t: t[1],
    "column": lambda t: t[:, 2],
    "slice": lambda t: t[1:3, 1:4],
    "step": lambda t: t[::2, 1::2],
    "transposed": lambda t: t.t(),
    "flat": lambda t: t.view(-1)[3:9],
    "diagonal": lambda t: t.diagonal(),
    "reshaped": lambda t: t.view(2, 2, 5).permute(2, 0, 1)[1],
    "unfolded": lambda t: t.unfold(1, 2, 2)[..., 0],
    "select": lambda t: t.select(1, 0).unsqueeze(0),
}
WRITES = {
    "mul_": lambda v: v.mul_(2),
    "add_": lambda v: v.add_(v.clone(), alpha=3),
    "fill_": lambda v: v.fill_(7),
    "zero_": lambda v: v.zero_(),
    "copy_": lambda v: v.copy_(torch.full_like(v, 0.5)),
    "exp_": lambda v: v.exp_(),
    "clamp_": lambda v: v.clamp_(min=0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_write_through_a_view_shows_in_the_base(view, write):
    def function(base):
        other = base.t()
        WRITES[write](VIEWS[view](base))
        return base, other + 0

    same(function, torch.randn(4, 5))
    assert not fallbacks()


@pytest.mark.parametrize("formats", [(torch.preserve_format, torch.contiguous_format, torch.channels_last), (torch.channels_last, torch.contiguous_format, torch.preserve_format)])
@pytest.mark.parametrize("make", [torch.clone, lambda x, **kw: x.to(torch.float64, **kw), torch.empty_like, torch.zeros_like, torch.rand_like], ids=["clone", "to", "empty", "zeros", "rand"])
def test_each_memory_format_is_its_own(make, formats):
    """Whatever was asked for before."""
    x = torch.randn(2, 4, 5, 3).transpose(1, 2)
    for format in formats:
        assert make(x.to("cresset"), memory_format=format).stride() == make(x, memory_format=format).stride(), format


def test_versions_of_a_storage_stay_apart():
    def function(x):
        y = x.clone()
        z = y * 2
        y.add_(1)
        return x, y, z

    same(function, torch.randn(3, 3))


def test_non_finite_and_empty():
    same(lambda x: (x.exp(), x.log(), x.sqrt(), x.isnan()), torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0, -0.0]))
    same(lambda x: (x + 1, x.sum()), torch.empty(0, 3))


def test_tied_parameters_stay_tied():
    model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False))
    model[1].weight = model[0].weight
    model = torch.nn.ModuleList([model]).to("cresset")
    assert model[0][1].weight is model[0][0].weight
    assert len(list(model.parameters())) == 1


def test_a_moved_model_gives_up_its_memory_one_by_one():
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(8)], torch.nn.LSTM(3, 3), torch.nn.LSTM(3, 3))
    model[7].weight = model[0].weight
    model[9].weight_ih_l0 = model[8].weight_ih_l0
    parameters = list(model.parameters())
    alive = []

    def move(t):
        alive.append(sum(p.device.type == "cpu" for p in parameters))
        return t.to("cresset")

    model._apply(move)
    assert alive == sorted(alive, reverse=True) and {*alive} >= {*range(1, len(parameters) + 1)}  # tied ones are there when their turn comes again
    assert all(p is q for p, q in zip(model.parameters(), parameters))
    assert model[7].weight is model[0].weight
    assert model[9]._flat_weights[0] is model[9].weight_ih_l0 is model[8].weight_ih_l0


def test_parameters_change_their_device_in_place():
    model, seen = torch.nn.Linear(4, 2), []
    model.weight.kind = "no decay"
    model.weight.register_hook(lambda g: g * 0)
    model.bias.register_post_accumulate_grad_hook(lambda p: seen.append(p is model.bias))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = copy.deepcopy(model.state_dict())
    for device in ("cresset", "cpu", "cresset"):
        model.to(device)
    assert model.weight.kind == "no decay" and model.weight.device.type == "cresset"
    model(torch.ones(3, 4, device="cresset")).sum().backward()
    optimizer.step()
    assert seen == [True]
    torch.testing.assert_close(model.weight.detach().cpu(), before["weight"])
    torch.testing.assert_close(model.bias.detach().cpu(), before["bias"] - 0.3)
    p = torch.nn.Parameter(torch.ones(3))
    p.data = p.data.to("cresset")
    assert p.device.type == "cresset" and p.sum().item() == 3
    assert torch.nn.LazyLinear(3).to("cresset")(torch.ones(2, 5, device="cresset")).shape == (2, 3)


def test_a_child_of_a_process_that_computes(tmp_path):
    code = """
import os, random, signal, threading, time, torch, torch_cresset
m = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)]).eval().to("cresset")
def work():
    x = torch.randn(512, 256, device="cresset")
    with torch.no_grad():
        while True: m(x).sum().item()
threading.Thread(target=work, daemon=True).start()
time.sleep(1)
for i in range(8):
    y = torch.randn(8, 8, device="cresset")
    time.sleep(random.random() * 0.05)
    pid = os.fork()
    if pid == 0:
        total = (y + 1).sum().item()
        del y
        os._exit(0 if total == total else 1)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: break
        time.sleep(0.01)
    else:
        os.kill(pid, signal.SIGKILL)
        os._exit(3)
    if status: os._exit(4)
os._exit(0)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_signals_are_the_user_s(tmp_path):
    code = "import os, signal, torch; hits = []; signal.signal(signal.SIGUSR1, lambda *_: hits.append(1)); (torch.randn(100, 100, device='cresset').sin() * 3.25).sum().item(); os.kill(os.getpid(), signal.SIGUSR1); print(hits)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "CRESSET_CACHE_DIR": str(tmp_path), "CRESSET_NEW_SIZES": "compiled"})
    assert done.stdout.strip() == "[1]" and any(tmp_path.iterdir()), done.stderr


def test_save_load_copy_and_pickle():
    t = torch.randn(3, 4).to("cresset")
    module = torch.nn.Linear(4, 2).to("cresset")
    buffer = io.BytesIO()
    torch.save({"t": t, "state": module.state_dict()}, buffer)
    for place in ("cpu", "cresset"):
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=place, weights_only=True)
        assert loaded["t"].device.type == place
        assert torch.equal(loaded["t"].cpu(), t.cpu())
        assert torch.equal(loaded["state"]["weight"].cpu(), module.weight.cpu())
    assert torch.equal(pickle.loads(pickle.dumps(t)).cpu(), t.cpu())
    twin = copy.deepcopy(module)
    assert twin.weight.device.type == "cresset" and twin.weight is not module.weight
    assert torch.equal(twin.weight.cpu(), module.weight.cpu())
    module.load_state_dict(twin.state_dict())


def test_printing():
    assert "device='cresset:0'" in repr(torch.ones(2, device="cresset"))


def test_generator():
    torch.manual_seed(3)
    a = torch.nn.functional.dropout(torch.ones(1000, device="cresset"), 0.3)
    state = torch.cresset.get_rng_state()
    b = torch.nn.functional.dropout(torch.ones(1000, device="cresset"), 0.3)
    torch.cresset.set_rng_state(state)
    c = torch.nn.functional.dropout(torch.ones(1000, device="cresset"), 0.3)
    torch.manual_seed(3)
    d = torch.nn.functional.dropout(torch.ones(1000, device="cresset"), 0.3)
    assert torch.equal(b.cpu(), c.cpu()) and torch.equal(a.cpu(), d.cpu()) and not torch.equal(a.cpu(), b.cpu())
    kept = (a.cpu() != 0).float().mean().item()
    assert abs(kept - 0.7) < 0.06
    assert torch.allclose(a.cpu()[a.cpu() != 0], torch.tensor(1 / 0.7))


@pytest.mark.parametrize("function, text", [
    (lambda t: t @ t[:1], "mat1 and mat2 shapes cannot be multiplied|size mismatch"),
    (lambda t: t + torch.ones(7, device=t.device), "The size of tensor a"),
    (lambda t: t.add_(torch.ones(2, 3, 4, device=t.device)), "doesn't match the broadcast shape"),
    (lambda t: torch.arange(3, device=t.device).add_(1.5), "can't be cast to the desired output type"),
    (lambda t: t.view(5), "shape '\\[5\\]' is invalid"),
    (lambda t: t.sum(5), "Dimension out of range"),
    (lambda t: t + torch.ones(3, 4), "Expected all tensors to be on the same device"),
    (lambda t: torch.empty(1 << 50, device=t.device), "out of memory"),
    (lambda t: torch.ones(2, device="cresset:1"), "one device, cresset:0"),
    (lambda t: t.numpy(), "can't convert cresset"),
    (lambda t: torch.nn.functional.embedding(torch.tensor([0, 3]).to(t.device), t), "index out of range"),
    (lambda t: t.index_select(1, torch.tensor([4]).to(t.device)), "index out of range"),
])
def test_errors_on_the_users_line(function, text):
    t = torch.randn(3, 4).to("cresset")
    with pytest.raises((RuntimeError, IndexError, TypeError), match=text):
        function(t)
    assert (t + 1).sum().item() == pytest.approx((t.cpu() + 1).sum().item(), rel=1e-5)


def test_fallback_is_counted_and_can_be_an_error(monkeypatch):
    t = torch.randn(5).to("cresset")
    monkeypatch.setenv("CRESSET_FALLBACK", "allow")
    assert torch.equal(torch.special.bessel_j0(t).cpu(), torch.special.bessel_j0(t.cpu()))
    assert fallbacks() == {"aten::special_bessel_j0": 1}
    monkeypatch.setenv("CRESSET_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match="aten::special_bessel_j0 is not lowered"):
        torch.special.bessel_j0(t)


def test_step_scope_and_report():
    w = torch.randn(4, 4).to("cresset")
    torch_cresset.sync()
    torch_cresset.reset_counters()
    with torch_cresset.step():
        for _ in range(3):
            w = w @ w * 0.5
    counters = torch_cresset.counters()
    assert counters["cresset.execute"] == 1 and counters["cresset::mm"] == 3
    assert "Programs compiled" in torch_cresset.metrics_report()


def test_results_of_what_is_not_lowered_in_tensors_that_are_given(monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "allow")
    x = torch.randn(4, 4) + 4 * torch.eye(4)
    d = x.to("cresset")
    out = torch.zeros(4, 4, device="cresset")
    view = out.t()
    assert torch.linalg.inv(d, out=out) is out
    torch.testing.assert_close(out.cpu(), torch.linalg.inv(x))
    torch.testing.assert_close(view.cpu(), torch.linalg.inv(x).t())
    part = torch.zeros(6, 5, device="cresset")
    torch.special.bessel_j0(d, out=part[1:5, 1:])
    torch.testing.assert_close(part[1:5, 1:].cpu(), torch.special.bessel_j0(x))
    assert part.cpu()[0].eq(0).all() and part.cpu()[:, 0].eq(0).all()
    wide = torch.empty(0, dtype=torch.float64, device="cresset")
    torch.special.bessel_j0(d, out=wide)
    torch.testing.assert_close(wide.cpu(), torch.special.bessel_j0(x).double())
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.special.bessel_j0(d, out=torch.empty(4, 4, dtype=torch.int64, device="cresset"))
    torch.testing.assert_close(d.cpu(), x, rtol=0, atol=0)


def test_autocast_computes_products_in_bfloat16():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).to("cresset")
    x = torch.randn(4, 8).to("cresset")
    with torch.autocast("cresset", dtype=torch.bfloat16):
        y = model(x)
        loss = y.float().square().mean()
    loss.backward()
    assert y.dtype == torch.bfloat16 and model[0].weight.grad.dtype == torch.float32
    # Eager CPU under autocast rounds at the same places.
    twin = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))
    twin.load_state_dict({k: v.cpu() for k, v in model.state_dict().items()})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = twin(x.cpu())
    torch.testing.assert_close(y.cpu(), expected, rtol=2e-2, atol=2e-2)  # two bf16 products, each rounded to 8 bits


def test_import_does_not_load_dynamo():
    result = subprocess.run([sys.executable, "-c", "import sys, torch; print('torch_cresset' in sys.modules, 'torch._dynamo' in sys.modules)"],
                            capture_output=True, text=True, timeout=300)
    assert result.stdout.split() == ["True", "False"], result.stderr


def test_a_backward_runs_on_its_own_thread():
    threads = []

    class Probe(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            threads.append(threading.get_ident())
            return grad

    x = torch.ones(3, device="cresset", requires_grad=True)
    Probe.apply(x * 2).sum().backward()
    assert threads == [threading.get_ident()]
    assert x.grad.cpu().tolist() == [2, 2, 2]


def test_a_forked_process_computes():
    x = torch.randn(400, 400).to("cresset")
    expected = float((x @ x).sum().cpu())  # on all threads
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if math.isclose(float((x @ x).sum().cpu()), expected, rel_tol=1e-4) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_conversion_to_bytes_wraps_around():
    same(lambda x: x.to(torch.uint8), torch.tensor([-1.0, 3.7, 255.7, 256.0, -300.5]))


@pytest.mark.parametrize("norm_first", [False, True])
def test_fused_encoder_layer_takes_masks(norm_first):
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first).eval()
    x, padding = torch.randn(2, 5, 16), torch.zeros(2, 5, dtype=torch.bool)
    padding[0, -2:] = True
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    twin = copy.deepcopy(layer).to("cresset")
    with torch.inference_mode():
        for masks in [{}, {"src_key_padding_mask": padding}, {"src_mask": causal}, {"src_mask": causal, "src_key_padding_mask": padding}]:
            actual = twin(x.to("cresset"), **{k: v.to("cresset") for k, v in masks.items()})
            torch.testing.assert_close(actual.cpu(), layer(x, **masks), rtol=1e-5, atol=1e-5)
    assert not fallbacks()


def test_the_precision_of_products_is_written_to_them():
    """torch.set_float32_matmul_precision("high") asks for two bf16 for each f32: an attribute of the product, and a program of its own."""
    x, y = torch.randn(64, 128), torch.randn(128, 64)
    results, texts = {}, {}
    before = torch.get_float32_matmul_precision()
    try:
        for precision in ("highest", "high", "highest"):
            torch.set_float32_matmul_precision(precision)
            results[precision] = (x.to("cresset") @ y.to("cresset")).cpu()
            texts[precision] = torch_cresset.stablehlo(torch.matmul, x.to("cresset"), y.to("cresset"))
    finally:
        torch.set_float32_matmul_precision(before)
    assert "HIGH" not in texts["highest"] and "precision = [HIGH, HIGH]" in texts["high"]
    exact = x.double() @ y.double()
    torch.testing.assert_close(results["highest"], exact.float())
    # 128 products of normal numbers that are off by 2^-16 at most are a sum that is off by a few times sqrt(128) 2^-16 = 1.7e-4.
    torch.testing.assert_close(results["high"], exact.float(), rtol=1.3e-6, atol=1e-3)


def test_the_precision_of_products_as_a_backend_s():
    """The other way to ask for it, after which PyTorch refuses to tell the first one."""
    x, y = torch.randn(64, 128, device="cresset"), torch.randn(128, 64, device="cresset")
    before = torch.backends.mkldnn.matmul.fp32_precision
    try:
        torch.backends.mkldnn.matmul.fp32_precision = "bf16"
        assert "precision = [HIGH, HIGH]" in torch_cresset.stablehlo(torch.matmul, x, y)
        (x @ y).cpu()
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = before
    assert "HIGH" not in torch_cresset.stablehlo(torch.matmul, x, y)


def test_operations_are_counted_as_on_the_cpu():
    from torch.utils.flop_counter import FlopCounterMode

    counts = []
    for device in ("cpu", "cresset"):
        x, layer = torch.randn(4, 8, device=device), torch.nn.Linear(8, 16).to(device)
        for needs in (False, True):
            with FlopCounterMode(display=False) as counter:
                layer(x.clone().requires_grad_(needs)).sum().backward()
            counts.append(counter.get_total_flops())
    assert counts[:2] == counts[2:] == [2048, 3072]
