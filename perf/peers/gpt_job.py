"""Common parts of the peers of perf/net: a process is the rank BORA_RANK of BORA_SIZE, as bora_net says, and trains
GPT-2 on made-up tokens with one thread. The first prints the seconds of each step, one line each."""
import os
import time
import types

import torch
from torch_gpt import Gpt

rank, size = int(os.environ.get("BORA_RANK", 0)), int(os.environ.get("BORA_SIZE", 1))


def prepare(arguments):
    """Options, of which `arguments` (an ArgumentParser) has the peer's own; the model; its optimizer."""
    for name in ("batch", "positions", "layers", "embed", "heads", "steps"):
        arguments.add_argument("--" + name, type=int, required=True)
    job = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Gpt(types.SimpleNamespace(vocab=256, embed=job.embed, positions=job.positions, layers=job.layers,
                                      heads=job.heads))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    os.environ["GLOO_SOCKET_IFNAME"] = "net0"   # of tests/net; host names have no addresses there
    return job, model, optimizer


def train(job, model, optimizer):
    """`model`: what is called with tokens and targets, wrapped or not."""
    for _ in range(job.steps):
        tokens = torch.randint(256, (job.batch // size, job.positions + 1))
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if rank == 0:
            print(f"{time.perf_counter() - began:.6f}", flush=True)
