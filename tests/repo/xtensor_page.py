#!/usr/bin/env python3
"""Writes a program that runs every row of docs/xtensor.md: xtensor_page.py docs/xtensor.md program.cpp. A row has
xtensor's code, Bora's and the result: numbers as NumPy prints them (several arrays one after the other), or "same", if
xtensor's code is to be run too."""
import json
import pathlib
import re
import sys

PAGE, PROGRAM = (pathlib.Path(p) for p in sys.argv[1:3])
HEAD = """// Made from docs/xtensor.md by tests/repo/xtensor_page.py.
#include <complex>
#include <iostream>
#include <numbers>
#include <sstream>
#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmasked_view.hpp>
#include <xtensor/xpad.hpp>
#include <xtensor/xset_operation.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xstrided_view.hpp>
#include "bora/bora.h"
#include "bora/ops/indexing.h"
#include "bora/ops/element_views.h"
#include "bora/xtensor_operation.h"
#include "repo/xtensor_page.h"
using namespace bora;

"""


def cells(line):
    """The cells of a row; a bar inside of code is written \\|."""
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


text = PAGE.read_text()
setup = re.search(r"```cpp\n(.*?)```", text, re.S).group(1)
rows, problems = [], []
for number, line in enumerate(text.split("\n"), 1):
    if not line.startswith("|") or line.startswith("|---") or line.startswith("| xtensor |"):
        continue
    row = cells(line)
    codes = [re.fullmatch(r"`(.*)`", c) for c in row]
    if len(row) != 3 or not codes[0] or not codes[1] or not (codes[2] or row[2] == "same"):
        problems.append(f"{PAGE.name}:{number}: a row is | `xtensor` | `Bora` | `result` or same |")
        continue
    want = f"page::value({codes[0].group(1)})" if row[2] == "same" else f"page::parsed({json.dumps(codes[2].group(1))})"
    rows.append(f"void row_{number}() {{\n  page::row({number}, page::value({codes[1].group(1)}), {want});\n}}")
if len(rows) < 170:
    problems.append(f"{PAGE.name}: only {len(rows)} rows were found: the page or this script is broken")
if problems:
    sys.exit("\n".join(problems))
calls = "".join(f"  page::run({r.split('_')[1].split('(')[0]}, {r.split(' ')[1].split('(')[0]});\n" for r in rows)
PROGRAM.write_text(HEAD + "namespace {\n" + setup + "\n" + "\n".join(rows) + "\n}  // namespace\nint main() {\n" +
                   calls + "  return page::finish();\n}\n")
