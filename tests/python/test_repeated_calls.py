"""Known calls of composites are made without Python: what differs in anything is another call, and whatever is not ordinary is Python's."""

import sys

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import torch_cresset

DEVICES = ("cpu", "cresset")


def data(device, n=6, c=5, dtype=torch.float32):
    torch.manual_seed(n * 10 + c)
    return torch.randn(n, c, dtype=dtype).to(device).requires_grad_(), torch.randint(0, c, (n,)).to(device)


@pytest.fixture
def in_python(monkeypatch):
    """The composites' calls and gradients that Python makes."""
    made, composite = [], sys.modules["torch_cresset.composite"]

    def watch(name):
        function = getattr(composite, name)

        def watched(key, *args, **kwargs):
            made.append(key.partition("#")[0])
            return function(key, *args, **kwargs)

        monkeypatch.setattr(composite, name, watched)

    for name in ("_call", "_gradients"):
        watch(name)
    return made


def same_as_cpu(call):
    """The results of `call(device)` and what it gives for the gradient."""
    wanted, got = call("cpu"), call("cresset")
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(None if a is None else a.detach().cpu(), None if b is None else b.detach())


def loss(device, *shape, target=None, **options):
    x, y = data(device, *shape)
    options = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    result = F.cross_entropy(x, y if target is None else target.to(device), **options)
    return result, *torch.autograd.grad(result.sum() * 2, x)


def test_known_calls_skip_python(in_python):
    for _ in range(3):
        same_as_cpu(loss)
    assert not in_python


def test_every_difference_is_another_call():
    weight, other = torch.rand(5), torch.rand(5)
    calls = [dict(), dict(reduction="sum"), dict(reduction="none"), dict(ignore_index=1), dict(ignore_index=2), dict(label_smoothing=0.1), dict(label_smoothing=0.2),
             dict(weight=weight), dict(weight=other), dict(weight=weight, reduction="sum"), dict(target=torch.rand(6, 5))]
    for _ in range(2):
        for options in calls:
            same_as_cpu(lambda device: loss(device, **options))
        same_as_cpu(lambda device: loss(device, 3, 4))
        same_as_cpu(lambda device: loss(device, 4, 3))


def test_dtypes_and_strides():
    def call(device, dtype, transposed):
        x = data(device, 5, 5, dtype)[0]
        r = F.l1_loss(x.t() if transposed else x, data(device, 5, 5, dtype)[0].detach().relu(), reduction="none")
        assert r.dtype == dtype
        return r, *torch.autograd.grad(r.sum(), x)

    for _ in range(2):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            for transposed in (False, True):
                same_as_cpu(lambda device: call(device, dtype, transposed))


def test_keyword_attributes_and_absent_tensors():
    def kl(device, **options):
        x = data(device)[0]
        r = F.kl_div(x.log_softmax(-1), data(device, 6, 5)[0].detach().softmax(-1), reduction="sum", **options)
        return r, *torch.autograd.grad(r, x)

    def logits(device, weight, pos_weight):
        x = data(device)[0]
        given = lambda w: None if not w else torch.linspace(w, 3, 5).to(device)
        r = F.binary_cross_entropy_with_logits(x, (data(device)[0] > 0).float(), given(weight), pos_weight=given(pos_weight))
        return r, *torch.autograd.grad(r, x)

    for _ in range(2):
        for log_target in (False, True):
            same_as_cpu(lambda device: kl(device, log_target=log_target))
        for weight, pos_weight in ((0, 0), (1, 0), (0, 1), (1, 2)):
            same_as_cpu(lambda device: logits(device, weight, pos_weight))


def test_which_gradients_are_wanted():
    def call(device, first, second):
        x, t = (data(device, n, 5)[0].detach()[:4].requires_grad_(w) for n, w in ((6, first), (7, second)))
        r = F.l1_loss(x, t)
        assert r.requires_grad == (first or second)
        if r.requires_grad:
            r.backward()
        return r, x.grad, t.grad

    for _ in range(2):
        for first, second in ((True, False), (False, True), (True, True), (False, False)):
            same_as_cpu(lambda device: call(device, first, second))


