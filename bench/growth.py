"""How the cost of tracing and compiling grows: a training step on the device of GPTs that differ in their number of layers only,
each in a new process with an empty cache. Prints a table; --docs FILE also puts it there.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import report

BEGIN, END = "<!-- growth: written by bench/growth.py -->", "<!-- /growth -->"
STEPS = 8  # the programs of the first ones differ: until the optimizer has its state and numbers have been seen to change


def measure(layers):
    """One size, in this process."""
    import torch
    import torch.nn.functional as F
    import torch_cresset
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=layers, n_embd=128, n_head=4, n_positions=64, vocab_size=1000, use_cache=False, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = transformers.GPT2LMHeadModel(config).train().to("cresset")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, config.vocab_size, (1, 64)).to("cresset")
    trace, total = [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        with torch_cresset.step():  # within it nothing runs
            logits = model(ids).logits
            F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
            optimizer.step()
            optimizer.zero_grad()
            trace.append(time.perf_counter() - start)
        total.append(time.perf_counter() - start)
    records = torch_cresset.compile_records()
    step = max(records, key=lambda r: r["nodes"])
    return dict(layers=layers, operators=step["nodes"], trace=min(trace), compile=sum(r["seconds"] for r in records), step=min(total), programs=len(records),
                kernels=step["kernels"], unique=step["unique_kernels"])


def in_new_process(layers):
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.run([sys.executable, __file__, "--measure", str(layers)], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "CRESSET_CACHE_DIR": cache, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})
    if run.returncode:
        sys.exit(f"{layers} layers: the process ended with {run.returncode}")
    return json.loads(run.stdout.splitlines()[-1])


def table(sizes):
    """Beside each time, in brackets, how it stands to growth in proportion to the layers: below 1 is less."""
    first = sizes[0]

    def cell(size, key, show):
        ratio = size[key] / first[key] / (size["layers"] / first["layers"])
        return show(size[key]) + (f" ({ratio:.2f})" if size is not first else "")

    header = ["layers", "operators", "tracing a step, ms", "compiling, s", "a step, ms", "programs", "kernels of the step", "different ones"]
    rows = [[str(s["layers"]), str(s["operators"]), cell(s, "trace", lambda v: f"{v * 1e3:.1f}"), cell(s, "compile", lambda v: f"{v:.2f}"),
             cell(s, "step", lambda v: f"{v * 1e3:.1f}"), str(s["programs"]), str(s["kernels"]), str(s["unique"])] for s in sizes]
    return report.table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default="12,24,48,96", help="comma separated (default: %(default)s)")
    parser.add_argument("--docs", type=pathlib.Path, help="a Markdown file whose table is replaced")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return print(json.dumps(measure(options.measure)))
    if not all(n.isdigit() and int(n) > 0 for n in options.layers.split(",")):
        parser.error(f"--layers {options.layers}: numbers of layers, as 12,24,48")
    try:
        if options.docs:
            report.split_docs(options.docs, BEGIN, END)  # before measuring
    except ValueError as e:
        parser.error(str(e))
    report.print_table(table([in_new_process(int(n)) for n in options.layers.split(",")]), options.docs, BEGIN, END)


if __name__ == "__main__":
    main()
