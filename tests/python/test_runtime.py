"""Memory, threads, and memory that nobody has written yet."""

import copy
import os
import subprocess
import sys
import textwrap

import pytest
import torch
import transformers

import torch_cresset

MIB = 1 << 20


def run(script, **environment):
    """The script's output, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def stats():
    return torch.cresset.memory_stats()


@pytest.fixture
def nothing_cached():
    torch.cresset.synchronize()
    torch.cresset.empty_cache()
    torch.cresset.reset_peak_memory_stats()


@pytest.mark.parametrize("shape", [(1 << 20,), (1024, 1024)])
def test_parameters_from_the_cpu_are_updated_in_place(shape, nothing_cached):
    before = stats()["in_use"]
    p = torch.randn(shape).to("cresset").requires_grad_()
    optimizer = torch.optim.SGD([p], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        p.square().sum().backward()
        optimizer.step()
    torch.cresset.synchronize()
    assert stats()["peak"] - before <= 8 * MIB + MIB // 4  # the parameter and its gradient


def test_copies_from_the_cpu_are_not_computed_again(nothing_cached):
    before = stats()["in_use"]
    weights = [torch.randn(512, 1024).to("cresset") for _ in range(8)]
    (weights[0] + 1).sum().item()
    assert stats()["peak"] - before <= 16 * MIB + 3 * MIB


def test_programs_share_their_temporaries(nothing_cached):
    before = stats()["in_use"] + stats()["cached"]
    for rows in (1000, 1500, 2000, 1200):
        x = torch.ones(rows, 1024, device="cresset")
        total = ((x @ torch.ones(1024, 1024, device="cresset")).T.contiguous() @ x).sum().item()
        assert total == rows * 1024.0**3
        x = None
    results = (1000 + 1500 + 2000 + 1200) * 1024 * 4
    assert torch_cresset.compile_records()[-2]["arena_bytes"] > 8 * MIB
    assert stats()["in_use"] + stats()["cached"] - before <= results + 14 * MIB


def test_the_directory_of_dumped_programs_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("CRESSET_DUMP", str(tmp_path / "new" / "programs"))
    (torch.ones(3, device="cresset") + 41).cpu()
    (file,) = (tmp_path / "new" / "programs").iterdir()
    assert "stablehlo.add" in file.read_text()
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("CRESSET_DUMP", str(tmp_path / "taken"))
    with pytest.raises(RuntimeError, match="CRESSET_DUMP: cannot write .*taken"):
        (torch.ones(3, device="cresset") * 41).cpu()


def test_sums_are_written_over_residuals_that_nobody_else_reads(nothing_cached):
    """Elsewhere three arrays would be alive in the third product, of which one is read element by element as the sum is written; a gather reads elsewhere, and writes elsewhere."""
    torch.manual_seed(0)
    x = torch.randn(1024, 1024)
    w = torch.randn(1024, 1024) / 32

    def network(x, w):
        residual = (x @ w).relu()
        inner = (residual @ w).relu()
        outer = inner @ w + residual
        return (outer.roll(1, 0) + outer.sin()) @ w

    known = len(torch_cresset.compile_records())
    torch.testing.assert_close(network(x.to("cresset"), w.to("cresset")).cpu(), network(x, w), rtol=1e-4, atol=1e-4)
    (program,) = torch_cresset.compile_records()[known:]
    assert 8 * MIB <= program["arena_bytes"] < 9 * MIB


def test_updates_wait_for_the_last_reader():
    """The gradient of a product's input reads the weight that the gradient of the weight updates; both orders occur."""
    known = len(torch_cresset.compile_records())
    for product in (lambda x, b, w: torch.addmm(b, x, w), lambda x, b, w: torch.nn.functional.linear(x, w, b)):
        parameters = [torch.randn(1024, 1024).mul(0.03).to("cresset").requires_grad_() for _ in range(3)]
        copies = [p.detach().cpu().requires_grad_() for p in parameters]
        x, b = torch.randn(16, 1024), torch.zeros(1024)
        for device, weights in (("cresset", parameters), ("cpu", copies)):
            optimizer = torch.optim.AdamW(weights, lr=1e-2, eps=1e-2, fused=True)  # with a smaller eps the sign of a gradient of 0 would be an update
            for _ in range(3):
                optimizer.zero_grad()
                y = x.to(device)
                for w in weights:
                    y = product(y, b.to(device), w).tanh()
                y.square().sum().backward()
                optimizer.step()
        for ours, theirs in zip(parameters, copies):
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-3, atol=1e-3)
    steps = [record["arena_bytes"] for record in torch_cresset.compile_records()[known:]]
    assert len(steps) >= 2 and max(steps) < 5 * MIB and min(steps) < MIB  # of the weights, 4 MiB each, one is a temporary in the first step and none in later ones


