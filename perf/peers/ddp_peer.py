"""The peer of perf/net: GPT-2 in DistributedDataParallel over gloo, one process a rank, with BORA_RANK, BORA_SIZE and
BORA_ROOT as bora_net sets them. The first prints the seconds of each step, one line each."""
import argparse
import os
import time
import types

import torch
from torch_gpt import Gpt

arguments = argparse.ArgumentParser()
arguments.add_argument("--hook", choices=["f32", "bf16", "powersgd"], default="f32")
arguments.add_argument("--rank", type=int, default=2, help="of PowerSGD's matrices")
for name in ("batch", "positions", "layers", "embed", "heads", "steps"):
    arguments.add_argument("--" + name, type=int, required=True)
job = arguments.parse_args()
rank, size = int(os.environ.get("BORA_RANK", 0)), int(os.environ.get("BORA_SIZE", 1))
torch.set_num_threads(1)
torch.manual_seed(0)
model = Gpt(types.SimpleNamespace(vocab=256, embed=job.embed, positions=job.positions, layers=job.layers,
                                  heads=job.heads))
if size > 1:
    os.environ["GLOO_SOCKET_IFNAME"] = "net0"   # of tests/net; host names have no addresses there
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{os.environ['BORA_ROOT']}", rank=rank,
                                         world_size=size)
    model = torch.nn.parallel.DistributedDataParallel(model)
    if job.hook == "bf16":
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

        def bf16_hook(group, bucket):   # under a name of its own: theirs is admitted for NCCL alone
            return bf16_compress_hook(group, bucket)
        model.register_comm_hook(torch.distributed.group.WORLD, bf16_hook)
    elif job.hook == "powersgd":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
        state = powerSGD_hook.PowerSGDState(torch.distributed.group.WORLD, matrix_approximation_rank=job.rank,
                                            start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
rows = job.batch // size
for step in range(job.steps):
    tokens = torch.randint(256, (rows, job.positions + 1))
    began = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model(tokens[:, :-1], tokens[:, 1:]).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if rank == 0:
        print(f"{time.perf_counter() - began:.6f}", flush=True)
if size > 1:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
