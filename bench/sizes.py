"""What a new size costs: models whose inputs have another size in each call, none of which comes twice, against eager.

    .venv/bin/python bench/sizes.py [NAME ...] [--count 32] [--docs FILE]

Times are of single calls, each the first of its size: medians of early ones and of late ones in a process that begins with an empty cache, and of a next process's, whose sizes are others. The
first two sizes are left out. Results are compared with eager's.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import report
from worker import difference

BEGIN, END = "<!-- sizes: written by bench/sizes.py -->", "<!-- /sizes -->"
TOLERANCE = 1e-4
BEFORE = 2  # sizes, from which on they are known to change
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def tokens(config, batches=(1, 8), lengths=(16, 256)):
    import torch
    return lambda draw: {"input_ids": torch.randint(1, config.vocab_size, (draw.randint(*batches), draw.randint(*lengths)))}


def images(sizes=(96, 288), step=1):
    import torch
    return lambda draw: {"pixel_values": torch.randn(1, 3, draw.randrange(*sizes, step), draw.randrange(*sizes, step))}


@model
def bert(T):
    config = T.BertConfig(hidden_size=512, num_attention_heads=8, intermediate_size=2048, num_hidden_layers=6)
    return T.BertModel(config), tokens(config)


@model
def llama(T):
    config = T.LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4, vocab_size=8000, use_cache=False)
    return T.LlamaModel(config), tokens(config, (1, 1), (8, 512))


@model
def t5(T):
    config = T.T5Config(d_model=256, d_ff=1024, num_layers=4, num_heads=4, vocab_size=8000)
    return T.T5EncoderModel(config), tokens(config)


@model
def resnet(T):
    return T.ResNetModel(T.ResNetConfig(layer_type="basic", hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2])), images()


@model
def mobilenet(T):
    return T.MobileNetV2Model(T.MobileNetV2Config()), images(step=32)  # its padding depends on what they leave, and Dynamo on that


@model
def convnext(T):
    return T.ConvNextModel(T.ConvNextConfig()), images()


@model
def segformer(T):
    return T.SegformerModel(T.SegformerConfig()), images()


@model
def wav2vec2(T):
    import torch
    config = T.Wav2Vec2Config(hidden_size=256, num_attention_heads=4, intermediate_size=1024, num_hidden_layers=4, conv_dim=[128] * 7)
    return T.Wav2Vec2Model(config), lambda draw: {"input_values": torch.randn(1, draw.randint(4000, 32000))}


@model
def gpt2_train(T):
    config = T.GPT2Config(n_embd=256, n_head=4, n_layer=4, vocab_size=8000, use_cache=False, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    inputs = tokens(config, (1, 8), (16, 128))

    def with_labels(draw):
        ids = inputs(draw)["input_ids"]
        return {"input_ids": ids, "labels": ids}

    return T.GPT2LMHeadModel(config), with_labels


def run(module, inputs, trains):
    """The result's first tensor, and for training the gradients' sum of one parameter behind it."""
    import torch
    with torch.set_grad_enabled(trains):
        result = module(**inputs)[0]
        if not trains:
            return result.cpu()
        module.zero_grad()
        result.backward()
        return torch.cat([result.detach().cpu().reshape(1), next(module.parameters()).grad.cpu().flatten()])


def measure(name, how, seed, count):
    """One process."""
    import torch
    import torch_cresset  # noqa: F401
    import transformers

    torch.manual_seed(0)
    trains = name.endswith("_train")
    plain, inputs_of = MODELS[name](transformers)
    plain.train(trains)
    torch.manual_seed(0)
    ours = MODELS[name](transformers)[0].train(trains)
    ours.load_state_dict(plain.state_dict())
    ours = {"compile": lambda: torch.compile(ours, backend="cresset"), "device": lambda: ours.to("cresset"), "eager": lambda: ours}[how]()
    draw, seen, rows = random.Random(seed), set(), []
    while len(rows) < count:
        inputs = inputs_of(draw)
        shapes = tuple(tuple(x.shape) for x in inputs.values())
        if shapes in seen:
            continue
        seen.add(shapes)
        there = {k: x.to("cresset") if how == "device" else x for k, x in inputs.items()}
        start = time.perf_counter()
        result = run(ours, there, trains)
        seconds = time.perf_counter() - start
        rows.append((seconds, difference(result, run(plain, inputs, trains))))
    print(json.dumps(rows))


def in_new_process(name, how, seed, count, cache):
    child = subprocess.run([sys.executable, __file__, "--measure", name, how, str(seed), str(count)], stdout=subprocess.PIPE, text=True,
                           env={**os.environ, "CRESSET_CACHE_DIR": cache, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})
    if child.returncode:
        sys.exit(f"{name}, {how}: the process ended with {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])[BEFORE:]


def row_of(name, how, count):
    """Eager has processes of its own: oneDNN keeps what it makes for a size, whoever asks for it."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = (in_new_process(name, how, seed, count, cache) for seed in (1, 2))
    worst = max(row[1] for row in first + second)
    half = len(first) // 2

    def median(rows):
        return statistics.median(row[0] for row in rows) * 1e3

    return dict(name=name, how=how, early=median(first[:half]), late=median(first[half:]), next=median(second), difference=worst)


def table(rows, count):
    early = f"sizes {BEFORE + 1} to {BEFORE + (count - BEFORE) // 2}"
    roads = {"eager": "eager", "compile": "torch.compile", "device": "device"}
    lines = []
    for name in dict.fromkeys(r["name"] for r in rows):
        mine = {r["how"]: r for r in rows if r["name"] == name}
        lines.append([name, *(f"{mine[how][key]:.3g}" if how in mine else "–" for how in roads for key in ("early", "late", "next"))])
    return report.table(["ms of a call", *(title for road in roads.values() for title in (f"{road}: {early}", "after those", "next process"))], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--count", type=int, default=32, help="sizes in each process")
    parser.add_argument("--how", nargs="+", default=["eager", "compile", "device"], choices=["eager", "compile", "device"])
    parser.add_argument("--docs", type=pathlib.Path, help="puts the table there")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, how, seed, count = options.measure
        return measure(name, how, int(seed), int(count))
    try:
        if options.docs:
            report.split_docs(options.docs, BEGIN, END)  # before minutes of measuring
    except ValueError as e:
        parser.error(str(e))
    rows = []
    for name in options.names or MODELS:
        for how in options.how:
            rows.append(row_of(name, how, options.count))
            print({k: f"{v:.3g}" if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    report.print_table(table(rows, options.count), options.docs, BEGIN, END)
    return int(any(r["difference"] > TOLERANCE for r in rows))


if __name__ == "__main__":
    sys.exit(main())
