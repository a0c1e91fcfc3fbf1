"""Architectures beyond those of test_models.py, as a user has them: training on the device, inference, greedy generation and StableHLO, without fallbacks."""

import copy

import pytest
import torch
import transformers as tf
from torch import nn

import torch_cresset
from conftest import fallbacks

VOCABULARY = 61
SIZES = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, vocab_size=VOCABULARY, max_position_embeddings=32)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPED = dict(num_key_value_heads=2, **TOKENS)
SEQUENCES = dict(vocab_size=VOCABULARY, d_model=32, encoder_attention_heads=4, decoder_attention_heads=4, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=48,
                 decoder_ffn_dim=48, dropout=0.0, decoder_start_token_id=2, **TOKENS)


def tokens(length=8):
    ids = torch.randint(3, VOCABULARY, (2, length))
    return {"input_ids": ids, "labels": ids}


def padded():
    batch = tokens()
    mask = torch.ones_like(batch["input_ids"])
    mask[0, -2:] = 0
    return batch | {"attention_mask": mask}


def images(size, labels=()):
    return lambda: {"pixel_values": torch.randn(2, 3, size, size), "labels": torch.randint(0, 2, (2, *labels))}


def speech():
    return {"input_features": torch.randn(2, 16, 24), "labels": torch.randint(3, VOCABULARY, (2, 6))}


