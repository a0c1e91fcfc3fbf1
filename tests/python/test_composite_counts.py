"""Training steps of real models contain the composites that one counts by hand, no more and no fewer, forward and backward; without composites the numbers are the same."""

import collections

import pytest
import torch
import transformers

import torch_cresset
from composite_cases import CATALOGUE
from conftest import fallbacks
from test_composite_families import whole

SIZES = dict(hidden_size=48, num_attention_heads=4, intermediate_size=80)
LANGUAGE = dict(vocab_size=97, max_position_embeddings=32, bos_token_id=0, eos_token_id=0, pad_token_id=0)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
LOSS = {"aten.cross_entropy_loss": 1}


def tokens():
    ids = torch.randint(0, 97, (2, 16))
    return {"input_ids": ids, "labels": ids}


def images():
    return {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.randint(0, 5, (2,))}


def gpt2(layers):
    config = transformers.GPT2Config(n_layer=layers, n_embd=48, n_head=4, vocab_size=97, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
                                     loss_type="ForCausalLMLoss")
    return transformers.GPT2LMHeadModel(config), tokens(), LOSS | {
        "aten.embedding": 2,                               # tokens, positions
        "aten.layer_norm": 2 * layers + 1,                 # before attention and MLP; the last
        "aten.addmm": 4 * layers,                          # query-key-value, projection, MLP up and down: a Conv1D is an addmm, and its gradients are products
        "aten.linear": 1,                                  # the head
        "aten.scaled_dot_product_attention": layers,
        "aten.gelu": layers,                               # gelu_new, written by hand: raised
    }


def bert(layers):
    return transformers.BertForMaskedLM(transformers.BertConfig(num_hidden_layers=layers, **SIZES, **LANGUAGE, **NO_DROPOUT)), tokens(), LOSS | {
        "aten.embedding": 3,                               # tokens, positions, segments
        "aten.layer_norm": 1 + 2 * layers + 1,             # embeddings; after attention and MLP; the head's transform
        "aten.linear": 6 * layers + 2,                     # query, key, value, projection, MLP up and down; the head's transform and decoder
        "aten.scaled_dot_product_attention": layers,
        "aten.gelu": layers + 1,                           # MLP; the head's transform
    }


def llama(layers):
    config = transformers.LlamaConfig(num_hidden_layers=layers, num_key_value_heads=2, loss_type="ForCausalLMLoss", **SIZES, **LANGUAGE)
    return transformers.LlamaForCausalLM(config), tokens(), LOSS | {
        "aten.embedding": 1,
        "aten.rms_norm": 2 * layers + 1,                   # before attention and MLP; the last; written by hand: raised
        "aten.scaled_dot_product_attention": layers,
        "aten.silu": layers,
        "aten.linear": 7 * layers + 1,                     # query, key, value, projection, gate, MLP up and down; the head
    }


def vit(layers):
    return transformers.ViTForImageClassification(transformers.ViTConfig(num_hidden_layers=layers, image_size=32, patch_size=8, num_labels=5, **SIZES, **NO_DROPOUT)), images(), LOSS | {
        "aten.convolution": 1,                             # patches
        "aten.layer_norm": 2 * layers + 1,                 # before attention and MLP; the last
        "aten.linear": 6 * layers + 1,                     # query, key, value, projection, MLP up and down; the classifier
        "aten.scaled_dot_product_attention": layers,
        "aten.gelu": layers,
    }


def resnet(blocks):
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[blocks, blocks], num_labels=5)
    return transformers.ResNetForImageClassification(config), images(), LOSS | {
        "aten.convolution": 1 + 2 * 3 * blocks + 1,        # the stem; three a block in two stages; the shortcut where the second stage halves the image
        "aten.batch_norm": 1 + 2 * 3 * blocks + 1,         # one after each
        "aten.relu": 1 + 2 * 3 * blocks,                   # after each but the shortcut
        "aten.max_pool2d": 1,                              # the average over the whole image is a mean for PyTorch
        "aten.linear": 1,                                  # the classifier
    }


MODELS = {"gpt2": gpt2, "bert": bert, "llama": llama, "vit": vit, "resnet": resnet}


class Step(torch.nn.Module):
    """The loss and all gradients, as one function."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, batch):
        loss = self.model(**batch).loss
        return [loss, *torch.autograd.grad(loss, list(self.model.parameters()))]


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_composites_are_those_counted_by_hand(name, layers):
    model, batch, forward = MODELS[name](layers)
    # Each of them once more backward, but for addmm: the gradients of its factors are products.
    expected = forward | {CATALOGUE[composite]["backward"]: count for composite, count in forward.items() if "backward" in CATALOGUE[composite]}
    if "aten.addmm" in forward:
        expected["aten.mm"] = 2 * forward["aten.addmm"]
    assert set(forward) - {"aten.addmm"} == {composite for composite in forward if "backward" in CATALOGUE[composite]}
    text = torch_cresset.stablehlo(Step(model), batch)
    assert collections.Counter(composite for composite, _, _ in whole(text)) == expected
    with torch_cresset.composites("none"):
        assert "composite" not in torch_cresset.stablehlo(Step(model), batch)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradients_of_a_compiled_step_are_those_counted_by_hand(name):
    """Forward and backward are two programs here; what is written by hand is computed in both, so it may be counted twice."""
    model, batch, forward = MODELS[name](2)
    compiled = torch.compile(model, backend="cresset")
    said = collections.Counter()
    for c in torch_cresset.explain(lambda: compiled(**batch).loss.backward()):
        said[c.name] += c.count
    for composite, count in forward.items():
        assert said[composite] == count or (composite in ("aten.gelu", "aten.rms_norm") and said[composite] == 2 * count), said
        if "backward" in CATALOGUE[composite]:
            assert said[CATALOGUE[composite]["backward"]] == count, said
    assert not fallbacks()


@pytest.mark.parametrize("name", MODELS)
def test_without_composites_the_numbers_are_the_same(name):
    model, batch, forward = MODELS[name](2)
    step = Step(model)
    eager = [t.detach() for t in step(batch)]
    step.to("cresset")
    batch = {key: value.to("cresset") for key, value in batch.items()}
    results = {}
    for kept in ("all", "none"):
        with torch_cresset.composites(kept):
            said = torch_cresset.explain(lambda: results.update({kept: [t.detach().cpu() for t in step(batch)]}))
        decomposed = [c for c in said if "not among the composites that are kept" in c.why]
        assert sum(c.count for c in decomposed) == (0 if kept == "all" else sum(c.count for c in said)) and said
    # A kernel a composite would be another spelling of the same; so between the two only the order of sums may differ.
    for whole_, plain, e in zip(results["all"], results["none"], eager):
        torch.testing.assert_close(whole_, plain, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(whole_, e, rtol=1e-3, atol=2e-5)
    assert not fallbacks()
