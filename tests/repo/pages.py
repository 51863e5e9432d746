#!/usr/bin/env python3
"""pages.py ROOT BUILD [--work DIR] [--only PAGE ..] [--compiler g++] [--jobs 2] [--least N]: everything on a page runs.
BUILD is a build tree, or the prefix where Bora is installed.

README, docs/ and comments of headers are read. A page is a program, and a session in a folder of its own:
  cpp       joined into one program, in their order: types, functions, constants and Axes stand outside of main, the
            rest inside of it. What it prints is shown by `// -> TEXT` behind or below the line that prints it. A block
            with `int main(` is a program by itself.
  console   lines `$ COMMAND` run in bash with the installed bora in PATH, the lines below are what they print; `...`
            is any text of a line, or any number of lines.
  yaml      settings, which `bora plan` reads; further words of the head are words of the command.
`file=NAME` in the head saves the block for the blocks below; a program is compiled to NAME without its ending, where
no console block does that itself. `fragment` marks a block that does not run; at most one in ten may be one. A comment
`<!-- cpp` or `<!-- console` .. `-->` is a block that readers do not see. Every failure names page and line; exit 1."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from page_parts import KINDS, blocks_of, commands, difference, expected, is_program, pages, program

FLAGS = ["-std=c++20", "-O0", "-g1", "-march=x86-64-v3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable",
         "-Wno-unused-but-set-variable", "-Wno-unused-function", "-Wno-unused-parameter", "-Wno-array-bounds",
         "-Wno-stringop-overflow", "-Wno-stringop-overread", "-Wno-restrict"]
RUNS = {"cpp", "console", "yaml"}
LIMIT_S = 600   # of a program or a block of commands, on a busy machine


class Site:
    """What all pages share: an installed library, the compiler's words, a precompiled header."""

    def __init__(self, root, build, work, compiler):
        self.root, self.work, self.compiler = root, work, compiler
        self.installed = build
        if not (build / "bin/bora").exists():
            self.installed = work / "installed"
            for component in ("lib", "dev", "command"):
                must(["cmake", "--install", build, "--prefix", self.installed, "--component", component])
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("BORA_", "OMP_"))}
        self.env["PATH"] = f"{self.installed}/bin:{self.env['PATH']}"
        config = next(self.installed.rglob("bora.pc"))
        self.env["PKG_CONFIG_PATH"] = str(config.parent)
        self.env["CMAKE_PREFIX_PATH"] = str(self.installed)
        said = must(["pkg-config", "--cflags", "--libs", "bora"], env=self.env).split()
        self.words = [w for w in said if not w.startswith("-I")]
        self.includes = ["-I", str(work / "pch"), *(w for w in said if w.startswith("-I")), "-I", str(root / "src"),
                         "-isystem", "/usr/include/eigen3"]
        if shutil.which("mold"):
            self.words.append("-fuse-ld=mold")
        (work / "pch").mkdir(exist_ok=True)
        header = work / "pch/page.h"
        header.write_text("#include <bora/bora.h>\n#include <cmath>\n#include <filesystem>\n"
                          "#include <fstream>\n#include <iostream>\n#include <sstream>\n")
        must([compiler, *FLAGS, *self.includes, "-x", "c++-header", header, "-o", f"{header}.gch"])

    def compile(self, source, to, folder):
        """The compiler's errors; none: it compiles."""
        first = ["-include", "page.h"] if "page.h" not in source.read_text()[:40] else []
        r = subprocess.run([self.compiler, *FLAGS, *self.includes, *first, source, *self.words, "-o", to], cwd=folder,
                           env=self.env, capture_output=True, text=True)
        return r.stderr if r.returncode else ""


def must(words, **options):
    r = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    if r.returncode:
        sys.exit(f"{' '.join(str(w) for w in words)}\n{r.stdout}{r.stderr}")
    return r.stdout


