"""Trains GPT-2 on cresset and on eager CPU with the same seed and compares them: python -m torch_cresset.demo [--small]"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

TEXT = pathlib.Path(__file__).resolve().parent / "text.txt"
TOLERANCE = 1e-4  # relative difference of the losses, f32


def configuration(small):
    from transformers import GPT2Config

    size = dict(n_layer=2, n_embd=128, n_head=4, n_positions=64, vocab_size=256) if small else dict(n_positions=128)
    # Dropout draws other numbers on each device, so it is off where losses are compared.
    return GPT2Config(activation_function="gelu_pytorch_tanh", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                      bos_token_id=0, eos_token_id=0, loss_type="ForCausalLMLoss", **size)


class Run:
    """One model in training on one device."""

    def __init__(self, device, small):
        import torch
        from transformers import GPT2LMHeadModel

        torch.manual_seed(0)
        self.torch = torch
        self.device = device
        self.config = configuration(small)
        self.model = GPT2LMHeadModel(self.config).train().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.losses, self.times = [], []

    def step(self, tokens):
        start = time.perf_counter()
        tokens = tokens.to(self.device)
        loss = self.model(tokens, labels=tokens).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.item())
        self.times.append(time.perf_counter() - start)


def composites(path):
    """Composites in a program's text, with their counts."""
    return collections.Counter(re.findall(r'stablehlo\.composite "([^"]+)"', pathlib.Path(path).read_text()))


def train(runs, steps):
    """All runs side by side; how many programs had been compiled after each step."""
    import torch

    import torch_cresset

    data = torch.tensor(list(TEXT.read_bytes()))
    length = runs[0].config.n_positions
    compiles = []
    for i in range(steps):
        begin = (i * length) % (len(data) - length)
        batch = data[begin:begin + length].unsqueeze(0)
        for run in runs:
            run.step(batch)
        compiles.append(torch_cresset.counters().get("cresset.compile", 0))
        cpu, ours = runs
        print(f"step {i + 1:2}  loss {cpu.losses[-1]:.6f} eager  {ours.losses[-1]:.6f} cresset   "
              f"{cpu.times[-1] * 1e3:8.1f} ms eager  {ours.times[-1] * 1e3:8.1f} ms cresset", flush=True)
    return compiles


def report(runs, compiles):
    """Prints what came of it and returns what is wrong."""
    import torch_cresset

    cpu, ours = runs
    steps = len(compiles)
    counters = torch_cresset.counters()
    lowered = {k: v for k, v in counters.items() if k.startswith("cresset::")}
    fallen = {k: v for k, v in counters.items() if k.startswith("aten::")}
    worst = max(abs(a - b) / abs(a) for a, b in zip(cpu.losses, ours.losses))
    largest = max((r for r in torch_cresset.compile_records() if r["path"]), key=lambda r: r["nodes"])
    found = composites(largest["path"])
    steady = slice(2, None)
    median_cpu, median_ours = (statistics.median(run.times[steady]) * 1e3 for run in runs)
    print(f"""
largest difference of the losses   {worst:.1e} (relative; at most {TOLERANCE})
step time, median                  {median_cpu:.1f} ms eager, {median_ours:.1f} ms cresset: {median_ours / median_cpu:.2f} x
first step, with compilation       {ours.times[0]:.2f} s (second: {ours.times[1]:.2f} s)
operators lowered                  {len(lowered)} kinds, {sum(lowered.values()) // steps} in a step
operators fallen back              {sum(fallen.values())} {dict(fallen) if fallen else ''}
programs compiled                  {compiles[-1]}; after the second step {compiles[-1] - compiles[1]}
composites kept whole in the step  forward: {', '.join(f'{n} {c}' for n, c in sorted(found.items()) if 'backward' not in n)}
                                   backward: {', '.join(f'{n} {c}' for n, c in sorted(found.items()) if 'backward' in n)}
the step as StableHLO              {largest['path']}""")

    problems = []
    if worst > TOLERANCE:
        problems.append(f"the losses differ by {worst:.1e}")
    if fallen:
        problems.append(f"operators fell back to the CPU: {fallen}")
    if compiles[-1] != compiles[1]:
        problems.append("programs were compiled after the second step:\n" + torch_cresset.metrics_report())
    for name in ("aten.gelu", "aten.gelu_backward", "aten.layer_norm", "aten.layer_norm_backward", "aten.scaled_dot_product_attention", "aten.scaled_dot_product_attention_backward"):
        if found[name] < cpu.config.n_layer:
            problems.append(f"composite {name} is missing in the step")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="two layers, for a quick look")
    parser.add_argument("--steps", type=int, default=0)
    options = parser.parse_args()
    dump = os.environ.setdefault("CRESSET_DUMP", tempfile.mkdtemp(prefix="cresset-"))
    os.makedirs(dump, exist_ok=True)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

    import torch

    import torch_cresset

    threads = torch.get_num_threads()
    torch.set_num_threads(threads)
    cpu, ours = runs = [Run("cpu", options.small), Run("cresset", options.small)]
    parameters = sum(p.numel() for p in cpu.model.parameters())
    print(f"GPT-2, {cpu.config.n_layer} layers, {parameters / 1e6:.1f} M parameters, AdamW, 1 x {cpu.config.n_positions} tokens, {threads} threads, f32")
    if sum(p.numel() for p in ours.model.parameters()) != parameters:
        sys.exit("error: the model has another number of parameters on cresset")
    torch_cresset.reset_counters()
    problems = report(runs, train(runs, options.steps or (12 if options.small else 8)))
    if problems:
        sys.exit("error: " + "; ".join(problems))


if __name__ == "__main__":
    main()
