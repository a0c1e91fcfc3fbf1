"""Real models train as they do on eager CPU: on the device, and through torch.compile."""

import copy

import pytest
import torch
import transformers

import torch_cresset
from conftest import fallbacks

VOCABULARY = 97


def gpt2(activation="gelu_pytorch_tanh"):
    config = transformers.GPT2Config(n_layer=2, n_embd=48, n_head=4, vocab_size=VOCABULARY, n_positions=32, activation_function=activation,
                                     resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0, loss_type="ForCausalLMLoss")
    return transformers.GPT2LMHeadModel(config), tokens


def bert():
    config = transformers.BertConfig(num_hidden_layers=2, hidden_size=48, num_attention_heads=4, intermediate_size=96, vocab_size=VOCABULARY,
                                     max_position_embeddings=32, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return transformers.BertForMaskedLM(config), tokens


def llama():
    config = transformers.LlamaConfig(num_hidden_layers=2, hidden_size=48, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
                                      vocab_size=VOCABULARY, max_position_embeddings=32, bos_token_id=0, eos_token_id=0, loss_type="ForCausalLMLoss")
    return transformers.LlamaForCausalLM(config), tokens


def vit():
    config = transformers.ViTConfig(num_hidden_layers=2, hidden_size=48, num_attention_heads=4, intermediate_size=96, image_size=16, patch_size=4,
                                    hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=5)
    return transformers.ViTForImageClassification(config), images(16)


def resnet():
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=5)
    return transformers.ResNetForImageClassification(config), images(32)


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
    return model, lambda: {"input": torch.randn(8, 20), "labels": torch.randint(0, 5, (8,))}


def tokens():
    ids = torch.randint(0, VOCABULARY, (2, 16))
    return {"input_ids": ids, "labels": ids}


def images(size):
    return lambda: {"pixel_values": torch.randn(2, 3, size, size), "labels": torch.randint(0, 5, (2,))}


MODELS = {"gpt2": gpt2, "gpt2_gelu_new": lambda: gpt2("gelu_new"), "bert": bert, "llama": llama, "vit": vit, "resnet": resnet, "mlp": mlp}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=False),
    "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
    "adamw_foreach": lambda p: torch.optim.AdamW(p, lr=1e-3, foreach=True),
}


def loss_of(model, batch):
    if "input" in batch:
        return torch.nn.functional.cross_entropy(model(batch["input"]), batch["labels"])
    return model(**batch).loss


def train(model, batches, optimizer, device, call=None, schedule=False):
    """Losses of the steps, and the gradients of the first."""
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7) if schedule else None
    losses, gradients, compiles = [], None, []
    for batch in batches:
        loss = loss_of(call if call is not None else model, {k: v.to(device) for k, v in batch.items()})
        loss.backward()
        if gradients is None:
            gradients = {n: p.grad.detach().cpu().clone() for n, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        if scheduler:
            scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        compiles.append(torch_cresset.counters().get("cresset.compile", 0))
    return losses, gradients, compiles


def compare(expected, actual):
    # Sums of a few hundred terms in another order; PyTorch's default tolerances for f32 hold for the losses.
    torch.testing.assert_close(torch.tensor(actual[0]), torch.tensor(expected[0]), rtol=2e-5, atol=1e-5)
    assert actual[1].keys() == expected[1].keys()
    for name, gradient in expected[1].items():
        torch.testing.assert_close(actual[1][name], gradient, rtol=1e-3, atol=2e-5, msg=lambda m: f"gradient of {name}: {m}")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_training_on_the_device(name, optimizer):
    if optimizer != "adamw" and name not in ("gpt2", "mlp"):
        pytest.skip("optimizers do not depend on the model: all of them run with gpt2 and mlp")
    model, batch = MODELS[name]()
    batches = [batch() for _ in range(3)]
    twin = copy.deepcopy(model).to("cresset")
    torch_cresset.reset_counters()
    expected = train(model, batches, optimizer, "cpu")
    compare(expected, train(twin, batches, optimizer, "cresset"))
    assert not fallbacks()


@pytest.mark.parametrize("name", MODELS)
def test_training_through_compile(name):
    model, batch = MODELS[name]()
    batches = [batch() for _ in range(3)]
    twin = copy.deepcopy(model)
    torch_cresset.reset_counters()
    expected = train(model, batches, "adamw", "cpu")
    compare(expected, train(twin, batches, "adamw", "cpu", call=torch.compile(twin, backend="cresset")))
    assert not fallbacks()
    assert {"cresset.compile", "cresset.cache_hit"} & torch_cresset.counters().keys()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_changing_learning_rate_does_not_recompile(optimizer):
    model, batch = mlp()
    _, _, compiles = train(model.to("cresset"), [batch() for _ in range(6)], optimizer, "cresset", schedule=True)
    # The gradients of the first step are read there, which ends a window of its own.
    assert compiles[-1] == compiles[2]


@pytest.mark.parametrize(
    "name, options", [("AdamW", {}), ("AdamW", {"fused": True}), ("Adam", {"amsgrad": True}), ("RMSprop", {"centered": True, "momentum": 0.9}), ("Adadelta", {}), ("Adagrad", {"initial_accumulator_value": 0.1}), ("Rprop", {})],
    ids=str,
)
def test_the_first_step_is_the_program_of_all_steps(name, options):
    """New states are bytes in it, as old ones are later."""
    model, batch = mlp()
    # In the order of memory in which weights of convolutions have their channels last, too.
    model = torch.nn.Sequential(torch.nn.Unflatten(1, (1, 4, 5)), torch.nn.Conv2d(1, 4, 3), torch.nn.Conv2d(4, 1, 3, padding=2), torch.nn.Flatten(), model).to(memory_format=torch.channels_last)
    twin, batch = copy.deepcopy(model), batch()

    def steps(model, device):
        data = {k: v.to(device) for k, v in batch.items()}
        model.to(device)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-3, **options)
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(model, data).backward()
            optimizer.step()

    torch_cresset.reset_counters()
    steps(twin, "cresset")
    assert torch_cresset.counters()["cresset.execute"] == 3 and torch_cresset.counters()["cresset.cache_hit"] >= 2
    steps(model, "cpu")
    for ours, expected in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.detach().cpu(), expected, rtol=2e-5, atol=1e-5)


def test_inference_equals_eager():
    model, batch = bert()
    model.eval()
    ids = batch()["input_ids"]
    with torch.no_grad():
        expected = model(ids).logits
        torch.testing.assert_close(torch.compile(model, backend="cresset")(ids).logits, expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(copy.deepcopy(model).to("cresset")(ids.to("cresset")).logits.cpu(), expected, rtol=1e-4, atol=1e-5)
