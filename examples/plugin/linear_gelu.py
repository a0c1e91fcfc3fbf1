"""A composite of one's own run by a kernel with bf16 instructions: python examples/plugin/linear_gelu.py"""

import pathlib
import subprocess
import tempfile

import torch
import torch.nn.functional as F

import torch_cresset


@torch_cresset.composite("acme.linear_gelu")
def linear_gelu(x, weight, bias):
    return F.gelu(F.linear(x, weight, bias), approximate="tanh")


with tempfile.TemporaryDirectory() as folder:
    library = f"{folder}/liblinear_gelu.so"
    source = pathlib.Path(__file__).with_name("linear_gelu.c")
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-I", torch_cresset.include_path(), source, "-o", library], check=True)
    torch_cresset.load_plugin(library)


def step(device, dtype):
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(shape).to(device, dtype).requires_grad_() for shape in ((4, 32, 64), (96, 64), (96,)))
    y = linear_gelu(x / 8, weight, bias)
    y.square().mean().backward()
    return y.detach().cpu(), weight.grad.cpu()


for bf16, f32 in zip(step("cresset", torch.bfloat16), step("cpu", torch.float32)):
    torch.testing.assert_close(bf16.float(), f32, rtol=0.02, atol=0.02)
print(torch_cresset.explain(step, "cresset", torch.bfloat16))
print(torch_cresset.explain(step, "cresset", torch.float32))  # refused: decomposed, and the same numbers
