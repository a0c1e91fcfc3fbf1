"""torch_cresset.load: exported programs run by themselves."""

import concurrent.futures
import copy

import pytest
import torch
import transformers

import torch_cresset
from conftest import fallbacks

Dim = torch.export.Dim


def exported(model, *args, dynamic_shapes=None, **kwargs):
    with torch.no_grad():
        return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)


def recorded_directly():
    return not fallbacks() and "cresset.in_pieces" not in torch_cresset.counters()


class Counting(torch.nn.Module):
    """Writes buffers, an argument and a tensor of its own; takes an argument by name and returns more than tensors."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(4))
        self.register_buffer("table", torch.arange(4.0), persistent=False)
        self.constant = torch.ones(4)

    def forward(self, x, *, y):
        self.calls.add_(1)
        y.mul_(2)
        own = torch.zeros(4)
        own[1] = 3
        return {"sum": self.norm(x) + self.calls + self.table + self.constant + own, "others": (y, 3, None)}


@pytest.mark.parametrize("functional", [False, True])
def test_what_is_written_and_returned(functional):
    model = Counting()
    reference, x = copy.deepcopy(model), torch.randn(3, 4)
    program = exported(model, x, y=torch.ones(4), dynamic_shapes={"x": {0: Dim("rows", min=2, max=64)}, "y": None})
    run = torch_cresset.load(program.run_decompositions({}) if functional else program)
    for rows in (2, 5, 2, 64):
        x, y = torch.randn(rows, 4), torch.randn(4)
        theirs = y.clone()
        torch.testing.assert_close(run(x, y=y), reference(x, y=theirs))
        torch.testing.assert_close(y, theirs)
    torch.testing.assert_close(model.state_dict(), reference.state_dict())
    assert recorded_directly() and torch_cresset.counters()["cresset.compile"] == 3  # one for each size


@pytest.mark.parametrize("call, error, words", [
    (lambda run, x, y: run(x[:, :3], y=y), RuntimeError, r"args\[0\].shape\[1\] to be equal to 4, but got 3"),
    (lambda run, x, y: run(x.repeat(40, 1), y=y), RuntimeError, r"args\[0\].shape\[0\] to be <= 64, but got 80"),
    (lambda run, x, y: run(x[0], y=y), RuntimeError, r"number of dimensions in input at \*args\[0\]"),
    (lambda run, x, y: run(x, y=3), RuntimeError, "'y' to be a tensor, but got <class 'int'>"),
    (lambda run, x, y: run(x.double(), y=y), RuntimeError, r"args\[0\] to be of torch.float32, but got torch.float64"),
    (lambda run, x, y: run(x.to("cresset"), y=y), RuntimeError, r"args\[0\] to be on the CPU, but it is on cresset:0"),
    (lambda run, x, y: run([x], y=y), ValueError, "exported input tree spec"),
    (lambda run, x, y: run(x), ValueError, r"expected \['y'\]"),
    (lambda run, x, y: run(x, z=y), ValueError, r"keywords \['z'\] but expected \['y'\]"),
])
def test_arguments_that_do_not_fit(call, error, words):
    x, y = torch.randn(2, 4), torch.ones(4)
    run = torch_cresset.load(exported(Counting(), x, y=y, dynamic_shapes={"x": {0: Dim("rows", min=2, max=64)}, "y": None}))
    for _ in range(2):  # before and after a call that fits
        with pytest.raises(error, match=words):
            call(run, x, y)
        run(x, y=y)


class Powers(torch.nn.Module):
    def forward(self, x, exponent, names):
        return names["scale"] * x ** exponent


def test_numbers_are_those_that_were_exported():
    x, names = torch.rand(3), {"scale": torch.randn(3)}
    run = torch_cresset.load(exported(Powers(), x, 2, names))
    torch.testing.assert_close(run(x, 2, names), names["scale"] * x ** 2)
    with pytest.raises(RuntimeError, match="equal to 2, but got 3"):
        run(x, 3, names)


def test_a_transformer_of_any_size_from_a_file(tmp_path):
    config = transformers.BertConfig(hidden_size=64, num_attention_heads=4, intermediate_size=128, num_hidden_layers=2, vocab_size=100, attn_implementation="sdpa")
    model = transformers.BertModel(config).eval()
    ids = lambda batch, length: {"input_ids": torch.randint(1, 100, (batch, length)), "attention_mask": torch.ones(batch, length, dtype=torch.int64)}
    dims = {0: Dim("batch", max=32), 1: Dim("length", min=2, max=64)}
    program = exported(model, **ids(3, 8), dynamic_shapes={"input_ids": dims, "attention_mask": dims})
    torch.export.save(program, tmp_path / "bert.pt2")
    run = torch_cresset.load(tmp_path / "bert.pt2")
    for size in ((3, 8), (2, 16), (1, 64), (3, 8)):
        inputs = ids(*size)
        with torch.no_grad():
            expected = model(**inputs)
        result = run(**dict(reversed(inputs.items())))  # by name, in any order
        assert type(result) is type(expected)
        torch.testing.assert_close(result.last_hidden_state, expected.last_hidden_state)
    assert recorded_directly()


def test_weights_that_are_written_hold_from_the_next_call_on():
    model, x = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.GELU(), torch.nn.Linear(200, 10)), torch.randn(64, 300)
    run = torch_cresset.load(exported(model, x))
    for _ in range(3):
        for _ in range(3):  # what is packed once is kept from the second call on
            result = run(x)
            torch.testing.assert_close(result, model(x).detach())
            assert not result.requires_grad
        with torch.no_grad():
            model[0].weight.mul_(-1.5)
            model[2].bias.data.add_(1)


class Steps(torch.nn.Module):
    """Control flow, autocast and a switch of gradients, which are operators of higher order in an exported program."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            x = x + 1
        with torch.autocast("cpu", torch.bfloat16):
            x = self.layer(x).float()
        return torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.sin(), (x,))


