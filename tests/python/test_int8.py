"""Products of bytes (torch._int_mm), layers whose weights, or weights and activations, are quantised to bytes, and what training sees of that (fake quantisation)."""

import os
import subprocess
import sys

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # the operators of quantized_decomposed
from torch import nn

import torch_cresset
from conftest import fallbacks

# of one row, of few, of many; depths that are no multiple of four, and of several blocks; columns that fill no panel
SHAPES = [(1, 64, 5), (1, 700, 90), (7, 131, 77), (12, 256, 64), (13, 768, 768), (130, 768, 100), (64, 5000, 40), (3, 1, 2)]


def random_bytes(*shape, dtype=torch.int8):
    return torch.randint(0, 256, shape).to(dtype)


@pytest.mark.parametrize("rows, depth, columns", SHAPES)
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_products(dtype, rows, depth, columns):
    x, w = random_bytes(rows, depth, dtype=dtype), random_bytes(depth, columns)
    x[0], w[:, 0] = torch.iinfo(dtype).min, -128  # the largest of all sums
    transposed = w.t().contiguous().t()
    compiled = torch.compile(torch._int_mm, backend="cresset")
    for right in (w, transposed):
        expected = torch._int_mm(x, right)
        assert torch.equal(torch._int_mm(x.to("cresset"), right.to("cresset")).cpu(), expected)
        assert torch.equal(compiled(x, right), expected)
    out = torch.empty(rows, columns, dtype=torch.int32, device="cresset")
    assert torch.equal(torch._int_mm(x.to("cresset"), w.to("cresset"), out=out).cpu(), torch._int_mm(x, w))
    assert not fallbacks()


def test_without_numbers():
    x, w = random_bytes(3, 0).to("cresset"), random_bytes(0, 4).to("cresset")
    assert torch.equal(torch._int_mm(x, w).cpu(), torch.zeros(3, 4, dtype=torch.int32))
    assert torch._int_mm(x[:0], w).shape == (0, 4)


@pytest.mark.parametrize("change, text", [
    (lambda x, w: (x.float(), w), "int8 or uint8"), (lambda x, w: (x, w.to(torch.uint8)), "mat2 dtype to be of type int8"), (lambda x, w: (x, w[:3]), "needs to match"),
    (lambda x, w: (x[0], w), "self to be of dimension 2"), (lambda x, w: (x, w[0]), "mat2 to be of dimension 2"),
])
def test_mistakes(change, text):
    x, w = change(random_bytes(4, 8).to("cresset"), random_bytes(8, 5).to("cresset"))
    with pytest.raises(RuntimeError, match=text):
        torch._int_mm(x, w)


def test_text_is_one_composite_of_one_product_of_bytes():
    text = torch_cresset.stablehlo(torch._int_mm, random_bytes(4, 8), random_bytes(8, 5))
    assert 'stablehlo.composite "aten._int_mm"' in text
    assert "(tensor<4x8xi8>, tensor<8x5xi8>) -> tensor<4x5xi32>" in text