def test_steps_of_the_optimizer_release_what_gradients_are_made_of(nothing_cached):
    """They are recorded behind the whole backward; run there, each layer's input and its result's gradient, 2 x 8 MiB, would wait for them."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(layer for _ in range(8) for layer in (torch.nn.Linear(256, 256), torch.nn.Tanh())))
    theirs = copy.deepcopy(model)
    model.to("cresset")
    x = torch.randn(8192, 256)
    for network, device in ((model, "cresset"), (theirs, "cpu")):
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, eps=1e-2)
        for _ in range(4):
            optimizer.zero_grad()
            network(x.to(device)).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(model.cpu().state_dict(), theirs.state_dict(), rtol=1e-4, atol=1e-5)
    assert torch_cresset.compile_records()[-1]["arena_bytes"] < (8 + 3) * 8 * MIB  # eight results, and three arrays at work


@pytest.mark.parametrize("reentrant, p, rows", [(False, 0.0, 512), (False, 0.5, 512), (True, 0.0, 528), (True, 0.5, 528)])  # each compiles programs of its own
def test_what_is_checkpointed_is_computed_again(nothing_cached, reentrant, p, rows):
    """Within one program equal operators are one, but not the forward's and those that the backward computes again."""
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.LayerNorm(256), torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Dropout(p), torch.nn.Linear(1024, 256)) for _ in range(6)]
    x = torch.randn(rows, 256)

    def gradients(device, checkpointed):
        torch.manual_seed(1)
        known = len(torch_cresset.compile_records())
        tensors = [x.to(device).requires_grad_(), *(w for block in blocks for w in block.to(device).parameters())]
        y = tensors[0]
        for block in blocks:
            y = y + (torch.utils.checkpoint.checkpoint(block, y, use_reentrant=reentrant) if checkpointed else block(y))
        for t in tensors:
            t.grad = None
        y.square().mean().backward()
        found = [t.grad.cpu() for t in tensors]
        return found, sum(record["arena_bytes"] for record in torch_cresset.compile_records()[known:])

    kept, all_layers = gradients("cresset", False)
    again, few_layers = gradients("cresset", True)
    torch.testing.assert_close(again, kept)
    if p == 0:
        torch.testing.assert_close(again, gradients("cpu", False)[0], rtol=1e-4, atol=1e-6)
    assert 0 < few_layers < all_layers - 4 * 2 * MIB  # the hidden layers, at least 2 MiB each, are not kept


def test_reports_say_what_is_written_over_inputs():
    parameter = torch.nn.Parameter(torch.randn(1024, 512).to("cresset"))
    optimizer = torch.optim.AdamW([parameter], fused=True)
    for _ in range(3):
        optimizer.zero_grad()
        (parameter * 2).sum().backward()
        optimizer.step()
    # The parameter and its two averages; besides them only the step's number.
    assert 6 * MIB <= torch_cresset.compile_records()[-1]["donated_bytes"] <= 6 * MIB + 64
    assert "6 MiB written over inputs" in torch_cresset.metrics_report()


def test_threads_are_pytorchs():
    script = """
    import torch, torch_cresset
    from torch_cresset import _C
    x = torch.ones(1024, 1024).to("cresset")
    print(_C.num_threads(), x.exp().sum().item() > 0)
    for n in (4, 1, 2):
        torch.set_num_threads(n)
        print(n, _C.num_threads(), x.exp().sum().item() > 0)
    """
    assert run(script, OMP_NUM_THREADS="1", CRESSET_THREADS="").split("\n")[:4] == ["1 True", "4 4 True", "1 1 True", "2 2 True"]
    assert run(script, OMP_NUM_THREADS="1", CRESSET_THREADS="3").startswith("3 ")


def test_programs_are_divided_for_the_threads_there_are():
    """What was compiled for one thread is compiled anew for two, once, on the device and where Dynamo traces."""
    script = """
    import torch, torch_cresset
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    on_device, compiled = [t.to("cresset") for t in (a, b)], torch.compile(lambda a, b: a.t() @ b, backend="cresset")
    def programs(product, expected):
        before = torch_cresset.counters().get("cresset.compile", 0)
        torch.testing.assert_close(product().cpu(), expected, rtol=1e-4, atol=1e-4)
        return torch_cresset.counters().get("cresset.compile", 0) - before
    for n in (1, 2, 2, 1):
        torch.set_num_threads(n)
        print(programs(lambda: torch.mm(*on_device), a @ b), programs(lambda: compiled(a, b), a.t() @ b))
    """
    assert run(script, OMP_NUM_THREADS="1", CRESSET_THREADS="").split("\n")[:4] == ["1 1", "1 1", "0 0", "0 0"]


