"""The peer of perf/net: GPT-2 in DistributedDataParallel over gloo, one process a rank (gpt_job)."""
import argparse
import os

import torch
from gpt_job import prepare, rank, size, train

arguments = argparse.ArgumentParser()
arguments.add_argument("--hook", choices=["f32", "bf16", "powersgd"], default="f32")
arguments.add_argument("--rank", type=int, default=2, help="of PowerSGD's matrices")
job, model, optimizer = prepare(arguments)
if size > 1:
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
train(job, model, optimizer)
if size > 1:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
