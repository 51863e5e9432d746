#!/usr/bin/env python3
"""Each line of tests/wide.txt names a case that its program has, once: one that is misspelt would run nowhere."""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
problems, seen = [], set()
for number, line in enumerate((top / "tests/wide.txt").read_text().splitlines()[1:], 2):
    program, case = line.split(" ")
    suite, name = re.fullmatch(r"(?:[\w*]+/)?(\w+)\.(\w+)(?:/.+)?", case).groups()
    folder = top / "tests" / program.removesuffix("_test")
    wanted = re.compile(r"TEST(?:_F|_P)?\(%s, %s\)" % (suite, name))
    if not any(wanted.search(f.read_text()) for f in folder.glob("*_test.cpp")):
        problems.append(f"tests/wide.txt:{number}: {program} has no case {case}")
    if line in seen:
        problems.append(f"tests/wide.txt:{number}: {case} stands there twice")
    seen.add(line)
print("\n".join(problems) if problems else f"{len(seen)} cases")
sys.exit(bool(problems))
