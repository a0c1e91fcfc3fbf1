"""Composites of the user's own: whole forward and backward on every road, with the numbers of the plain function."""

import math
import re

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks


def plain_swiglu(x, w, v, *, beta: float = 1.0):
    return F.silu(beta * (x @ w)) * (x @ v)


swiglu = torch_cresset.composite("acme.swiglu", version=2)(plain_swiglu)


@torch_cresset.composite("acme.parts")
def parts(x, *, scale=None, dims=(0, 1), name="a"):
    """Several results, one of them absent, in a dict; None and list attributes."""
    return {"sum": x.sum(dims), "none": None, "pair": (x * (2.0 if scale is None else scale), x.argmax())}


@torch_cresset.composite("acme.block")
def block(x, w, v):
    return swiglu(x, w, v, beta=0.5) + F.gelu(x @ v)


@torch_cresset.composite("acme.clipped")
def clipped(x, limit=1.0):
    return x.clamp(-limit, limit)


@clipped.backward
def clipped_backward(gradient, x, limit):
    return 3 * gradient * (x.abs() <= limit)


def inputs(device="cpu", dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=dtype).to(device).requires_grad_() for shape in ((3, 4), (4, 5), (4, 5))]


@pytest.fixture
def dump(tmp_path, monkeypatch):
    monkeypatch.setenv("CRESSET_DUMP", str(tmp_path))
    return lambda: "\n".join(path.read_text() for path in sorted(tmp_path.iterdir()))


def check(function, plain, device, dump, *, expected, **options):
    torch_cresset.reset_counters()
    ours, eager = inputs(device), inputs()
    result, wanted = function(*ours, **options), plain(*eager, **options)
    torch.testing.assert_close(result.detach().cpu(), wanted.detach())
    result.square().sum().backward()
    wanted.square().sum().backward()
    for a, b in zip(ours, eager):
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=1e-5, rtol=1e-5)
    assert not fallbacks()
    text = dump()
    for name in expected:
        assert f'stablehlo.composite "{name}"' in text, name
    return text


def test_on_the_device(dump):
    text = check(swiglu, plain_swiglu, "cresset", dump, expected=["acme.swiglu", "acme.swiglu_backward", "aten.silu"], beta=0.7)
    assert re.search(r'composite "acme.swiglu".*beta = 0.69999.*|composite "acme.swiglu".*beta = 7.0*e-01 : f64|composite "acme.swiglu".*beta = 0.7', text)
    assert re.search(r'composite "acme.swiglu" .*version = 2', text)
    assert torch_cresset.counters()["cresset::acme.swiglu"] == 1


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_under_compile(device, dump):
    torch._dynamo.reset()
    function = torch.compile(lambda *a, **k: swiglu(*a, **k) + 1, backend="cresset", fullgraph=True)
    check(function, lambda *a, **k: plain_swiglu(*a, **k) + 1, device, dump, expected=["acme.swiglu", "acme.swiglu_backward"], beta=1.0 + len(device))


def test_in_an_exported_program():
    class Module(torch.nn.Module):
        def forward(self, x, w, v):
            return swiglu(x, w, v)

    arguments = tuple(t.detach() for t in inputs())
    for strict in (False, True):
        program = torch.export.export(Module(), arguments, strict=strict)
        targets = [str(node.target) for node in program.graph.nodes]
        assert targets.count("cresset.composite.default") == 1
        torch.testing.assert_close(program.module()(*arguments), plain_swiglu(*arguments))


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_gradcheck(device):
    arguments = inputs(device, torch.float64)
    assert torch.autograd.gradcheck(lambda *a: swiglu(*a, beta=0.5), arguments)
    assert torch.autograd.gradcheck(block, arguments)


def test_nested(dump):
    text = check(block, lambda x, w, v: plain_swiglu(x, w, v, beta=0.5) + F.gelu(x @ v), "cresset", dump,
                 expected=["acme.block", "acme.block_backward", "acme.swiglu", "acme.swiglu_backward", "aten.gelu", "aten.gelu_backward"])
    main = text[text.index("@main"):].split("\n  }\n")[0]
    assert "acme.block" in main and "acme.swiglu" not in main


def test_results_and_attributes(dump):
    x = torch.arange(6.0).reshape(2, 3).to("cresset").requires_grad_()
    out = parts(x, dims=[1], scale=None)
    assert out["none"] is None and out["pair"][1].item() == 5
    assert out["sum"].tolist() == [3, 12]
    out["pair"][0].sum().backward()  # the other results stay unused
    assert x.grad.unique().tolist() == [2]
    parts(x.detach(), scale=4.0)["sum"].cpu()
    text = dump()
    lines = [line for line in text.splitlines() if 'composite "acme.parts"' in line]
    assert any("dims = array<i64: 1>" in line and "scale" not in line and 'name = "a"' in line for line in lines), lines
    assert any("scale = 4.0" in line for line in lines), lines


