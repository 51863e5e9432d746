#!/usr/bin/env python3
"""tools/python/bora_reader reads what the command writes: every array of a checkpoint, on any mesh, the same bits; a
damaged byte names the leaf that the command names; metrics as their lines. usage: reader_test.py ROOT BORA"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIPPED: needs python3-numpy")
    sys.exit(77)
ROOT, BORA = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/python"))
import bora_reader as reader  # noqa: E402


def expect(right, *words):
    if not right:
        sys.exit("reader_test: " + " ".join(map(str, words)))


def bora(*words, code=0):
    r = subprocess.run([BORA, *map(str, words)], capture_output=True, text=True)
    expect(r.returncode == code, words, r.returncode, r.stdout, r.stderr)
    return r


def raises(words, call):
    try:
        call()
    except reader.CheckpointError as e:
        expect(words in str(e), f"'{e}' lacks '{words}'")
    else:
        expect(False, "no error says", words)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "text").write_text("".join(random.Random(1).choice("abc \n") for _ in range(20000)))
    settings = [f"data={folder}/text", "steps=3", "batch=4", "model.layers=2", "model.embed=32", "model.heads=2",
                "model.positions=16", "eval_rows=4", "reproducible=4"]
    runs = {}
    for name, mesh in (("one", ["-n", 1]), ("two", ["-n", 2, "--layout", "tp"]), ("four", ["-n", 4, "--layout", "dp"]),
                       ("half", ["-n", 2, "--layout", "fsdp"])):
        runs[name] = folder / name
        more = ["policy=p=bf16,c=f32,o=f32", "reproducible=0"] if name == "half" else []
        more += ["reproducible=0"] if name == "two" else []
        bora("launch", *mesh, "--out", runs[name], "train", *settings, *more)
    one, four = reader.load(runs["one"], verify=True), reader.load(runs["four"] / "checkpoints", verify=True)
    expect(list(one) == list(four) and len(one) > 20, "leaves", len(one), len(four))
    for path in one:
        expect(one[path].dtype == four[path].dtype and np.array_equal(one[path], four[path]), path, "differs")
    split = reader.load(runs["two"], verify=True)
    for path in one:
        expect(split[path].shape == one[path].shape, path, split[path].shape)
        if path.startswith("params."):
            expect(np.allclose(split[path], one[path], atol=1e-3), path, "is another one")
    half = reader.load(runs["half"], only="params.*", verify=True)
    for path, x in half.items():
        bits = (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        expect(np.allclose(bits, one[path], atol=2e-2), path, "is no bf16")
    expect(one["step"].item() == 3, one["step"])
    expect(len(reader.load(runs["one"], only=["step", "params.*"])) < len(one), "only")
    raises("no leaf is named nothing", lambda: reader.load(runs["one"], only="nothing"))
    raises("no checkpoint at", lambda: reader.load(folder))
    notes = reader.read_manifest(runs["one"]).notes
    expect("steps: 3" in notes["settings"], notes)

    # Any damaged byte: the leaf is the one that the command names.
    at = reader.find(runs["two"])
    files = sorted(at.glob("rank-*"))
    draw = random.Random(7)
    for _ in range(12):
        file = draw.choice(files)
        whole = file.read_bytes()
        place = draw.randrange(len(whole))
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1:])
        said = bora("inspect", at, code=2).stderr
        try:
            reader.load(at, verify=True)
            expect(False, "byte", place, "of", file, "is not missed")
        except reader.CheckpointError as e:
            leaf = str(e).split("leaf '")[1].split("'")[0]
            expect(f"'{leaf}'" in said, e, said)
        file.write_bytes(whole)
    reader.load(at, verify=True)
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[:-1])
    raises("is shorter than", lambda: reader.load(at))
    files[0].write_bytes(whole)
    manifest = (at / "manifest").read_bytes()
    for cut in (0, 7, 24, len(manifest) - 1):
        (at / "manifest").write_bytes(manifest[:cut])
        raises("the manifest is damaged", lambda: reader.load(at))
    for _ in range(40):
        place = draw.randrange(len(manifest))
        (at / "manifest").write_bytes(manifest[:place] + bytes([manifest[place] ^ 1 << draw.randrange(8)]) +
                                      manifest[place + 1:])
        raises("the manifest is damaged", lambda: reader.load(at))

    lines = [json.loads(line) for line in (runs["one"] / "metrics.jsonl").read_text().splitlines()]
    metrics = reader.open_metrics(runs["one"])
    steps, losses = metrics["train/loss"]
    expect([(line["step"], line["train/loss"]) for line in lines if "train/loss" in line] ==
           list(zip(steps.tolist(), losses.tolist())), steps, losses)
    with open(runs["one"] / "metrics.jsonl", "a") as file:
        file.write('{"step": 4, "train/lo')   # being written
    expect(len(reader.open_metrics(runs["one"])["train/loss"][0]) == len(steps), "half a line")
print("passed")
