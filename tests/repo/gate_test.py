#!/usr/bin/env python3
"""perf/gate: falls below the bound, missing peers and disagreements are told, seconds are not looked at."""
import json
import pathlib
import subprocess
import sys
import tempfile

GATE = pathlib.Path(__file__).resolve().parents[2] / "perf/gate"


def row(case, ratio, seconds=1.0, disagreement=(), peers=("torch", "jax")):
    return {"case": case, "ratio": ratio, "bora": {"median": seconds}, "disagreement": list(disagreement),
            "peers": {p: {"median": seconds} for p in peers if ratio}}


def gate(old, new, *more):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("old", "new")]
        for file, rows in zip(files, (old, new)):
            file.write_text(json.dumps({"rows": rows}))
        done = subprocess.run([sys.executable, GATE, *files, *more], capture_output=True, text=True)
        return done.returncode, done.stdout


before = [row("a", 2.0), row("b", 1.0), row("alone", None)]
assert gate(before, before)[0] == 0
assert gate(before, [row("a", 1.92, seconds=9.0), row("b", 0.96), row("alone", None)])[0] == 0
code, text = gate(before, [row("a", 1.75), row("b", 1.0), row("alone", None)])
assert code == 1 and "a: ratio 2.00 -> 1.75" in text and "b:" not in text, text
assert gate(before, [row("a", 1.75), row("b", 1.0), row("alone", None)], "--least", "0.8")[0] == 0
assert "b: not measured" in gate(before, [row("a", 2.0), row("alone", None)])[1]
assert "b: not measured any more: torch, jax" in gate(before, [row("a", 2.0), row("b", None), row("alone", None)])[1]
code, text = gate(before, [row("a", 2.5, peers=("jax",)), row("b", 1.0), row("alone", None)])
assert code == 1 and text == "a: not measured any more: torch\n", text
code, text = gate(before, [row("a", 2.0), row("b", 3.0, disagreement=["torch: 1 and 2", "jax: 1 and 3"], peers=()),
                           row("alone", None)])
assert code == 1 and text == "b: disagrees with torch: 1 and 2\nb: disagrees with jax: 1 and 3\n", text
assert "new: disagrees with torch" in gate(before, [*before, row("new", 1.0, disagreement=["torch: 1 and 2"])])[1]
