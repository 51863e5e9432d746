#!/usr/bin/env python3
"""Recipes of other package managers below tools/packaging name every library of tools/packages.txt that a build needs,
and none that it does not. Usage: package_lists.py ROOT"""
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folder = root / "tools/packaging"
# Debian's package: the name in Spack, vcpkg and conda-forge. g++ brings libbacktrace in Debian.
NAMES = {
    "g++": ("libbacktrace", "libbacktrace", "libbacktrace"),
    "libzmq3-dev": ("libzmq", "zeromq", "zeromq"),
    "cppzmq-dev": ("cppzmq", "cppzmq", "cppzmq"),
    "libtbb-dev": ("tbb", "tbb", "tbb-devel"),
    "libdnnl-dev": ("onednn", "onednn", "onednn"),
    "libxbyak-dev": ("xbyak", "xbyak", "xbyak"),
    "libhwy-dev": ("highway", "highway", "libhwy"),
    "libeigen3-dev": ("eigen", "eigen3", "eigen"),
    "libxtensor-dev": ("xtensor", "xtensor", "xtensor"),
    "libcereal-dev": ("cereal", "cereal", "cereal"),
    "libyaml-cpp-dev": ("yaml-cpp", "yaml-cpp", "yaml-cpp"),
    "libcli11-dev": ("cli11", "cli11", "cli11"),
    "libpcre2-dev": ("pcre2", "pcre2", "pcre2"),
    "libutf8proc-dev": ("utf8proc", "utf8proc", "libutf8proc"),
    "libsentencepiece-dev": ("sentencepiece", "sentencepiece", "libsentencepiece"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann-json", "nlohmann_json"),
    "libboost-dev": ("boost", "boost-asio boost-beast", "libboost-headers"),
    "libssl-dev": ("openssl", "openssl", "openssl"),
    "zlib1g-dev": ("zlib", "zlib", "zlib"),
    "libzstd-dev": ("zstd", "zstd", "zstd"),
    "libsnappy-dev": ("snappy", "snappy", "snappy"),
}
TOOLS = {"cmake", "ninja-build", "pkg-config", "ccache", "mold", "libgtest-dev", "libbenchmark-dev", "python3",
         "cmark-gfm", "fortunes", "curl"}   # of tests, or of the build itself

debian = {line.split("#")[0].split()[0] for line in (root / "tools/packages.txt").read_text().splitlines()
          if line.split("#")[0].strip()} - TOOLS
spack = (folder / "spack/packages/bora/package.py").read_text()
words = re.sub(r"#.*|description=.*", "", spack[spack.index("depends_on"):spack.index("def cmake_args")])
conda = re.search(r"host: \[(.*?)\]", (folder / "conda/meta.yaml").read_text(), re.S)[1]
lists = {
    "spack": {re.split("[@+~]", w)[0] for w in re.findall(r'"([\w.@:+-]+)"', words)} -
             {"", "cxx", "build", "cmake", "pkgconfig", "mpi"},
    "vcpkg": {d for d in json.loads((folder / "vcpkg/bora/vcpkg.json").read_text())["dependencies"]
              if isinstance(d, str)},
    "conda": {w.split()[0] for w in conda.split(",")},
}
problems = [f"tools/packages.txt: {name} has no name in tests/repo/package_lists.py" for name in debian - NAMES.keys()]
problems += [f"tests/repo/package_lists.py: {name} is not in tools/packages.txt" for name in NAMES.keys() - debian]
for i, (manager, found) in enumerate(lists.items()):
    wanted = {name for names in NAMES.values() for name in names[i].split()}
    problems += [f"tools/packaging/{manager} lacks {name}" for name in sorted(wanted - found)]
    problems += [f"tools/packaging/{manager} names {name}, which no build needs" for name in sorted(found - wanted)]
print("\n".join(problems) if problems else f"{len(NAMES)} libraries in {len(lists)} recipes")
sys.exit(bool(problems))
