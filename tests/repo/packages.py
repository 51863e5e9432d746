#!/usr/bin/env python3
"""The run-time packages of tools/packages.txt are those that own the libraries which the given programs and libraries
load. Usage: packages.py ROOT FILE..."""
import pathlib
import re
import shutil
import subprocess
import sys

root, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
if not shutil.which("dpkg"):
    print("SKIPPED: not a Debian")
    sys.exit(77)
rows = [line.split("#")[0].split() for line in (root / "tools/packages.txt").read_text().splitlines()]
listed = {row[1] for row in rows if row and row[1] != "-"}
always = {"libc6", "libstdc++6", "libgcc-s1"}  # what every C++ program needs

needed, loaded = set(), {}
for file in files:
    needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]",
                             subprocess.run(["readelf", "-d", file], text=True, capture_output=True,
                                            check=True).stdout))
    loaded |= dict(re.findall(r"(\S+) => (/\S+)",
                              subprocess.run(["ldd", file], text=True, capture_output=True, check=True).stdout))
owners = {}
for library in needed & set(loaded):
    real = pathlib.Path(loaded[library]).resolve()
    for path in (str(real), str(real).removeprefix("/usr")):  # /lib is a link to /usr/lib
        found = subprocess.run(["dpkg", "-S", path], text=True, capture_output=True)
        if found.returncode == 0:
            owners[found.stdout.split(":")[0]] = library
            break
failed = 0
for package, library in owners.items():
    if package not in listed | always:
        failed += 1
        print(f"tools/packages.txt lacks {package} in its second column: {library} belongs to it")
for package in listed - set(owners):
    failed += 1
    print(f"tools/packages.txt names {package} as needed at run time, but nothing loads it")
sys.exit(1 if failed else 0)
