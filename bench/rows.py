"""The rows of the table: a model or kernel, its inputs, and how exact its results must be.

A row's name may carry sizes in the order of its function's parameters, the last ones left out where they are the default: "bert@1x512" is
BERT with one sequence of 512 tokens; ":bf16" at the end converts weights and inputs of an inference.
"""

import dataclasses
import inspect
import math
from typing import Callable

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Work:
    """What a row runs. `module(*inputs)` is the inference; with `loss` it is a training step, whose loss is loss(output, *targets)."""

    module: torch.nn.Module
    inputs: tuple
    loss: Callable | None = None
    targets: tuple = ()


@dataclasses.dataclass
class Row:
    """`tolerance`: of the largest difference from eager's result, relative to eager's largest value; in training of the third loss,
    which depends on backward and optimizer, relative to eager's."""

    name: str
    title: str
    tolerance: float
    make: Callable[..., Work]
    training: bool = False
    kernel: bool = False  # no model: few operators, of which the size says all
    other: bool = False  # not in the table; --rows other means all of these
    sizes: tuple = ()
    dtype: torch.dtype = torch.float32
    bf16_tolerance: float = 2e-2  # a bf16 has 8 bits, and every operator of eager rounds to it

    def work(self):
        torch.manual_seed(0)
        work = self.make(*self.sizes)
        work.module.train(self.training).to(self.dtype)
        work.inputs = tuple(t.to(self.dtype) if t.is_floating_point() else t for t in work.inputs)
        return work

    def full_title(self):
        title = self.title.format(**dict(zip(inspect.signature(self.make).parameters, self.sizes)))
        return title if self.dtype == torch.float32 else f"{title}, bf16"


ROWS = {}


def row(title, tolerance, **kind):
    def add(make):
        sizes = tuple(p.default for p in inspect.signature(make).parameters.values())
        ROWS[make.__name__] = Row(make.__name__, title, tolerance, make, sizes=sizes, **kind)
        return make

    return add


def named(names):
    """The rows of a list like "gelu,bert@1x512,other"."""
    usual = [name for name, row in ROWS.items() if not row.other]
    other = [name for name, row in ROWS.items() if row.other]
    names = names.split(",") if names else usual
    return [find(each) for name in names for each in (other if name == "other" else [name])]


def find(name):
    """The row of this name, with other sizes or dtype if it carries them. Raises SystemExit that says what there is."""
    plain, _, dtype = name.partition(":")
    base, _, sizes = plain.partition("@")
    if base not in ROWS:
        raise SystemExit(f"no row '{base}'; there are {', '.join(ROWS)}")
    found = dataclasses.replace(ROWS[base], name=name)
    if sizes:
        parsed = tuple(int(s) for s in sizes.split("x") if s.isdigit())
        if len(parsed) > len(found.sizes) or "x".join(map(str, parsed)) != sizes or 0 in parsed:
            names = "x".join(inspect.signature(found.make).parameters)
            raise SystemExit(f"row '{name}': sizes of {base} are {base}@{names}, as {base}@{'x'.join(map(str, found.sizes))}")
        found.sizes = parsed + found.sizes[len(parsed):]
    if dtype:
        if dtype != "bf16" or found.training:
            raise SystemExit(f"row '{name}': the only other dtype is bf16, of inference")
        found.dtype, found.tolerance = torch.bfloat16, found.bf16_tolerance
    return found


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


# Element-wise and row kernels: the tolerance is PyTorch's own for values of about 5. Sums of n products: their rounding
# errors grow with the sum, of which the largest result is a measure.
@row("gelu tanh, {rows}×{columns}", 2e-6, kernel=True)
def gelu(rows=4096, columns=3072):
    return Work(Function(lambda x: F.gelu(x, approximate="tanh")), (torch.randn(rows, columns),))


@row("bias+gelu+mul+add, {rows}×{columns}", 2e-6, kernel=True)
def chain(rows=4096, columns=3072):
    inputs = torch.randn(rows, columns), torch.randn(columns), torch.randn(rows, columns), torch.randn(rows, columns)
    return Work(Function(lambda x, bias, scale, residual: F.gelu(x + bias, approximate="tanh") * scale + residual), inputs)


@row("softmax, {rows}×{columns}", 2e-6, kernel=True)
def softmax(rows=4096, columns=1024):
    return Work(Function(lambda x: torch.softmax(x, -1)), (torch.randn(rows, columns),))


@row("layer_norm, {rows}×{columns}", 2e-6, kernel=True)
def layer_norm(rows=4096, columns=768):
    inputs = torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)
    return Work(Function(lambda x, weight, bias: F.layer_norm(x, (columns,), weight, bias)), inputs)


@row("matmul, {m}×{k} by {k}×{n}", 1e-5, kernel=True)
def matmul(m=1024, n=1024, k=1024):
    return Work(Function(torch.matmul), (torch.randn(m, k), torch.randn(k, n)))


@row("linear+gelu, {rows}×{inputs} to {outputs}", 1e-5, kernel=True)
def linear_gelu(rows=512, inputs=768, outputs=3072):
    tensors = torch.randn(rows, inputs), torch.randn(outputs, inputs) * inputs**-0.5, torch.randn(outputs)
    return Work(Function(lambda x, weight, bias: F.gelu(F.linear(x, weight, bias), approximate="tanh")), tensors)


