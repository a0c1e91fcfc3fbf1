"""Several threads that call compiled models at the same time."""

import os
import threading

import pytest
import torch

import torch_cresset

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="runs beside each other need two processors")
CALLS = 100


@pytest.fixture(autouse=True)
def one_thread_each():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def model_of(seed=0):
    torch.manual_seed(seed)
    layers = [torch.nn.Conv2d(3, 16, 3, 2, 1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2, 1), torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
              torch.nn.Linear(128, 256), torch.nn.Softmax(-1)]
    return torch.nn.Sequential(*layers).eval()


def on_the_road(road, model):
    if road == "exported":
        return torch_cresset.load(torch.export.export(model, (torch.randn(2, 3, 64, 64),)))
    torch._dynamo.reset()
    return torch.compile(model, backend="cresset")


def beside():
    return torch_cresset.counters().get("cresset.run_beside", 0)


def call_at_once(functions, inputs):
    """The results of each function, called again and again with its own input by a thread of its own."""
    results, errors, start = [[] for _ in functions], [], threading.Barrier(len(functions))

    def client(i):
        try:
            start.wait()
            with torch.no_grad():
                results[i] = [functions[i](inputs[i]) for _ in range(CALLS)]
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    return results


def check_beside_each_other(functions, inputs, expected):
    """Calls at once give what is expected, and runs beside each other are among them: how soon two threads meet, a second time once there is a twin, is the scheduler's choice."""
    before = beside()
    for _ in range(50):
        for results, reference in zip(call_at_once(functions, inputs), expected, strict=True):
            assert len(results) == CALLS
            for y in results:
                torch.testing.assert_close(y, reference)
        if beside() > before:
            return
    pytest.fail("no run was beside another one")


@pytest.mark.parametrize("road", ["exported", "compiled"])
def test_clients_run_beside_each_other(road):
    model = model_of()
    function, inputs = on_the_road(road, model), [torch.randn(2, 3, 64, 64) for _ in range(3)]
    with torch.no_grad():
        for _ in range(4):  # until what is made of weights is there
            function(inputs[0])
        for scale in (1.0, 2.0):  # what one has packed of weights the other must not go on with when they have changed
            model[-2].weight.mul_(scale)
            model[3].weight.mul_(scale)
            check_beside_each_other([function] * 3, inputs, [model(x) for x in inputs])


def test_clients_with_batches_of_many_sizes_run_beside_each_other():
    model, example = model_of(), torch.randn(2, 3, 64, 64)
    function = torch_cresset.load(torch.export.export(model, (example,), dynamic_shapes=({0: torch.export.Dim("batch", max=64)},)))
    inputs = [torch.randn(n, 3, 64, 64) for n in (1, 3, 5, 6, 9)]
    with torch.no_grad():
        for _ in range(40):  # until each size is compiled
            for x in inputs:
                function(x)
        check_beside_each_other([lambda xs: [function(x) for x in xs]] * 3, [inputs] * 3, [[model(x) for x in inputs]] * 3)


def test_models_run_beside_each_other():
    models, inputs = [model_of(), model_of(1)], [torch.randn(2, 3, 64, 64) for _ in range(2)]
    functions = [torch_cresset.load(torch.export.export(m, (x,))) for m, x in zip(models, inputs)]
    with torch.no_grad():
        for f, x in zip(functions, inputs):
            for _ in range(4):
                f(x)
        check_beside_each_other(functions, inputs, [model(x) for model, x in zip(models, inputs)])


def test_clients_take_turns_where_each_has_all_processors():
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model, x = model_of(), torch.randn(2, 3, 64, 64)
    function = on_the_road("exported", model)
    before = beside()
    for results in call_at_once([function] * 2, [x, x]):
        for y in results:
            torch.testing.assert_close(y, model(x))
    assert beside() == before


def test_training_beside_each_other():
    models = [model_of(), model_of()]
    torch._dynamo.reset()
    fast = torch.compile(models[1], backend="cresset")
    inputs = [torch.randn(2, 3, 64, 64) for _ in range(2)]

    def gradient(f, x):
        x = x.clone().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(f(x)[:, 0].sum(), x)[0]

    gradient(fast, inputs[0])
    expected = [gradient(models[0], x) for x in inputs]
    for results, reference in zip(call_at_once([lambda x: gradient(fast, x)] * 2, inputs), expected, strict=True):
        for y in results:
            torch.testing.assert_close(y, reference)