def packed_by_fours(rows, depth, group, dtype):
    """Numbers of four bits as the CPU packs them, scales and zeros of their groups, and the weights that these are."""
    q = torch.randint(0, 16, (rows, depth), dtype=torch.int32)
    scales = torch.randn(depth // group, rows, 2).to(dtype)
    scale, zero = (scales[..., i].double().t().repeat_interleave(group, 1) for i in (0, 1))
    return torch.ops.aten._convert_weight_to_int4pack_for_cpu(q, 1), scales, (q.double() - 8) * scale + zero


PACKED_SHAPES = [(1, 128, 64, 32), (3, 80, 128, 64), (8, 192, 256, 128), (9, 64, 64, 32), (70, 144, 256, 256), (2, 16, 64, 32), (5, 48, 96, 32)]


@pytest.mark.parametrize("rows, columns, depth, group", PACKED_SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_of_four_bits(dtype, rows, columns, depth, group):
    torch.manual_seed(0)
    product = torch.ops.aten._weight_int4pack_mm_for_cpu
    x = torch.randn(rows, depth).to(dtype)
    packed, scales, weights = packed_by_fours(columns, depth, group, dtype)
    expected = (x.double() @ weights.t()).to(dtype)
    compiled = torch.compile(lambda x, p, s: product(x, p, group, s), backend="cresset")
    # sums of some hundred terms of up to 60 in f32
    tolerances = {"rtol": torch.finfo(dtype).eps * 2, "atol": 2e-3}
    for actual in (product(x.to("cresset"), packed.to("cresset"), group, scales.to("cresset")).cpu(), compiled(x, packed, scales)):
        torch.testing.assert_close(actual, expected, **tolerances)
    assert not fallbacks()


@pytest.mark.parametrize("rows", [1, 8, 40])
def test_weights_of_four_bits_are_not_written_out(rows):
    packed, scales, _ = packed_by_fours(192, 128, 32, torch.float32)
    x = torch.randn(rows, 128)
    with torch_cresset.profile() as profile:
        torch.ops.aten._weight_int4pack_mm_for_cpu(x.to("cresset"), packed.to("cresset"), 32, scales.to("cresset")).cpu()
    (kernel,) = [row.kernel for row in profile]
    assert kernel.startswith("dot ")


@pytest.mark.parametrize("capability", ["avx512", "avx2", "default"])
def test_weights_of_four_bits_as_another_cpu_packs_them(capability):
    """The order in which PyTorch packs depends on what it takes the CPU for."""
    script = """
import torch, torch_cresset
for n in (16, 48, 64, 80, 224):
    q, x, s = torch.randint(0, 16, (n, 64), dtype=torch.int32), torch.randn(3, 64), torch.randn(2, n, 2)
    p = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q, 1)
    w = (q - 8) * s[..., 0].t().repeat_interleave(32, 1) + s[..., 1].t().repeat_interleave(32, 1)
    torch.testing.assert_close(torch.ops.aten._weight_int4pack_mm_for_cpu(x.to("cresset"), p.to("cresset"), 32, s.to("cresset")).cpu(), x @ w.t(), rtol=1e-5, atol=1e-3)
print(torch.backends.cpu.get_cpu_capability())
"""
    environment = os.environ | {"ATEN_CPU_CAPABILITY": capability}
    said = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True).stdout.strip().lower()
    if said != capability:
        pytest.skip(f"this CPU has no {capability}: PyTorch takes {said}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows, depth, columns", [(1, 64, 70), (7, 131, 77), (40, 256, 64)])
def test_weights_of_bytes(dtype, rows, depth, columns):
    torch.manual_seed(0)
    product = torch.ops.aten._weight_int8pack_mm
    x, w, s = torch.randn(rows, depth).to(dtype), random_bytes(columns, depth), torch.randn(columns).to(dtype)
    expected = ((x.double() @ w.double().t()) * s.double()).to(dtype)
    tolerances = {"rtol": 1e-5, "atol": 2e-3} if dtype == torch.float32 else {}  # as above, of terms of up to 400
    for actual in (product(x.to("cresset"), w.to("cresset"), s.to("cresset")).cpu(), torch.compile(product, backend="cresset")(x, w, s)):
        torch.testing.assert_close(actual, expected, **tolerances)
    assert not fallbacks()


@pytest.mark.parametrize("change, text", [
    (lambda x, w, g, s: (x[0], w, g, s), "to be matrices"), (lambda x, w, g, s: (x.double(), w, g, s), "float32, bfloat16 or float16"), (lambda x, w, g, s: (x, w.int(), g, s), "expected mat2 to be"),
    (lambda x, w, g, s: (x[:, :32], w, g, s), "weights for 64 features, but self has 32"), (lambda x, w, g, s: (x, w, 16, s), "qGroupSize to be 32, 64, 128 or 256"),
    (lambda x, w, g, s: (x, w, 128, s), "no whole groups of 128"), (lambda x, w, g, s: (x, w[:40], g, s[:, :40]), "a multiple of 16"), (lambda x, w, g, s: (x, w, g, s[:1]), "qScaleAndZeros of the shape"),
    (lambda x, w, g, s: (x, w, g, s.bfloat16()), "the dtype of self"),
])
def test_mistakes_with_weights_of_four_bits(change, text):
    x, w, g, s = change(torch.randn(2, 64).to("cresset"), torch.zeros(64, 32, dtype=torch.uint8).to("cresset"), 32, torch.randn(2, 64, 2).to("cresset"))
    with pytest.raises(RuntimeError, match=text):
        torch.ops.aten._weight_int4pack_mm_for_cpu(x, w, g, s)


def test_mistakes_with_weights_of_bytes():
    x, w, s = torch.randn(2, 64).to("cresset"), torch.zeros(16, 64, dtype=torch.int8).to("cresset"), torch.randn(16).to("cresset")
    with pytest.raises(RuntimeError, match="scales of the shape"):
        torch.ops.aten._weight_int8pack_mm(x, w, s[:3])
    with pytest.raises(RuntimeError, match="expected mat2 to be"):
        torch.ops.aten._weight_int8pack_mm(x, w.to(torch.uint8), s)


class GroupedWeights(nn.Module):
    """A linear layer of numbers of four bits in bytes, with a scale and a zero for each group of features."""

    def __init__(self, features, columns, group=32):
        super().__init__()
        self.group = group
        self.register_buffer("q", torch.randint(-8, 8, (columns, features), dtype=torch.int8))
        self.register_buffer("zero", torch.randint(-2, 3, (columns, features // group), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(columns, features // group) / 8)

    def forward(self, x):
        q = self.q.view(len(self.q), -1, self.group).to(x.dtype) - self.zero[..., None].to(x.dtype)
        return nn.functional.linear(x, (q * self.scale[..., None].to(x.dtype)).flatten(1))


class PackedWeights(GroupedWeights):
    """The same, eight of them in a number of 32 bits along the features, as GPTQ stores them."""

    def __init__(self, features, columns, group=32):
        super().__init__(features, columns, group)
        shifts = torch.arange(0, 32, 4)
        self.register_buffer("shifts", shifts.int()[None, :, None])
        packed = ((self.q.long().t() + 8).view(-1, 8, columns) << shifts[None, :, None]).sum(1)
        self.register_buffer("packed", torch.where(packed >= 1 << 31, packed - (1 << 32), packed).int())
        self.zero, self.scale = self.zero.t().contiguous(), self.scale.t().contiguous()

    def forward(self, x):
        q = (torch.bitwise_right_shift(self.packed[:, None], self.shifts) & 15).view(-1, self.packed.shape[1]).to(x.dtype) - 8
        of_groups = lambda v: v.to(x.dtype)[:, None].expand(-1, self.group, -1).reshape(-1, v.shape[1])
        return x @ ((q - of_groups(self.zero)) * of_groups(self.scale))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 6, 33])
@pytest.mark.parametrize("kind", [GroupedWeights, PackedWeights])
def test_weights_in_groups_are_made_where_they_are_multiplied(kind, rows, dtype):
    torch.manual_seed(0)
    model, x = nn.Sequential(kind(128, 192), nn.GELU(), kind(192, 64)), torch.randn(rows, 128).to(dtype)
    with torch.no_grad():
        expected = model(x)
        with torch_cresset.profile() as profile:
            actual = torch.compile(model, backend="cresset")(x)
    torch.testing.assert_close(actual, expected, **({"rtol": 1e-5, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 0.016, "atol": 0.1}))  # bf16 of sums of up to 30
    assert not [row.kernel for row in profile if "192x" in row.kernel and not row.kernel.startswith("dot ")]


class WeightsOnly(nn.Module):
    """A linear layer whose weights are bytes and a scale for each row."""

    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.abs().amax(1) / 127
        self.register_buffer("weight", (linear.weight / scale[:, None]).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.register_buffer("bias", linear.bias)

    def forward(self, x):
        return (x.flatten(0, -2) @ self.weight.t().to(x.dtype) * self.scale.to(x.dtype) + self.bias.to(x.dtype)).unflatten(0, x.shape[:-1])


class Both(WeightsOnly):
    """Its inputs become bytes as well, by a scale for each row; unsigned ones, as instructions want them, if so."""

    unsigned = False

    def forward(self, x):
        x = x.flatten(0, -2)
        scale = x.abs().amax(1, keepdim=True) / 127
        rounded = (x / scale).round().clamp(-128, 127)
        if self.unsigned:
            sums = torch._int_mm((rounded + 128).to(torch.uint8), self.weight.t()) - 128 * self.weight.t().sum(0, dtype=torch.int32)
        else:
            sums = torch._int_mm(rounded.to(torch.int8), self.weight.t())
        return sums * scale * self.scale + self.bias


class Unsigned(Both):
    unsigned = True


@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize("layer", [WeightsOnly, Both, Unsigned])
def test_quantised_layers(layer, rows):
    with torch.no_grad():
        model = layer(nn.Linear(200, 90))
        x = torch.randn(2, rows, 200)
        expected = model(x)
        torch.testing.assert_close(torch.compile(model, backend="cresset")(x), expected)
        on_device = layer(nn.Linear(200, 90))
        on_device.load_state_dict(model.state_dict())
        torch.testing.assert_close(on_device.to("cresset")(x.to("cresset")).cpu(), expected)
    assert not fallbacks()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_are_widened_within_the_product(monkeypatch, dtype):
    monkeypatch.setenv("CRESSET_EXCESS_PRECISION", "0")  # sums are small beside their parts
    with torch.no_grad():
        model, x = WeightsOnly(nn.Linear(256, 128)), torch.randn(4, 2, 256, dtype=dtype)
        compiled = torch.compile(model, backend="cresset")
        torch.testing.assert_close(compiled(x), model(x))
        with torch_cresset.profile() as kernels:
            compiled(x)
    assert len(kernels) == 1, kernels


def test_weights_are_rounded_within_the_product_under_autocast():
    with torch.no_grad():
        model, x = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64)), torch.randn(40, 256)
        compiled = torch.compile(model, backend="cresset")
        with torch.autocast("cpu"):
            torch.testing.assert_close(compiled(x), model(x))
            with torch_cresset.profile() as kernels:
                compiled(x)
    assert sum(k.kernel.startswith("dot") for k in kernels) == 2
    assert not any("128x256" in k.kernel and not k.kernel.startswith("dot") for k in kernels), kernels


class Images(nn.Module):
    """What torch.export's quantisation makes of convolutions. Scales are powers of two: all sums are exact, also eager's."""

    def __init__(self):
        super().__init__()
        for name, shape in {"first": (16, 3, 3, 3), "depthwise": (16, 1, 3, 3), "second": (32, 16, 1, 1), "third": (32, 32, 3, 3)}.items():
            self.register_buffer(name, random_bytes(*shape))
            self.register_buffer(f"{name}_zeros", torch.zeros(shape[0], dtype=torch.int64))
            self.register_buffer(f"{name}_scales", 2.0 ** torch.randint(-9, -6, shape[:1]))
            self.register_buffer(f"{name}_bias", torch.randint(-8, 8, shape[:1]) / 4)

    def convolve(self, x, name, **how):
        weights = torch.ops.quantized_decomposed.dequantize_per_channel(getattr(self, name), getattr(self, f"{name}_scales"), getattr(self, f"{name}_zeros"), 0, -128, 127, torch.int8)
        return nn.functional.conv2d(x, weights, getattr(self, f"{name}_bias"), **how)

    def quantised(self, x, scale, zero):
        bytes_ = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, 0, 255, torch.uint8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(bytes_, scale, zero, 0, 255, torch.uint8)

    def forward(self, x):
        x = self.quantised(self.convolve(self.quantised(x, 1 / 32, 130), "first", padding=1, stride=2).relu(), 1 / 16, 0)
        x = self.quantised(self.convolve(x, "depthwise", padding=1, groups=16), 1 / 4, 101)
        x = self.quantised(self.convolve(x, "second"), 1 / 2, 120)
        x = self.quantised((self.convolve(x, "third", padding=1) + x).relu(), 2.0, 0)
        return nn.functional.max_pool2d(x, 3, 2, 1).mean((2, 3))


@pytest.mark.parametrize("road", ["device", "compile", "exported"])
def test_quantised_convolutions(road):
    with torch.no_grad():
        model, x = Images(), torch.randn(3 if road == "exported" else 2, 3, 30, 22)  # torch.compile's program would know already that zeros change
        ours = model
        if road == "compile":
            ours = torch.compile(model, backend="cresset")
        elif road == "exported":
            ours = torch_cresset.load(torch.export.export(model, (x,)))

        def check(kind):
            """The same numbers, by as many convolutions of this kind."""
            expected = model.cpu()(x)
            if road == "device":
                model.to("cresset")
            given = x.to("cresset") if road == "device" else x
            torch.testing.assert_close(ours(given).cpu(), expected, rtol=0, atol=0)
            with torch_cresset.profile() as kernels:
                ours(given).cpu()
            assert sum(k.calls for k in kernels if k.kernel.startswith("convolution i32")) == kind, kernels
            return expected

        before = check(3)  # the one within channels is element-wise
        # Zeros of weights are taken for 0 until one is not.
        model.second_zeros[3] = 2
        assert not torch.equal(check(0), before)
        assert torch_cresset.counters()["cresset.zeros_undone"] >= 1
        model.second_zeros.zero_()
        assert torch.equal(check(3), before)
    assert not fallbacks()


FAKE = {
    "numbers": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), ()),
    "narrow": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.3, 0, 0, 15), ()),
    "tensors": (lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z, 0, 255), (torch.tensor(0.07), torch.tensor(120, dtype=torch.int32))),
    "channels": (lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7), (torch.rand(6) + 0.1, torch.tensor([0, 1, -1, 3, -8, 7], dtype=torch.int32))),
    "last dimension": (lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, -128, 127), (torch.rand(50) / 20 + 0.01, torch.randn(50))),
    "off": (lambda x, s, z, on: torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, on, 0, 255)[0], (torch.tensor([0.07]), torch.tensor([120], dtype=torch.int32), torch.tensor([0]))),
}


