#!/usr/bin/env python3
"""The repository's own laws: direction of includes, length of files, heavy libraries, packages. Prints every violation;
exit 1 if any."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
# The layers that each layer may include, beside itself: the order of docs/architecture.md. Siblings (nn optim
# science io text track) do not include each other.
ORDER = ["base", "kernels", "array", "tree", "ops", "compile", "fx", "random", "shard", "named"]
ALLOWED = {layer: set(ORDER[:i]) for i, layer in enumerate(ORDER)}
ALLOWED["tree"] = {"base", "kernels", "array"}
ALLOWED["ops"] = {"base", "kernels", "array", "tree"}
ALLOWED["random"] = {"base", "kernels", "array", "tree", "ops"}
ALLOWED["shard"] |= {"transport"}
ALLOWED["transport"] = {"base"}
ALLOWED["json"] = ALLOWED["config"] = ALLOWED["http"] = ALLOWED["gguf"] = {"base"}
for sibling in ("nn", "optim", "io"):
    ALLOWED[sibling] = set(ORDER) | {"config"}
ALLOWED["science"] = set(ORDER)
ALLOWED["io"] |= {"json"}
ALLOWED["track"] = {"base", "config", "json"}
ALLOWED["text"] = ALLOWED["track"] | {"gguf"}
ALLOWED["data"] = ALLOWED["io"] | {"text"}
ALLOWED["train"] = set(ORDER) | {"config", "nn", "optim", "data", "io", "text", "track", "transport"}
ALLOWED["models"] = ALLOWED["train"] | {"json", "train", "gguf"}
ALLOWED["generate"] = ALLOWED["models"] | {"models"}
ALLOWED["job"] = ALLOWED["generate"] | {"generate"}
ALLOWED["serve"] = ALLOWED["job"] | {"job"}
ALLOWED["launch"] = {"base", "transport"}
ALLOWED["app"] = set(ALLOWED) | {"models", "train"}
# The same inside large layers: folder by folder, from the bottom up.
INNER = {"transport": ["wire", "schedule", "control", "carrier", "engine", "join"],
         "kernels": ["array", "loop", "jit", "gemm", "attention", "fft"],
         "ops": ["primitives", "linalg", "numpy", "lax", "nn", "scipy"],
         "compile": ["program", "passes", "run"],
         "text": ["tokenizers", "training", "chat"],
         "data": ["files", "records", "sources", "store", "rows", "tasks"],
         "nn": ["core", "layers", "parallel", "lowbit", "loss"],
         "optim": ["schedules", "transforms", "optimizers"],
         "models": ["lm", "hf", "families"],
         "launch": ["ranks", "hosts", "membership"]}
CORE_HEAVY = re.compile(r'#include [<"](xtensor|xtl|Eigen|dnnl|oneapi|zmq|tbb|yaml-cpp|cereal|openssl|gtest|xsimd|xbyak'
                        r'|hwy|boost|zlib|zstd|snappy-c|nlohmann|pcre2|utf8proc|sentencepiece_\w+)[/.>"]')
INTEROP = {"xtensor.h", "eigen.h", "eigen_sparse.h", "cereal.h", "bora.h"}
LIMIT = 400
TEST_LIMIT = 600
COLUMNS = 120
# Passes ask a primitive for its traits; its type is asked for only where its parameters are read. The number may fall.
PASSES = ("src/compile/", "src/fx/", "src/shard/")
TYPED = 26
FOREIGN = {"train.cpp", "format.py", "lax.py", "prng.py", "random.py"}  # of other projects, and users
problems = []
typed = 0
# A file includes public headers, those of its own layer, and src/LAYER/api of others. Open: private headers of other
# layers that a layer still includes. Rows may go.
OPEN = {}
crossed = {layer: set() for layer in OPEN}


def layer_of(path):
    parts = path.relative_to(ROOT).parts
    if parts[0] == "transport":
        return "transport"
    if parts[0] == "include" and len(parts) > 3:
        return parts[2]
    if parts[0] == "src":
        return parts[1]
    return None


sources = [p for top in ("include", "src", "transport", "tests", "perf", "examples", "tools")
           for p in sorted((ROOT / top).rglob("*"))
           if p.suffix in (".h", ".cpp", ".py", ".sh") and p.is_file()]
documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
file_names = {p.name for p in sources + documents} | FOREIGN


def too_long(path, line):
    if len(line) <= COLUMNS:
        return False
    # Rows of tables and links cannot be wrapped; help texts are shown as they stand.
    return path.suffix != ".md" or not (line.startswith("|") or "](" in line or "<a " in line)


scripts = [ROOT / "run", ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]
for path in sources + documents + scripts:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if too_long(path, line) and path.name != "net.cpp":
            problems.append(f"{path.relative_to(ROOT)}:{number}: {len(line)} columns; the limit is {COLUMNS}")
for path in sources:
    text = path.read_text()
    name = path.relative_to(ROOT)
    lines = text.count("\n")
    limit = TEST_LIMIT if name.parts[0] in ("tests", "perf") else LIMIT
    if lines > limit:
        problems.append(f"{name}: {lines} lines; the limit is {limit}: split it")
    if path.suffix in (".h", ".cpp"):
        for comment in re.findall(r"//(.*)", text):
            for file in re.findall(r"[\w./-]+\.(?:cpp|h|py|md)\b", comment):
                if file.split("/")[-1] not in file_names:
                    problems.append(f"{name}: a comment names {file}, and there is no such file")
    if re.search(r"/(root|home)/|/work/", text) and path.name != "layers.py":
        problems.append(f"{name}: a path of a machine")
    if (path.parts[len(ROOT.parts)] == "transport" and "system_clock" in text
            and path.name not in ("recorder.cpp", "link.h")):
        problems.append(f"{name}: system_clock; nothing but a date in a file may depend on a clock that can be set")
    layer = layer_of(path)
    if "include" in name.parts:
        problems += [f"{name}: a public header includes {h}, which is not installed"
                     for h in re.findall(r'#include "([^"]+)"', text) if not h.startswith("bora/")]
    if layer is None:
        continue
    for header in re.findall(r'#include "([^"]+)"', text):
        parts = header.split("/")
        if parts[0] == "bora":
            other = parts[1] if len(parts) > 2 else None
            if other is None:
                problems.append(f"{name}: includes {header}; the library never includes its umbrellas")
                continue
        else:
            other = parts[0] if len(parts) > 1 else layer
        elsewhere = other != layer and other in ALLOWED
        if elsewhere and parts[0] != "bora" and parts[1] != "api":
            crossed.setdefault(layer, set()).add(header)
            if header not in OPEN.get(layer, "").split():
                problems.append(f"{name}: includes {header}, a private header of layer {other}: move it to "
                                f"src/{other}/api or include/bora/{other}")
        inner = INNER.get(layer, [])
        mine, its = (next((p for p in path.relative_to(ROOT).parts if p in inner), None),
                     next((p for p in parts[:-1] if p in inner), None))
        if mine and its and inner.index(its) > inner.index(mine):
            problems.append(f"{name}: {layer}/{mine} includes {header} of {layer}/{its}, which is above it")
        if elsewhere and other not in ALLOWED.get(layer, set()):
            problems.append(f"{name}: layer {layer} includes {header} of layer {other}, which is below it")
    if str(name).startswith(PASSES):
        typed += len(re.findall(r"\bas<ops::", text))
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r'name\(\)\s*[!=]=\s*"|"\s*[!=]=\s*[\w.>()-]*name\(\)', line):
                problems.append(f"{name}:{number}: compares a primitive's name; give the primitive a trait")
    if "#include <nlohmann/" in text and str(name) != "src/json/parser.cpp":
        problems.append(f"{name}: includes nlohmann's library; src/json/api/ has what reads JSON")
    public = "include" in path.relative_to(ROOT).parts
    if public and path.name not in INTEROP and CORE_HEAVY.search(text):
        problems.append(f"{name}: {CORE_HEAVY.search(text).group(0)} in a core public header")

for layer, headers in OPEN.items():
    for header in sorted(set(headers.split()) - crossed[layer]):
        problems.append(f"{layer} includes {header} no more: take it out of OPEN of tests/repo/layers.py")
if typed > TYPED:
    problems.append(f"{typed} times as<ops::P> in {' '.join(PASSES)}; the limit is {TYPED}: give the primitive a trait "
                    "(include/bora/array/primitive_base.h)")
if typed < TYPED:
    problems.append(f"{typed} times as<ops::P> in {' '.join(PASSES)}: set TYPED of tests/repo/layers.py to it")

# Files of one test program are compiled together: each has a namespace of its name.
ALONE = ("config", "faults", "messages", "net")   # folders whose programs have one file each
for path in sources:
    name = path.relative_to(ROOT)
    if (name.parts[0] == "tests" and name.name.endswith("_test.cpp") and name.parts[1] not in ALONE
            and not re.search(rf"^(inline )?namespace \S*\b{path.stem}\b", path.read_text(), re.M)):
        problems.append(f"{name}: its tests stand outside of a namespace {path.stem}")

# Every Debian package in the list is used, and every used one is in the list.
listed = {line.split()[0] for line in (ROOT / "tools/packages.txt").read_text().splitlines()
          if line.strip() and not line.startswith("#")}
USES = {  # package -> what shows that it is used
    "g++": r"project\(bora", "cmake": r"cmake_minimum_required", "ninja-build": r"-G Ninja|\"generator\": \"Ninja\"",
    "pkg-config": r"PkgConfig",
    "ccache": r"find_program\(BORA_CCACHE", "mold": r"find_program\(BORA_MOLD", "libzmq3-dev": r"libzmq",
    "cppzmq-dev": r"#include <zmq\.hpp>",
    "libtbb-dev": r"#include <(tbb|oneapi/tbb)/", "libdnnl-dev": r"#include <(oneapi/)?dnnl",
    "libeigen3-dev": r"#include <Eigen/",
    "libxbyak-dev": r"#include <xbyak/",
    "libhwy-dev": r"#include <hwy/",
    "libxtensor-dev": r"#include <xtensor/", "libcereal-dev": r"#include <cereal/",
    "libyaml-cpp-dev": r"#include <yaml-cpp/", "libcli11-dev": r"#include <CLI/", "libssl-dev": r"#include <openssl/",
    "libpcre2-dev": r"#include <pcre2\.h>", "libutf8proc-dev": r"#include <utf8proc\.h>",
    "libsentencepiece-dev": r"#include <sentencepiece_",
    "nlohmann-json3-dev": r"#include <nlohmann/", "libboost-dev": r"#include <boost/",
    "zlib1g-dev": r"#include <zlib\.h>", "libzstd-dev": r"#include <zstd\.h>",
    "libsnappy-dev": r"#include <snappy-c\.h>",
    "libgtest-dev": r"#include <gtest/", "libbenchmark-dev": r"#include <benchmark/", "python3": r"Python3",
    "fortunes": r"fortunes", "curl": r"curl -sS", "cmark-gfm": r"repo_site",
}
build_files = [ROOT / "CMakeLists.txt", ROOT / "CMakePresets.json", ROOT / "run", *sorted((ROOT / "cmake").glob("*")),
               *sorted(ROOT.rglob("CMakeLists.txt"))]
everything = "\n".join(p.read_text() for p in [p for p in sources if p.name != "layers.py"]
                       + [f for f in build_files if f.is_file() and "build" not in f.relative_to(ROOT).parts[:1]])
for package, sign in USES.items():
    used = re.search(sign, everything) is not None
    if used and package not in listed:
        problems.append(f"tools/packages.txt: {package} is used but not listed")
    if not used and package in listed:
        problems.append(f"tools/packages.txt: {package} is listed but nothing uses it ({sign})")
for package in sorted(listed - set(USES)):
    problems.append(f"tools/packages.txt: {package} is listed; tests/repo/layers.py does not know what uses it")

print("\n".join(problems) if problems else f"{len(sources)} files keep the rules")
sys.exit(1 if problems else 0)