def test_grad_modes():
    x, y = data("cresset")
    for _ in range(2):
        assert F.cross_entropy(x, y).requires_grad
        with torch.no_grad():
            assert not F.cross_entropy(x, y).requires_grad
        with torch.inference_mode():
            assert F.cross_entropy(x, y).is_inference()
        assert not F.cross_entropy(x.detach(), y).requires_grad


def test_instance_norm_that_moves_its_statistics(in_python):
    def call(device, statistics):
        x = data(device, 2, 12)[0].view(2, 3, 4)
        mean, variance = (torch.zeros(3).to(device), torch.ones(3).to(device)) if statistics else (None, None)
        r = F.instance_norm(x, mean, variance)
        return r, mean, variance

    for _ in range(2):
        for statistics in (False, True):
            same_as_cpu(lambda device: call(device, statistics))


def test_second_derivatives():
    def call(device):
        x, y = data(device)
        first, = torch.autograd.grad(F.cross_entropy(x, y), x, create_graph=True)
        return first, *torch.autograd.grad(first.square().sum(), x)

    for _ in range(2):
        same_as_cpu(loss)
        same_as_cpu(call)


def test_an_input_changed_before_its_backward():
    x, y = data("cresset")
    for _ in range(2):
        target = y.clone()
        r = F.cross_entropy(x, target)
        target.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            r.backward()


def test_a_dispatch_mode_sees_the_call_and_its_gradient(in_python):
    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    same_as_cpu(loss)
    x, y = data("cresset")
    for backward_only in (False, True):
        seen, r = [], F.cross_entropy(x, y)
        with Watch():
            r = r if backward_only else F.cross_entropy(x, y)
            r.backward()
        assert ("cresset.composite.default" in seen) != backward_only
        assert "cresset.composite_backward.default" in seen
    assert in_python.count("aten.cross_entropy_loss") == 3


def test_fake_tensors():
    same_as_cpu(loss)
    with FakeTensorMode():
        x, y = torch.randn(6, 5, device="cresset", requires_grad=True), torch.zeros(6, dtype=torch.int64, device="cresset")
        r = F.cross_entropy(x, y)
        assert type(r) is type(torch.empty(1)) and r.shape == ()
        r.backward()
        assert x.grad.shape == (6, 5)


def test_transforms_of_functions():
    same_as_cpu(loss)

    def gradient(device):
        x, y = data(device)
        return (torch.func.grad(lambda x: F.cross_entropy(x, y))(x.detach()),)

    def each(device):
        x, y = data(device)
        return (torch.vmap(F.cross_entropy)(x.detach(), y),)

    def forward_mode(device):
        x, y = data(device)
        return torch.func.jvp(lambda x: F.cross_entropy(x, y), (x.detach(),), (torch.ones_like(x.detach()),))

    for call in (gradient, each, forward_mode):
        same_as_cpu(call)


@pytest.mark.parametrize("device", DEVICES)
def test_autocast(device):
    x, t = (data(device, n)[0].detach()[:4] for n in (6, 7))

    @torch_cresset.composite("acme.product_repeated")
    def product(x, t):
        return x @ t.t()

    for _ in range(2):
        assert product(x, t).dtype == torch.float32
        with torch.autocast(device, dtype=torch.bfloat16):
            assert product(x, t).dtype == torch.bfloat16
            assert F.cross_entropy(x, x.argmax(1)).dtype == torch.float32


def test_compiled_autograd():
    def call(device):
        x, y = data(device)
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            F.cross_entropy(x, y).backward()
        return (x.grad,)

    same_as_cpu(loss)
    same_as_cpu(call)


def test_under_compile():
    same_as_cpu(loss)
    compiled = torch.compile(F.cross_entropy, backend="cresset")

    def call(device):
        x, y = data(device)
        r = compiled(x, y)
        return r, *torch.autograd.grad(r, x)

    for _ in range(2):
        same_as_cpu(call)


def test_selected_composites():
    for selection in ("all", "none", "all"):
        with torch_cresset.composites(selection):
            same_as_cpu(loss)


