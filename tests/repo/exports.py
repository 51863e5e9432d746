#!/usr/bin/env python3
"""The symbols of libbora.so are Bora's and what C++ makes of them, none of a namespace that cmake/exports.cmake hides,
and at most LIMIT.  exports.py ROOT LIBRARY"""
import collections
import pathlib
import re
import subprocess
import sys

LIMIT = 4000
root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
text = (root / "cmake/exports.cmake").read_text()


def names(variable):
    return tuple(re.search(rf"set\({variable} (.*?)\)", text, re.S).group(1).split())


hidden, shown = names("BORA_HIDDEN"), names("BORA_SHOWN")
lines = subprocess.run(["nm", "-D", "--defined-only", "--demangle", library], text=True, capture_output=True,
                       check=True).stdout.splitlines()
problems, spaces = [], collections.Counter()
for line in lines:
    name = line.split(" ", 2)[2]
    made = re.sub(r"^(vtable|typeinfo|typeinfo name|guard variable) for ", "", name)
    own = re.match(r"(?:void )?bora::(.*)", made)
    if not own:
        problems.append(f"no name of Bora: {name}")
        continue
    spaces[re.match(r"[\w~]*", own[1])[0]] += 1
    if own[1].startswith(hidden) and not own[1].startswith(shown):
        problems.append(f"hidden by cmake/exports.cmake, and exported: {name}")
if len(lines) > LIMIT:
    most = ", ".join(f"{space} {n}" for space, n in spaces.most_common(12))
    problems.append(f"{len(lines)} symbols; the limit is {LIMIT}. Most: {most}. BORA_HIDDEN of cmake/exports.cmake "
                    "hides what no public header declares")
missing = [name for name in shown if not any(f"bora::{name}" in line for line in lines)]
problems += [f"cmake/exports.cmake shows bora::{name}, and there is no such symbol" for name in missing]
print("\n".join(problems) if problems else f"{len(lines)} symbols")
sys.exit(bool(problems))
