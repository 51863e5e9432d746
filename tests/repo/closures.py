#!/usr/bin/env python3
"""How much of the library's own headers a source reads, counted: the lines of all headers that it includes, directly
or not, but for those of comments, which the compiler skips. Half of all sources read at most MEDIAN lines, half of a
layer's at most those of LAYERS, and a source of the command at most APP_HEADERS headers.
closures.py ROOT [--print]: every source, and the includes that cost most."""
import pathlib
import re
import statistics
import sys

# As they are, rounded up. The numbers may fall: the goal of the median is 1,500 lines.
MEDIAN = 1810
LAYERS = {"app": 1400, "array": 900, "base": 150, "compile": 2000, "config": 1000, "data": 1250, "fx": 3000, "generate":
          350, "gguf": 400, "http": 350, "io": 1400, "job": 3500, "json": 250, "kernels": 800, "launch": 500, "models":
          7000, "named": 2450, "nn": 4200, "ops": 2200, "optim": 3200, "random": 2550, "science": 3650, "serve": 1750,
          "shard": 1600, "text": 450, "track": 450, "train": 3700, "transport": 850, "tree": 2250}
APP_HEADERS = 44

root = pathlib.Path(sys.argv[1]).resolve()
folders = [root / "include", root / "transport/include", root / "src", root / "transport/src"]
known = {}


def read(path):
    """The own headers that a file includes, and its lines."""
    if path not in known:
        text = path.read_text()
        found = [next((f for folder in (path.parent, *folders) if (f := folder / name).is_file()), None)
                 for name in re.findall(r'^#include "([^"]+)"', text, re.M)]
        known[path] = [f.resolve() for f in found if f], len(re.findall(r"^(?!\s*//).*\n", text, re.M))
    return known[path]


def reach(path, without=None):
    """The own headers that a source reads; `without`: an include (of, what) that is left out."""
    seen, todo = set(), [path]
    while todo:
        file = todo.pop()
        for header in read(file)[0]:
            if header not in seen and (file, header) != without:
                seen.add(header)
                todo.append(header)
    return seen


def lines(headers):
    return sum(read(h)[1] for h in headers)


def layer_of(path):
    return "transport" if path.is_relative_to(root / "transport") else path.relative_to(root / "src").parts[0]


sources = {p: reach(p) for top in ("src", "transport/src") for p in sorted((root / top).rglob("*.cpp"))}
costs = {p: lines(headers) for p, headers in sources.items()}
layers = {}
for path, cost in costs.items():
    layers.setdefault(layer_of(path), []).append(cost)
problems = []
median = statistics.median(costs.values())
if median > MEDIAN:
    problems.append(f"half of all sources read more than {median:.0f} lines of own headers; the limit is {MEDIAN}")
for layer, all_costs in layers.items():
    if statistics.median(all_costs) > LAYERS.get(layer, MEDIAN):
        problems.append(f"half of the sources of {layer} read more than {statistics.median(all_costs):.0f} lines of "
                        f"own headers; the limit is {LAYERS.get(layer, MEDIAN)}")
most = max((p for p in sources if layer_of(p) == "app"), key=lambda p: len(sources[p]))
if len(sources[most]) > APP_HEADERS:
    problems.append(f"{most.relative_to(root)} reads {len(sources[most])} own headers; the limit is {APP_HEADERS}")
if "--print" in sys.argv:
    for path, cost in sorted(costs.items(), key=lambda c: c[1]):
        print(f"{cost:6} lines, {len(sources[path]):3} headers  {path.relative_to(root)}")
    total, users = sum(costs.values()), {}
    for path, headers in sources.items():
        for header in headers:
            users.setdefault(header, []).append(path)
    saved = {(file, header): sum(costs[p] - lines(reach(p, (file, header))) for p in users[file])
             for file in users for header in read(file)[0]}
    for (file, header), cost in sorted(saved.items(), key=lambda s: -s[1])[:60]:
        print(f"{100 * cost / total:5.1f} %  {file.relative_to(root)} includes {header.relative_to(root)}")
    print("LAYERS =", {layer: -(-int(statistics.median(c) * 1.02) // 50) * 50 for layer, c in sorted(layers.items())})
print("\n".join(problems) if problems else f"half of {len(costs)} sources read at most {median:.0f} lines of own "
      f"headers; a source of the command at most {len(sources[most])} headers")
sys.exit(bool(problems))