def test_nothing_is_read_before_it_is_written():
    """Every kind of kernel with its memory filled with nan before: results are the CPU's."""
    script = """
    import torch, torch_cresset, torch.nn as nn, torch.nn.functional as F
    probe = torch.ones(5000, device="cresset")
    torch.manual_seed(0)
    r = torch.randn
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(48, 144), nn.Linear(48, 48), nn.LayerNorm(48)
        def forward(self, x):
            q, k, v = (t.view(2, 37, 4, 12).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
            return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 37, 48))
    models = {
        "attention": (Attention(), r(2, 37, 48)),
        "mlp": (nn.Sequential(nn.Linear(50, 70), nn.GELU(), nn.Linear(70, 3), nn.LogSoftmax(-1)), r(33, 50)),
        "convolution": (nn.Sequential(nn.Conv2d(3, 7, 3, padding=1, stride=2), nn.BatchNorm2d(7), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(7, 7, 3, groups=7),
                                      nn.AvgPool2d(2), nn.Flatten(), nn.Linear(7 * 3 * 3, 5)), r(2, 3, 33, 33)),
        "rows": (nn.Sequential(nn.GroupNorm(3, 9), nn.Softmax(-1), nn.Softmax(1), nn.InstanceNorm1d(9)), r(2, 9, 1037)),
    }
    for name, (model, x) in models.items():
        results = []
        for device in ("cpu", "cresset"):
            model = model.to(device)
            model.zero_grad()
            x = x.detach().to(device).requires_grad_()
            y = model(x)
            (y * torch.linspace(-1, 1, y.numel(), device=device).view_as(y)).sum().backward()
            results.append([t.detach().cpu() for t in (y, x.grad, *(p.grad for p in model.parameters()))])
        for ours, theirs in zip(results[1], results[0]):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    i = torch.randint(0, 50, (200,))
    functions = {
        "sort": lambda x: x.sort(0)[0], "argsort": lambda x: x.argsort(1).float(), "topk": lambda x: x.topk(7, 1)[0], "cumsum": lambda x: x.cumsum(1), "gather": lambda x: x[i.to(x.device)],
        "index_add": lambda x: x.index_add(0, i.to(x.device)[:50], x), "bmm": lambda x: x.view(2, 25, 60) @ x.view(2, 60, 25), "thin": lambda x: x[:3] @ x.T, "wide": lambda x: x.T @ x,
        "split": lambda x: x.repeat(40, 1).sum(), "columns": lambda x: x.amax(0), "cat": lambda x: torch.cat([x, x * 2], 1), "pad": lambda x: F.pad(x, (3, 5, 1, 2)),
        "bf16": lambda x: (x.bfloat16() @ x.bfloat16().T).float().softmax(-1),
    }
    x = r(50, 60)
    for name, f in functions.items():
        bound = dict(rtol=2e-2, atol=2e-2) if name == "bf16" else dict(rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x), **bound, msg=lambda m: f"{name}: {m}")
    print("right")
    """
    assert run(script, CRESSET_SCRATCH="nan").strip().endswith("right")


