#!/usr/bin/env python3
"""docs/from_jax.md against the list of names (tests/names/listed.txt) and the headers: every listed name has one row,
no row is for a name that is not listed, and every name of Bora in a row is declared in bora.h, in what it includes, or
in a header that the row's section names. Prints what is wrong, and how many rows are open (`?`); exit 1 if anything is.
`--missing`: lists names without a row.

A section `## module` holds lines "The same in `bora::space`: name, .." and tables whose first column lists names and
whose second says what Bora has: names of Bora in `..`, "none: reason", or "?"."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPEN = 0  # rows that may be open; the number may fall
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from declarations import declarations, name_of, reach  # noqa: E402


def declared():
    """Names at namespace scope as "space::name" without bora::, with the headers that declare them; those of them
    outside of the layer `named`, which are for positional arrays; and all words of the headers, for members."""
    names, positional, words = {}, {}, set()
    for header in sorted((ROOT / "include/bora").rglob("*.h")):
        text = header.read_text()
        words |= set(re.findall(r"[A-Za-z_]\w*", text))
        for spaces, code, *_ in declarations(text):
            path = "::".join(spaces).split("::")
            found = name_of(code)
            inside = [found[1]] if found else []
            inside += re.findall(r"(\w+)\s*=", code) if "inline constexpr" in code else []
            inside += re.findall(r"^using [\w:]*?(\w+);", code)
            for name in inside:
                full = "::".join([p for p in path if p != "bora"] + [name])
                for known in [names] + [positional] * (header.parent.name != "named"):
                    known.setdefault(full, set()).add(header.relative_to(ROOT / "include").as_posix())
    return names, positional, words


def read_page(page):
    """Yields (module, names, text, space): space is set for lines of equal names."""
    module = None
    for block in re.split(r"\n\n|\n(?=## )|\n(?=\|)|\n(?=The same in )", page):
        heading = re.match(r"## ([\w.]+)$", block.split("\n")[0])
        if heading:
            module = heading.group(1)
        same = re.match(r"The same in `(bora[\w:]*)`: (.*?)\.?$", block, re.S)
        row = re.match(r"\| (.*?) \| (.*) \|$", block)
        if same:
            space = same.group(1)[len("bora"):].lstrip(":")
            yield module, re.split(r",\s+", same.group(2).strip()), "", space
        elif row and module and not row.group(1).startswith(("---", module)):
            yield module, re.split(r",\s+", row.group(1).replace("`", "")), row.group(2), None


def main():
    listed = [tuple(line.split()) for line in (ROOT / "tests/names/listed.txt").read_text().splitlines()
              if not line.startswith("#")]
    names, positional, words = declared()
    problems, seen, open_rows = [], {}, 0
    page = (ROOT / "docs/from_jax.md").read_text()
    bora = reach("bora/bora.h", set())
    sections = {s.partition("\n")[0]: s for s in page.split("\n## ")}

    def unseen(module, headers):
        """Does neither bora.h nor a header that the section names bring any of these headers?"""
        named = re.findall(r"`(bora/[\w/]+\.h)`", sections[module])
        return not headers & bora.union(*(reach(h, set()) for h in named))

    for module, rows, text, space in read_page(page):
        for name in rows:
            if (module, name) in seen:
                problems.append(f"{module}.{name} has two rows")
            seen[module, name] = text
            open_rows += text.startswith("?")
            known = positional if module.startswith("jax") else names
            full = "::".join(filter(None, [space, name]))
            if space is not None and full not in known:
                problems.append(f"{module}.{name}: bora::{space} declares no such name")
            elif space is not None and unseen(module, known[full]):
                problems.append(f"{module}.{name}: bora.h does not include {', '.join(sorted(known[full]))}; the "
                                "section names no header")
        if space is None and not text.startswith(("?", "none: ")) and "`" not in text:
            problems.append(f"{module}.{rows[0]}: names nothing of Bora, is no \"none: reason\" and no \"?\"")
        for code in re.findall(r"`([^`]*)`", text):
            for dot, word in re.findall(r"(\.?)((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)(?=[({<]|$|::$)", code):
                homes = names.get(word.removeprefix("bora::"))
                if not (word in words if dot else homes or word.startswith("std::")):
                    problems.append(f"{module}.{rows[0]}: `{word}` is not declared in include/bora")
                elif homes and not dot and unseen(module, homes):
                    problems.append(f"{module}.{rows[0]}: bora.h does not include {', '.join(sorted(homes))} with "
                                    f"`{word}`; the section names no header")
    missing = [key for key in listed if key not in seen]
    if "--missing" in sys.argv:
        print("\n".join(map(" ".join, missing)))
    problems += [f"{m}.{n} has no row" for m, n in missing]
    problems += [f"{m}.{n} is not in tests/names/listed.txt" for m, n in seen if (m, n) not in set(listed)]
    if open_rows > OPEN:
        problems.append(f"{open_rows} names are open (?), more than {OPEN}")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(listed)} names, {open_rows} open")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
