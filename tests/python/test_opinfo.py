"""Every operator of ops/aten.yaml that PyTorch has sample inputs for, against the CPU: same values, same dtype, no fallback; the same of its gradients, and errors where the
CPU has some."""

import pathlib

import pytest
import torch
import yaml
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

import torch_cresset

TABLE = pathlib.Path(__file__).parents[2] / "ops" / "aten.yaml"
LOWERED = {entry["func"].partition(".")[0] for entry in yaml.safe_load(TABLE.read_text())}
DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
SAMPLES = 12  # of each operator and dtype
GRADIENT_SAMPLES = 3
RANDOM = {"native_dropout", "uniform", "normal_functional", "bernoulli", "random", "exponential", "geometric", "cauchy"}
TIES = "which of equal elements comes first is not defined"
ROUNDING = "the CPU rounds to bfloat16 between the steps, here the steps are in f32"
SKIPPED = {
    ("topk", torch.bfloat16): TIES,
    ("topk", torch.int64): TIES,
    ("topk", torch.uint8): TIES,
    ("kthvalue", torch.bfloat16): TIES,
    ("kthvalue", torch.int64): TIES,
    ("kthvalue", torch.uint8): TIES,
    ("sort", torch.uint8): TIES,
    ("sort", torch.bfloat16): TIES,
    ("sort", torch.bool): TIES,
    ("logit", torch.bfloat16): ROUNDING,
    ("native_batch_norm", torch.bfloat16): ROUNDING,
    ("grid_sampler_2d", torch.bfloat16): ROUNDING + "; test_positions.py compares with f64",
    ("native_layer_norm", torch.bfloat16): "the statistics are f32 here, bfloat16 on the CPU",
    ("_upsample_bilinear2d_aa", torch.uint8): "integers are resized on the CPU, which rounds by its instruction set",
    ("baddbmm", torch.bfloat16): "the product is rounded to bfloat16 before the sum, where terms cancel",
}


def cases():
    for info in op_db:
        name = info.aten_name
        if name not in LOWERED or name in RANDOM or info.variant_test_name:
            continue
        for dtype in DTYPES:
            if dtype in info.supported_dtypes("cpu"):
                marks = [pytest.mark.skip(reason=SKIPPED[name, dtype])] if (name, dtype) in SKIPPED else []
                yield pytest.param(info, dtype, id=f"{name}-{str(dtype).partition('.')[2]}", marks=marks)


def moved(x, device):
    if isinstance(x, torch.Tensor):
        return x.to(device)
    if isinstance(x, (list, tuple)):
        return type(x)(moved(y, device) for y in x)
    if isinstance(x, dict):
        return {k: moved(v, device) for k, v in x.items()}
    return x


@pytest.mark.parametrize("info, dtype", cases())
def test_like_cpu(info, dtype):
    torch.manual_seed(0)
    compared = 0
    for i, sample in zip(range(SAMPLES), info.sample_inputs("cpu", dtype)):
        if sample.kwargs.get("sorter") is not None:  # runs on the CPU
            continue
        with torch.no_grad():
            expected = info(sample.input, *sample.args, **sample.kwargs)
            torch_cresset.reset_counters()
            result = info(moved(sample.input, "cresset"), *moved(sample.args, "cresset"), **moved(sample.kwargs, "cresset"))
        torch.testing.assert_close(moved(result, "cpu"), expected, equal_nan=True, msg=lambda text: f"sample {i}: {sample}\n{text}")
        fallbacks = [name for name in torch_cresset.counters() if name.startswith("aten::")]
        assert not fallbacks, f"sample {i}: {sample}: fell back to the CPU: {fallbacks}"
        compared += 1
    assert compared


# Of out=, whose results are computed before they are converted and written.
ACCEPTED = ("a single memory location", "Expected out tensor to have dtype")


@pytest.mark.parametrize("info", [pytest.param(info, id=info.full_name) for info in op_db if info.aten_name in LOWERED and info.error_inputs_func is not None])
def test_errors_like_cpu(info):
    def raised(sample, device):
        on_device = {k: torch.device(device) if isinstance(v, (str, torch.device)) and k == "device" else moved(v, device) for k, v in sample.kwargs.items()}
        try:
            moved(info(moved(sample.input, device), *moved(sample.args, device), **on_device), "cpu")
        except Exception as error:
            return error

    for case in info.error_inputs("cpu"):
        expected = raised(case.sample_input, "cpu")
        if expected is not None and not any(text in str(expected) for text in ACCEPTED):
            actual = raised(case.sample_input, "cresset")
            assert actual is not None and "invalid module" not in str(actual), f"{case.sample_input}: the CPU raises {expected}, the device {actual}"


NO_GRADIENT_TEST = {
    "digamma": "the CPU's trigamma takes the sine of πx in f32, wrong by 2e-5 near a pole; test_operators.py compares with f64",
    "polygamma": "its gradient is of n + 1, which is lowered up to 1",
    "index_fill": "PyTorch's gradient looks for unique indices, which is not lowered",
    "asin": "1 - x² near zero: one rounding here, two on the CPU",
    "atanh": "1 - x² near zero: one rounding here, two on the CPU",
}


# Variants that run on the CPU.
UNLOWERED = {"nuc"}


def differentiable():
    for info in op_db:
        if info.aten_name in LOWERED - RANDOM and info.supports_autograd and torch.float32 in info.supported_backward_dtypes("cpu") and info.variant_test_name not in UNLOWERED:
            name = "-".join(filter(None, [info.name, info.variant_test_name]))
            yield pytest.param(info, id=name, marks=[pytest.mark.skip(reason=NO_GRADIENT_TEST[info.name])] if info.name in NO_GRADIENT_TEST else [])


def leaves(x, device):
    """Copies on the device that gradients are taken of where they were before."""
    if isinstance(x, torch.Tensor):
        return x.detach().to(device).requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)):
        return type(x)(leaves(y, device) for y in x)
    if isinstance(x, dict):
        return {k: leaves(v, device) for k, v in x.items()}
    return x


def gradients(info, sample, device, between=lambda: None):
    """`between`: called when the results have been recorded."""
    input, args, kwargs = leaves((sample.input, sample.args, sample.kwargs), device)
    results = [t for t in tree_leaves(sample.output_process_fn_grad(info(input, *args, **kwargs))) if isinstance(t, torch.Tensor) and t.requires_grad]
    inputs = [t for t in tree_leaves((input, args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not results:
        return None
    between()
    generator = torch.Generator().manual_seed(1)
    return torch.autograd.grad(results, inputs, [torch.randn(r.shape, generator=generator).to(r) for r in results], allow_unused=True)


@pytest.mark.parametrize("info", differentiable())
def test_gradient_like_cpu(info):
    torch.manual_seed(0)
    for i, sample in zip(range(GRADIENT_SAMPLES), info.sample_inputs("cpu", torch.float32, requires_grad=True)):
        expected = gradients(info, sample, "cpu")
        if expected is None:
            continue
        torch_cresset.reset_counters()
        for actual, gradient in zip(gradients(info, sample, "cresset"), expected, strict=True):
            assert (actual is None) == (gradient is None)
            if gradient is not None:
                torch.testing.assert_close(actual.cpu(), gradient, equal_nan=True, msg=lambda text: f"sample {i}: {sample}\n{text}")
        fallbacks = [name for name in torch_cresset.counters() if name.startswith("aten::")]
        assert not fallbacks, f"sample {i}: {sample}: fell back to the CPU: {fallbacks}"
