#!/usr/bin/env python3
"""Writes programs that run every row of docs/xtensor.md: xtensor_page.py docs/xtensor.md program.cpp forms.cpp. A row
has xtensor's code, Bora's and the result: numbers as NumPy prints them (several arrays one after the other), or "same",
if xtensor's code is to be run too. The second program runs Bora's code with xtensor's arguments: in place of all Arrays
of a row (functions are called as bora::), of all but the first, of all but the last, and by jit called with them; and
xtensor's code without xt::, which must stay xtensor's beside `using namespace bora`."""
import json
import pathlib
import re
import sys

PAGE, PROGRAM, FORMS = (pathlib.Path(p) for p in sys.argv[1:4])
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


OPERANDS = re.compile(r"(?<![\w.:])(a|b|v|z|cube|square_matrix)\b(?!\s*[.=])")
XTENSORS = re.compile(r"xt::(?!cube\b)([a-z]\w*)\((?=x[abv]\b)")   # called with xtensor's arguments
FUNCTIONS = re.compile(r"(?<![\w.:>])([a-z]\w*)\(")


def forms(code):
    """The row's code with xtensor's arguments. (Of a stream xtensor's numbers are printed by xtensor.)"""
    if "ostringstream" in code:
        return []
    places = [m.span() for m in OPERANDS.finditer(code)]

    def with_xtensor(chosen):
        out, end = "", 0
        for i, (start, stop) in enumerate(places):
            out += code[end:start] + ("x" if i in chosen else "") + code[start:stop]
            end = stop
        return out + code[end:]

    if not places:
        return []
    every = set(range(len(places)))
    made = [FUNCTIONS.sub(r"bora::\1(", with_xtensor(every))]
    if len(places) > 1:
        made += [with_xtensor(every - {0}), with_xtensor(every - {len(places) - 1})]
    return made


text = PAGE.read_text()
setup = re.search(r"```cpp\n(.*?)```", text, re.S).group(1)
rows, others, problems = [], [], []
for number, line in enumerate(text.split("\n"), 1):
    if not line.startswith("|") or line.startswith("|---") or line.startswith("| xtensor |"):
        continue
    row = cells(line)
    codes = [re.fullmatch(r"`(.*)`", c) for c in row]
    if len(row) != 3 or not codes[0] or not codes[1] or not (codes[2] or row[2] == "same"):
        problems.append(f"{PAGE.name}:{number}: a row is | `xtensor` | `Bora` | `result` or same |")
        continue
    bora = codes[1].group(1)
    want = f"page::value({codes[0].group(1)})" if row[2] == "same" else f"page::parsed({json.dumps(codes[2].group(1))})"
    rows.append((number, f"page::row({number}, page::value({bora}), {want});"))
    made = forms(bora)
    lines = [f"page::row({number}, page::value({form}), want);" for form in made]
    if row[2] == "same" and (own := XTENSORS.sub(r"\1(", codes[0].group(1))) != codes[0].group(1):
        lines.append(f"page::row({number}, page::xtensors({own}), want);")
    if made:
        lines.append(f"page::by_jit({number}, [](const page::Operands& in) {{\n"
                     f"    auto& [a, b, v, z, cube, square_matrix] = in;\n"
                     f"    return page::result({bora});\n  }}, want, operands);")
        others.append((number, f"auto want = {want};\n  " + "\n  ".join(lines)))
if len(rows) < 170:
    problems.append(f"{PAGE.name}: only {len(rows)} rows were found: the page or this script is broken")
if len(others) < 110:
    problems.append(f"{PAGE.name}: only {len(others)} rows have forms with xtensor's arguments: this script is broken")
if problems:
    sys.exit("\n".join(problems))


def program(before, functions, least_staged):
    bodies = "\n".join(f"void row_{n}() {{\n  {body}\n}}" for n, body in functions)
    calls = "".join(f"  page::run({n}, row_{n});\n" for n, _ in functions)
    return (HEAD + "namespace {\n" + setup + before + "\n" + bodies + "\n}  // namespace\nint main() {\n" + calls +
            f"  return page::finish({least_staged});\n}}\n")


PROGRAM.write_text(program("", rows, 0))
FORMS.write_text(program("""
xt::xarray<std::int32_t> xz = as_xarray<std::int32_t>(z), xcube = as_xarray<std::int32_t>(cube);
xt::xarray<double> xsquare_matrix = as_xarray<double>(square_matrix);
std::tuple operands{xa, xb, xv, xz, xcube, xsquare_matrix};
""", others, 140))
