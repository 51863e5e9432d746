#!/usr/bin/env python3
"""The budgets of compiling Bora: CPU seconds of the compilers (user time), and minutes.

perf/compile_time.py [--jobs N] [--scale F] [--skip-build] [--skip-headers] [--one-source]. Configures an empty folder
that is thrown away, without ccache, and builds the command, then everything (tests and examples); each unit's seconds
are noted. Headers and the program are medians of five. --one-source: builds the command with BORA_UNITY=OFF and then
again after a change of one source of ops. Budgets are those of a quiet machine with two cores on which the command
took 1,560 s before its sources were compiled in batches; --scale F multiplies them for another machine (measure that
old command there: commit 3044d8fa). CPU seconds do not count waiting, but a machine with busy neighbours shows up to
twice those of a quiet one. Exits 1 above a budget.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT, HEADER, PROGRAM = 20, 0.6, 2  # CPU seconds
COMMAND, EVERYTHING = (600, 5.5), (1200, 11)  # CPU seconds, minutes
ONE_SOURCE = 20  # seconds until the command is linked again
UMBRELLAS = ("bora.h", "xtensor.h", "eigen.h")


def cpu_seconds(command, folder=None):
    """User time of a command and its children."""
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"compile_time: failed: {shlex.join(command)}")
    return usage.ru_utime


def compile_unit(log, command):
    """Runs one command of the build; notes its object and its user seconds."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if "-o" in command:
        with open(log, "a") as f:
            f.write(f"{usage.ru_utime:.2f} {command[command.index('-o') + 1]}\n")
    sys.exit(os.waitstatus_to_exitcode(status))


def configured(folder, log, *options):
    launcher = f"{sys.executable};{os.path.abspath(__file__)};--unit;{log}"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBORA_CCACHE=",
                    f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", *options], check=True, stdout=subprocess.DEVNULL)


def build(folder, jobs, *targets):
    """(CPU seconds, minutes) of ninja."""
    begin = time.monotonic()
    seconds = cpu_seconds(["ninja", "-C", str(folder), "--quiet", *(["-j", str(jobs)] if jobs else []), *targets])
    return seconds, (time.monotonic() - begin) / 60


def builds(a, scratch):
    log, folder = f"{scratch}/units", f"{scratch}/build"
    configured(folder, log)
    good, total = True, (0, 0)
    for word, budget, targets in (("the command", COMMAND, ["bora_cli"]), ("everything", EVERYTHING, [])):
        cost = build(folder, a.jobs, *targets)
        total = (total[0] + cost[0], total[1] + cost[1])
        good &= report(f"{word}, CPU", total[0], budget[0] * a.scale)
        good &= report(f"{word}, waiting for it", total[1] * 60, budget[1] * 60 * a.scale)
    units = sorted(((float(n), o) for n, o in (line.split() for line in open(log))), reverse=True)
    for seconds, name in units[:30]:
        good &= report(name, seconds, UNIT * a.scale)
    print(f"{len(units)} units; {sum(s for s, n in units if n.endswith('.gch')):.0f} s for precompiled headers")
    return good


def one_source(a, scratch):
    folder = f"{scratch}/alone"
    configured(folder, f"{scratch}/alone_units", "-DBORA_UNITY=OFF", "-DBORA_TESTS=OFF", "-DBORA_EXAMPLES=OFF")
    build(folder, a.jobs, "bora_cli")
    source = ROOT / "src/ops/shape.cpp"
    found = next(p for p in [source, *sorted((ROOT / "src/ops").rglob("shape.cpp"))] if p.exists())
    os.utime(found)
    return report(f"the command after a change of {found.relative_to(ROOT)}",
                  build(folder, a.jobs, "bora_cli")[1] * 60, ONE_SOURCE * a.scale)


def report(word, seconds, budget):
    print(f"{seconds:8.2f} s of {budget:6.2f} s  {word}{'' if seconds <= budget else '  ABOVE'}", flush=True)
    return seconds <= budget


def main():
    if sys.argv[1:2] == ["--unit"]:
        compile_unit(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--skip-build", action="store_true")
    parser.add_argument("--skip-headers", action="store_true")
    parser.add_argument("--one-source", action="store_true")
    a = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        if not a.skip_build:
            good &= builds(a, scratch)
        if a.one_source:
            good &= one_source(a, scratch)
        if not a.skip_headers:
            flags = [os.environ.get("CXX", "c++"), "-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}/transport/include",
                     "-x", "c++"]
            median = lambda command: statistics.median(cpu_seconds(command) for _ in range(5))
            program = [*flags, "-O0", "-c", f"{ROOT}/examples/quickstart.cpp", "-o", f"{scratch}/o"]
            good &= report("examples/quickstart.cpp (50 lines with bora.h) at -O0", median(program), PROGRAM * a.scale)
            public = [h for top in ("include", "transport/include") for h in sorted((ROOT / top).rglob("*.h"))
                      if h.name not in UMBRELLAS]
            times = {}
            for header in public:
                alone = pathlib.Path(scratch, "alone.cpp")
                alone.write_text(f'#include "{header}"\n')
                times[header] = median([*flags, "-fsyntax-only", str(alone)])
            for header, seconds in sorted(times.items(), key=lambda x: -x[1])[:10]:
                good &= report(f"{header.relative_to(ROOT)} alone", seconds, HEADER * a.scale)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
