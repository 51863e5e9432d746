#!/usr/bin/env python3
"""Training speed of the demo's model beside PyTorch, in one run: python perf/compare_pytorch.py BORA_BINARY [--rounds 3] [--steps 60].

Needs a Python with torch (perf/requirements.txt); Bora itself needs neither. Interleaves Bora (1 process x 2 threads), PyTorch (2 threads,
f32, fused AdamW) and Bora (2 processes x 1 thread, FSDP), and prints medians of tokens/s and their ratios.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, e, h):
        super().__init__()
        self.h, self.ln_1, self.ln_2 = h, torch.nn.LayerNorm(e), torch.nn.LayerNorm(e)
        self.qkv, self.out = torch.nn.Linear(e, 3 * e), torch.nn.Linear(e, e)
        self.up, self.down = torch.nn.Linear(e, 4 * e), torch.nn.Linear(4 * e, e)

    def forward(self, x):
        b, s, e = x.shape
        q, k, v = (t.view(b, s, self.h, e // self.h).transpose(1, 2) for t in self.qkv(self.ln_1(x)).split(e, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, e))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(torch.nn.Module):
    def __init__(self, layers, e, h, positions, vocab=256):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(vocab, e), torch.nn.Embedding(positions, e)
        self.blocks, self.ln_f = torch.nn.ModuleList(Block(e, h) for _ in range(layers)), torch.nn.LayerNorm(e)

    def forward(self, x):
        h = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for b in self.blocks:
            h = b(h)
        return self.ln_f(h) @ self.wte.weight.T


def pytorch(a, data):
    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = Gpt(a.layers, a.embed, a.heads, a.positions)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    times, generator = [], torch.Generator().manual_seed(0)
    for _ in range(a.steps):
        start = time.perf_counter()
        i = torch.randint(0, len(data) - a.positions - 1, (a.batch, 1), generator=generator) + torch.arange(a.positions + 1)
        rows = data[i]
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        loss.item()
        times.append(time.perf_counter() - start)
    return a.batch * a.positions / statistics.median(times[5:]), loss.item()


def bora(a, text, ranks, threads):
    with tempfile.TemporaryDirectory() as out:
        keys = [f"data={text}", f"out={out}/run", f"steps={a.steps}", f"batch={a.batch}", f"threads={threads}", "digest=false", "checkpoint_every=0", "eval_every=0",
                f"model.layers={a.layers}", f"model.embed={a.embed}", f"model.heads={a.heads}", f"model.positions={a.positions}"]
        train = ["train", str(a.config), *keys]
        command = [a.bora, *train] if ranks == 1 else [a.bora, "launch", "-n", str(ranks), "--layout", "fsdp", "--", *train]
        r = subprocess.run(command, capture_output=True, text=True)
        if r.returncode:
            raise SystemExit(f"{' '.join(command)}\n{r.stdout}\n{r.stderr}")
        lines = [json.loads(x) for x in (pathlib.Path(out) / "run/metrics.jsonl").read_text().splitlines()]
        steps = [x for x in lines if "throughput/step_seconds" in x]
        return a.batch * a.positions / statistics.median(x["throughput/step_seconds"] for x in steps[5:]), steps[-1]["train/loss"]


parser = argparse.ArgumentParser()
parser.add_argument("bora")
root = pathlib.Path(__file__).resolve().parent.parent
parser.add_argument("--config", type=pathlib.Path, default=root / "examples/gpt_fortunes.yaml")
for name, value in (("rounds", 3), ("steps", 40), ("batch", 8), ("layers", 4), ("embed", 128), ("heads", 4), ("positions", 128)):
    parser.add_argument(f"--{name}", type=int, default=value)
a = parser.parse_args()
with tempfile.TemporaryDirectory() as folder:
    text = pathlib.Path(folder) / "text"
    words = "the of and to in is that it was for on are as with his they at be this from".split()
    text.write_text("\n%\n".join(" ".join(words[int(abs(math.sin(i * 17 + j)) * 19.99)] for j in range(120)) for i in range(600)))
    data = torch.frombuffer(bytearray(text.read_bytes()), dtype=torch.uint8).long()
    cases = {"bora 1 process x 2 threads": lambda: bora(a, text, 1, 2), "pytorch 2 threads": lambda: pytorch(a, data),
             "bora 2 processes x 1 thread (fsdp)": lambda: bora(a, text, 2, 1)}
    speeds = {name: [] for name in cases}
    for _ in range(a.rounds):
        for name, case in cases.items():
            speed, loss = case()
            speeds[name].append(speed)
            print(f"  {name}: {speed:.0f} tokens/s, last loss {loss:.3f}", flush=True)
            time.sleep(0.5)
cpu = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "?")
median = {name: statistics.median(v) for name, v in speeds.items()}
one, torch_speed, two = median.values()
print(f"{cpu}; torch {torch.__version__}; model {a.layers} x {a.embed}, {a.positions} positions, batch {a.batch}, f32")
for name, v in median.items():
    print(f"{name}: {v:.0f} tokens/s (median of {a.rounds})")
print(f"bora / pytorch: {one / torch_speed:.2f}   2 ranks / 1 process: {two / one:.2f}")
