"""Every operator of the table that takes tensors and numbers only, with every mixture of dtypes: what eager PyTorch computes has its dtype and values on the device, what it
refuses for its types is refused. Where eager has no kernel for a dtype the device may have one."""

import itertools
import pathlib
import re
import warnings

import pytest
import torch
import yaml

from conftest import fallbacks

TENSORS = [torch.tensor([[1, 2, 3], [4, -5, 6]]), torch.tensor([[True, False, True]]), torch.tensor([[1.5, -2.0, 3.0]]), torch.tensor([[1.5, -2.0, 3.0]], dtype=torch.bfloat16),
           torch.tensor([[1, 2, 250]], dtype=torch.uint8), torch.tensor([[1.5, -2.0, 3.0]], dtype=torch.float64), torch.tensor([[1, -7, 3]], dtype=torch.int32), torch.tensor(3),
           torch.tensor(2.5)]
NUMBERS = [2, 1.5, True, -1]
WITHOUT_KERNEL = re.compile("not implemented|not supported|cannot|can't be cast|expects|must be|[Ee]xpected|unsigned type|primitive descriptor|between 0 and 1")
DRAWS = {"bernoulli", "bernoulli.Tensor", "rand_like", "randn_like", "random", "uniform", "normal_functional", "exponential", "cauchy", "log_normal", "geometric", "multinomial"}
# Called by autograd alone, with what its forward saved or with the forward's dtypes.
SAVED = {"log_sigmoid_backward", "binary_cross_entropy_backward", "hardswish_backward", "threshold_backward", "mish_backward", "_prelu_kernel_backward"}


def operators():
    for entry in yaml.safe_load((pathlib.Path(__file__).parents[2] / "ops" / "aten.yaml").read_text()):
        name, _, overload = entry["func"].partition(".")
        operator = getattr(getattr(torch.ops.aten, name), overload or "default")
        kinds = [str(a.type) for a in operator._schema.arguments if not a.has_default_value()]
        tensors = kinds.count("Tensor")
        if 0 < tensors <= 2 and len(kinds) <= 3 and set(kinds) <= {"Tensor", "number"} and not any(a.is_out for a in operator._schema.arguments) and entry["func"] not in DRAWS | SAVED:
            yield pytest.param(operator, kinds, id=entry["func"])


def outcome(operator, arguments, device):
    """Results on the CPU, or the error."""
    try:
        result = operator(*[v.to(device, copy=True) if isinstance(v, torch.Tensor) else v for v in arguments])
        return [v.cpu() if isinstance(v, torch.Tensor) else v for v in (result if isinstance(result, (tuple, list)) else [result])]
    except Exception as error:
        return error


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_of_integers_are_resized_on_the_cpu(mode, monkeypatch):
    monkeypatch.setenv("CRESSET_FALLBACK", "allow")
    image = torch.randint(0, 256, (2, 3, 20, 20), dtype=torch.uint8)
    resized = torch.nn.functional.interpolate(image.to("cresset"), (9, 33), mode=mode)
    torch.testing.assert_close(resized.cpu(), torch.nn.functional.interpolate(image, (9, 33), mode=mode))
    assert f"aten::upsample_{mode}2d" in fallbacks()


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_whole_quotients_are_exact(dtype, mode):
    """Where a quotient is rounded to f16 or bf16 first, it may be another whole number."""
    x, y = torch.randn(5000).mul(50).to(dtype), torch.randn(5000).to(dtype)
    for other in (y, y[:1], y[0].clone(), y[:100].reshape(100, 1), 1.3, 3):
        expected = torch.div(x, other, rounding_mode=mode)
        actual = torch.div(x.to("cresset"), other.to("cresset") if isinstance(other, torch.Tensor) else other, rounding_mode=mode)
        torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("operator, kinds", operators())
def test_mixtures_of_dtypes(operator, kinds):
    wrong = []
    # Without oneDNN, which rounds an f32 gradient of a bf16 gelu to bf16 first, on machines with AVX-512 only.
    with warnings.catch_warnings(), torch.backends.mkldnn.flags(enabled=False):
        warnings.simplefilter("ignore")
        for arguments in itertools.product(*[TENSORS if kind == "Tensor" else NUMBERS for kind in kinds]):
            expected, actual = (outcome(operator, arguments, device) for device in ("cpu", "cresset"))
            described = [f"{v.dtype}{list(v.shape)}" if isinstance(v, torch.Tensor) else v for v in arguments]
            if isinstance(expected, Exception):
                if not isinstance(actual, Exception) and not WITHOUT_KERNEL.search(str(expected)):
                    wrong.append(f"{described}: eager raises {expected}")
            elif isinstance(actual, Exception):
                wrong.append(f"{described}: the device raises {actual}")
            else:
                try:
                    torch.testing.assert_close(actual, expected, equal_nan=True)
                except AssertionError as error:
                    wrong.append(f"{described}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("excess", [True, False])
def test_bf16_is_rounded_where_memory_or_a_program_holds_it(monkeypatch, excess):
    """256 + 0.5 is 256 in bf16."""
    if not excess:
        monkeypatch.setenv("CRESSET_EXCESS_PRECISION", "0")
    x, y = torch.full((64,), 256.0, dtype=torch.bfloat16, device="cresset"), torch.full((64,), 0.5, dtype=torch.bfloat16, device="cresset")
    assert ((x + y) - x)[0].item() == (0.5 if excess else 0)
    assert ((x.float() + y.float()).bfloat16().float() - x.float())[0].item() == 0
    held = x + y  # in memory, since Python may look at it
    assert (held - x)[0].item() == 0 and held[0].item() == 256


def test_a_maximum_of_bf16_is_found_again():
    """Among numbers that are not rounded in between it might not be."""
    torch.manual_seed(0)
    x, y = (torch.randn(257, 301, dtype=torch.bfloat16) for _ in range(2))

    def f(x, y):
        z = (x * y + y) * x
        largest = z.amax(-1, keepdim=True)
        kept = torch.where(z >= z.topk(5).values[:, -1:], z, torch.zeros_like(z))
        return (z == largest).sum(-1), (kept != 0).sum(-1), (torch.relu(z) > 0) == (z > 0)

    found, kept, same = f(x.to("cresset"), y.to("cresset"))
    assert found.cpu().min() >= 1 and kept.cpu().min() >= 5 and same.cpu().all()
