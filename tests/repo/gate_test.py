#!/usr/bin/env python3
"""perf/gate: rows below the bound, rows that are gone and other values are told; a burst of other work is not."""
import pathlib
import subprocess
import sys
import tempfile

GATE = pathlib.Path(__file__).resolve().parents[2] / "perf/gate"
# A fake version, which answers as perf/compare_cases does. `times`: seconds of its runs in turn; the last one stays.
VERSION = """#!{python}
import json, sys
rows = {rows}
for line in sys.stdin:
    command, case, *_ = line.split()
    if case not in rows:
        answer = dict(error="no case " + case)
    elif command == "values":
        answer = dict(out=[rows[case]["value"]])
    elif command == "run":
        times = rows[case]["times"]
        answer = dict(seconds=times.pop(0) if len(times) > 1 else times[0])
    else:
        answer = dict()
    print(json.dumps(answer), flush=True)
"""


def row(*times, value=1.0):
    return {"times": list(times), "value": value}


def gate(old, new, *more):
    with tempfile.TemporaryDirectory() as folder:
        builds = [pathlib.Path(folder) / name for name in ("old", "new")]
        for build, rows in zip(builds, (old, new)):
            program = build / "perf/compare_cases"
            program.parent.mkdir(parents=True)
            program.write_text(VERSION.format(python=sys.executable, rows=rows))
            program.chmod(0o755)
        done = subprocess.run([sys.executable, GATE, *builds, "gelu_16k", "kalman", *more], capture_output=True,
                              text=True)
        return done.returncode, done.stdout


before = {"gelu_16k": row(1.0), "kalman": row(2.0)}
code, text = gate(before, before)
assert code == 0 and "gate: 2 rows, none below 0.95 of the old speed" in text, text
assert gate(before, {"gelu_16k": row(1.04), "kalman": row(0.5)})[0] == 0
code, text = gate(before, {"gelu_16k": row(1.25), "kalman": row(2.0)})
assert code == 1 and "16 KiB: 0.800 of the old speed" in text and "Kalman filter, 1000 steps, f64: " not in text, text
assert gate(before, {"gelu_16k": row(1.25), "kalman": row(2.0)}, "--least", "0.8")[0] == 0
burst = row(*[1.5] * 12, 1.0)   # the first measurement and a little more
assert gate(before, {"gelu_16k": burst, "kalman": row(2.0)})[0] == 0
code, text = gate(before, {"gelu_16k": row(1.0)})
assert code == 1 and "Kalman filter, 1000 steps, f64: the new build has no such row" in text, text
code, text = gate({"gelu_16k": row(1.0)}, before)
assert code == 0 and "f64 | not in the old build" in text and "gate: 1 rows" in text, text
code, text = gate(before, {"gelu_16k": row(1.0, value=1.1), "kalman": row(2.0)})
assert code == 1 and "16 KiB: values differ: out[0]: 1.0 and 1.1" in text, text
dies = row()   # at its first run: there is no time to tell
code, text = gate(before, {"gelu_16k": dies, "kalman": row(2.0)})
assert code == 1 and "16 KiB: failed: bora died at 'run gelu_16k" in text and "f64 | 2 s | 2 s | 1.00" in text, text
