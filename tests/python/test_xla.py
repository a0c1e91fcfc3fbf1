"""XLA, through JAX, judges the StableHLO we emit: it parses the step's text, runs it and agrees with eager PyTorch."""

import subprocess
import sys

import pytest
import torch

PROGRAM = """
import os, sys, torch, transformers
dump, out = sys.argv[1:3]
os.environ["CRESSET_DUMP"] = dump
os.environ["CRESSET_COMPOSITES"] = sys.argv[3]
torch.manual_seed(0)
config = transformers.GPT2Config(n_layer=2, n_embd=48, n_head=4, vocab_size=97, n_positions=16, activation_function="gelu_pytorch_tanh", resid_pdrop=0,
                                 embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0, loss_type="ForCausalLMLoss")
model = transformers.GPT2LMHeadModel(config)
# Parameters of one shape get one value, so that the order of the program's inputs does not matter.
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) * 0.1 + 0.1)
ids = torch.randint(0, 97, (1, 16))
inputs = {n: p.detach().clone() for n, p in model.named_parameters()}
loss = model(ids, labels=ids).loss
loss.backward()
eager = {"loss": loss.detach(), **{n: p.grad.clone() for n, p in model.named_parameters()}}
model.zero_grad()
device = model.to("cresset")
where = ids.to("cresset")
import torch_cresset
torch_cresset.sync()
loss = device(where, labels=where).loss
loss.backward()
torch_cresset.sync()
ours = {"loss": loss.detach().cpu(), **{n: p.grad.cpu() for n, p in device.named_parameters()}}
torch.save({"inputs": inputs, "ids": ids, "eager": eager, "ours": ours}, out)
"""


def run(tmp_path, composites="all"):
    out = tmp_path / "tensors.pt"
    dump = tmp_path / f"dump_{composites.replace(',', '_')}"
    dump.mkdir(exist_ok=True)
    environment = {**__import__("os").environ, "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(dump), str(out), composites], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    largest = max(dump.glob("*.mlir"), key=lambda p: p.stat().st_size)
    return torch.load(out), largest.read_text()


def execute(text, arguments):
    """Runs StableHLO text on XLA:CPU."""
    jax = pytest.importorskip("jax", reason="XLA comes with jax, which requirements.txt installs")
    import numpy as np
    from jaxlib import _jax

    device = jax.local_devices(backend="cpu")[0]
    with jax.enable_x64(True):
        buffers = [jax.device_put(np.asarray(a), device) for a in arguments]
    program = device.client.compile_and_load(text, _jax.DeviceList((device,)), _jax.CompileOptions())
    return [np.asarray(r[0]) for r in program.execute_sharded(buffers).disassemble_into_single_device_arrays()]


def test_training_step_on_xla(tmp_path):
    tensors, text = run(tmp_path)
    for name in ("aten.gelu", "aten.gelu_backward", "aten.layer_norm", "aten.layer_norm_backward", "aten.scaled_dot_product_attention"):
        assert f'stablehlo.composite "{name}"' in text
    import re

    signature = re.search(r"func\.func @main\((.*?)\) -> ", text, re.S).group(1)
    types = re.findall(r"%arg\d+: tensor<([^>]*)>", signature)
    by_size = {}
    for name, t in [*tensors["inputs"].items(), ("ids", tensors["ids"])]:
        if name != "lm_head.weight":
            by_size.setdefault((t.numel(), t.dtype), []).append(t)
    arguments = []
    for t in types:
        *dims, element = t.split("x")
        numel = int(torch.tensor([int(d) for d in dims]).prod()) if dims else 1
        shape = tuple(int(d) for d in dims)
        key = (numel, {"f32": torch.float32, "i64": torch.int64}[element])
        arguments.append(by_size[key].pop(0).reshape(shape).numpy())
    results = execute(text, arguments)
    wanted = [tensors["eager"][n] for n in tensors["eager"] if n != "lm_head.weight"]
    loss = next(r for r in results if r.ndim == 0)
    torch.testing.assert_close(torch.from_numpy(loss.copy()), tensors["eager"]["loss"], rtol=1e-5, atol=1e-6)
    found = [torch.from_numpy(r.copy()).flatten() for r in results]
    for gradient in wanted:
        assert any(f.numel() == gradient.numel() and torch.allclose(f, gradient.flatten(), rtol=1e-3, atol=2e-6) for f in found)


def test_on_the_device_the_same(tmp_path):
    for composites in ("all", "none", "gelu,aten.gelu_backward"):
        tensors, text = run(tmp_path, composites)
        assert ("stablehlo.composite" in text) == (composites != "none")
        for name, expected in tensors["eager"].items():
            torch.testing.assert_close(tensors["ours"][name], expected, rtol=1e-3, atol=2e-6)
