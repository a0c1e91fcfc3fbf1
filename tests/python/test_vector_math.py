"""The accuracy that cpu/vector_math.h states, over all of f32's range."""

import math
import os

import numpy as np
import pytest
import torch

ULPS = {"exp": 1.1, "exp2": 1, "expm1": 3, "log": 1.1, "log1p": 3, "tanh": 5, "erf": 6, "sigmoid": 3, "sin": 2, "cos": 2,
        "tan": 4, "asin": 3, "acos": 3, "atan": 2, "sinh": 4, "cosh": 4, "asinh": 3, "acosh": 3, "atanh": 3, "erfc": 8}
if os.environ.get("CRESSET_CPU") == "baseline":  # polynomials are rounded twice a step, without FMA
    ULPS = {name: units + 2 for name, units in ULPS.items()}
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
    zero = exact == 0
    assert torch.equal(torch.signbit(y[zero]), torch.signbit(exact[zero]))


ULPS_OF_DOUBLES = {"exp": 1.1, "exp2": 1.1, "expm1": 2, "log": 1.1, "log1p": 2, "tanh": 3, "sigmoid": 2, "sin": 1.5, "cos": 1.5, "tan": 3, "atan": 2, "erf": 3}


def exact_double(name, x):
    """With 64 digits, but for the C library's error function, which is right to one unit."""
    if name == "sigmoid":
        return 1 / (1 + np.exp(-x))
    if name == "erf":
        return np.array([math.erf(v) for v in x.astype(np.float64)], dtype=np.longdouble)
    return getattr(np, {"atan": "arctan"}.get(name, name))(x)


