"""Every architecture of `transformers` that a small configuration of can be made: its results, its gradients and its time against eager's, each in a process of its own.

    .venv/bin/python bench/architectures.py [NAME ...] [--threads 1] [--seconds 0.4] [--json FILE]

Prints what differs, falls back, is slower than eager or ends with an error, and a summary. Nothing is downloaded: weights and inputs are random. What needs more than that (a part of another
package, several inputs that fit each other, more than 600 million parameters) is left out and counted. A random architecture, whose results differ with the seed, is not compared.

A difference is of any element, relative to the largest of its tensor. Where it is above TOLERANCE, eager's own from f64 stands beside it: chosen experts and sorted proposals differ by rounding.
"""

import argparse
import copy
import json
import math
import os
import subprocess
import sys
import time

from worker import difference

TOLERANCE = 1e-4
LIMIT = 240  # seconds for an architecture
WIDTH, LAYERS, HEADS, INNER, VOCABULARY, EXPERTS, BATCH = 128, 2, 4, 256, 500, 4, 2
SMALL = {
    **dict.fromkeys("hidden_size d_model n_embd dim embed_dim embedding_size".split(), WIDTH),
    **dict.fromkeys("num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_encoder_layers num_decoder_layers".split(), LAYERS),
    **dict.fromkeys("num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads".split(), HEADS),
    **dict.fromkeys("intermediate_size d_ff ffn_dim encoder_ffn_dim decoder_ffn_dim n_inner".split(), INNER),
    **dict.fromkeys("num_experts num_local_experts n_routed_experts moe_num_experts".split(), EXPERTS),
    **dict.fromkeys("moe_intermediate_size shared_expert_intermediate_size".split(), INNER // EXPERTS),
    **dict.fromkeys("head_dim d_kv".split(), WIDTH // HEADS),
    "num_key_value_heads": 2, "num_experts_per_tok": 2, "vocab_size": VOCABULARY, "max_position_embeddings": 256,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip


def parts_of(config):
    """The configuration and those within it."""
    import transformers

    yield config
    for value in list(vars(config).values()):
        if isinstance(value, transformers.PretrainedConfig):
            yield from parts_of(value)


def shrink(config):
    for part in parts_of(config):
        for key, value in SMALL.items():
            present = getattr(part, key, None)
            if key.endswith("_token_id") and hasattr(part, key) or isinstance(present, int) and present > 0:
                setattr(part, key, value)
        for key in ("layer_types", "mlp_layer_types", "layers_block_type"):
            if isinstance(getattr(part, key, None), (list, tuple)):
                setattr(part, key, list(getattr(part, key))[-LAYERS:])


def without_dropout(model):
    for module in model.modules():
        for key, value in vars(module).items():
            if isinstance(value, float) and ("drop" in key or key == "p"):
                setattr(module, key, 0.0)
    return model


def made(name):
    """The model: small if its configuration allows that, else as it is by default."""
    import torch
    import transformers

    failure = None
    for small in (True, False):
        try:
            config = transformers.CONFIG_MAPPING[name]()
            if small:
                shrink(config)
            with torch.device("meta"):
                parameters = sum(p.numel() for p in transformers.AutoModel.from_config(config).parameters())
            if parameters > 6e8:
                raise ValueError("more than 600 million parameters")
            return without_dropout(transformers.AutoModel.from_config(config)).eval()
        except Exception as e:  # whatever a configuration that was changed blindly leads to
            failure = e
    raise failure


def inputs_for(model):
    """Candidates, of which the first that the model takes counts."""
    import inspect

    import torch

    takes = inspect.signature(model.forward).parameters
    vision = getattr(model.config, "vision_config", model.config)
    size, channels = getattr(vision, "image_size", 224), getattr(vision, "num_channels", 3)
    size = size if isinstance(size, int) else size[0] if isinstance(size, (list, tuple)) else 224
    ids = torch.randint(3, 400, (BATCH, 64))
    image = {"pixel_values": torch.randn(BATCH, channels if isinstance(channels, int) else 3, size, size)}
    text = {"input_ids": ids, "decoder_input_ids": ids[:, :16]} if "decoder_input_ids" in takes else {"input_ids": ids}
    candidates = [text, {"input_ids": ids} | image, image, {"pixel_values": image["pixel_values"][:, None].repeat(1, 8, 1, 1, 1)}]
    candidates += [{"input_values": torch.randn(BATCH, *shape)} for shape in ((8000,), (1, 8000), (1024, 128))]
    for shape in ((80, 3000), (200, 80), (200, 160), (80, 200), (128, 3000)):
        features = {"input_features": torch.randn(BATCH, *shape)}
        candidates += [features | {"decoder_input_ids": ids[:, :16]}, features]
    candidates += [{"past_values": torch.randn(BATCH, *shape)} for shape in ((512, 1), (512, 7), (32, 7))] + [{"hidden_states": torch.randn(BATCH, 64, WIDTH)}]
    return [c for c in candidates if c.keys() <= takes.keys()]


def floats_of(outputs):
    """The floating tensors of whatever a model returns."""
    import torch

    if isinstance(outputs, torch.Tensor):
        return [outputs] if outputs.is_floating_point() else []
    values = outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, (list, tuple)) else ()
    return [t for v in values for t in floats_of(v)]


def in_f64(tensors):
    return [t.detach().cpu().double() for t in tensors]


def largest_difference(actual, expected):
    """Of results that are as many."""
    return max((difference(a, e) for a, e in zip(actual, expected)), default=0.0) if len(actual) == len(expected) else math.inf


def results(model, inputs, seed=0):
    import torch

    torch.manual_seed(seed)
    with torch.no_grad():
        return in_f64(floats_of(model(**inputs)))


def gradients(model, inputs, seed=0):
    """Of a sum of all results with random weights."""
    import torch

    model = copy.deepcopy(model).train()
    torch.manual_seed(seed)
    weigh = torch.Generator().manual_seed(1)

    sum((t * torch.randn(t.shape, generator=weigh).to(t.device, t.dtype)).mean() for t in floats_of(model(**inputs)) if t.requires_grad).backward()
    grads = in_f64(p.grad for p in model.parameters() if p.grad is not None)
    scale = max(g.abs().max().item() for g in grads)
    # Those that are nearly zero beside others are rounding.
    return [g for g in grads if g.abs().max() > 1e-2 * scale]


def time_of(model, inputs, seconds):
    """The least time of a call, in ms."""
    import torch

    import torch_cresset

    def call():
        with torch.no_grad():
            kept = model(**inputs)  # noqa: F841: what nobody keeps the device does not compute
            torch_cresset.sync()

    call()  # may compile
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or best == math.inf:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def prepared(name):
    """The model and inputs that it takes."""
    model, failure = made(name), ValueError("no inputs are known for it")
    for inputs in inputs_for(model):
        try:
            results(model, inputs)
            return model, inputs
        except Exception as e:
            failure = e
    raise failure


def measure(name, threads, seconds, prepare=prepared):
    """One architecture, in this process. `prepare` gives its model and the inputs, by name."""
    import torch

    import torch_cresset

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    found = {"name": name}
    try:
        model, inputs = prepare(name)
    except Exception as e:
        return found | {"left out": f"{type(e).__name__}: {e}"[:200]}
    found["inputs"] = {k: list(v.shape) for k, v in inputs.items()}
    eager = (model, inputs)
    compiled = (torch.compile(model, backend="cresset"), inputs)
    device = (copy.deepcopy(model).to("cresset"), {k: v.to("cresset") for k, v in inputs.items()})

    def compare(key, compute, ours):
        """What is computed of (model, inputs): eager's twice, which tells what is random, then ours, and where that differs eager's in f64."""
        try:
            expected = compute(*eager)
            if largest_difference(compute(*eager, seed=1), expected) > 0:
                found[key] = "random"
                return
        except Exception as e:
            found[key] = f"eager: {type(e).__name__}"
            return
        try:
            found[key] = largest_difference(compute(*ours), expected)
            if not found[key] < TOLERANCE:
                wide = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
                found[f"{key}, eager from f64"] = largest_difference(compute(copy.deepcopy(model).double(), wide), expected)
        except Exception as e:
            found[f"{key}: error"] = f"{type(e).__name__}: {e}"[:300]

    torch_cresset.reset_counters()
    compare("torch.compile", results, compiled)
    compare("device", results, device)
    compare("gradients", gradients, device)
    found["fallbacks"] = {k: v for k, v in torch_cresset.counters().items() if k.startswith("aten::")}
    for key, contender in (("eager", eager), ("torch.compile", compiled), ("device", device)):
        if f"{key}: error" not in found:
            found[f"{key}, ms"] = time_of(*contender, seconds)
    return found


def findings(r):
    for key in ("torch.compile", "device", "gradients"):
        if isinstance(r.get(key), float) and not r[key] < TOLERANCE:
            yield f"{key} differs by {r[key]:.2g} (eager from f64: {r.get(f'{key}, eager from f64', math.nan):.2g})"
        if f"{key}: error" in r:
            yield f"{key}: {r[f'{key}: error']}"
        if r.get(f"{key}, ms", 0) > r.get("eager, ms", math.inf):
            yield f"{key} {r[f'{key}, ms']:.2f} ms, eager {r['eager, ms']:.2f}"
    if r.get("fallbacks"):
        yield f"falls back: {', '.join(r['fallbacks'])}"
    if "ended" in r:
        yield f"the process ended: {r['ended']}"


def main(description=__doc__.split("\n")[0], script=__file__, prepare=prepared, names=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help="architectures as transformers calls them, as bert; all if there are none" if names is None else "beginnings of names; all if there are none")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each timing")
    parser.add_argument("--json", help="file for all that was measured, a line for each architecture")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print("RESULT " + json.dumps(measure(options.names[0], options.threads, options.seconds, prepare)))
        return
    if names is None:
        from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

        chosen = options.names or MODEL_MAPPING_NAMES
    else:
        chosen = [name for name in names if name.startswith(tuple(options.names) or "")]
    every = []
    for name in chosen:
        command = [sys.executable, os.path.abspath(script), name, "--child", "--threads", str(options.threads), "--seconds", str(options.seconds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
            line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), None)
            every.append(json.loads(line[7:]) if line else {"name": name, "ended": f"{done.returncode} {done.stderr[-500:]}"})
        except subprocess.TimeoutExpired:
            every.append({"name": name, "ended": f"after {LIMIT} s"})
        if options.json:
            with open(options.json, "a") as f:
                f.write(json.dumps(every[-1]) + "\n")
        for text in findings(every[-1]):
            print(f"{name}: {text}", flush=True)
    ran = [r for r in every if "eager, ms" in r]
    print(f"{len(ran)} compared, {sum('left out' in r for r in every)} left out")
    for key in ("torch.compile", "device"):
        ratios = [r[f"{key}, ms"] / r["eager, ms"] for r in ran if f"{key}, ms" in r]
        if ratios:
            print(f"{key}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} of eager's time (geometric mean)")


if __name__ == "__main__":
    main()