def test_operators_of_higher_order():
    model, x = Steps(), torch.randn(4, 8)
    run = torch_cresset.load(torch.export.export(model, (x,)))  # with gradients on, which it switches off
    for x in (x, -x, x + 10):
        torch.testing.assert_close(run(x), model(x).detach(), atol=2e-2, rtol=2e-2)  # bf16: eager rounds sums, too


class Angles(torch.nn.Linear):
    """Rotary positions are computed so in most language models."""

    def forward(self, x):
        with torch.no_grad():
            shifted = x + 1
            with torch.enable_grad():
                sine = shifted.sin()
            cosine = shifted.cos()
        return super().forward(sine) * cosine


def test_what_no_grad_encloses_is_recorded_with_the_rest():
    model, x = Angles(8, 8), torch.randn(4, 8)
    program = torch.export.export(model, (x,))
    assert any("wrap_with_set_grad_enabled" in str(node.target) for node in program.graph.nodes)
    torch.testing.assert_close(torch_cresset.load(program)(x), model(x).detach())
    assert recorded_directly()


class Solving(torch.nn.Module):
    """`solve` is not lowered, and what stands in memory before it is written after it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, a, b):
        total = a.sum(0)
        view = total[1:]
        x = torch.linalg.solve(a, b)
        view.mul_(2)
        self.seen.add_(total)
        return x.relu() + total


def test_an_operator_that_is_not_lowered():
    model = Solving()
    reference = copy.deepcopy(model)
    run = torch_cresset.load(exported(model, torch.eye(3), torch.ones(3), dynamic_shapes={"a": None, "b": None}))
    with pytest.warns(UserWarning, match="solve.* is not lowered"):
        run(torch.eye(3), torch.ones(3)), reference(torch.eye(3), torch.ones(3))
    for _ in range(2):
        a, b = torch.randn(3, 3), torch.randn(3)
        torch.testing.assert_close(run(a, b), reference(a, b))
        torch.testing.assert_close(model.seen, reference.seen)
    assert any("solve" in name for name in fallbacks())


class Unsolved(torch.nn.Module):
    def forward(self, a, b):
        return torch.linalg.solve(a, b).reshape(-1) * a.shape[0]


def test_an_operator_that_is_not_lowered_of_several_sizes():
    n = Dim("n", min=2, max=16)
    run = torch_cresset.load(exported(Unsolved(), torch.eye(3), torch.ones(3, 2), dynamic_shapes={"a": {0: n, 1: n}, "b": {0: n}}))
    for size in (3, 5, 3, 7, 5):
        a, b = torch.randn(size, size), torch.randn(size, 2)
        torch.testing.assert_close(run(a, b), Unsolved()(a, b))


class Chosen(torch.nn.Module):
    """Sizes and a number that depend on values."""

    def forward(self, x):
        chosen = x[x > 0]
        number = (x > 0).sum().item()
        torch._check(number >= 0)
        return chosen.cumsum(0) * 2, number, x.sigmoid() * number


def test_sizes_that_depend_on_values():
    run = torch_cresset.load(exported(Chosen(), torch.randn(50)))
    for _ in range(3):
        x = torch.randn(50)
        result, expected = run(x), Chosen()(x)
        torch.testing.assert_close(result, expected)
        assert isinstance(result[1], int) and result[1] == expected[1]


def test_random_numbers_follow_the_seed():
    run = torch_cresset.load(exported(torch.nn.Dropout().train(), torch.ones(1000)))
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = run(x), run(x)
    torch.manual_seed(3)
    assert run(x).equal(first) and not second.equal(first)
    assert set(first.unique().tolist()) == {0.0, 2.0} and 350 < first.count_nonzero() < 650


def test_threads_call_it_at_the_same_time():
    n = Dim("n", min=2, max=64)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.SiLU(), torch.nn.Linear(64, 8))
    run = torch_cresset.load(exported(model, torch.randn(4, 32), dynamic_shapes=({0: n},)))

    def calls(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(20):
            x = torch.randn(int(torch.randint(2, 9, (), generator=generator)), 32, generator=generator)
            with torch.no_grad():
                torch.testing.assert_close(run(x), model(x))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(calls, range(4)))


def test_what_can_not_be_loaded():
    with pytest.raises(ValueError, match="weight of the exported program is on meta"):
        torch_cresset.load(torch.export.export(torch.nn.Linear(4, 3, device="meta"), (torch.ones(2, 4, device="meta"),)))


class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x).sum()


def test_training_steps_are_not_loaded():
    from torch.export.experimental import _export_forward_backward

    program = _export_forward_backward(torch.export.export(Loss(), (torch.ones(2, 4),)))
    with pytest.raises(ValueError, match="is a LOSS_OUTPUT; torch.compile.* trains"):
        torch_cresset.load(program)


def test_sizes_beyond_those_that_are_kept(monkeypatch):
    monkeypatch.setattr(torch_cresset.programs, "_MOST_SIZES", 4)
    model, n = torch.nn.Linear(3, 2).eval(), Dim("n", min=1, max=4000)
    run = torch_cresset.load(exported(model, torch.randn(5, 3), dynamic_shapes=({0: n},)))
    for size in (1, 2, 3, 4, 5, 6, 2, 6):
        x = torch.randn(size, 3)
        torch.testing.assert_close(run(x), model(x).detach())


def test_what_is_recorded_under_autocast_is_not_what_runs_without():
    model, x = torch.nn.Linear(3, 2).eval(), torch.randn(5, 3)
    run = torch_cresset.load(exported(model, x))
    for dtype in (torch.bfloat16, None, torch.bfloat16, None):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            assert run(x).dtype == (dtype or torch.float32)


@pytest.mark.parametrize("kind", ["halves", "same"])
def test_written_arguments_that_share_a_storage(kind):
    class Cache(torch.nn.Module):
        def forward(self, k, v, x):
            k[:, 0].add_(x)
            v.mul_(2)
            return k + v

    run = torch_cresset.load(torch.export.export(Cache(), (torch.randn(3, 4), torch.randn(3, 4), torch.randn(3))))
    found = []
    for call in (run, Cache()):
        base = torch.ones(2, 3, 4)
        k, v = base.unbind(0) if kind == "halves" else (base[0], base[0])
        found.append((call(k, v, torch.ones(3)), base))
    torch.testing.assert_close(*found)
