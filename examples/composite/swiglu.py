"""A composite of one's own on every road: python examples/composite/swiglu.py"""

import torch
import torch.nn.functional as F

import torch_cresset


@torch_cresset.composite("acme.swiglu", version=2)
def swiglu(x, w, v, *, beta: float = 1.0):
    return F.silu(beta * (x @ w)) * (x @ v)


def step(device):
    torch.manual_seed(0)
    x, w, v = (torch.randn(shape).to(device).requires_grad_() for shape in ((8, 16), (16, 32), (16, 32)))
    swiglu(x, w, v, beta=0.5).square().sum().backward()
    return w.grad.cpu()


torch.testing.assert_close(step("cresset"), step("cpu"))
print(torch_cresset.explain(step, "cresset"))

compiled = torch.compile(swiglu, backend="cresset", fullgraph=True)
x, w, v = torch.randn(8, 16), torch.randn(16, 32), torch.randn(16, 32)
torch.testing.assert_close(compiled(x, w, v), swiglu(x, w, v))

print(torch_cresset.stablehlo(swiglu, x, w, v))
