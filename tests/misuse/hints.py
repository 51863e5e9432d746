#!/usr/bin/env python3
"""hints.py CXX INCLUDE... -- each misuse of hints.txt is an error that soon says what to write, with CXX and clang.

The hint stands within five lines of the first error, and that within the first twelve; all that follows is short.
(Lines that only say which header includes which are not counted.)
"""
import concurrent.futures, os, pathlib, shutil, subprocess, sys, tempfile

FIRST, NEAR, LONGEST, SHORT = 12, 6, 40, 10
HERE = pathlib.Path(__file__).resolve().parent
HEADER = "#include <array>\n#include <cmath>\n#include <memory>\n#include <string>\n#include <vector>\n" \
         "#include \"bora/ops/ops.h\"\n#include \"bora/random/habits.h\"\n" \
         "#include \"bora/random/random.h\"\n"
TRANSFORMS = "#include \"bora/fx/transforms.h\"\n"
PROGRAM = """using namespace bora;
void test(const Array& x, const Array& y, Array z, const Array& k, const std::vector<double>& v);
void test(const Array& x, const Array& y, Array z, const Array& k, const std::vector<double>& v) {
  auto f = [](const Array& a) { return sum(a); };
  auto g = [](const Array& a, const auto&) { return sum(a); };
  (void)x, (void)y, (void)z, (void)k, (void)v, (void)f, (void)g;
  %s;
}
"""


def statement(code):
    if code.startswith(("for ", "if ", "while ", "{", "z[0]")):
        return code
    return "(void)" + code if code.startswith("(") or ";" in code else f"(void)({code})"


def main():
    chosen = [a[2:] for a in sys.argv if a.startswith("--")]  # --WORD: only the cases that have it
    sys.argv[:] = [a for a in sys.argv if not a.startswith("--")]
    compilers = {"gcc": sys.argv[1]}
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if clang and "clang" not in sys.argv[1]:
        compilers["clang"] = clang
    flags = ["-std=c++20", "-Wall", "-Wextra", "-fno-diagnostics-color"] + ["-I" + i for i in sys.argv[2:]]
    cases = []
    for line in (HERE / "hints.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            code, hint = line.rsplit(" => ", 1)
            if all(word in code for word in chosen):
                cases.append((code.strip(), hint.strip()))
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        # The headers once for all cases. clang 14 crashes on lambdas of templates that come out of a precompiled
        # header: "some" has no transforms.
        texts = {"all": HEADER + TRANSFORMS, "some": HEADER}
        for name, compiler in compilers.items():
            for which in ["all", "some"] if name == "clang" else ["all"]:
                header = pathlib.Path(folder, f"{name}_{which}.h")
                header.write_text(texts[which])
                out = f"{header}.{'gch' if name == 'gcc' else 'pch'}"
                subprocess.run([compiler, *flags, "-x", "c++-header", str(header), "-o", out], check=True)
                made[name, which] = (["-Winvalid-pch", "-include", str(header)] if name == "gcc"
                                     else ["-include-pch", out])

        def compile_case(job):
            number, name = job
            source = pathlib.Path(folder, f"{name}{number}.cpp")
            code = cases[number][0]
            part = name == "clang" and ("vmap(" in code or "scan(" in code)
            source.write_text((TRANSFORMS if part else "") + PROGRAM % statement(code))
            before = made[name, "some" if part else "all"]
            done = subprocess.run([compilers[name], *flags, *before, "-fsyntax-only", str(source)],
                                  env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
            lines = [l for l in done.stderr.splitlines()
                     if not l.lstrip().startswith(("In file included from", "from "))]
            return done.returncode, lines

        jobs = [(n, name) for n in range(len(cases)) for name in compilers]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(compile_case, jobs))
    bad = 0
    for (number, name), (code, lines) in zip(jobs, results):
        text, hint = cases[number]
        errors = [i for i, l in enumerate(lines) if "error:" in l]
        if hint == "ok":
            good = code == 0 and not lines
        elif hint == "short":
            good = code != 0 and len(lines) < SHORT
        else:
            good = code != 0 and errors and errors[0] < FIRST and len(lines) <= LONGEST and any(
                hint in l for l in lines[errors[0]:errors[0] + NEAR])
        if not good:
            bad += 1
            print(f"{name}: `{text}` should say '{hint}', but ({len(lines)} lines):", *lines[:14], sep="\n    ")
    print(f"{len(cases)} cases, {' and '.join(compilers)}: {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
