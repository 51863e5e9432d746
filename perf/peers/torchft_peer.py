"""The peer of perf/net: GPT-2 with torchft's DiLoCo over gloo, each rank a replica of its own (gpt_job). Sums are f32:
its fp8 needs Triton. The first rank has the lighthouse too."""
import argparse
import os
import sys
from datetime import timedelta

import torch
from gpt_job import prepare, rank, size, train
from torchft.coordination import LighthouseServer
from torchft.local_sgd import DiLoCo
from torchft.manager import Manager
from torchft.process_group import ProcessGroupGloo

arguments = argparse.ArgumentParser()
arguments.add_argument("--every", type=int, required=True, help="steps between two sums of a fragment")
arguments.add_argument("--fragments", type=int, default=1)
arguments.add_argument("--delay", type=int, default=0)
arguments.add_argument("--mix", type=float, default=0)
job, model, inner = prepare(arguments)
long = timedelta(minutes=15)
root = os.environ["BORA_ROOT"].rpartition(":")[0]
own = root.rpartition(".")[0] + f".{rank + 1}"   # tests/net numbers its hosts so
store = torch.distributed.TCPStore(own, 29651, is_master=True, wait_for_workers=False)
if rank == 0:
    lighthouse = LighthouseServer(bind="0.0.0.0:29652", min_replicas=size, join_timeout_ms=60000)
manager = Manager(pg=ProcessGroupGloo(timeout=long), load_state_dict=model.load_state_dict,
                  state_dict=model.state_dict, min_replica_size=size, use_async_quorum=False, timeout=long,
                  quorum_timeout=long, rank=0, world_size=1, store_addr=own, store_port=29651, hostname=own,
                  lighthouse_addr=f"http://{root}:29652", replica_id=f"host{rank}", init_sync=False)
parts = [[] for _ in range(job.fragments)]   # as Bora's: layer l in fragment l mod n; the others in one of them
for i, block in enumerate(model.blocks):
    parts[i % job.fragments].append(block)
parts[-1] += [model.wte, model.wpe, model.ln_f]
parts = [torch.nn.ModuleList(p) for p in parts]
outer = [torch.optim.SGD(p.parameters(), lr=0.7, momentum=0.9, nesterov=True) for p in parts]
with DiLoCo(manager, parts, inner, outer, sync_every=job.every, use_bucketization=True, fragment_sync_delay=job.delay,
            fragment_update_alpha=job.mix):
    train(job, model, inner)
if manager.current_step() != job.steps // (job.every // job.fragments):
    sys.exit(f"{manager.current_step()} meetings in {job.steps} steps: some of them failed")
manager.shutdown()
if rank == 0:
    lighthouse.shutdown()
