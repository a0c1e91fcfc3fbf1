"""The accuracy that cpu/vector_math.h states, over all of f32's range."""

import numpy as np
import pytest
import torch

ULPS = {"exp": 1.1, "expm1": 3, "log": 1.1, "log1p": 3, "tanh": 5, "erf": 6, "sigmoid": 3}
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 1e-30, -1e-30, 88.7, 89.5, -87.0, 20.0, -20.0]


def arguments():
    bits = torch.randint(-(2**31), 2**31 - 1, (1_000_000,), dtype=torch.int64, generator=torch.Generator().manual_seed(0))
    return torch.cat([bits.to(torch.int32).view(torch.float32), torch.linspace(-20, 20, 400_001), torch.linspace(-1.5, 1.5, 300_001), torch.tensor(SPECIAL)])


@pytest.mark.parametrize("name", ULPS)
def test_error_in_units_of_the_last_place(name):
    x = arguments()
    y = getattr(torch, name)(x.to("cresset")).cpu()
    exact = getattr(torch, name)(x.double())
    rounded = exact.float()
    assert torch.equal(torch.isnan(y), torch.isnan(rounded))
    finite = torch.isfinite(rounded) & (rounded.abs() > torch.finfo(torch.float32).tiny)  # denormal results are rounded twice
    unit = torch.from_numpy(np.spacing(rounded[finite].abs().numpy())).double()
    error = (y[finite].double() - exact[finite]).abs() / unit
    worst = error.argmax()
    assert error[worst] <= ULPS[name], f"{name}({x[finite][worst].item()}): {error[worst]:.2f} ULP"
    infinite = torch.isinf(rounded)
    assert torch.equal(y[infinite], rounded[infinite])
