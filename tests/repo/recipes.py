#!/usr/bin/env python3
"""Checks docs/recipes.md: every path in backticks must exist (globs and {a,b} are expanded), and the name in every
`path: name` must occur in that file. Prints every violation; exit 1 if there is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
PAGE = ROOT / "docs/recipes.md"
PATH = r"[\w.{}*,-]+(?:/[\w.{}*,-]+)+/?|[\w.-]+\.(?:md|txt|json|py|cpp|h)"  # a/b, a/ or a file of the top level


def expanded(pattern):
    """The patterns without {a,b} that this one stands for."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if not braces:
        return [pattern]
    before, after = pattern[:braces.start()], pattern[braces.end():]
    return [p for choice in braces.group(1).split(",") for p in expanded(before + choice + after)]


problems, paths, names = [], 0, 0
text = re.sub(r"```.*?```", lambda fragment: "\n" * fragment.group(0).count("\n"), PAGE.read_text(), flags=re.S)
for number, line in enumerate(text.split("\n"), 1):
    if line.count("`") % 2:
        problems.append(f"line {number}: an odd number of backticks; a span must be on one line")
        continue
    for span in re.findall(r"`([^`]+)`", line):
        found = re.fullmatch(rf"({PATH})(?:: (.+))?", span)
        if not found:
            continue
        paths += 1
        for pattern in expanded(found.group(1)):
            files = sorted(ROOT.glob(pattern.rstrip("/")))
            if not files:
                problems.append(f"line {number}: {pattern} does not exist")
            if not found.group(2):
                continue
            names += 1
            for file in files:
                if not re.search(rf"(?<!\w){re.escape(found.group(2))}(?!\w)", file.read_text()):
                    problems.append(f"line {number}: {found.group(2)} does not occur in {file.relative_to(ROOT)}")
if paths < 100 or names < 70:
    problems.append(f"only {paths} paths and {names} names were found: the page or this check is broken")
print("\n".join(f"docs/recipes.md: {p}" for p in problems) or f"{paths} paths and {names} names are there")
sys.exit(1 if problems else 0)
