#!/usr/bin/env python3
"""check(cond, .., std::strerror(errno)) says a stale reason if cond makes the call: arguments have no order. Its text
takes system_reason, zmq_reason or a lambda instead.  reasons.py ROOT"""
import pathlib
import re
import sys


def arguments(text, at):
    """The arguments of a call whose opening parenthesis ends before `at`."""
    parts, depth, begin, quoted = [], 1, at, False
    while depth > 0 and at < len(text):
        c = text[at]
        if c == '"' and text[at - 1] != "\\" and text[at - 1:at + 2] != "'\"'":
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        if not quoted and ((c == "," and depth == 1) or depth == 0):
            parts.append(" ".join(text[begin:at].split()))
            begin = at + 1
        at += 1
    return parts


def stale(text):
    """(line, condition) of checks that look up the reason beside the call."""
    for found in re.finditer(r"\bcheck<\w+>\(", text):
        condition, *rest = arguments(text, found.end())
        looks = any(re.search(r"\b(str|zmq_str)error\(", part) and "return" not in part for part in rest)
        if looks and re.search(r"(?<![.\w])(?!S_IS)\w+\(", condition):
            yield text.count("\n", 0, found.start()) + 1, condition


assert list(stale('check<E>(::open(a) >= 0, "x", std::strerror(errno));'))
assert not list(stale('check<E>(fd >= 0 && !s.empty(), "(", std::strerror(errno));'))
assert not list(stale('check<E>(::open(a) >= 0, "x", [&] { return std::strerror(errno); });'))
root = pathlib.Path(sys.argv[1])
wrong = [f"{path.relative_to(root)}:{line}: errno is read beside the call in check({condition}, ..): pass system_reason"
         for folder in ("src", "transport", "include") for path in sorted((root / folder).rglob("*"))
         if path.suffix in (".h", ".cpp") for line, condition in stale(path.read_text())]
print("\n".join(wrong))
sys.exit(bool(wrong))
