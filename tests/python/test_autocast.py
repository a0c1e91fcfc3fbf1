"""Autocast: operators compute in the precision that they have on the CPU, on the device and under torch.compile."""

import pytest
import torch
import torch.nn.functional as F

import torch_cresset  # noqa: F401

FUNCTIONS = {
    "softmax": lambda y, x: y.softmax(-1), "log_softmax": lambda y, x: F.log_softmax(y, -1), "layer_norm": lambda y, x: F.layer_norm(y, (16,)), "group_norm": lambda y, x: F.group_norm(y, 4),
    "exp": lambda y, x: y.exp(), "pow": lambda y, x: y**2, "rsqrt": lambda y, x: y.abs().rsqrt(), "softplus": lambda y, x: F.softplus(y), "sum": lambda y, x: y.sum(), "norm": lambda y, x: y.norm(),
    "cumsum": lambda y, x: y.cumsum(0), "gelu": lambda y, x: F.gelu(y), "prod": lambda y, x: y.prod(1), "mse_loss": lambda y, x: F.mse_loss(y, x), "l1_loss": lambda y, x: F.l1_loss(y, x),
    "cross_entropy": lambda y, x: F.cross_entropy(y, torch.zeros(4, dtype=torch.long, device=y.device)), "cat": lambda y, x: torch.cat([y, x]), "stack": lambda y, x: torch.stack([x, y]),
    "cdist": lambda y, x: torch.cdist(y, y), "prelu": lambda y, x: F.prelu(y, torch.full((1,), 0.25, device=y.device)), "matmul": lambda y, x: x @ y.mT, "einsum": lambda y, x: torch.einsum("ij,kj->ik", x, y),
    "attention": lambda y, x: F.scaled_dot_product_attention(x[None, None], y[None, None], x[None, None]), "conv1d": lambda y, x: F.conv1d(x[None], y[:, :4, None]), "pad": lambda y, x: F.pad(y[None], (1, 1), mode="reflect"),
    "inverse": lambda y, x: torch.linalg.inv(y.mT @ y + 10 * torch.eye(16, device=y.device)), "atan2": lambda y, x: torch.atan2(y, x), "addcmul": lambda y, x: torch.addcmul(y, x, x),
}


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "allow")
    torch.manual_seed(0)
    torch._dynamo.reset()


def run(function, device, wrapped=lambda f: f):
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(shape, generator=generator).to(device) for shape in ((4, 16), (16, 16)))
    body = wrapped(lambda x, weight: function(F.linear(x, weight), x))
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        return body(x, weight)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_precision_is_the_cpus(name):
    expected = run(FUNCTIONS[name], "cpu")
    for ours in (run(FUNCTIONS[name], "cresset").cpu(), run(FUNCTIONS[name], "cpu", lambda f: torch.compile(f, backend="cresset", fullgraph=True))):
        assert ours.dtype == expected.dtype
        torch.testing.assert_close(ours.float(), expected.float(), rtol=2e-2, atol=2e-2)  # two roundings to bf16, which may be apart: 2^-7 of what is up to 3


def test_every_operator_of_the_cpus_autocast_is_known():
    names = torch._C._dispatch_get_all_op_names()
    known = {key: {n for n in names if n.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(n, key)} for key in ("AutocastCPU", "AutocastPrivateUse1")}
    assert known["AutocastCPU"] == known["AutocastPrivateUse1"] and len(known["AutocastCPU"]) > 100
