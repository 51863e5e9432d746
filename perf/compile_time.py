#!/usr/bin/env python3
"""The budgets of compiling Bora: CPU seconds of the compilers (user time, without linking), and minutes.

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


def run(command):
    """(exit code, user seconds) of a command with its children."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime


def cpu_seconds(command):
    code, seconds = run(command)
    if code:
        sys.exit(f"compile_time: failed: {shlex.join(command)}")
    return seconds


def compile_unit(log, command):
    """Runs one command of the build; notes its object and its user seconds."""
    code, seconds = run(command)
    if "-o" in command:
        with open(log, "a") as f:   # one write: compilers that run at the same time share the file
            f.write(f"{seconds:.2f} {command[command.index('-o') + 1]}\n")
    sys.exit(code)


def configured(folder, log, *options):
    launcher = f"{sys.executable};{os.path.abspath(__file__)};--unit;{log}"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBORA_CCACHE=",
                    f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", *options], check=True, stdout=subprocess.DEVNULL)


def build(folder, jobs, *targets):
    """Seconds until ninja is done."""
    begin = time.monotonic()
    cpu_seconds(["ninja", "-C", str(folder), "--quiet", *(["-j", str(jobs)] if jobs else []), *targets])
    return time.monotonic() - begin


def builds(a, scratch):
    log, folder = f"{scratch}/units", f"{scratch}/build"
    configured(folder, log)
    good, waited = True, 0
    for word, (cpu, minutes), targets in (("the command", COMMAND, ["bora_cli"]), ("everything", EVERYTHING, [])):
        waited += build(folder, a.jobs, *targets)
        units = [(float(n), o) for n, o in (line.split() for line in pathlib.Path(log).read_text().splitlines())]
        good &= report(f"{word}, CPU", sum(n for n, _ in units), cpu * a.scale)
        good &= report(f"{word}, waiting for it", waited, minutes * 60 * a.scale)
    for seconds, name in sorted(units, reverse=True)[:30]:
        good &= report(name, seconds, UNIT * a.scale)
    print(f"{len(units)} units; {sum(s for s, n in units if n.endswith('.gch')):.0f} s for precompiled headers")
    return good


def one_source(a, scratch):
    folder = f"{scratch}/alone"
    configured(folder, f"{scratch}/alone_units", "-DBORA_UNITY=OFF", "-DBORA_TESTS=OFF", "-DBORA_EXAMPLES=OFF")
    build(folder, a.jobs, "bora_cli")
    source = ROOT / "src/ops/primitives/shape.cpp"
    before = source.stat()
    os.utime(source)
    seconds = build(folder, a.jobs, "bora_cli")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))   # other builds of this tree need not compile it
    return report(f"the command after a change of {source.relative_to(ROOT)}", seconds, ONE_SOURCE * a.scale)


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