@row("causal attention, {batch}×{heads}×{tokens}×{size}", 1e-5, kernel=True)
def attention(batch=4, heads=12, tokens=512, size=64):
    inputs = tuple(torch.randn(batch, heads, tokens, size) for _ in range(3))
    return Work(Function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), inputs)


# Models of transformers with random weights; nothing is downloaded.
class Pick(torch.nn.Module):
    """The model with one tensor as its result."""

    def __init__(self, model, result):
        super().__init__()
        self.model, self.result = model, result

    def forward(self, x):
        output = self.model(x)
        return output[self.result] if isinstance(self.result, int) else getattr(output, self.result)


def text_model(model, config, result, batch, tokens, **sizes):
    import transformers

    config = getattr(transformers, config)(**sizes)
    return Work(Pick(getattr(transformers, model)(config), result), (torch.randint(0, config.vocab_size, (batch, tokens)),))


@row("BERT inference, {layers} layers, {batch}×{tokens}", 1e-4)
def bert(batch=4, tokens=128, layers=12):
    return text_model("BertModel", "BertConfig", "last_hidden_state", batch, tokens, num_hidden_layers=layers, max_position_embeddings=max(512, tokens))


def gpt2_model(batch, tokens, **config):
    import transformers

    config = transformers.GPT2Config(use_cache=False, n_positions=max(1024, tokens), **config)
    return Pick(transformers.GPT2LMHeadModel(config), "logits"), torch.randint(0, config.vocab_size, (batch, tokens))


@row("GPT-2 inference, {layers} layers, {batch}×{tokens}", 1e-4)
def gpt2(batch=1, tokens=256, layers=12):
    model, ids = gpt2_model(batch, tokens, n_layer=layers)
    return Work(model, (ids,))


@row("ResNet-50 inference, {batch}×{size}²", 1e-4)
def resnet50(batch=4, size=224):
    import transformers

    return Work(Pick(transformers.ResNetForImageClassification(transformers.ResNetConfig()), "logits"), (torch.randn(batch, 3, size, size),))


@row("GPT-2 training step, {layers} layers, {batch}×{tokens}", 1e-5, training=True)
def gpt2_train(batch=1, tokens=128, layers=12):
    # Dropout draws other numbers in each contender, so it is off where losses are compared.
    model, ids = gpt2_model(batch, tokens, n_layer=layers, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    return Work(model, (ids,), lambda logits, ids: F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()), (ids,))


def mlp_model():
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


@row("MLP 784-512-512-10 training step, {batch}", 1e-5, training=True)
def mlp_train(batch=128):
    return Work(mlp_model(), (torch.randn(batch, 784),), F.cross_entropy, (torch.randint(0, 10, (batch,)),))


# Other architectures, so that nothing is tuned to the rows above.
def image_model(model, config, result, batch, size, **sizes):
    import transformers

    return Work(Pick(getattr(transformers, model)(getattr(transformers, config)(**sizes)), result), (torch.randn(batch, 3, size, size),))


@row("ViT-base inference, {batch}×{size}²", 1e-4, other=True)
def vit(batch=1, size=224):
    return image_model("ViTModel", "ViTConfig", "last_hidden_state", batch, size, image_size=size)


@row("Swin-tiny inference, {batch}×{size}²", 1e-4, other=True)
def swin(batch=1, size=224):
    return image_model("SwinModel", "SwinConfig", "last_hidden_state", batch, size, image_size=size)


@row("ConvNeXt-tiny inference, {batch}×{size}²", 1e-4, other=True)
def convnext(batch=1, size=224):
    return image_model("ConvNextModel", "ConvNextConfig", "last_hidden_state", batch, size)


@row("MobileNetV2 inference, {batch}×{size}²", 1e-4, other=True)
def mobilenet(batch=1, size=224):
    return image_model("MobileNetV2Model", "MobileNetV2Config", "last_hidden_state", batch, size)


@row("SegFormer-b0 inference, {batch}×{size}²", 1e-4, other=True)
def segformer(batch=1, size=224):
    return image_model("SegformerModel", "SegformerConfig", "last_hidden_state", batch, size)


@row("XLNet, 6 layers, {batch}×{tokens}", 1e-4, other=True)
def xlnet(batch=1, tokens=128):
    return text_model("XLNetModel", "XLNetConfig", "last_hidden_state", batch, tokens, d_model=768, n_layer=6, n_head=12, d_inner=3072)


@row("MiniLM (BERT of 384 channels, 6 layers), {batch}×{tokens}", 1e-4, other=True)
def minilm(batch=1, tokens=128):
    return text_model("BertModel", "BertConfig", "last_hidden_state", batch, tokens, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)


@row("ConvNeXtV2-tiny inference, {batch}×{size}²", 1e-4, other=True)
def convnextv2(batch=1, size=224):
    return image_model("ConvNextV2Model", "ConvNextV2Config", "last_hidden_state", batch, size)


