#!/usr/bin/env python3
"""Packages that are made twice, at other places, have the same bytes: twice.py ROOT BUILD WORK.

Two copies of the sources, one in WORK and one on another file system, are configured as `./run package` does it. Some
units are compiled and MPI's carrier is linked in each, without ccache; then CPack makes the packages of each, with the
library and the command of BUILD in the places of theirs, at other times, in other zones and languages, and bora-doc's
files are installed (CPack looks into each of its 800 files, which takes long). A difference names the file and, in a
package, the members that differ. Exit code 77: a tool is missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT, BUILD, WORK = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PARTS = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "CHANGELOG.md", "cmake", "docs", "examples",
         "include", "src", "tools", "transport")
# One of each kind: a unit of several files, a kernel's, the command's, a library.
UNITS = ("CMakeFiles/bora_gguf_hot.dir/Unity/unity_0_cxx.cxx.o", "CMakeFiles/bora_kernels.dir/src/kernels/cpu.cpp.o",
         "CMakeFiles/bora_app.dir/src/app/main.cpp.o", "bora-0.1/mpi.so")
EPOCH = 1700000000
problems = []


def must(words, **more):
    r = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if r.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{r.stdout[-4000:]}")
    return r.stdout


def sources(place):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place / part, symlinks=True)
        else:
            shutil.copy2(ROOT / part, place / part)
    return place


def members(deb, folder):
    """Every file of a package: those of its control archive under control/, the others under data/."""
    folder.mkdir()
    must(["dpkg-deb", "--raw-extract", deb, folder / "data"])
    (folder / "data/DEBIAN").rename(folder / "control")
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def compare(name, one, two):
    if one.read_bytes() == two.read_bytes():
        return
    if one.suffix not in (".deb", ".ddeb"):
        problems.append(f"{name}: {one} and {two} differ")
        return
    with tempfile.TemporaryDirectory() as folder:
        a, b = (members(deb, pathlib.Path(folder) / side) for deb, side in ((one, "one"), (two, "two")))
        others = [m for m in sorted(a.keys() | b.keys()) if a.get(m) != b.get(m)]
    problems.append(f"{name} differs: {', '.join(others) or 'times, owners or the order of its members'}")


tools = ("cpack", "ninja", "dpkg-deb", "dpkg-shlibdeps", "cmark-gfm")
if missing := [t for t in tools if not shutil.which(t)]:
    print(f"SKIPPED: {', '.join(missing)} missing")
    sys.exit(77)
other = pathlib.Path(tempfile.mkdtemp(prefix="bora-twice-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
try:
    places = [sources(WORK / "one"), sources(other / "two/of/another/length")]
    ways = [{"TZ": "UTC", "LC_ALL": "C.UTF-8"},
            {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/nonexistent", "COLUMNS": "50"}]
    for place, way in zip(places, ways):
        way.update({k: v for k, v in os.environ.items() if k not in way and not k.startswith("BORA_")},
                   SOURCE_DATE_EPOCH=str(EPOCH), CCACHE_DISABLE="1")
        must(["cmake", "--preset", "package", f"-DBORA_MPI={'ON' if shutil.which('mpicxx') else 'OFF'}"],
             cwd=place, env=way)
    units = UNITS if shutil.which("mpicxx") else UNITS[:-1]
    for place, way in zip(places, ways):
        must(["ninja", "-C", "build/package", "-j1", *units], cwd=place, env=way)
    for unit in units:
        compare(unit, *(place / "build/package" / unit for place in places))
    for place in places:
        for file in [*BUILD.glob("libbora.so*"), BUILD / "bora"]:
            shutil.copy2(file, place / "build/package" / file.name, follow_symlinks=False)
    components = ";".join(["lib", "dev", "command", "reader"] + ["mpi"] * (units == UNITS))
    for place, way in zip(places, ways):
        must(["bash", "-c", f"umask 022; cd build/package && cpack -D 'CPACK_COMPONENTS_ALL={components}' && "
              "DESTDIR=documents cmake --install . --component doc"], cwd=place, env=way)
        time.sleep(2)   # the other one is made at another time
    trees = [place / "build/package/documents" for place in places]
    files = {p.relative_to(tree) for tree in trees for p in tree.rglob("*") if p.is_file()}
    for file in sorted(files):
        one, two = (tree / file for tree in trees)
        if not (one.exists() and two.exists() and one.read_bytes() == two.read_bytes()):
            problems.append(f"bora-doc: /{file} differs")
    debs = [{p.name: p for p in (place / "build/package/packages").iterdir()} for place in places]
    for name in sorted(debs[0].keys() | debs[1].keys()):
        if name not in debs[0] or name not in debs[1]:
            problems.append(f"{name}: made once")
        else:
            compare(name, debs[0][name], debs[1][name])
    print("\n".join(problems) if problems else f"{len(units)} units and {len(debs[0])} packages have the same bytes, "
          f"and {len(files)} files of bora-doc")
finally:
    shutil.rmtree(other, ignore_errors=True)
sys.exit(bool(problems))
