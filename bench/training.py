"""GPT-2's training step (12 layers, 1 x 128 tokens, AdamW, f32) on eager CPU, torch.compile's default and cresset, in one
run: blocks of steps take turns, the median counts. Prints a Markdown table."""

import copy
import statistics
import time

import torch
import transformers

import torch_cresset


def make():
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_positions=128, activation_function="gelu_pytorch_tanh", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                     loss_type="ForCausalLMLoss")
    return transformers.GPT2LMHeadModel(config)


class Contender:
    def __init__(self, name, model, device="cpu", fused=None, wrap=None):
        self.name, self.device, self.times = name, device, []
        self.model = model.to(device)
        self.call = wrap(self.model) if wrap else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=fused)

    def step(self, ids):
        start = time.perf_counter()
        ids = ids.to(self.device)
        loss = self.call(ids, labels=ids).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        value = loss.item()
        self.times.append(time.perf_counter() - start)
        return value


def main(rounds=8):
    model = make()
    contenders = [
        Contender("eager (AdamW fused)", copy.deepcopy(model), fused=True),
        Contender("eager (AdamW default)", copy.deepcopy(model)),
        Contender("cresset, device", copy.deepcopy(model), device="cresset"),
        Contender("cresset, torch.compile", copy.deepcopy(model), fused=True, wrap=lambda m: torch.compile(m, backend="cresset")),
    ]
    ids = torch.randint(0, 50257, (1, 128), generator=torch.Generator().manual_seed(0))
    losses = [[c.step(ids) for c in contenders] for _ in range(rounds)]
    for values in losses:
        assert max(values) - min(values) < 1e-3 * abs(values[0]), values
    best = min(statistics.median(c.times[3:]) for c in contenders[:2])
    print(f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}\n")
    print("| GPT-2 1x128 training step | median ms | min ms | against the best eager | first step s |\n|---|---|---|---|---|")
    for c in contenders:
        steady = c.times[3:]
        print(f"| {c.name} | {statistics.median(steady) * 1e3:.0f} | {min(steady) * 1e3:.0f} | {statistics.median(steady) / best:.2f} x | {c.times[0]:.1f} |")


if __name__ == "__main__":
    main()