@pytest.mark.parametrize("road", ["device", "compile"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", FAKE)
def test_fake_quantisation(name, dtype, road):
    function, parameters = FAKE[name]
    x = (4 * torch.randn(6, 50)).to(dtype)
    x[0, 0] = float("nan")
    if name in ("numbers", "narrow"):
        x[0, 1:3] = torch.tensor([1e30, -1e30])  # elsewhere PyTorch converts them to integers, for which 64 bits are too few

    def step(function, x, *parameters):
        x = x.detach().requires_grad_()
        y = function(x, *parameters)
        return y.detach(), torch.autograd.grad((y.nan_to_num() * 3).sum(), x)[0]

    if road == "compile":
        actual = step(torch.compile(function, backend="cresset"), x, *parameters)
    else:
        actual = step(function, x.to("cresset"), *(p.to("cresset") for p in parameters))
    for a, e in zip(actual, step(function, x, *parameters), strict=True):
        same = torch.equal if name != "last dimension" else torch.allclose  # q less a zero that is no integer is rounded
        assert same(a.cpu().nan_to_num(7), e.nan_to_num(7))
    assert not fallbacks()


@pytest.mark.parametrize("call, text", [
    (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 2), "less than or equal to `quant_max`"), (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 300, 0, 255), "`zero_point` must be between"),
    (lambda x: torch.fake_quantize_per_channel_affine(x, x[0], x[0].int(), 0, 0, 255), "not consistent with input"), (lambda x: torch.fake_quantize_per_channel_affine(x, x[0], x[0].int(), 3, 0, 255), "`axis` must be"),
])
def test_mistakes_of_fake_quantisation(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.rand(4, 6, device="cresset"))
