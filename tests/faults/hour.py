#!/usr/bin/env python3
"""hour.py BORA FOLDER [MINUTES]: a run of an hour on four ranks as an operator lives through it. It saves each minute;
its page and /metrics are read each five seconds. On the way it is told to save (USR1), one rank is stopped half of the
time, the run is stopped (TERM) and goes on, a rank is killed (kill -9) and the run goes on, and its disk is full for
three minutes. Then: every alert is one that was to come, and says the cause; the newest checkpoint verifies; and a calm
run of as many steps has the same losses, bit for bit. Prints what the run said. 77: no disk of its own can be mounted.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

bora, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
minutes = float(sys.argv[3]) if len(sys.argv) > 3 else 60.0
disk, out = folder / "disk", folder / "disk/run"
begin = time.monotonic()
problems, runs, answers = [], [], {"page": 0, "metrics": 0, "data": 0}


def say(text):
    print(f"[{(time.monotonic() - begin) / 60:5.1f} min] {text}", flush=True)


def check(ok, text):
    if not ok:
        problems.append(text)
        say("WRONG: " + text)


def wait_until(part, shift=0.0):
    """Until this part of the whole time."""
    time.sleep(max(0, begin + 60 * (minutes * part + shift) - time.monotonic()))


def lines():
    path = out / "metrics.jsonl"
    return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []


def events():
    return [(x["event"], x["text"]) for x in lines() if "event" in x]


class Run:
    def __init__(self, words, log):
        self.log, self.url = folder / log, None
        self.process = subprocess.Popen([bora, "launch", "-n", "4", "--layout", "fsdp", "train", *words],
                                        stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        runs.append(self)

    def ranks(self):
        """The processes of the ranks, by their numbers."""
        found = {}
        for p in pathlib.Path("/proc").iterdir():
            try:
                around = (p / "environ").read_bytes() if p.name.isdigit() else b""
            except OSError:
                continue
            if f"BORA_JOB={self.process.pid}@".encode() in around:
                if rank := re.search(rb"\0BORA_RANK=(\d+)\0", b"\0" + around):
                    found[int(rank[1])] = int(p.name)
        return found

    def address(self):
        if not self.url and (m := re.search(r"page: (http://\S+?)/?\?token=(\S+)", self.log.read_text())):
            self.url = m[1], m[2]
        return self.url

    def end(self, code, seconds=120):
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            got = "none"
        check(got == code, f"exit code {code}, not {got}: {self.log.read_text()[-600:]}")


def watch(over):
    """The page, its data and /metrics, each five seconds."""
    while not over.wait(5):
        run = runs[-1]
        if run.process.poll() is not None or not run.address():
            continue
        root, token = run.address()
        for what, path in (("page", "/"), ("data", "/data"), ("metrics", "/metrics")):
            ask = urllib.request.Request(root + path, headers={"Authorization": "Bearer " + token})
            try:
                with urllib.request.urlopen(ask, timeout=10) as answer:
                    size = len(answer.read())
                answers[what] += 1
                check(size < 256 << 10, f"an answer of {size} bytes")
            except OSError as e:
                if run.process.poll() is None and not hurt.is_set():
                    check(False, f"{path}: {e}")


def save_after(step):
    return [x["step"] for x in lines() if "checkpoint/write" in x and x["step"] > step]


folder.mkdir(parents=True, exist_ok=True)
disk.mkdir(exist_ok=True)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
    print("SKIPPED: this Linux permits no mounts")
    sys.exit(77)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
over, hurt = threading.Event(), threading.Event()
text = folder / "text"
text.write_text("\n%\n".join(f"Line {i} says what line {i * i % 977} has said, and not more." for i in range(20000)))
words = [f"data={text}", "batch=8", "model.embed=192", "model.layers=3", "model.heads=6", "model.positions=128",
         "mesh.threads=1", "eval.every=500", "eval.rows=16", "log_every=50", "transport.calibrate=off"]
kept = ["checkpoint.minutes=1", "checkpoint.wait=30s", "page=on", "steps=100000000", f"out={out}"]
try:
    watcher = threading.Thread(target=watch, args=(over,), daemon=True)
    Run([*words, *kept], "first.log")
    watcher.start()
    say("the run has begun")

    wait_until(0.12)
    at = lines()[-1]["step"]
    os.kill(runs[-1].process.pid, signal.SIGUSR1)
    say(f"USR1 at step {at}")
    time.sleep(40)
    check(save_after(at), "USR1 saves")
    check(not events(), f"no alert yet: {events()}")

    wait_until(0.2)
    slow = runs[-1].ranks()[2]
    say("rank 2 is stopped half of the time")
    end = time.monotonic() + 60 * minutes * 0.12
    while time.monotonic() < end:
        os.kill(slow, signal.SIGSTOP)
        time.sleep(0.25)
        os.kill(slow, signal.SIGCONT)
        time.sleep(0.25)
    said = [t for w, t in events() if w == "slow_rank"]
    check(said and all("rank 2 " in t for t in said), f"rank 2 is called slow: {events()}")

    wait_until(0.45)
    hurt.set()
    at = lines()[-1]["step"]
    os.kill(runs[-1].process.pid, signal.SIGTERM)
    runs[-1].end(130)
    say(f"TERM at step {at}: {runs[-1].log.read_text().strip().splitlines()[-1]}")
    Run([*words, *kept], "second.log")
    hurt.clear()

    wait_until(0.6)
    hurt.set()
    victim = runs[-1].ranks()[3]
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    runs[-1].end(86)
    say(f"kill -9 of rank 3: all ended after {time.monotonic() - killed:.1f} s: "
        f"{runs[-1].log.read_text().strip().splitlines()[-1]}")
    check("rank 3" in runs[-1].log.read_text(), "the lost rank is named")
    check(not runs[-1].ranks(), "no rank is left")
    Run([*words, *kept], "third.log")
    hurt.clear()

    wait_until(0.75)
    before = len(events())
    say("the disk is full")
    filler = disk / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], stderr=subprocess.DEVNULL)
    wait_until(0.75, 3.2)
    said = [w for w, _ in events()[before:]]
    filler.unlink()
    say("the disk has room again")
    at = lines()[-1]["step"]
    time.sleep(150)
    said += [w for w, _ in events()[before:]]
    check("save_failed" in said or "disk" in said, f"the full disk is said: {said}")
    check(save_after(at), "it saves again")
    check(runs[-1].process.poll() is None, "the run goes on")

    wait_until(1)
    hurt.set()
    os.kill(runs[-1].process.pid, signal.SIGTERM)
    runs[-1].end(130)
    over.set()
    watcher.join()
    for word, sentence in events():
        say(f"alert {word}: {sentence}")
    # A loss that jumps does so in the calm run as well.
    expected = {"slow_rank", "slow_rate", "stalled", "save_failed", "disk", "loss_spike"}
    check({w for w, _ in events()} <= expected, f"no other alert than {expected}")
    say(f"answers: {answers}")
    check(min(answers.values()) > 5 * minutes, "the page was there")
    listing = subprocess.run([bora, "checkpoints", out, "verify"], capture_output=True, text=True)
    check(listing.returncode == 0, f"checkpoints verify: {listing.stdout}{listing.stderr}")

    mine = [(x["step"], x["train/loss"]) for x in lines() if "train/loss" in x]
    last = mine[-1][0]
    check([s for s, _ in mine] == list(range(1, last + 1)), "a line of each step, once")
    say(f"a calm run of {last} steps")
    calm = folder / "calm"
    calm_run = subprocess.Popen([bora, "launch", "-n", "4", "--layout", "fsdp", "train", *words, "steps=100000000",
                                 "checkpoint.every=100000000", f"out={calm}"],
                                stdout=open(folder / "calm.log", "w"), stderr=subprocess.STDOUT)
    theirs = []
    while len(theirs) < last and calm_run.poll() is None:
        time.sleep(5)
        path = calm / "metrics.jsonl"
        theirs = [x for x in path.read_text().splitlines() if '"train/loss"' in x] if path.exists() else []
    calm_run.send_signal(signal.SIGTERM)
    calm_run.wait()
    theirs = [(x["step"], x["train/loss"]) for x in map(json.loads, theirs)][:last]
    check(theirs == mine, "the same losses as a calm run's")
    say(f"{last} steps, the last loss {mine[-1][1]}, the calm run's {theirs[-1][1] if theirs else None}")
finally:
    over.set()
    for run in runs:
        if run.process.poll() is None:
            run.process.send_signal(signal.SIGTERM)
            try:
                run.process.wait(60)
            except subprocess.TimeoutExpired:
                run.process.kill()
    subprocess.run(["umount", "-l", disk])
print("problems:", *problems, sep="\n  ") if problems else print("every part held")
sys.exit(bool(problems))
