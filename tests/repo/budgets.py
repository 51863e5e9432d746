#!/usr/bin/env python3
"""budgets.py ROOT COMPILER [BUILD] -- what compiling costs, counted: the same on a busy machine and on an idle one.

The preprocessed lines of each public header, all that it includes with it, stay below the limit of its folder, and
a build has at most three precompiled headers. perf/compile_time.py measures seconds. --print shows every header.
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

# Thousands of lines, with libstdc++ 12: what the folder's largest header has, and 2 % more. The numbers may fall.
LIMITS = {"base": 41.2, "config": 40.3, "track": 37, "transport": 63.5, "array": 60, "tree": 64.5, "ops": 66.6,
          "compile": 65.5, "fx": 65.2, "random": 59, "shard": 64.5, "named": 70.5, "nn": 71.7, "optim": 71.4,
          "science": 66,
          "text": 58.5, "data": 64.7, "io": 69, "train": 79, "models": 75.2, "generate": 60.3, "job": 65}
SINGLE = {"base/collective.h": 44.5, "base/trace.h": 55.3, "config/choice.h": 58, "track/tracker.h": 58,
          "random/kde.h": 65, "random/gamma_grad.h": 64.5, "bora.h": 83.4}
LIBRARIES = {"xtensor.h", "xtensor_array.h", "xtensor_control.h", "xtensor_mixed.h", "xtensor_operation.h",
             "xtensor_random.h", "xtensor_transforms.h", "xtensor_trees.h", "eigen.h", "eigen_sparse.h",
             "cereal.h"}  # include what they are for
PRECOMPILED = 3

arguments = [a for a in sys.argv[1:] if a != "--print"]
root, compiler = pathlib.Path(arguments[0]).resolve(), arguments[1]
folders = [root / "include", root / "transport/include"]
headers = {h.relative_to(top).as_posix(): h for top in folders for h in sorted(top.rglob("*.h"))}
own = {name: re.findall(r'^#include ["<]([^">]+)[">]', h.read_text(), re.M) for name, h in headers.items()}
foreign = sorted({i for name, found in own.items() for i in found if i not in headers
                  and name.split("/")[-1] not in LIBRARIES})


def lines_of(include):
    """The lines of each file that <include> brings, by file."""
    text = subprocess.run([compiler, "-std=c++20", "-E", "-x", "c++", "-"], input=f"#include <{include}>\n", text=True,
                          capture_output=True, check=True).stdout
    files, file = collections.Counter(), None
    for line in text.splitlines():
        if mark := re.match(r'# \d+ "([^"]+)"', line):
            file = mark.group(1)
        elif line and not line.isspace():
            files[file] += 1
    return files


def reach(name, seen):
    """All public headers that a public header includes, itself among them."""
    if name not in seen:
        seen.add(name)
        for include in own[name]:
            if include in headers:
                reach(include, seen)
    return seen


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    brought = dict(zip(foreign, pool.map(lines_of, foreign)))
text_of = {name: sum(1 for line in h.read_text().splitlines() if not re.match(r"\s*(//|#|$)", line))
           for name, h in headers.items()}
problems, costs = [], {}
for name in headers:
    if name.split("/")[-1] in LIBRARIES:
        continue
    reached = reach(name, set())
    files = {}
    for include in {i for r in reached for i in own[r] if i in brought}:
        files.update(brought[include])
    lines = costs[name] = (sum(files.values()) + sum(text_of[r] for r in reached)) / 1000
    short = name.removeprefix("bora/")
    limit = SINGLE.get(short) or LIMITS[short.split("/")[0]]
    if lines > limit:
        worst = sorted({i for r in reached for i in own[r] if i in brought}, key=lambda i: -sum(brought[i].values()))
        problems.append(f"{name}: {lines:.1f} thousand preprocessed lines; the limit is {limit}. It includes, directly "
                        f"or not, <{'>, <'.join(worst[:5])}>: declare types in the header, include in the source")
if len(arguments) > 2:
    database = json.loads(pathlib.Path(arguments[2], "compile_commands.json").read_text())
    made = sorted({e["file"] for e in database if re.search(r" -o \S+\.[gp]ch ", e["command"])})
    if len(made) > PRECOMPILED:
        problems.append(f"{len(made)} precompiled headers; the limit is {PRECOMPILED}, one for each set of flags "
                        f"(cmake/layers.cmake): {' '.join(made)}")
if "--print" in sys.argv:
    print("\n".join(f"{lines:6.1f}  {name}" for name, lines in sorted(costs.items(), key=lambda x: -x[1])))
print("\n".join(problems) if problems else f"{len(costs)} headers are within their limits")
sys.exit(1 if problems else 0)
