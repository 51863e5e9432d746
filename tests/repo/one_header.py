#!/usr/bin/env python3
"""All overloads of a public function over one type of array stand in exactly one public header, so that a call means
the same whatever headers a file has seen. Array and NamedArray count apart. Usage: one_header.py ROOT"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
# call(f, arrays) of a primitive: its template needs the primitives' header, which array.h does not read.
EXEMPT = {"call"}
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from declarations import HIDDEN_SPACES, declarations, name_of  # noqa: E402

homes = collections.defaultdict(set)
for layer in sorted(folder.name for folder in (ROOT / "include/bora").iterdir() if folder.is_dir()):
    for header in sorted((ROOT / "include/bora" / layer).glob("*.h")):
        for spaces, code, *_ in declarations(header.read_text()):
            path = [p for s in spaces for p in s.split("::") if p != "bora"]
            named = name_of(code)
            if not named or named[0] != "function" or HIDDEN_SPACES & set(path) or "unavailable" in code:
                continue
            of = re.search(r"\b(NamedArray)\b", code) or re.search(r"\b(Array)s?\b", code)
            if of and named[1] not in EXEMPT:   # not a transform of functions, nor an overload for another type
                homes["::".join(path + [named[1]]), of.group(1)].add(f"{layer}/{header.name}")
several = {key: found for key, found in homes.items() if len(found) > 1}
for (name, of), found in sorted(several.items()):
    print(f"{name} of {of} is declared in {', '.join(sorted(found))}: its overloads belong in one header")
if not several:
    print(f"{len(homes)} functions, each in one header")
sys.exit(1 if several else 0)
