"""The first call of an operator asks for shapes only: it must not wait for Dynamo, which takes longer to import than PyTorch."""

import subprocess
import sys

STEPS = """
import sys, torch, torch_cresset
import torch.nn.functional as F
assert "torch._dynamo" not in sys.modules, "import torch_cresset imports Dynamo"
sys.modules["torch._dynamo"] = None  # importing it is an error

def of(*shape):
    return torch.randn(shape).to("cresset").requires_grad_()

for step in (
    lambda: F.layer_norm(of(4, 8), (8,), of(8), of(8)),
    lambda: F.group_norm(of(2, 8, 3, 3), 4, of(8), of(8)),
    lambda: F.batch_norm(of(2, 8, 3, 3), torch.zeros(8).to("cresset"), torch.ones(8).to("cresset"), of(8), of(8), training=True),
    lambda: F.rms_norm(of(4, 8), (8,), of(8)),
    lambda: F.gelu(of(4, 8)) + F.silu(of(4, 8)),
    lambda: F.scaled_dot_product_attention(of(2, 2, 8, 16), of(2, 2, 8, 16), of(2, 2, 8, 16), is_causal=True),
    lambda: F.softmax(of(4, 8), -1) @ of(8, 8),
    lambda: F.max_pool2d(F.conv2d(of(2, 3, 9, 9), of(4, 3, 3, 3), of(4)), 2),
    lambda: F.embedding(torch.tensor([1, 2]).to("cresset"), of(5, 8)),
    lambda: F.cross_entropy(of(4, 8), torch.tensor([1, 2, 3, 4]).to("cresset")),
):
    step().sum().backward()
"""


def test_layers_do_not_import_dynamo():
    """addmm, dropout's and mse_loss's gradients still do: PyTorch computes their shapes by Python decompositions."""
    subprocess.run([sys.executable, "-c", STEPS], check=True)