@pytest.mark.parametrize("end", ["begin", "end"])
def test_nothing_beyond_an_array_is_touched(end):
    """Also where the last panel of a product, the last vector of a row or the last image is not whole. Positions of images are chosen so that vectors end with the last one and panels don't."""
    script = """
    import torch, torch_cresset, torch.nn.functional as F
    torch.manual_seed(0)
    r = torch.randn
    def check(name, f, *args):
        torch.testing.assert_close(f(*(a.to("cresset") for a in args)).cpu(), f(*args), rtol=1e-4, atol=1e-4, msg=lambda m: f"{name}: {m}")
    for images, channels, features, size in ((4, 64, 32, 14), (4, 16, 200, 14), (4, 24, 48, 7), (1, 48, 16, 28), (3, 8, 8, 5), (2, 64, 64, 1)):
        for window, stride in ((1, 1), (1, 2), (3, 1), (3, 2)):
            check(f"{images, channels, features, size, window, stride}", lambda x, w: F.conv2d(x, w, stride=stride, padding=window // 2).relu(), r(images, channels, size, size), r(features, channels, window, window) / 9)
        check("depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=channels), r(images, channels, size, size), r(channels, 1, 3, 3))
        check("pool", lambda x: F.max_pool2d(x, 3, 2, 1), r(images, channels, size, size))
    for m, n, k in ((1, 33, 65), (5, 17, 64), (12, 784, 7), (64, 784, 31), (200, 50, 130), (33, 97, 259)):
        check(f"{m, n, k}", lambda a, b: F.gelu(a @ b), r(m, k), r(k, n) / k)
        check(f"{m, n, k} transposed", lambda a, b: a.T @ b.T, r(k, m), r(n, k) / k)
    for rows, columns in ((3, 5), (7, 1021), (64, 48)):
        for name, f in {"softmax": lambda x: x.softmax(-1), "columns": lambda x: x.sum(0), "turned": lambda x: x.T + 1, "cumsum": lambda x: x.cumsum(-1), "sort": lambda x: x.sort(-1)[0],
                        "norm": lambda x: F.layer_norm(x, x.shape[-1:]), "half": lambda x: (x.bfloat16() * 2).float(), "cat": lambda x: torch.cat([x, x[:, 1:]], 1)}.items():
            check(name, f, r(rows, columns))
    for queries, keys in ((5, 5), (130, 33)):
        check("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), r(2, 3, queries, 16), r(2, 3, keys, 16), r(2, 3, keys, 16))
    print("right")
    """
    assert run(script, CRESSET_GUARD=end, CRESSET_CACHE_DIR="").strip().endswith("right")


def test_large_blocks_get_huge_pages_once_they_are_used_often():
    """At once they would make a first call slow where a host gives memory by small pages."""
    if "[never]" in open("/sys/kernel/mm/transparent_hugepage/enabled").read():
        pytest.skip("huge pages are switched off: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    script = """
    import torch, torch_cresset
    def huge():
        return next(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHugePages")) // 1024
    x = torch.randn(1024, 4096).to("cresset")
    def used(times):
        for _ in range(times):
            y = x + 1
            torch.cresset.synchronize()
        torch.testing.assert_close(y.cpu(), x.cpu() + 1)
        del y
        return huge()
    start = huge()
    print(used(3) - start, used(20) - start)
    """
    first, later = map(int, run(script).split())
    assert first < 8 <= later


def compiled(function):
    before = len(torch_cresset.compile_records())
    function()
    return torch_cresset.compile_records()[before:]


def test_a_number_that_changes_is_compiled_twice():
    x = torch.randn(8, 24).to("cresset")
    for k, programs in enumerate([1, 1, 0, 0]):
        assert len(compiled(lambda: torch.testing.assert_close((x.cos() * (0.5 + k)).cpu(), x.cpu().cos() * (0.5 + k)))) == programs


def test_numbers_of_forward_and_backward_are_not_taken_for_one():
    # Norms of queries raise to the power 2, and for their gradients to 1. Who reads the loss in between makes two windows of them.
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=32, vocab_size=61)
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**sizes)).to("cresset")
    ids = torch.randint(61, (2, 8)).to("cresset")

    def forward():
        loss = model(ids, labels=ids).loss
        loss.item()
        return loss

    forward().backward()
    torch_cresset.sync()
    assert not compiled(forward)


@pytest.mark.parametrize("optimizer, schedule", [("AdamW", ("betas", lambda i: (0.95 - 0.01 * i, 0.999))), ("SGD", ("momentum", lambda i: 0.9 - 0.02 * i)), ("Adagrad", ("weight_decay", lambda i: 0.01 * i + 0.01)),
                                                 ("SGD", ("weight_decay", lambda i: 0.02 * i))])
def test_numbers_of_an_optimizer_that_change(optimizer, schedule):
    name, value = schedule
    found = []
    for device in ("cpu", "cresset"):
        torch.manual_seed(0)
        model, x = torch.nn.Linear(12, 5).to(device), torch.randn(3, 12).to(device)
        o = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01, fused=True, **({"momentum": 0.9} if optimizer == "SGD" else {}))
        compiles = []
        for i in range(9):
            for group in o.param_groups:
                group[name] = value(i)
            o.zero_grad()
            model(x).square().sum().backward()
            o.step()
            compiles.append(torch_cresset.counters().get("cresset.compile", 0))
        found.append(model.weight.detach().cpu())
    assert compiles[-1] == compiles[3]
    torch.testing.assert_close(found[1], found[0])