def test_a_gradient_of_one_s_own(dump):
    x = torch.tensor([0.5, 2.0], device="cresset", requires_grad=True)
    clipped(x, 1.0).sum().backward()
    assert x.grad.tolist() == [3, 0]
    assert 'composite "acme.clipped_backward"' in dump()


@pytest.mark.parametrize("compiled", [False, True])
def test_autocast(compiled):
    torch._dynamo.reset()
    results = []
    for device, function in (("cpu", plain_swiglu), ("cresset", swiglu)):
        arguments = inputs(device)
        run = torch.compile(function, backend="cresset") if compiled and device == "cresset" else function
        with torch.autocast(device, dtype=torch.bfloat16):
            result = run(*arguments)
        result.float().sum().backward()
        results.append([result.detach().cpu()] + [t.grad.cpu() for t in arguments])
    for eager, ours in zip(*results):
        assert ours.dtype == eager.dtype
        torch.testing.assert_close(ours, eager, atol=5e-2, rtol=5e-2)  # bf16 has 8 bits


def test_functional_transforms():
    x, w, v = (t.detach() for t in inputs())
    batched = torch.stack([x, 2 * x])
    torch.testing.assert_close(torch.func.vmap(swiglu, (0, None, None))(batched, w, v), torch.stack([plain_swiglu(x, w, v), plain_swiglu(2 * x, w, v)]))
    loss = lambda f: lambda x: f(x, w, v).sum()
    torch.testing.assert_close(torch.func.grad(loss(swiglu))(x), torch.func.grad(loss(plain_swiglu))(x))
    on_device = [t.to("cresset") for t in (x, w, v)]
    torch.testing.assert_close(torch.func.grad(lambda x: swiglu(x, *on_device[1:]).sum())(on_device[0]).cpu(), torch.func.grad(loss(plain_swiglu))(x))


def test_redefinition_is_another_function():
    results = []
    for factor in (2, 3):
        @torch_cresset.composite("acme.redefined")
        def redefined(x):
            return factor * x

        results.append(redefined(torch.ones(2, device="cresset")).tolist())
    assert results == [[2, 2], [3, 3]]


def test_none_and_modules(monkeypatch):
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.v = (torch.nn.Parameter(t.detach()) for t in inputs()[1:])

        def forward(self, x):
            return swiglu(x, self.w, self.v)

    x = inputs()[0].detach()
    expected = Gate()(x)
    monkeypatch.setenv("CRESSET_COMPOSITES", "none")
    torch.testing.assert_close(Gate().to("cresset")(x.to("cresset")).cpu(), expected)


OUTSIDE = torch.ones(2)


@pytest.mark.parametrize("function, error, message", [
    (lambda x: x.add_(1), RuntimeError, "acme.bad changes its argument 0 in place"),
    (lambda x: x * float(x.sum()), RuntimeError, "must not read a tensor's value"),
    (lambda x: F.dropout(x), RuntimeError, "must not draw random numbers"),
    (lambda x: x + OUTSIDE, RuntimeError, "acme.bad uses a tensor that is not one of its arguments"),
    (lambda x: x + OUTSIDE.add_(1), RuntimeError, "must not write to a tensor that was there before"),
    (lambda x: (x, 3), TypeError, "acme.bad: a result is int"),
], ids=["in place", "reads", "random", "closure", "writes", "result"])
def test_what_a_composite_cannot_do(function, error, message):
    global OUTSIDE
    OUTSIDE = (torch.ones(2, device="cresset") + 1)
    torch_cresset.sync()
    bad = torch_cresset.composite("acme.bad")(function)
    x = torch.ones(2, device="cresset")
    with pytest.raises(error, match=message):
        bad(x)
    assert (x + 1).tolist() == [2, 2]


def test_a_tensor_from_outside_that_waits_is_refused_too():
    mask = torch.ones(3).to("cresset").sqrt()
    with pytest.raises(RuntimeError, match="uses a tensor that is not one of its arguments"):
        torch_cresset.composite("acme.masked")(lambda x: x * mask)(torch.ones(3, device="cresset"))
    assert mask.sum().item() == 3


def test_mistakes_in_the_definition():
    with pytest.raises(ValueError, match="a composite's name has a namespace, as in 'acme.swiglu'"):
        torch_cresset.composite("swiglu")
    with pytest.raises(ValueError, match="version is a number from 1 on"):
        torch_cresset.composite("acme.swiglu", version=0)
    with pytest.raises(TypeError, match="an argument of a composite is"):
        swiglu(*inputs("cresset"), beta=object())


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_second_derivatives(device):
    x, w, v = inputs(device, torch.float64)
    assert torch.autograd.gradgradcheck(lambda x: swiglu(x, w.detach(), v.detach()), (x,))


