"""Edges of the operators' families: ranks and sizes of 0, output padding, narrow random numbers, fused optimizers."""

import pytest
import torch

import torch_cresset
from conftest import fallbacks, same

EMPTY, ZERO = torch.empty(2, 0, dtype=torch.long), torch.tensor([0])


@pytest.mark.parametrize("function, inputs", [
    (lambda x, i: x.gather(0, i), (torch.arange(5.0), EMPTY)),
    (lambda x, i: x.gather(0, i), (torch.arange(5.0), torch.tensor(3))),
    (lambda x, i: x.gather(0, i), (torch.tensor(7.0), torch.tensor([0, 0]))),
    (lambda x, i, s: x.scatter_add(0, i, s), (torch.ones(5), EMPTY, torch.ones(2, 0))),
    (lambda x, i, s: x.scatter_add(0, i, s), (torch.ones(3), torch.tensor(1), torch.tensor(2.0))),
    (lambda x, i, s: x.scatter_add(0, i, s), (torch.ones(()), ZERO, torch.ones(1))),
    (lambda x, i, s: x.scatter(0, i, s), (torch.ones(5), EMPTY, torch.ones(2, 0))),
    (lambda x, i: x.scatter(0, i, 3.0), (torch.ones(5), EMPTY)),
    (lambda x, i: x.scatter(0, i, 3.0), (torch.ones(()), ZERO)),
])
def test_index_of_another_rank(function, inputs):
    same(function, *inputs)


@pytest.mark.parametrize("stride, padding, output_padding, dilation, groups", [(2, 1, 1, 1, 1), (3, 2, 2, 2, 2), (1, 0, 1, 2, 1), (1, 1, 2, 3, 1)])
def test_transposed_convolution_backward(stride, padding, output_padding, dilation, groups):
    def gradients(x, w):
        x, w = x.requires_grad_(), w.requires_grad_()
        y = torch.nn.functional.conv_transpose2d(x, w, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups)
        return torch.autograd.grad(y.square().sum(), (x, w))

    same(gradients, torch.randn(2, 4, 5, 6, dtype=torch.double), torch.randn(4, 3, 3, 3, dtype=torch.double))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_uniform_is_below_one(dtype):
    x = torch.rand(200_000, device="cresset", dtype=dtype).cpu()
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.float().mean() - 0.5) < 0.01


OPTIMIZERS = {
    "adamw": lambda p, lr: torch.optim.AdamW(p, lr=lr, fused=True),
    "adamw_amsgrad": lambda p, lr: torch.optim.AdamW(p, lr=lr, fused=True, amsgrad=True, maximize=True),
    "adam": lambda p, lr: torch.optim.Adam(p, lr=lr, fused=True, weight_decay=0.1),
    "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr, fused=True, weight_decay=0.1),
    "momentum": lambda p, lr: torch.optim.SGD(p, lr=lr, fused=True, momentum=0.9, dampening=0.1),
    "nesterov": lambda p, lr: torch.optim.SGD(p, lr=lr, fused=True, momentum=0.9, nesterov=True),
    "adagrad": lambda p, lr: torch.optim.Adagrad(p, lr=lr, fused=True, lr_decay=0.5, weight_decay=0.1, maximize=True),
}


@pytest.mark.parametrize("found_inf", [None, 0.0, 1.0])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fused_optimizer(name, found_inf):
    start, gradients = 1e-3 * torch.randn(64), [torch.randn(64) for _ in range(3)]

    def parameters(device):
        p = start.clone().to(device).requires_grad_()
        optimizer = OPTIMIZERS[name]([p], 3e-3)
        if found_inf is not None:  # as GradScaler does
            optimizer.grad_scale, optimizer.found_inf = torch.tensor(4.0).to(device), torch.tensor(found_inf).to(device)
        for g in gradients:
            p.grad = g.clone().to(device)
            optimizer.step()
        return p.detach().cpu()

    expected = parameters("cpu")
    torch_cresset.reset_counters()
    # The parameters are as small as their updates, so that an error of the update shows.
    torch.testing.assert_close(parameters("cresset"), expected, rtol=2e-6, atol=1e-8)
    assert not fallbacks()
    assert found_inf != 1 or torch.equal(expected, start)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("fused", [False, True])
def test_gradient_scaler(fused, dtype):
    """Three steps, the second of which overflows; then the scale grows after one without. Autocast's own arithmetic is tested elsewhere."""
    start, gradients = torch.randn(64), [torch.randn(64), torch.full((64,), torch.inf), torch.randn(64)]

    def train(device):
        p = start.clone().to(device).requires_grad_()
        optimizer, scaler = torch.optim.SGD([p], 0.1, fused=fused), torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=1)
        states = []
        for g in gradients:
            optimizer.zero_grad()
            scaler.scale((p.to(dtype) * g.to(device, dtype)).sum()).backward()
            if not fused:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            states += [p.detach().cpu().clone(), torch.tensor(scaler.get_scale())]
        return states

    expected = train("cpu")
    torch_cresset.reset_counters()
    for actual, e in zip(train("cresset"), expected):
        torch.testing.assert_close(actual, e)
    assert [s.item() for s in expected[1::2]] == [2048.0, 1024.0, 2048.0] and not fallbacks()


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd", "adagrad"])
def test_fused_optimizer_with_a_tensor_as_learning_rate(name):
    start, gradient = torch.randn(64), torch.randn(64)
    results = []
    for device in ("cpu", "cresset"):
        p = start.clone().to(device).requires_grad_()
        optimizer = OPTIMIZERS[name]([p], torch.tensor(3e-3))
        p.grad = gradient.clone().to(device)
        optimizer.step()
        results.append(p.detach().cpu())
    torch.testing.assert_close(results[1], results[0], rtol=1e-6, atol=1e-7)
    assert not fallbacks()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent(kind, bias):
    """Gradients of both results: the sequence's and the last state's."""
    model = kind(5, 4, num_layers=2, bidirectional=True, bias=bias)
    names = [name for name, _ in model.named_parameters()]

    def gradients(x, *parameters):
        parameters = [p.detach().requires_grad_() for p in parameters]
        x = x.detach().requires_grad_()
        y, state = torch.func.functional_call(model, dict(zip(names, parameters)), (x,))
        states = state if isinstance(state, tuple) else (state,)
        loss = y.square().sum() + sum(s.sin().sum() for s in states)
        return y, *states, *torch.autograd.grad(loss, (x, *parameters))

    same(gradients, torch.randn(3, 2, 5), *[p.detach() for p in model.parameters()])