@row("MLP 784-512-512-10 inference, {batch}", 1e-4, other=True)
def mlp(batch=32):
    return Work(mlp_model(), (torch.randn(batch, 784),))


@row("T5-base encoder, {batch}×{tokens}", 1e-4, other=True)
def t5(batch=1, tokens=128):
    return text_model("T5EncoderModel", "T5Config", "last_hidden_state", batch, tokens, d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12, use_cache=False)


@row("Llama of 1024 channels, {layers} layers, {batch}×{tokens}", 1e-4, other=True)
def llama(batch=1, tokens=128, layers=8):
    return text_model("LlamaForCausalLM", "LlamaConfig", "logits", batch, tokens, hidden_size=1024, intermediate_size=2816, num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=4, use_cache=False)


@row("Whisper-base encoder, {batch}×{frames} frames", 1e-4, other=True)
def whisper(batch=1, frames=3000):
    import transformers

    config = transformers.WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048, decoder_layers=1, decoder_attention_heads=8, max_source_positions=frames // 2)
    return Work(Pick(transformers.WhisperModel(config).encoder, "last_hidden_state"), (torch.randn(batch, config.num_mel_bins, frames),))


@row("Wav2Vec2-base inference, {batch}×{samples} samples", 1e-4, other=True, bf16_tolerance=3e-2)  # eager's own is 1.9e-2 from f64's
def wav2vec2(batch=1, samples=16000):
    import transformers

    return Work(Pick(transformers.Wav2Vec2Model(transformers.Wav2Vec2Config()), "last_hidden_state"), (torch.randn(batch, samples),))


@row("LSTM, {layers} layers of {size}, {batch}×{steps}", 1e-4, other=True)
def lstm(batch=32, steps=64, size=256, layers=2):
    return Work(Pick(torch.nn.LSTM(size, size, layers, batch_first=True), 0), (torch.randn(batch, steps, size),))


@row("BERT training step, {layers} layers, {batch}×{tokens}", 1e-5, training=True, other=True)
def bert_train(batch=4, tokens=128, layers=6):
    import transformers

    config = transformers.BertConfig(num_hidden_layers=layers, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    ids = torch.randint(0, config.vocab_size, (batch, tokens))
    return Work(Pick(transformers.BertForMaskedLM(config), "logits"), (ids,), lambda logits, ids: F.cross_entropy(logits.flatten(0, 1), ids.flatten()), (ids,))


@row("ResNet-50 training step, {batch}×{size}²", 1e-4, training=True, other=True)
def resnet50_train(batch=4, size=224):
    work = resnet50(batch, size)
    with torch.no_grad():  # small residuals at first, as one trains it; else parameters changed by 1e-7 change the third loss by 2 %
        for name, weight in work.module.named_parameters():
            if name.endswith("layer.2.normalization.weight"):
                weight.fill_(0.02)
    return dataclasses.replace(work, loss=F.cross_entropy, targets=(torch.randint(0, 2, (batch,)),))


def cost(work, training):
    """What the row can't do without: floating-point operations, bytes that it reads and writes once each, and bytes of the
    optimizer, which works when the rest is done. Runs the module once in eager mode."""
    from torch.utils.flop_counter import FlopCounterMode

    def causal_attention(q, k, v, *args, out_shape=None, dropout_p=0.0, is_causal=False, **_):
        is_causal = args[1] if len(args) > 1 else is_causal
        pairs = q[2] * k[2] if not is_causal else sum(min(i + 1, k[2]) for i in range(q[2]))
        return 2 * q[0] * q[1] * pairs * (q[3] + v[3])

    def causal_attention_backward(grad, q, k, v, out, logsumexp, dropout_p, is_causal, **_):
        return causal_attention(q, k, v, is_causal=is_causal) * 5 // 2  # five products instead of two

    def recurrent_layer(x, input_weight, hidden_weight, *_, **__):
        return 2 * math.prod(x[:-1]) * (math.prod(input_weight) + math.prod(hidden_weight))

    mapping = {torch.ops.aten.mkldnn_rnn_layer: recurrent_layer,
               torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: causal_attention,
               torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: causal_attention_backward}
    size = lambda tensors: sum(t.numel() * t.element_size() for t in tensors)
    parameters = list(work.module.parameters())
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter, torch.set_grad_enabled(training):
        result = work.module(*work.inputs)
        if training:
            work.loss(result, *work.targets).backward()
    if training:
        work.module.zero_grad()
        # Forward and backward read the parameters, backward writes gradients; AdamW reads four arrays and writes three.
        return dict(flops=counter.get_total_flops(), bytes=3 * size(parameters), optimizer_bytes=7 * size(parameters))
    tables = {id(p) for m in work.module.modules() if isinstance(m, torch.nn.Embedding) for p in m.parameters()}
    used = {id(p) for m in work.module.modules() if not isinstance(m, torch.nn.Embedding) for p in m.parameters(recurse=False)}
    read = [p for p in parameters if id(p) not in tables - used]  # of an embedding's table only a few rows
    return dict(flops=counter.get_total_flops(), bytes=size([*work.inputs, *read, result]), optimizer_bytes=0)
