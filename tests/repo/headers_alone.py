#!/usr/bin/env python3
"""Every public header compiles alone. Usage: headers_alone.py ROOT COMPILER [flags...]"""
import concurrent.futures
import pathlib
import subprocess
import sys

root, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
headers = sorted((root / "include").rglob("*.h")) + sorted((root / "transport/include").rglob("*.h"))


def compile_alone(header):
    r = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
                        f"-I{root}/include", f"-I{root}/transport/include", *flags, "-"],
                       input=f'#include "{header}"\n', text=True, capture_output=True)
    return header, r


failed = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for header, r in pool.map(compile_alone, headers):
        if r.returncode:
            failed += 1
            print(f"{header.relative_to(root)} does not compile alone:\n{r.stderr[:2000]}")
print(f"{len(headers)} headers, {failed} failed")
sys.exit(1 if failed else 0)