class WithLoss(nn.Module):
    """A module of torch.nn with the interface of the models from transformers."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x, labels):
        y = self.body(x)
        y = y[0] if isinstance(y, tuple) else y
        logits = y.flatten(1)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def of(*shape):
    return lambda: {"x": torch.randn(2, *shape), "labels": torch.randint(0, 4, (2,))}


def encoder(**options):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, **options), 1, enable_nested_tensor=False)


def volumes():
    return nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.AvgPool3d(2), nn.AdaptiveAvgPool3d(1))


def planes():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.MaxPool2d(2), nn.ConvTranspose2d(8, 8, 2, 2), nn.PixelShuffle(2),
                         nn.AdaptiveMaxPool2d(3), nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 4, 3)))


MODELS = {
    "t5": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, dropout_rate=0,
                                                             decoder_start_token_id=0)), tokens),
    "bart": (lambda: tf.BartForConditionalGeneration(tf.BartConfig(max_position_embeddings=32, **SEQUENCES)), padded),
    "whisper": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(num_mel_bins=16, max_source_positions=12, max_target_positions=32, **SEQUENCES)), speech),
    "deberta": (lambda: tf.DebertaV2ForMaskedLM(tf.DebertaV2Config(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4, **SIZES, **NO_DROPOUT)), padded),
    "albert": (lambda: tf.AlbertForMaskedLM(tf.AlbertConfig(embedding_size=16, **SIZES, **NO_DROPOUT)), padded),
    "mixtral": (lambda: tf.MixtralForCausalLM(tf.MixtralConfig(num_local_experts=3, num_experts_per_tok=2, **SIZES, **GROUPED)), tokens),
    "qwen3": (lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(head_dim=8, **SIZES, **GROUPED)), padded),
    "gemma2": (lambda: tf.Gemma2ForCausalLM(tf.Gemma2Config(head_dim=8, sliding_window=4, query_pre_attn_scalar=8, **SIZES, **GROUPED)), padded),
    "bloom": (lambda: tf.BloomForCausalLM(tf.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=1, n_head=4, **TOKENS)), tokens),
    "gptneox": (lambda: tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**SIZES, **TOKENS)), tokens),
    "mamba": (lambda: tf.MambaForCausalLM(tf.MambaConfig(vocab_size=VOCABULARY, hidden_size=16, state_size=4, num_hidden_layers=1, **TOKENS)), lambda: tokens(4)),
    "swin": (lambda: tf.SwinForImageClassification(tf.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[2], num_heads=[2], window_size=4, drop_path_rate=0.0,
                                                                 num_labels=2, **NO_DROPOUT)), images(16)),
    "segformer": (lambda: tf.SegformerForSemanticSegmentation(tf.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], strides=[4, 2],
                                                                                 patch_sizes=[7, 3], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=8, num_labels=2,
                                                                                 classifier_dropout_prob=0.0, drop_path_rate=0.0, **NO_DROPOUT)), images(32, (32, 32))),
    "lstm": (lambda: WithLoss(nn.LSTM(6, 8, 1, bidirectional=True, batch_first=True)), of(3, 6)),
    "gru": (lambda: WithLoss(nn.GRU(6, 8, 1, batch_first=True)), of(3, 6)),
    "encoder": (lambda: WithLoss(encoder()), of(5, 16)),
    "encoder_norm_first": (lambda: WithLoss(encoder(norm_first=True, activation="gelu")), of(5, 16)),
    "volumes": (lambda: WithLoss(volumes()), of(2, 6, 6, 6)),
    "planes": (lambda: WithLoss(planes()), of(3, 8, 8)),
}
GENERATING = ["t5", "bart", "mixtral", "qwen3", "gemma2", "bloom", "mamba"]
COMPILED = ["t5", "mixtral", "encoder"]


def made(name):
    model, batch = MODELS[name]
    model, batch = model(), batch()
    with torch.no_grad():
        for p in model.parameters():  # so that gradients are not all but zero
            if p.dim() > 1:
                p.normal_(std=0.1)
    return model, batch


def moved(batch, device):
    return {k: v.to(device) for k, v in batch.items()}


def train(model, batch, call=None):
    """Losses of two steps, and the gradients of the first."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, gradients = [], None
    for _ in range(2):
        loss = (model if call is None else call)(**batch)["loss"]
        loss.backward()
        gradients = gradients or {n: p.grad.detach().cpu().clone() for n, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, gradients


def check(actual, expected):
    torch.testing.assert_close(actual[0], expected[0], rtol=1e-5, atol=1e-5)
    assert actual[1].keys() == expected[1].keys()
    for name, gradient in expected[1].items():
        torch.testing.assert_close(actual[1][name], gradient, msg=lambda m: f"gradient of {name}: {m}")
    assert not fallbacks()


@pytest.mark.parametrize("name", MODELS)
def test_on_the_device(name):
    model, batch = made(name)
    expected = train(copy.deepcopy(model), batch)
    check(train(copy.deepcopy(model).to("cresset"), moved(batch, "cresset")), expected)
    # Inference, where torch.nn has fused operators of its own.
    model.eval()
    twin = copy.deepcopy(model).to("cresset")
    with torch.inference_mode():
        torch.testing.assert_close(twin(**moved(batch, "cresset"))["logits"].cpu(), model(**batch)["logits"], rtol=1e-5, atol=1e-5)
    assert not fallbacks()


@pytest.mark.parametrize("name", COMPILED)
def test_through_compile(name):
    model, batch = made(name)
    expected = train(copy.deepcopy(model), batch)
    check(train(model, batch, torch.compile(model, backend="cresset")), expected)


@pytest.mark.parametrize("name", GENERATING)
def test_generation(name):
    model, batch = made(name)
    model.eval()
    ids = batch["input_ids"][:1]
    options = dict(max_new_tokens=6, min_new_tokens=6, do_sample=False)
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
    model.to("cresset")
    torch_cresset.reset_counters()
    move = lambda: model.generate(ids.to("cresset"), attention_mask=torch.ones_like(ids).to("cresset"), **options).cpu()
    assert torch.equal(move(), expected)
    compiled = torch_cresset.counters()["cresset.compile"]
    assert torch.equal(move(), expected)
    # The same lengths again: what is still compiled does not grow with the number of tokens.
    assert torch_cresset.counters()["cresset.compile"] - compiled <= 4
    assert not fallbacks()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["t5", "bart", "qwen3", "gptneox"])
def test_stablehlo(name, attention):
    model, batch = made(name)
    model.eval().set_attn_implementation(attention)
    text = torch_cresset.stablehlo(model, **batch)
    assert "func.func" in text and 'stablehlo.composite "aten.' in text


def test_stablehlo_takes_tensors_of_the_cpu():
    outside = torch.arange(4.0)
    text = torch_cresset.stablehlo(lambda x: x[torch.tensor([1, 0])] * torch.arange(4.0) + outside.to(x.device) + x.cpu(), torch.randn(2, 4))
    assert "func.func" in text
    with pytest.raises(RuntimeError, match="cpu"):  # written in place, where nobody would see it
        torch_cresset.stablehlo(lambda x: outside.add_(x[0]), torch.randn(2, 4))