def run(words, folder, env):
    """(exit code, what it printed); afterwards nothing that it started runs."""
    log = folder / ".printed"
    with open(log, "wb") as out:
        p = subprocess.Popen([str(w) for w in words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = p.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = 124
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
    text = log.read_text(errors="replace")
    log.unlink()
    return code, text


class PageRun:
    def __init__(self, site, path):
        self.site, self.name = site, path.relative_to(site.root).as_posix()
        self.blocks, self.problems = [], []
        try:
            self.blocks = blocks_of(path)
        except ValueError as e:
            self.problems.append(f"{self.name}:{e}")
        self.folder = site.work / re.sub(r"\W+", "_", self.name.rsplit(".", 1)[0])
        self.shown = [b for b in self.blocks if not b.hidden and b.kind in RUNS]
        self.seconds = 0

    def fail(self, line, text):
        self.problems.append(f"{self.name}:{line}: {text}")

    def check_heads(self):
        for b in self.blocks:
            if b.kind not in KINDS:
                self.fail(b.line - 1, f"a block of kind '{b.kind}'; there are {', '.join(sorted(KINDS))}")
            for line, text in expected(b) if b.kind == "cpp" and (b.fragment() or b.file()) else []:
                self.fail(line, "`// ->` in a block whose output is not read")

    def run(self):
        begin = time.monotonic()
        self.check_heads()
        live = [b for b in self.blocks if not b.fragment() and (b.kind in RUNS or b.file())]
        if live and not self.problems:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            (self.folder / "examples").symlink_to(self.site.root / "examples")
            self.session(live)
        self.seconds = time.monotonic() - begin
        return self

    def session(self, live):
        joined = [b for b in live if b.kind == "cpp" and not b.file() and not is_program(b)]
        asked = [c for b in live if b.kind == "console" for _, c, _ in self.commands(b)]
        for b in live:
            if self.problems:   # what follows depends on it
                return
            if b.file():
                self.save(b, asked)
            elif b.kind == "console":
                self.console(b)
            elif b.kind == "yaml":
                self.settings(b)
            elif b.kind == "cpp" and is_program(b):
                self.program([b], f'#line {b.line} "{self.name}"\n{b.text()}', False)
            elif joined and b is joined[-1]:
                self.program(joined, program(self.name, joined), True)

    def commands(self, block):
        try:
            return commands(block)
        except ValueError as e:
            self.problems.append(f"{self.name}:{e}")
            return []

    def save(self, b, asked):
        (self.folder / b.file()).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / b.file()).write_text(b.text())
        if b.kind == "yaml" and b.file().endswith((".yaml", ".yml")) and not any(b.file() in c for c in asked):
            self.fail(b.line, f"no command uses {b.file()}")
        if b.kind != "cpp" or not is_program(b):
            return
        stem = b.file().rsplit(".", 1)[0]
        if not any(f"./{stem}" in c or f"/{stem}" in c for c in asked):
            self.fail(b.line, f"no console block runs ./{stem}")
        if not any(b.file() in c or "cmake" in c for c in asked):
            source = self.folder / f".{stem}.cpp"
            source.write_text(f'#line {b.line} "{self.name}"\n{b.text()}')
            self.compiled(source, stem, b)

    def compiled(self, source, to, block):
        errors = self.site.compile(source, self.folder / to, self.folder)
        if not errors:
            return True
        place = re.search(rf"{re.escape(self.name)}:(\d+)(?::\d+)?: +(?:(?:fatal )?error: |required from here)", errors)
        said = re.search(r"error: (.*)", errors)
        self.fail(place.group(1) if place else block.line, said.group(1) if said else "does not compile")
        self.problems.append("\n".join("    " + x for x in errors.split("\n")[:30]))
        return False

    def program(self, blocks, text, marked):
        source = self.folder / f".page_{blocks[0].line}.cpp"
        source.write_text(text)
        if not self.compiled(source, f".page_{blocks[0].line}", blocks[0]):
            return
        code, printed = run([self.folder / f".page_{blocks[0].line}"], self.folder, self.site.env)
        parts = re.split("^\x1e(\\d+)\n", printed, flags=re.M) if marked else ["", "0", printed]
        of_block = {int(parts[i]): parts[i + 1] for i in range(1, len(parts), 2)}
        for i, b in enumerate(blocks):
            if i not in of_block:
                break
            last = code != 0 and i == max(of_block)
            if last:
                self.fail(b.line, f"ends with {code}: {' '.join(of_block[i].split())[-600:]}")
                return
            found = difference(expected(b), of_block[i].split("\n") if of_block[i] else [])
            if found:
                self.fail(found[0] or b.line + len(b.lines) - 1, found[1])

    def console(self, b):
        steps = self.commands(b)
        script = "".join(f"printf '\\036%d\\n' {i}\n{command}\nprintf '\\036code %d\\n' $?\n"
                         for i, (_, command, _) in enumerate(steps))
        _, printed = run(["bash", "-c", script], self.folder, self.site.env)
        for i, (line, command, shown) in enumerate(steps):
            found = re.search(f"^\x1e{i}\n(.*?)\x1ecode (\\d+)\n", printed, re.S | re.M)
            if not found:
                return self.fail(line, f"does not end: {command}\n{printed[-800:]}")
            if found.group(2) != "0":
                return self.fail(line, f"exit code {found.group(2)}: {command}\n{found.group(1)[-800:]}")
            wrong = difference(shown, found.group(1).split("\n")) if not b.hidden or shown else None
            if wrong:
                self.fail(wrong[0] or line, wrong[1])

    def settings(self, b):
        file = self.folder / f"block_{b.line}.yaml"
        file.write_text(b.text())
        own = re.search(r"^(data|init_from)\b", b.text(), re.M)   # a run has a text: the page's, or this one
        words = b.words + ([] if own else [f"data={self.site.root}/README.md"])
        code, printed = run(["bora", "plan", file.name, *words], self.folder, self.site.env)
        if code:
            at = re.search(rf"{re.escape(file.name)}:(\d+)", printed)
            self.fail(b.line + int(at.group(1)) - 1 if at else b.line, f"bora plan: {printed.strip()[-400:]}")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("root", type=pathlib.Path)
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--work", type=pathlib.Path)
    options.add_argument("--only", nargs="*", help="pages, by parts of their paths")
    options.add_argument("--compiler", default="g++")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--least", type=int, default=0, help="fewer blocks than this are an error")
    o = options.parse_args()
    root = o.root.resolve()
    work = (o.work or o.build / "tests/repo/pages").resolve()
    work.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    site = Site(root, o.build.resolve(), work, o.compiler)
    runs = [PageRun(site, p) for p in pages(root)]
    chosen = [r for r in runs if not o.only or any(part in r.name for part in o.only)]
    if any("numpy" in b.text() for r in chosen for b in r.blocks if b.kind == "console") and \
            subprocess.run(["python3", "-c", "import numpy"], capture_output=True).returncode:
        print("python3-numpy is not installed (.ci/run does that)")
        return 77
    chosen.sort(key=lambda r: -sum(len(b.lines) for b in r.blocks))   # the longest first
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        done = list(pool.map(PageRun.run, chosen))
    problems = [p for r in done for p in r.problems]
    shown = [b for r in runs for b in r.shown]
    fragments = [(r, b) for r in runs for b in r.shown if b.fragment()]
    if 10 * len(fragments) > len(shown):
        problems.append(f"{fragments[-1][0].name}:{fragments[-1][1].line - 1}: {len(fragments)} of {len(shown)} blocks "
                        "are fragments, more than one in ten")
    if len(shown) < o.least:
        problems.append(f"only {len(shown)} blocks were found, not {o.least}: this script is broken")
    slow = sorted(done, key=lambda r: -r.seconds)[:3]
    print(f"{len(shown)} blocks on {sum(bool(r.shown) for r in runs)} pages, {len(fragments)} fragments, "
          f"{time.monotonic() - begin:.0f} s; " + ", ".join(f"{r.name} {r.seconds:.0f} s" for r in slow))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
