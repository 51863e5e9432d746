#!/usr/bin/env python3
"""Every public header, and every one of a layer for others (src/LAYER/api), compiles alone.
headers_alone.py ROOT COMPILER [flags...]

Most of a header's time goes to headers that many others include too. Those of BASES are precompiled; a header that
includes all of a base (directly or not) begins with it, and so sees nothing that it does not include itself.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

BASES = [["bora/base/error.h"], ["bora/array/array.h"], ["bora/array/rules.h"], ["bora/tree/tree.h"],
         ["bora/ops/indexing.h"], ["bora/fx/tree_call.h"], ["bora/named/named.h"]]
root, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
folders = [root / "include", root / "transport/include"]
headers = {h.relative_to(top).as_posix(): h for top in folders for h in sorted(top.rglob("*.h"))}
headers |= {h.relative_to(root / "src").as_posix(): h for h in sorted((root / "src").glob("*/api/*.h"))}
own = {name: re.findall(r'^#include ["<]([^">]+)[">]', h.read_text(), re.M) for name, h in headers.items()}
command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror",
           *(f"-I{folder}" for folder in [*folders, root / "src"]), *flags]


def reach(name, seen):
    """All headers that a header includes, itself among them."""
    if name not in seen:
        seen.add(name)
        for include in own.get(name, ()):
            reach(include, seen)
    return seen


def lines(include):
    return f'#include "{include}"\n'


def precompile(base, at):
    """The options that begin a unit with these headers, and what they reach; the headers that do not compile."""
    at.write_text("".join(map(lines, base)))
    clang = "clang" in subprocess.run([compiler, "--version"], text=True, capture_output=True).stdout
    out = f"{at}.{'pch' if clang else 'gch'}"
    r = subprocess.run([*command, "-x", "c++-header", str(at), "-o", out], text=True, capture_output=True)
    if r.returncode:
        return None  # the headers themselves fail below
    use = ["-include-pch", out] if clang else ["-Winvalid-pch", "-include", str(at)]
    return use, set().union(*(reach(h, set()) for h in base))


def compile_alone(name):
    reached = reach(name, set()) - {name}
    begin = max((b for b in bases if b[1] <= reached), key=lambda b: len(b[1]), default=([], ()))[0]
    return name, subprocess.run([*command, *begin, "-fsyntax-only", "-x", "c++", "-"], input=lines(name), text=True,
                                capture_output=True)


failed = 0
with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
    places = [pathlib.Path(folder, f"base{i}.h") for i in range(len(BASES))]
    bases = [b for b in pool.map(precompile, BASES, places) if b]
    for name, r in pool.map(compile_alone, sorted(headers)):
        if r.returncode:
            failed += 1
            print(f"{headers[name].relative_to(root)} does not compile alone:\n{r.stderr[:2000]}")
print(f"{len(headers)} headers, {failed} failed")
sys.exit(1 if failed else 0)