@pytest.mark.parametrize("name", ULPS_OF_DOUBLES)
def test_error_of_doubles_in_units_of_the_last_place(name):
    """Against numbers with 64 digits."""
    bits = torch.randint(-(2**63), 2**63 - 1, (300_000,), generator=torch.Generator().manual_seed(0)).view(torch.float64)
    x = torch.cat([bits, torch.linspace(-20, 20, 100_001, dtype=torch.float64), torch.linspace(-745, 710, 100_001, dtype=torch.float64), torch.linspace(-1.5, 1.5, 100_001, dtype=torch.float64),
                   torch.tensor(SPECIAL + [709.7, 709.8, -745.2, 5e-324, 2.3e-308], dtype=torch.float64)])
    y = getattr(torch, name)(x.to("cresset")).cpu().numpy()
    wide = x.numpy().astype(np.longdouble)
    with np.errstate(all="ignore"):
        exact = exact_double(name, wide)
        rounded = exact.astype(np.float64)
    assert np.array_equal(np.isnan(y), np.isnan(rounded))
    finite = np.isfinite(rounded) & (np.abs(rounded) > np.finfo(np.float64).tiny)
    error = np.abs(y[finite].astype(np.longdouble) - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    worst = error.argmax()
    assert error[worst] <= ULPS_OF_DOUBLES[name], f"{name}({x.numpy()[finite][worst]}): {error[worst]:.2f} ULP"
    assert np.array_equal(y[np.isinf(rounded)], rounded[np.isinf(rounded)])
    assert np.array_equal(np.signbit(y[rounded == 0]), np.signbit(rounded[rounded == 0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_inverse_error_function_near_one(dtype):
    near = 1 - torch.logspace(-7, -0.5, 4000, dtype=dtype)
    x = torch.cat([near, -near, torch.linspace(-0.99, 0.99, 4001, dtype=dtype), torch.tensor([1.0, -1.0, 1.5, float("nan")], dtype=dtype)])
    torch.testing.assert_close(torch.erfinv(x.to("cresset")).cpu(), torch.erfinv(x), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shape, dim", [((33, 1037), 1), ((5, 64, 48), 1), ((7, 3), 1), ((130,), 0)])
def test_softmax_at_the_ends(shape, dim, dtype):
    """The exponential of a row less its maximum has code of its own; nan and masked elements stay what they are."""
    torch.manual_seed(0)
    x = (torch.randn(shape) * 30).to(dtype)
    flat = x.view(-1)
    flat[1], flat[flat.numel() // 2] = -float("inf"), -3e38
    rows = x.movedim(dim, -1)
    if rows.dim() > 1:
        rows[(1,) * (rows.dim() - 1)][-1] = float("nan")
        rows[(2,) * (rows.dim() - 1)] = -float("inf")
        rows[(3,) * (rows.dim() - 1)][0] = float("inf")
    for f in (torch.softmax, torch.log_softmax):
        exact = f(x.float(), dim).to(dtype) if dtype is torch.bfloat16 else f(x, dim)
        torch.testing.assert_close(f(x.to("cresset"), dim).cpu(), exact, equal_nan=True)


def test_exponential_of_differences():
    """Only a difference from its own maximum is never above 0."""
    x = torch.linspace(-100, 100, 4 * 64).view(4, 64)[:, torch.randperm(64)]
    for f in (lambda x: (x - x.flip(1).abs().amin(1, keepdim=True)).exp(), lambda x: (x - x.amax(1)[0]).exp(), lambda x: (x[:, :4] - x[:, :4].amax(0)).exp(),
              lambda x: (x[:, :4] - x[:, :4].amax(1)).exp(), lambda x: (x - x.amin(1, keepdim=True)).exp()):
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x))


@pytest.mark.parametrize("columns", [5, 16, 24, 1000, 1037])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes_of_rows_keep_nan(name, columns):
    x = torch.randn(columns + 1, columns)
    x[torch.arange(columns), torch.arange(columns)] = float("nan")  # at each place once
    torch.testing.assert_close(getattr(x.to("cresset"), name)(1).cpu(), getattr(x, name)(1), equal_nan=True, rtol=0, atol=0)
    x[:, ::2] = float("inf") if name == "amin" else -float("inf")
    torch.testing.assert_close(getattr(x.to("cresset"), name)(1).cpu(), getattr(x, name)(1), equal_nan=True, rtol=0, atol=0)


def test_exponential_at_most_zero_in_units_of_the_last_place():
    x = torch.cat([torch.linspace(-87.3, 0, 1_000_001), torch.linspace(-1, 0, 300_000)]).view(1, -1)
    shifted = x - x.amax(1, keepdim=True)
    y = shifted.to("cresset")
    y = (y - y.amax(1, keepdim=True)).exp().cpu()[0]
    exact = shifted[0].double().exp()
    error = (y.double() - exact).abs() / torch.from_numpy(np.spacing(exact.float().numpy())).double()
    assert error.max() <= 5 and error[shifted[0] >= -10].max() <= 2.6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_of_two(dtype):
    """Exact, from the smallest denormal number up to the largest power; the base may be a number of the program's, too."""
    n = torch.arange(-1100, 1100, dtype=dtype)
    n = n[n != {torch.float32: -150, torch.float64: -1075}[dtype]]  # halfway between 0 and the smallest number: a logarithm's last place decides
    exact = torch.ldexp(torch.ones_like(n), n)
    for y in (torch.exp2(n.to("cresset")), torch.pow(2.0, n.to("cresset"))):
        torch.testing.assert_close(y.cpu(), exact, rtol=0, atol=0)
    end = torch.tensor(128.0 if dtype is torch.float32 else 1024.0, dtype=dtype)
    assert torch.exp2(torch.nextafter(end, 0 * end).to("cresset")).isfinite() and torch.exp2(end.to("cresset")).isinf()


@pytest.mark.parametrize("name", ["exp2", "pow"])
def test_error_of_powers(name):
    """Within half a unit of the last place but for what f64 rounds, also where the base or the exponent is rare."""
    y = arguments()
    base = torch.full_like(y, 2.0) if name == "exp2" else y[torch.randperm(len(y))].abs()
    y = y.clamp(-150, 150)
    y[:100], base[100:200], base[200:300] = float("inf"), 0.0, -base[200:300]
    y[200:250] = y[200:250].round()
    power = (torch.exp2(y.to("cresset")) if name == "exp2" else torch.pow(base.to("cresset"), y.to("cresset"))).cpu()
    exact = torch.exp2(y.double()) if name == "exp2" else torch.pow(base.double(), y.double())
    rounded = exact.float()
    finite = torch.isfinite(rounded) & (rounded.abs() > torch.finfo(torch.float32).tiny)
    unit = torch.from_numpy(np.spacing(rounded[finite].abs().numpy())).double()
    assert ((power[finite].double() - exact[finite]).abs() / unit).max() <= 1
    torch.testing.assert_close(power[~finite], rounded[~finite], equal_nan=True)


def test_functions_stay_within_their_bounds():
    """What is left of 1 may be a logarithm's argument: by no unit of the last place is an error function above 1, or a gelu of negative numbers positive."""
    x = torch.arange(0x3F000000, 0x41800000, 9, dtype=torch.int32).view(torch.float32)  # 0.5 to 16
    x = torch.cat([x, -x]).to("cresset")
    for function in (torch.erf, torch.tanh):
        assert function(x).abs().max() <= 1
    for function in (torch.erfc, torch.sigmoid, torch.special.ndtr):
        assert function(x).min() >= 0
    assert torch.nn.functional.gelu(-x.abs()).max() <= 0 and torch.nn.functional.gelu(-x.abs(), approximate="tanh").max() <= 0


def test_gelu_of_tanh_keeps_its_digits():
    """Where tanh is near -1, 1 + tanh(u) has none left; 2 logistic(2u), which it is compiled to, has all."""
    x = torch.linspace(-6, 6, 100_001)
    y = torch.nn.functional.gelu(x.to("cresset"), approximate="tanh").cpu().double()
    exact = torch.nn.functional.gelu(x.double(), approximate="tanh")
    assert ((y - exact).abs() / exact.abs().clamp_min(1e-30)).max() < 1e-5
    special = torch.tensor([float("nan"), float("inf"), 0.0, -0.0, 100.0, -100.0])
    torch.testing.assert_close(torch.nn.functional.gelu(special.to("cresset"), approximate="tanh").cpu(),
                               torch.nn.functional.gelu(special, approximate="tanh"), equal_nan=True)


@pytest.mark.parametrize("lanes", [7, 64, 1000])
def test_far_arguments_of_sine_among_near_ones(lanes):
    """Beyond 10^6 one lane has the whole vector computed by calls."""
    x = torch.linspace(-10, 10, lanes)
    x[lanes // 2], x[lanes // 3], x[1] = 1e30, float("inf"), 1e6
    for f in (torch.sin, torch.cos, torch.tan):
        torch.testing.assert_close(f(x.to("cresset")).cpu(), f(x), equal_nan=True)


ENDS = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 1e-45, -1e-45, 3e38, -3e38, 1e-38, 7.5]


def same_bits(y, exact):
    assert torch.equal(torch.isnan(y), torch.isnan(exact))
    number = ~torch.isnan(exact)
    assert torch.equal(y[number], exact[number]) and torch.equal(torch.signbit(y[number]), torch.signbit(exact[number]))


def test_angles_of_doubles():
    x = torch.cat([torch.randn(100_000, dtype=torch.float64).exp() * torch.randn(100_000, dtype=torch.float64).sign(), torch.tensor(ENDS, dtype=torch.float64).repeat(len(ENDS))])
    y = torch.cat([torch.randn(100_000, dtype=torch.float64), torch.tensor(ENDS, dtype=torch.float64).repeat_interleave(len(ENDS))])
    angle, exact = torch.atan2(y.to("cresset"), x.to("cresset")).cpu().numpy(), np.arctan2(y.numpy().astype(np.longdouble), x.numpy().astype(np.longdouble))
    number = ~np.isnan(exact)
    assert np.array_equal(np.isnan(angle), ~number) and np.array_equal(np.signbit(angle[number]), np.signbit(exact[number]))
    error = np.abs(angle[number] - exact[number]) / np.spacing(np.abs(exact[number].astype(np.float64)))
    assert error.max() <= 2


def test_angles():
    y = arguments()
    x = y[torch.randperm(len(y))]
    angle, exact = torch.atan2(y.to("cresset"), x.to("cresset")).cpu(), torch.atan2(y.double(), x.double())
    assert torch.equal(torch.isnan(angle), torch.isnan(exact))
    normal = exact.abs() > torch.finfo(torch.float32).tiny
    assert ((angle.double() - exact).abs() / torch.from_numpy(np.spacing(exact.float().abs().numpy())).double())[normal].max() <= 3
    y, x = (v.flatten() for v in torch.meshgrid(torch.tensor(ENDS), torch.tensor(ENDS), indexing="ij"))
    angle, exact = torch.atan2(y.to("cresset"), x.to("cresset")).cpu(), torch.atan2(y, x)
    torch.testing.assert_close(angle, exact, equal_nan=True, rtol=5e-7, atol=0)
    assert torch.equal(torch.signbit(angle)[~torch.isnan(exact)], torch.signbit(exact)[~torch.isnan(exact)])


@pytest.mark.parametrize("scale", [1e-38, 1e-7, 1e-4, 1.0, 1e4, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_remainders_are_exact(dtype, scale):
    """Also where the quotient has all digits of a number, or more, and where it is rounded up to the next integer."""
    divisor = torch.cat([torch.randn(20_003, dtype=dtype) * scale, torch.full((997,), 3 * scale, dtype=dtype)])
    dividend = torch.cat([torch.randn(20_003, dtype=dtype) * 1000, torch.nextafter(torch.arange(997, dtype=dtype) * (3 * scale), torch.tensor(0, dtype=dtype))])
    rest = torch.from_numpy(np.fmod(dividend.numpy(), divisor.numpy()))
    same_bits(torch.fmod(dividend.to("cresset"), divisor.to("cresset")).cpu(), rest)
    rest = torch.where((rest != 0) & ((rest < 0) != (divisor < 0)), rest + divisor, rest)  # eager's is nan where the quotient overflows
    torch.testing.assert_close(torch.remainder(dividend.to("cresset"), divisor.to("cresset")).cpu(), rest, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_remainders_of_all_numbers(dtype):
    if dtype is torch.float32:
        x = arguments()
        y = x[torch.randperm(len(x))]
        same_bits(torch.fmod(x.to("cresset"), y.to("cresset")).cpu(), torch.from_numpy(np.fmod(x.numpy(), y.numpy())))
    x, y = (v.flatten() for v in torch.meshgrid(torch.tensor(ENDS, dtype=dtype), torch.tensor(ENDS, dtype=dtype), indexing="ij"))
    same_bits(torch.fmod(x.to("cresset"), y.to("cresset")).cpu(), torch.from_numpy(np.fmod(x.numpy(), y.numpy())))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc"])
def test_narrow_numbers_are_computed_in_f32(name, dtype):
    x = torch.linspace(-6, 6, 5003).to(dtype)
    torch.testing.assert_close(getattr(torch, name)(x.to("cresset")).cpu(), getattr(torch, name)(x.float()).to(dtype), equal_nan=True)


@pytest.mark.parametrize("n", [3, 33, 5000])
def test_conversion_to_bf16_rounds_to_even(n):
    bits = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int64, generator=torch.Generator().manual_seed(n))
    bits[::3] = bits[::3] & ~0xFFFF | 0x8000  # ties
    x = bits.to(torch.int32).view(torch.float32)
    y = x.to("cresset").bfloat16()
    torch.testing.assert_close(y.cpu(), x.bfloat16(), rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close((y + y).relu().float().cpu(), (x.bfloat16() + x.bfloat16()).relu().float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=lambda d: str(d).removeprefix("torch."))
def test_integers_are_divided_exactly(dtype):
    """By floats, where these hold them: around products, whose quotients are whole, and at the ends of what fits."""
    info, generator = torch.iinfo(dtype), torch.Generator().manual_seed(0)
    draw = lambda low, high, n: torch.randint(max(low, info.min), min(high, info.max), (n,), generator=generator)
    divisors = torch.cat([draw(-(10**d), 10**d, 4000) for d in range(1, 16)])
    quotients = torch.cat([draw(-(10 ** (15 - d)), 10 ** (15 - d), 4000) for d in range(15)])
    products = divisors * quotients
    numerators = torch.cat([products, products + 1, products - 1, draw(info.min, info.max, 60000)])
    edges = torch.tensor([0, 1, -1, 2**51 - 1, 2**51, -(2**51), 2**51 + 1, 2**53, info.max, info.min, info.min + 1])
    edges = edges[(edges >= info.min) & (edges <= info.max)]
    numerators = torch.cat([numerators, edges.repeat_interleave(len(edges)), torch.arange(100)])
    divisors = torch.cat([divisors.repeat(4), edges.repeat(len(edges)), torch.arange(100)])
    numerators, divisors = numerators.to(dtype), divisors.to(dtype)
    divisors[divisors == 0] = 1
    if info.min < 0:
        divisors[(divisors == -1) & (numerators == info.min)] = 3  # traps in eager
    a, b = numerators.to("cresset"), divisors.to("cresset")
    for function in (torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: torch.div(x, y, rounding_mode="trunc")):
        ours, expected = function(a, b).cpu(), function(numerators, divisors)
        assert torch.equal(ours, expected)
        assert torch.equal(function(a[:60000], b[:60000]).cpu(), expected[:60000])  # where all fit