def test_the_order_of_operands_tells_composites_apart():
    """Of bodies that read their inputs alike, in another order."""
    multiply = torch_cresset.composite("acme.multiply")(lambda a, b: a * b)
    for wanted in ((True, False), (False, True)):
        a = torch.tensor([1.0, 2.0], device="cresset", requires_grad=wanted[0])
        b = torch.tensor([10.0, 20.0], device="cresset", requires_grad=wanted[1])
        multiply(a, b).sum().backward()
        assert (a.grad if wanted[0] else b.grad).tolist() == ([10.0, 20.0] if wanted[0] else [1.0, 2.0])

    def subtract(a, b, *, back: bool = False):
        return b - a if back else a - b

    subtract = torch_cresset.composite("acme.subtract")(subtract)
    x, y = torch.tensor([1.0]).to("cresset"), torch.tensor([10.0]).to("cresset")
    assert subtract(x, y).item() == -9 and subtract(x, y, back=True).item() == 9


def test_results_may_depend_on_the_tensors():
    function = torch_cresset.composite("acme.results")(lambda x: (x + 1, None) if x.dim() == 1 else (x + 1, x + 2))
    line, square = torch.ones(2, device="cresset"), torch.ones(2, 2, device="cresset")
    for x in (line, square, line, square):
        first, second = function(x)
        assert first.cpu().max() == 2 and (second is None if x.dim() == 1 else second.cpu().max() == 3)


def test_the_sign_of_zero_tells_attributes_apart():
    def scaled(x, *, beta: float = 1.0):
        return x * beta

    scaled = torch_cresset.composite("acme.scaled")(scaled)
    x = torch.ones(2, device="cresset")
    assert [math.copysign(1, scaled(x, beta=b)[0].item()) for b in (0.0, -0.0, 0.0)] == [1, -1, 1]


@torch_cresset.composite("acme.positions")
def with_positions(x, positions):
    return x + positions[:x.shape[1]] if x.shape[1] <= positions.shape[0] else x


@torch_cresset.composite("acme.rows")
def rows(x):
    return {"rows": [t * 2 for t in x.unbind(0)]} if x.shape[0] > 1 else [x * 3]


@pytest.mark.parametrize("device", ["cpu", "cresset"])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: torch.compile(f, backend="cresset")], ids=["eager", "compiled"])
def test_what_depends_on_sizes(device, run):
    f, g = run(lambda x, p: with_positions(x, p)), run(lambda x: rows(x))
    for n in (10, 4, 10):
        x, p = torch.ones(2, n, device=device, requires_grad=True), torch.ones(8, device=device, requires_grad=True)
        f(x, p).sum().backward()
        assert (p.grad is None) if n == 10 else (p.grad.tolist() == [2] * n + [0] * (8 - n))
    for n in (2, 3, 1, 2):
        found = g(torch.ones(n, 3, device=device))
        assert len(found["rows"] if n > 1 else found) == n


@pytest.mark.parametrize("function, message", [(lambda x: F.dropout(x), "must not draw random numbers"), (lambda x: x.add_(1) * 1, "changes its argument 0 in place")], ids=["random", "in place"])
def test_what_a_composite_cannot_do_under_compile(function, message):
    bad = torch_cresset.composite("acme.bad")(function)
    with pytest.raises(RuntimeError, match=message):
        torch.compile(lambda x: bad(x) * 1.0, backend="cresset")(torch.ones(12))


def test_arguments_seen_as_another_dtype_and_complex_ones():
    @torch_cresset.composite("acme.bits")
    def bits(x):
        return (x.view(torch.int32) & -256).view(torch.float32)

    @torch_cresset.composite("acme.rotated")
    def rotated(x, f):
        return torch.view_as_real(torch.view_as_complex(x.reshape(3, 2, 2)) * f).flatten(-2)

    x, f = torch.randn(3, 4), torch.randn(3, 2, dtype=torch.complex64)
    torch.testing.assert_close(bits(x.to("cresset")).cpu(), bits(x))
    torch.testing.assert_close(rotated(x.to("cresset"), f.to("cresset")).cpu(), rotated(x, f))
    torch.testing.assert_close(F.l1_loss(f.to("cresset"), f.conj().to("cresset")).cpu(), F.l1_loss(f, f.conj()))


@pytest.mark.parametrize("function", [lambda x: swiglu(x, x.t() @ x, x.t() @ x), lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device=x.device)),
                                      lambda x: F.linear(x, x[:2], x[0, :2])], ids=["own", "loss", "linear"])
def test_tangents(function):
    from torch.autograd import forward_ad

    x, tangents = torch.randn(4, 3), []
    for device in ("cpu", "cresset"):
        with forward_ad.dual_level():
            tangents.append(forward_ad.unpack_dual(function(forward_ad.make_dual(x.to(device), x.to(device)))).tangent.cpu())
    torch.testing.assert_close(tangents[1], tangents[0])
