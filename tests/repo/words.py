#!/usr/bin/env python3
"""The law of words (tools/api_index --check) sees what it should: an undocumented name and an undocumented field of
options, each with its place, and nothing where words stand in one of the places for them. Usage: words.py ROOT"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
TOP = "// x.h -- a header; `eps` is added to the root.\n#pragma once\n\nnamespace bora {\n"
END = "}  // namespace bora\n"
# What a header says, and the names (with their lines) that it must be refused for.
CASES = [
    # Each place for words, overloads, and what needs none.
    ("""Array f(const Array& x);  // of each element
/// The sum.
Array g(const Array& x);
Array g(const Array& x, int n);
__attribute__((unavailable("write g(x)"))) Array h(const Array& x);
namespace detail {
Array inner(const Array& x);
}
struct E : Error {
  using Error::Error;
};  // files
""", []),
    # A name after others that have words of their own.
    ("/// The sum.\nArray f(const Array& x);\nArray g(const Array& x);\n", [(7, "g")]),
    ("struct S {\n  int n = 0;  // rows\n};\nenum class Way { a, b };\n", [(5, "S"), (8, "Way")]),
    ("template <class T>\nT f(const T& x) {\n  return g(x);\n}\n", [(5, "f")]),
    # A group ends at a blank line, at a heading and at the next comment of a group; /// inside of it does not end it.
    ("// Of each element.\nArray f(Array x);\n/// Own.\nArray g(Array x);\nArray h(Array x);\n\nArray i(Array x);\n",
     [(11, "i")]),
    ("// Of each element.\nArray f(Array x);\n// ---- others ----\nArray g(Array x);\n", [(8, "g")]),
    ("// Of a space.\nnamespace near {\nArray f(Array x);\n}  // namespace near\nArray g(Array x);\n", [(9, "g")]),
    # Fields of options: each place for words, then each way to lack them.
    ("""struct FOptions {  // of f; b ends it
  int a = 0;  // rows
  int b = 0;
  double eps = 1;
  /// How.
  Way way = {};
  // Sizes.
  int c = 1, d = 2;

  int total() const { return a + b; }
 private:
  int hidden = 0;
};
struct GSettings {  // of g
  int rows = 0;
  static constexpr config::Meaning meanings[] = {{"rows", "in a step"}};
};
struct H {  // a result
  int n = 0;
};
""", []),
    ("struct FOptions {  // of f\n  int a = 0;\n  int b = 0, c = 1;  // rows\n};\n", [(6, "FOptions::a")]),
    ("struct FOptions {  // of f\n  int b = 0,\n      c = 1;\n};\n", [(6, "FOptions::b"), (6, "FOptions::c")]),
    ("struct FSettings { std::map<int, int> m = {}; };  // of f\n", [(5, "FSettings::m")]),
]

failed = 0
with tempfile.TemporaryDirectory() as folder:
    headers = [pathlib.Path(folder).resolve() / f"case{i}.h" for i in range(len(CASES))]
    for header, (body, _) in zip(headers, CASES):
        header.write_text(TOP + body + END)
    r = subprocess.run([sys.executable, ROOT / "tools/api_index", "--check", *headers], capture_output=True, text=True)
    said = [line.partition(" has no words")[0] for line in r.stdout.splitlines()]
    for header, (body, expected) in zip(headers, CASES):
        want = [f"{header}:{line}: {name}" for line, name in expected]
        got = [line for line in said if line.startswith(f"{header}:")]
        if got != want:
            failed += 1
            print(f"{body}expected {want or 'no complaint'}, got {got}")
    # The exit codes: of all together, and of the first one, in which nothing is missing.
    alone = subprocess.run([sys.executable, ROOT / "tools/api_index", "--check", headers[0]], capture_output=True)
    if (r.returncode, alone.returncode) != (1, 0):
        failed += 1
        print(f"exit codes {r.returncode} and {alone.returncode}: {r.stdout}{r.stderr}")
print(f"{len(CASES)} headers" if not failed else f"{failed} of {len(CASES)} headers are judged wrongly")
sys.exit(1 if failed else 0)
