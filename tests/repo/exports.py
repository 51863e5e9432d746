#!/usr/bin/env python3
"""The symbols of libbora.so are Bora's and what C++ makes of them, none of a namespace that cmake/exports.cmake hides,
and at most LIMIT. With NINJA, the program that built it: GNU ld links it as well, with the same symbols.
    exports.py ROOT LIBRARY [NINJA]"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 4140
root, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
text = (root / "cmake/exports.cmake").read_text()


def names(variable):
    return tuple(re.search(rf"set\({variable} (.*?)\)", text, re.S).group(1).split())


def symbols(file):
    lines = subprocess.run(["nm", "-D", "--defined-only", "--demangle", file], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    # Each has the library's version behind it; the version itself is a symbol.
    return [re.sub(r"@@BORA_[\d.]+$", "", line.split(" ", 2)[2]) for line in lines if " A BORA_" not in line]


def by_gnu_ld(ninja):
    """What the library of the same objects exports when GNU ld links it."""
    command = subprocess.run([ninja, "-C", library.parent, "-t", "commands", "-s", library.name], text=True,
                             capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        command, n = re.subn(rf" -o {re.escape(library.name)} ", f" -fuse-ld=bfd -o {folder}/{library.name} ", command)
        assert n == 1, command
        done = subprocess.run(command, shell=True, cwd=library.parent, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"GNU ld does not link the library:\n{done.stdout}{done.stderr}"[:4000])
        return symbols(f"{folder}/{library.name}")


hidden, shown = names("BORA_HIDDEN"), names("BORA_SHOWN")
exported = symbols(library)
problems, spaces = [], collections.Counter()
for name in exported:
    made = re.sub(r"^(vtable|typeinfo|typeinfo name|guard variable) for ", "", name)
    own = re.match(r"(?:void )?bora::(.*)", made)
    if not own:
        problems.append(f"no name of Bora: {name}")
        continue
    spaces[re.match(r"[\w~]*", own[1])[0]] += 1
    if own[1].startswith(hidden) and not own[1].startswith(shown):
        problems.append(f"hidden by cmake/exports.cmake, and exported: {name}")
if len(exported) > LIMIT:
    most = ", ".join(f"{space} {n}" for space, n in spaces.most_common(12))
    problems.append(f"{len(exported)} symbols; the limit is {LIMIT}. Most: {most}. BORA_HIDDEN of cmake/exports.cmake "
                    "hides what no public header declares")
missing = [name for name in shown if not any(f"bora::{name}" in symbol for symbol in exported)]
problems += [f"cmake/exports.cmake shows bora::{name}, and there is no such symbol" for name in missing]
if len(sys.argv) > 3:
    # mold cannot read the names of some lambdas' types, which no program asks for.
    here, there = (collections.Counter(n for n in found if "{lambda" not in n)
                   for found in (exported, by_gnu_ld(sys.argv[3])))
    problems += [f"not exported when GNU ld links: {name}" for name in sorted((here - there).elements())]
    problems += [f"exported only when GNU ld links: {name}" for name in sorted((there - here).elements())]
print("\n".join(problems) if problems else f"{len(exported)} symbols")
sys.exit(bool(problems))
