#!/usr/bin/env python3
"""pages_test.py ROOT BUILD COMPILER: what pages.py and tools/site are there to find, they find, with its place: pages
of our own, each with one mistake, and one without."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD, COMPILER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
HEAD = "# A page\n\n```cpp\n#include <bora/bora.h>\n#include <iostream>\nusing namespace bora;\n"   # six lines

# name: (text, lines of its mistakes)
PAGES = {
    "right": (HEAD + """std::cout << array({1., 2.}) << "\\n";   // -> [1., 2.]
std::cout << random::normal(random::key(0), {2}) << " a\\n";   // -> [..., ...] a
struct Two { Array a, b; };
int twice(int x) { return 2 * x; }
```

Words between.

<!-- cpp
int hidden = twice(4);
-->

```cpp
auto f = [](const Array& x) {
  if (x.size() > 1) return x;
  return -x;
};
for (int i = 0; i < 2; ++i) std::cout << hidden + i << "\\n";
// -> 8
// -> 9
Two two{ones({2, 2}), f(zeros({}))};
std::cout << two.a << "\\n";
// -> [[1., 1.],
// ->  [1., 1.]]
```

```console
$ echo one; echo two; \\
  echo three
one
...
three
$ cat <<END
a line
END
a line
$ bora --version
bora ...
```

```text file=seen.txt
seen
```

```console
$ cat seen.txt
seen
```

```yaml model.embed=16
model: {type: gpt2, layers: 1, heads: 2}
data: seen.txt
steps: 1
```
""", []),
    "output": (HEAD + 'std::cout << array({1., 2.}) << "\\n";   // -> [1., 2.]\n'
                      'std::cout << sum(array({1., 2.})) << "\\n";   // -> 4.\n```\n', [8]),
    "silent": (HEAD + "Array x = ones({2});\nstd::cout << x;\n```\n", [8]),
    "too_much": (HEAD + "// -> one\n```\n", [7]),
    "type": (HEAD + "Array x = ones({2});\n\nif (x > 0) x = -x;\n```\n", [9]),
    "error": (HEAD + "Array x = ones({2});\n```\n\nThen:\n\n```cpp\nArray y = matmul(x, ones({3}));\n```\n", [13]),
    "later_block": (HEAD + "int k = 1;\n```\n\n```cpp\nstd::cout << k << \"\\n\";   // -> 2\n```\n", [11]),
    "whole": (HEAD + 'int main() {\n  std::cout << "b";   // -> a\n}\n```\n', [8]),
    "console": ("# A page\n\n```console\n$ echo one\ntwo\n```\n", [5]),
    "exit_code": ("# A page\n\n```console\n$ true\n$ false\n```\n", [5]),
    "setting": ("# A page\n\n```yaml\nsteps: 3\nstepz: 3\n```\n", [5]),
    "word": ("# A page\n\n```cplusplus\nint x;\n```\n", [3]),
    "open": ("# A page\n\n```cpp\nint x;\n", [3]),
    "unused": (HEAD.replace("```cpp", "```cpp file=unused.cpp") + "int main() {}\n```\n", [4]),
    "sketches": ("# A page\n\n" + "```cpp fragment\nnot code\n```\n\n" * 4, [15]),
}
HEADER = '// own.h -- a header.\n//   ```cpp\n//   std::cout << 1 << "\\n";   // -> 2\n//   ```\n#pragma once\n'


def run(*words):
    r = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def pages(folder):
    root = folder / "root"
    (root / "docs").mkdir(parents=True)
    (root / "include").mkdir()
    (root / "README.md").write_text("# Nothing\n")
    (root / "include/own.h").write_text(HEADER)
    expected = {"include/own.h:3"}
    for name, (text, lines) in PAGES.items():
        (root / f"docs/{name}.md").write_text(text)
        expected |= {f"docs/{name}.md:{line}" for line in lines}
    (root / "examples").mkdir()
    code, said = run(ROOT / "tests/repo/pages.py", root, BUILD, "--work", folder / "work", "--compiler", COMPILER)
    found = set(re.findall(r"^([\w/]+\.(?:md|h):\d+): ", said, re.M))
    if code != 1 or found != expected:
        return f"found and not wrong: {sorted(found - expected)}; not found: {sorted(expected - found)}\n{said}"
    code, said = run(ROOT / "tests/repo/pages.py", root, BUILD, "--work", folder / "work", "--compiler", COMPILER,
                     "--only", "right.md", "--least", 1000)
    if code != 1 or "only " not in said:
        return f"a script that finds nothing must fail:\n{said}"
    return ""


def site(folder):
    root = folder / "site"
    for name in ("docs", "tools", "examples"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "include/bora/base", root / "include/bora/base")
    code, said = run(root / "tools/site", folder / "html")
    if code != 0:
        return f"the site of the pages as they are:\n{said}"
    page = root / "docs/when_not.md"
    line = page.read_text().count("\n") + 2
    page.write_text(page.read_text() + "\nRead [this](nowhere.md),\n[that](guide.md#no-such-part)\n"
                    "and [look](finetune.md): ![at](nothing.svg)\n")
    code, said = run(root / "tools/site", folder / "html")
    found = set(re.findall(r"^(docs/[\w/]+\.md:\d+): ", said, re.M))
    if code != 1 or found != {f"docs/when_not.md:{line + i}" for i in range(3)}:
        return f"three dead links from line {line} on:\n{said}"
    return ""


with tempfile.TemporaryDirectory() as name:
    wrong = [w for w in (pages(pathlib.Path(name)), site(pathlib.Path(name))) if w]
print("\n".join(wrong) or f"{len(PAGES) + 4} mistakes are found where they are")
sys.exit(bool(wrong))
