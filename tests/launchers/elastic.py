"""The law of elastic jobs, whoever places their hosts: ranks that were not lost stay the processes that they are, each
loss is one line, the numbers are those of the run that nothing happened to, and the exit code is 0."""
import json
import os
import random
import signal

from common import clean_environment, expect, processes, run, wait_until

STEPS = 800  # so many that hosts which are lost can come back meanwhile
WORDS = ["tiny.yaml", "layout=dp", "reproducible=4", f"steps={STEPS}", "checkpoint_every=20"]


def begin(bora):
    """Makes the settings and the run that nothing happens to, unless they are there."""
    if not os.path.exists("calm"):
        write_config(os.getcwd())
        r = run([bora, "launch", "-n", "4", "train", *WORDS, "out=calm"], env=clean_environment(), seconds=300)
        expect(r.code == 0 and len(losses("calm")) == STEPS, r)


def write_config(folder):
    with open("text", "w") as f:
        f.writelines(f"The wind number {i * i} blows over the hills.\n%\n" for i in range(400))
    with open("tiny.yaml", "w") as f:
        f.write(f"warmup: 2\nbatch: 16\neval_rows: 24\ndata: {folder}/text\n"
                "model: {layers: 2, embed: 24, heads: 3, positions: 32}\n")


def losses(out):
    try:
        with open(f"{out}/metrics.jsonl") as f:
            # At once: read line by line, the rest of one that is being written would look like a line of its own.
            lines = [json.loads(line) for line in f.read().splitlines(True) if line.endswith("}\n")]
    except OSError:
        return []
    return [(line["step"], line["train/loss"]) for line in lines if "train/loss" in line]


def ranks(bora, *marks):
    """Processes that train."""
    return {pid for pid, line in processes("BORA_JOB=", *marks) if line.startswith(bora + " train")}


def reach(out, step, seconds=120):
    wait_until(f"step {step} of {out}", lambda: len(losses(out)) >= step, seconds)


def lose_a_rank(bora, out, *marks):
    """Kills one of these at a random moment; the others stay."""
    reach(out, len(losses(out)) + random.randrange(20, 60))
    before = ranks(bora)
    assert len(before) == 4, before
    lost = random.choice(sorted(ranks(bora, *marks)))
    os.kill(lost, signal.SIGKILL)
    wait_until("another process in its place", lambda: len(ranks(bora) - {lost}) == 4, 60)
    assert before - ranks(bora) == {lost}, (before, lost, ranks(bora))


def same_numbers(out, result):
    expect(losses(out) == losses("calm"), result)
