#!/usr/bin/env python3
"""The ten slowest translation units of a build, from ninja's log.

perf/compile_time.py [build/release] [--budget SECONDS]. Times are wall seconds of the last time each was built (with
ccache switched off they are the compiler's). Exits 1 above the budget.
"""
import argparse
import pathlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
parser.add_argument("--budget", type=float, default=60, help="seconds the slowest may take")
a = parser.parse_args()
log = a.build / ".ninja_log"
if not log.exists():
    sys.exit(f"compile_time: no {log}; build first")
times = {}
for line in log.read_text().splitlines()[1:]:
    start, end, _, output, _ = line.split("\t")
    if output.endswith((".o", ".gch")):
        times[output] = (int(end) - int(start)) / 1000
slowest = sorted(times.items(), key=lambda x: -x[1])[:10]
for name, seconds in slowest:
    print(f"{seconds:7.1f} s  {name}")
print(f"{sum(times.values()):7.1f} s  all {len(times)} translation units")
sys.exit(1 if slowest and slowest[0][1] > a.budget else 0)
