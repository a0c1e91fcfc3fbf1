import os
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
# What is counted as compiled must not depend on what earlier runs left on disk, of which some may have been pruned.
kernel_cache = tempfile.TemporaryDirectory(prefix="cresset-tests-", ignore_cleanup_errors=True)
os.environ["CRESSET_CACHE_DIR"] = kernel_cache.name
os.environ["CRESSET_CHECK_KEYS"] = "1"
# What PyTorch's own kernels would run for sizes that come for the first time is what is to be tested; test_new_sizes.py is of those.
os.environ["CRESSET_NEW_SIZES"] = "compiled"

import pytest
import torch

import torch_cresset


@pytest.fixture(autouse=True)
def fresh():
    """Each test counts from zero and draws the same numbers."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch_cresset.sync()
    torch_cresset.reset_counters()


def fallbacks():
    return {k: v for k, v in torch_cresset.counters().items() if k.startswith("aten::")}


def traced_by_aot_autograd():
    return torch_cresset.counters().get("cresset.aot_autograd", 0)


def same(function, *inputs, **tolerance):
    """The function gives on the device what it gives on the CPU: values, shapes, strides and dtypes."""
    move = lambda v: v.to("cresset") if isinstance(v, torch.Tensor) else v
    expected = function(*[v.clone() if isinstance(v, torch.Tensor) else v for v in inputs])
    actual = function(*[move(v) for v in inputs])
    flat = lambda v: list(v) if isinstance(v, (tuple, list)) else [v]
    for e, a in zip(flat(expected), flat(actual), strict=True):
        assert a.device.type == "cresset" and a.stride() == e.stride() and a.dtype == e.dtype
        torch.testing.assert_close(a.cpu(), e, equal_nan=True, **tolerance)
