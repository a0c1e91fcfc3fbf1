"""torch.compile(optimizer.step): one program that moves parameters and states where they lie."""

import copy
import gc
import weakref

import pytest
import torch

import torch_cresset
from conftest import fallbacks

KINDS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw_loop": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=False),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "adamax": lambda p: torch.optim.Adamax(p),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.9),
    "rprop": lambda p: torch.optim.Rprop(p),
    "nadam": lambda p: torch.optim.NAdam(p),
    "radam": lambda p: torch.optim.RAdam(p),
}


def model_of(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))


def train(model, optimizer, step, steps=7):
    torch.manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(5, 8)).square().mean().backward()
        step()


@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_step_is_eager_s_and_moves_in_place(kind):
    torch._dynamo.reset()
    eager = model_of()
    ours = copy.deepcopy(eager)
    optimizers = [KINDS[kind](m.parameters()) for m in (eager, ours)]
    before = [p.data_ptr() for p in ours.parameters()]
    train(eager, optimizers[0], optimizers[0].step)
    train(ours, optimizers[1], torch.compile(optimizers[1].step, backend="cresset"))
    assert before == [p.data_ptr() for p in ours.parameters()]
    for expected, actual in zip(eager.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(actual, expected)
    states = [[v for state in o.state.values() for v in state.values() if isinstance(v, torch.Tensor)] for o in optimizers]
    for expected, actual in zip(*states, strict=True):
        torch.testing.assert_close(actual, expected)
    assert not torch_cresset.counters().get("cresset.aot_autograd", 0) and not fallbacks()


def test_a_learning_rate_may_change():
    torch._dynamo.reset()
    eager = model_of()
    ours = copy.deepcopy(eager)
    for model, wrap in ((eager, lambda f: f), (ours, lambda f: torch.compile(f, backend="cresset"))):
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        step = wrap(optimizer.step)
        train(model, optimizer, lambda: (step(), scheduler.step()))
    for expected, actual in zip(eager.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(actual, expected)


def test_a_compiled_step_does_not_keep_a_dead_optimizer_s_tensors():
    torch._dynamo.reset()
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer, torch.compile(optimizer.step, backend="cresset"), steps=2)
    states = [weakref.ref(v) for state in optimizer.state.values() for v in state.values()]
    assert states
    del optimizer
    gc.collect()
    assert not any(ref() is not None for ref in states)


def test_weights_are_averaged_where_they_lie():
    torch._dynamo.reset()
    models, averages = [model_of(), model_of()], [model_of(1), model_of(1)]

    def average(mean, model):
        with torch.no_grad():
            for p, q in zip(mean.parameters(), model.parameters()):
                p.lerp_(q, 0.1)

    compiled = torch.compile(average, backend="cresset")
    before = [p.data_ptr() for p in averages[1].parameters()]
    for _ in range(3):
        average(averages[0], models[0])
        compiled(averages[1], models[1])
    assert before == [p.data_ptr() for p in averages[1].parameters()]
    for expected, actual in zip(averages[0].parameters(), averages[1].parameters(), strict=True):
        torch.testing.assert_close(actual, expected)
        assert actual.requires_grad and actual.is_leaf
    assert not torch_cresset.counters().get("cresset.aot_autograd", 0)


def test_what_is_changed_between_forward_and_backward_is_an_error():
    torch._dynamo.reset()
    model = model_of()

    @torch.compile(backend="cresset")
    @torch.no_grad()
    def decay():
        for p in model.parameters():
            p.mul_(0.5)

    loss = model(torch.randn(5, 8)).sum()
    decay()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_leaf_with_gradients_is_not_changed_in_grad_mode():
    torch._dynamo.reset()
    weight = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.compile(lambda w: w.mul_(2), backend="cresset")(weight)
    assert torch.equal(weight, torch.ones(4))
