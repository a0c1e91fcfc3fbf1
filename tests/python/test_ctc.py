"""ctc_loss and its gradient, against eager; ops/composites.yaml's tests compare it with the interpreter and XLA."""

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks

STEPS, BATCH, CLASSES = 37, 5, 11
INPUT_LENGTHS, TARGET_LENGTHS = [37, 20, 30, 1, 36], [9, 0, 17, 1, 3]


def problem(dtype=torch.float32, flat=True, classes=CLASSES):
    x = torch.randn(STEPS, BATCH, classes, dtype=dtype)
    targets = torch.randint(1, classes - 1, (BATCH, max(TARGET_LENGTHS)))
    targets[2, 4:7] = 2  # equal labels, between which a blank has to be
    if flat:
        targets = torch.cat([row[:n] for row, n in zip(targets, TARGET_LENGTHS)])
    else:  # what lies behind a target is never looked at
        for row, n in zip(targets, TARGET_LENGTHS):
            row[n:] = -1
    return x, targets


def loss_and_gradient(device, x, targets, *lengths, **options):
    x = x.detach().to(device).requires_grad_()
    loss = F.ctc_loss(x.log_softmax(-1), targets.to(device), *lengths, **options)
    (gradient,) = torch.autograd.grad(loss, x, torch.linspace(1, 2, loss.numel(), dtype=x.dtype).reshape(loss.shape).to(device))
    return loss.detach().cpu(), gradient.cpu()


def assert_as_near(ours, eager, exact):
    """As eager's, or about as near to the loss and the gradient in f64: terms of thousands cancel."""
    for a, b, c in zip(ours, eager, exact, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        good = torch.isclose(a, b, rtol=1.3e-6, atol=1e-5, equal_nan=True) if a.dtype == torch.float32 else torch.isclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=True)
        assert (good | ((a - c).abs() <= 2 * (b - c).abs().max() + 1e-6)).all()


@pytest.mark.parametrize("options", [{}, {"reduction": "sum"}, {"reduction": "none", "blank": 10}], ids=str)
@pytest.mark.parametrize("lengths", ["lists", "tensors"])
@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_like_eager(dtype, flat, lengths, options):
    x, targets = problem(dtype, flat)
    counts = [torch.tensor(n) for n in (INPUT_LENGTHS, TARGET_LENGTHS)] if lengths == "tensors" else [INPUT_LENGTHS, TARGET_LENGTHS]
    assert_as_near(*[loss_and_gradient(device, t, targets, *counts, **options) for device, t in (("cresset", x), ("cpu", x), ("cpu", x.double()))])
    assert not fallbacks()
    counted = torch_cresset.counters()
    assert counted["cresset::_ctc_loss"] == 1 and counted["cresset::_ctc_loss_backward"] == 1


@pytest.mark.parametrize("zero_infinity", [True, False])
def test_targets_that_no_input_spells(zero_infinity):
    x, targets = problem()
    lengths = [[37, 20, 12, 0, 0], [9, 0, 17, 1, 3]]  # 17 labels in 12 steps, and labels without a step
    for ours, eager in zip(*[loss_and_gradient(device, x, targets, *lengths, reduction="none", zero_infinity=zero_infinity) for device in ("cresset", "cpu")]):
        torch.testing.assert_close(ours, eager, equal_nan=True)


def test_no_labels_and_one_step():
    x = torch.randn(1, 2, 3)
    for targets, lengths in ((torch.zeros(0, dtype=torch.long), [0, 0]), (torch.tensor([1, 2]), [1, 1]), (torch.zeros(2, 0, dtype=torch.long), [0, 0])):
        for ours, eager in zip(*[loss_and_gradient(device, x, targets, [1, 1], lengths, reduction="none") for device in ("cresset", "cpu")]):
            torch.testing.assert_close(ours, eager)


def test_one_input_without_a_batch():
    x = torch.randn(20, 7)
    for ours, eager in zip(*[loss_and_gradient(device, x, torch.tensor([1, 2, 2, 6]), torch.tensor(19), torch.tensor(4)) for device in ("cresset", "cpu")]):
        torch.testing.assert_close(ours, eager)


def test_long_inputs_as_precisely_as_eager():
    torch.manual_seed(1)
    x, targets = torch.randn(700, 2, 40), torch.randint(1, 40, (2, 120))
    assert_as_near(*[loss_and_gradient(device, t, targets, [700, 650], [120, 90], reduction="sum") for device, t in (("cresset", x), ("cpu", x), ("cpu", x.double()))])


def test_other_lengths_run_the_same_program():
    x, targets = problem(flat=False)
    targets.clamp_(min=0)
    for turn in range(4):
        torch_cresset.reset_counters()
        lengths = [n - turn if n > turn else n for n in INPUT_LENGTHS], [max(n - turn, 0) for n in TARGET_LENGTHS]
        for ours, eager in zip(loss_and_gradient("cresset", x, targets, *lengths), loss_and_gradient("cpu", x, targets, *lengths)):
            torch.testing.assert_close(ours, eager)
    assert torch_cresset.counters().get("cresset.compile", 0) == 0


def test_under_torch_compile():
    x, targets = problem()
    compiled = torch.compile(lambda x: F.ctc_loss((x * 2).log_softmax(-1), targets, INPUT_LENGTHS, TARGET_LENGTHS), backend="cresset")
    leaf, other = x.requires_grad_(), x.detach().clone().requires_grad_()
    loss, expected = compiled(leaf), F.ctc_loss((other * 2).log_softmax(-1), targets, INPUT_LENGTHS, TARGET_LENGTHS)
    torch.testing.assert_close(loss, expected)
    loss.backward(), expected.backward()
    torch.testing.assert_close(leaf.grad, other.grad)


@pytest.mark.parametrize("change, text", [
    ({"input_lengths": [37] * 4}, "input_lengths must be of size batch_size"), ({"target_lengths": [1] * 6}, "target_lengths must be of size batch_size"),
    ({"input_lengths": [38, 1, 1, 1, 1]}, "input_lengths to have value at least 0 and at most 37"), ({"blank": 11}, "blank must be in label range"),
    ({"target_lengths": [18, 1, 1, 1, 1]}, "at least 18 labels"), ({"target_lengths": [-1, 1, 1, 1, 1]}, "at least 0"), ({"dtype": torch.bfloat16}, "not implemented for log_probs"),
    ({"classes": 7}, "index out of range in aten::_ctc_loss")], ids=str)
def test_errors(change, text):
    x, targets = problem(flat=False)
    options = {"input_lengths": INPUT_LENGTHS, "target_lengths": TARGET_LENGTHS, "blank": 0} | change
    x = x.to(options.pop("dtype", x.dtype))[:, :, :options.pop("classes", CLASSES)]
    with pytest.raises(RuntimeError, match=text):
        F.ctc_loss(x.to("cresset"), targets.to("cresset"), **options).cpu()