def test_within_another_composite():
    @torch_cresset.composite("acme.loss_repeated")
    def outer(x, y):
        return F.cross_entropy(2 * x, y) + F.cross_entropy(x, y)

    def call(device):
        x, y = data(device)
        r = outer(x, y)
        return r, *torch.autograd.grad(r, x)

    for _ in range(2):
        same_as_cpu(call)
        same_as_cpu(loss)


def test_redefinition_and_another_gradient():
    x = data("cresset")[0]
    for factor in (2, 3):
        @torch_cresset.composite("acme.redefined_repeated")
        def scaled(x):
            return x * factor

        for _ in range(2):
            r = scaled(x)
            torch.testing.assert_close(r.detach().cpu(), x.detach().cpu() * factor)
            torch.testing.assert_close(torch.autograd.grad(r.sum(), x)[0].cpu(), torch.full((6, 5), float(factor)))
    earlier = scaled(x).sum()
    scaled.backward(lambda gradient, x: 10 * gradient)
    for r in (earlier, scaled(x).sum()):
        torch.testing.assert_close(torch.autograd.grad(r, x)[0].cpu(), torch.full((6, 5), 10.0))


def test_subclasses_keep_their_type():
    class Named(torch.Tensor):
        pass

    @torch_cresset.composite("acme.half_repeated")
    def half(x):
        return x / 2

    x = data("cresset")[0].detach()
    for _ in range(2):
        assert type(half(x)) is torch.Tensor
        assert type(half(x.as_subclass(Named))) is Named


def test_threads():
    import threading

    wrong = []

    def work(seed):
        torch.manual_seed(seed)
        for n in range(2, 12):
            x, y = torch.randn(n, 5), torch.randint(0, 5, (n,))
            for reduction in ("mean", "sum"):
                got = F.cross_entropy(x.to("cresset"), y.to("cresset"), reduction=reduction).cpu()
                if not torch.allclose(got, F.cross_entropy(x, y, reduction=reduction)):
                    wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def meanwhile(work):
    """Runs it in another thread, to its end."""
    import threading

    found = []

    def run():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def reads_values():
    x = torch.arange(6.0).reshape(2, 3)
    rows = x.to("cresset")
    return torch.equal((rows * 2).cpu(), x * 2) and F.cross_entropy(rows, torch.tensor([0, 2], device="cresset")).item() > 0 and rows[torch.tensor([1], device="cresset")].sum().item() == 12


def test_other_threads_go_on_while_a_composite_is_recorded():
    went = []

    @torch_cresset.composite("acme.slow_to_record")
    def slow(x):
        doubled = x * 2
        went.append(meanwhile(reads_values))
        return doubled + 1

    x = torch.randn(3)
    pending = x.to("cresset") + 3  # nor is it lost what this thread had pending
    assert torch.equal(slow(x.to("cresset")).cpu(), x * 2 + 1)
    assert went == [True] and torch.equal(pending.cpu(), x + 3)


def test_other_threads_go_on_while_a_graph_is_captured():
    from torch_cresset import _C
    from torch_cresset.recorder import recording

    x, columns = torch.randn(3), torch.tensor([2, 0])
    with recording():
        inputs = [_C.wrap(t) for t in (x, columns)]
        doubled = inputs[0] * 2
        assert meanwhile(reads_values) is True
        with pytest.raises(IndexError):  # the other's check is not this graph's
            raise meanwhile(lambda: torch.zeros(2, device="cresset")[torch.tensor([2], device="cresset")].cpu())
        program = _C.captured_program(inputs, [doubled[inputs[1]]])
    assert torch.equal(program.run([x, columns])[0], (x * 2)[columns])
    with pytest.raises(IndexError):
        program.run([x, columns + 1])


def test_what_a_finished_graph_left_behind_has_no_value():
    kept = []

    @torch_cresset.composite("acme.keeps")
    def keeps(x):
        kept.extend([x, x * 2])
        return x + 1

    keeps(torch.ones(3, device="cresset"))
    for tensor in kept:
        with pytest.raises(RuntimeError, match="a graph that is finished"):
            tensor.cpu()
        with pytest.raises(RuntimeError, match="a graph that is finished"):
            tensor + 1
        assert torch.equal(tensor.copy_(torch.ones(3)).cpu(), torch.ones(3))
