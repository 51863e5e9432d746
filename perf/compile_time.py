#!/usr/bin/env python3
"""The budgets of compiling Bora, each with its measured cost in CPU seconds of the compiler.

perf/compile_time.py [BUILD] [--units WORD...] [--jobs N] [--skip-units] [--skip-headers]. BUILD (build/release) must be
configured; its precompiled headers are built if they are missing. Each unit of its compile_commands.json is compiled
once more without ccache, into a folder that is thrown away; headers and the program are medians of five. CPU seconds do
not count waiting, but a machine with busy neighbours shows up to twice those of a quiet one. Exits 1 above a budget.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT, HEADER, PROGRAM, ALL = 20, 0.6, 2.5, 720  # seconds; ALL: six minutes of two cores
UMBRELLAS = ("bora.h", "xtensor.h", "eigen.h")


def cpu_seconds(command, folder=None):
    """User time of a command and its children."""
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"compile_time: failed: {shlex.join(command)}")
    return usage.ru_utime


def unit(entry, scratch):
    """Its object's name in the build, and the seconds."""
    command = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")]
    command = command[next(i for i, w in enumerate(command) if re.search(r"(\+\+|cc)(-\d+)?$", w)):]
    at = command.index("-o") + 1
    name = command[at]
    handle, command[at] = tempfile.mkstemp(dir=scratch)
    os.close(handle)
    seconds = cpu_seconds(command, entry["directory"])
    os.unlink(command[at])
    return name, seconds


def report(word, seconds, budget):
    print(f"{seconds:8.2f} s of {budget:6.2f} s  {word}{'' if seconds <= budget else '  ABOVE'}", flush=True)
    return seconds <= budget


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--units", nargs="*", default=[], help="only units whose object's path has one of these words")
    parser.add_argument("--skip-units", action="store_true")
    parser.add_argument("--skip-headers", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    a = parser.parse_args()
    database = a.build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"compile_time: no {database}; configure first")
    entries = json.loads(database.read_text())
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        if not a.skip_units:
            headers = re.findall(r"^(\S+\.[gp]ch):", subprocess.run(["ninja", "-C", a.build, "-t", "targets", "all"],
                                 text=True, capture_output=True, check=True).stdout, re.M)
            if headers:
                subprocess.run(["ninja", "-C", a.build, *headers], check=True, stdout=subprocess.DEVNULL)
            chosen = [e for e in entries if not a.units or any(w in e["command"] for w in a.units)]
            with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
                times = dict(pool.map(lambda e: unit(e, scratch), chosen))
            for name, seconds in sorted(times.items(), key=lambda x: -x[1])[:30]:
                good &= report(name, seconds, UNIT)
            print(f"{len(headers):3} precompiled headers:"
                  f" {sum(s for n, s in times.items() if n.endswith(('.gch', '.pch'))):.0f} s")
            if not a.units:
                good &= report(f"all {len(times)} units", sum(times.values()), ALL)
        if not a.skip_headers:
            compiler = next(w for w in shlex.split(entries[0]["command"]) if re.search(r"(\+\+|cc)(-\d+)?$", w))
            flags = [compiler, "-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}/transport/include", "-x", "c++"]
            median = lambda command: statistics.median(cpu_seconds(command) for _ in range(5))
            program = [*flags, "-O0", "-c", f"{ROOT}/examples/quickstart.cpp", "-o", f"{scratch}/o"]
            good &= report("examples/quickstart.cpp (50 lines with bora.h) at -O0", median(program), PROGRAM)
            public = [h for top in ("include", "transport/include") for h in sorted((ROOT / top).rglob("*.h"))
                      if h.name not in UMBRELLAS]
            times = {}
            for header in public:
                alone = pathlib.Path(scratch, "alone.cpp")
                alone.write_text(f'#include "{header}"\n')
                times[header] = median([*flags, "-fsyntax-only", str(alone)])
            for header, seconds in sorted(times.items(), key=lambda x: -x[1])[:10]:
                good &= report(f"{header.relative_to(ROOT)} alone", seconds, HEADER)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
