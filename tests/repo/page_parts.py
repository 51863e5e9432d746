"""page_parts.py -- the blocks of a page, and the program that its C++ blocks make together (pages.py runs them)."""
import pathlib
import re

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
HIDDEN = re.compile(r"^(?P<indent> *)<!-- (?P<info>(?:cpp|console)\b.*)$")
KINDS = {"cpp", "console", "yaml", "json", "sh", "python", "ini", "text"}


class Block:
    """kind: the first word of the block's head; words: the others; line: that of its first line of text."""

    def __init__(self, info, line, hidden):
        words = info.split()
        self.kind, self.words = (words[0], words[1:]) if words else ("", [])
        self.line, self.hidden, self.lines = line, hidden, []

    def text(self):
        return "\n".join(self.lines) + "\n"

    def file(self):
        return next((w.removeprefix("file=") for w in self.words if w.startswith("file=")), None)

    def fragment(self):
        return "fragment" in self.words


def blocks_of(path):
    """Fenced blocks of a page or of a header's comments; a page's comment `<!-- cpp .. -->` is a block that readers do
    not see. A fence that is not closed is a ValueError."""
    lines = path.read_text().split("\n")
    if path.suffix == ".h":
        lines = [re.sub(r"^\s*///? ?", "", x) if re.match(r"\s*//", x) else "" for x in lines]
    found, block, indent = [], None, 0
    for number, line in enumerate(lines, 1):
        if block is None:
            fence = FENCE.match(line)
            head = fence or HIDDEN.match(line)
            if head:
                block, indent = Block(head["info"], number + 1, not fence), len(head["indent"])
                found.append(block)
        elif line.strip() == ("-->" if block.hidden else "```"):
            block = None
        else:
            block.lines.append(line[indent:] if not line[:indent].strip() else line)
    if block is not None:
        raise ValueError(f"{block.line - 1}: a block that does not end")
    return found


# ---- C++ ------------------------------------------------------------------------------------------------------------
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[{}()\[\];]|\n""", re.S)
TYPE = re.compile(r"(template\b|struct\b|class\b|enum\b|union\b|concept\b)")
CONTROL = re.compile(r"(if|for|while|do|switch|try|else|catch)\b")
FUNCTION = re.compile(r"(?!return\b|throw\b|auto \w+ = )[\w:<>,&*\s\[\]]+[\s&*][\w:]+\([^;]*\)(\s*const)?(\s*->[^{;]*)?"
                      r"\s*\{", re.S)
TOP = re.compile(r"(#|using\b|namespace\b|template\b|struct\b|class\b|enum\b|union\b|concept\b|static_assert\b|const\b|"
                 r"constexpr\b|inline\b|static\b|extern\b|Axis\b|int main\b)")


def pieces(text):
    """(lines before, code): declarations and statements of a block in their order."""
    begin, depth, head_end = 0, 0, None
    out, at = [], 0
    code = lambda: re.sub(r"//[^\n]*|/\*.*?\*/", "", text[begin:head_end or at], flags=re.S).strip()

    def cut(end):
        nonlocal begin, head_end
        piece = text[begin:end]
        if piece.strip():
            blank = len(piece) - len(piece.lstrip("\n"))
            out.append((text[:begin + blank].count("\n"), piece[blank:].rstrip()))
        begin, head_end = end, None

    while found := TOKEN.search(text, at):
        token, at = found.group(0), found.end()
        if token in "{([":
            if token == "{" and depth == 0 and head_end is None:
                head_end = at
            depth += 1
        elif token in "})]":
            depth -= 1
            head = code()
            if token == "}" and depth == 0:
                is_function = FUNCTION.match(head) or head.startswith("int main")
                block = CONTROL.match(head) or head.startswith(("namespace", "{")) or is_function
                goes_on = re.match(r"\s*(else|catch|while)\b", text[at:])
                if block and not (goes_on and not is_function) and not (TYPE.match(head) and not is_function):
                    cut(at + len(re.match(r"[^\S\n]*(//[^\n]*)?", text[at:]).group(0)))
        elif token == ";" and depth == 0:
            cut(at + len(re.match(r"[^\S\n]*(//[^\n]*)?", text[at:]).group(0)))
            at = begin
        elif token == "\n" and depth == 0 and text[begin:at].strip().startswith("#"):
            cut(at)
    at = len(text)
    cut(at)
    return out


def is_top(piece):
    """Whether it stands outside of main: types, functions, constants, Axes, directives."""
    code = re.sub(r"^(\s*//[^\n]*\n)*\s*", "", piece)
    return bool(TOP.match(code)) or bool(FUNCTION.match(code))


def is_program(block):
    return bool(re.search(r"^int main\(", block.text(), re.M))


def expected(block):
    """(line, text) of the block's `// ->`."""
    found = ((n, re.search(r"//\s*-> ?(.*)$", line)) for n, line in enumerate(block.lines, block.line))
    return [(n, m.group(1).strip()) for n, m in found if m]


def program(page, blocks):
    """The C++ of a page: declarations outside of main, statements within it, in their order. It prints a mark with
    the number of a block in front of what the block prints."""
    outside, inside = [], []
    for i, block in enumerate(blocks):
        statements = []
        for before, piece in pieces(block.text()):
            placed = f'#line {block.line + before} "{page}"\n{piece}\n'
            (outside if is_top(piece) else statements).append(placed)
        inside.append(f'std::cout << "\\036" "{i}\\n" << std::flush;\n' + "".join(statements))
    return ('#include "page.h"\n' + "".join(outside) + "\nint main() try {\n" + "".join(inside) +
            '  return 0;\n} catch (const std::exception& e) {\n  std::cout << std::flush;\n'
            '  std::cerr << e.what() << "\\n";\n  return 1;\n}\n')


# ---- comparison -----------------------------------------------------------------------------------------------------
def same(shown, printed):
    """Blanks are alike; `...` inside of a line is any text."""
    squeeze = lambda t: " ".join(t.split())
    pattern = ".*".join(re.escape(squeeze(p)) if p.strip() else "" for p in shown.split("..."))
    if "..." in shown:
        return re.fullmatch(re.sub(r"(\.\*)", r"\\s*.*\\s*", pattern), squeeze(printed), re.S) is not None
    return squeeze(shown) == squeeze(printed)


def difference(shown, printed):
    """The first shown line, (line, text), that the printed lines do not have, with what stands there; a line `...` is
    any number of lines. None: they agree."""
    while printed and not printed[-1].strip():
        printed = printed[:-1]

    def walk(i, j):
        """The furthest (i, j) reached, or None where all is matched."""
        while i < len(shown):
            if shown[i][1].strip() == "...":
                if i + 1 == len(shown):
                    return None
                far = (i + 1, len(printed))
                for k in range(j, len(printed)):
                    if same(shown[i + 1][1], printed[k]):
                        r = walk(i + 1, k)
                        if r is None:
                            return None
                        far = max(far, r) if far[1] != len(printed) else r
                return far
            if j >= len(printed) or not same(shown[i][1], printed[j]):
                return (i, j)
            i, j = i + 1, j + 1
        return None if j == len(printed) else (i, j)

    at = walk(0, 0)
    if at is None:
        return None
    i, j = at
    there = f"`{printed[j]}`" if j < len(printed) else "nothing"
    if i < len(shown):
        return shown[i][0], f"the page says `{shown[i][1].strip()}`, it prints {there}"
    return (shown[-1][0] if shown else None), f"the page does not show that it prints {there}"


def commands(block):
    """(line, command, shown lines) of a console block: a command begins with `$ ` and goes on behind a backslash."""
    found = []
    open_ = False
    for number, line in enumerate(block.lines, block.line):
        if open_:
            found[-1][1] += "\n" + line
        elif line.startswith("$ "):
            found.append([number, line[2:], []])
        elif not found:
            raise ValueError(f"{number}: a console block begins with a command, `$ ..`")
        else:
            found[-1][2].append((number, line))
            continue
        open_ = line.endswith("\\") or unfinished(found[-1][1])
    for command in found:
        while command[2] and not command[2][-1][1].strip():
            command[2].pop()
    return found


def unfinished(command):
    """Whether a here-document is still open."""
    word = re.search(r"<<\s*'?(\w+)'?", command)
    return bool(word) and not re.search(rf"^{word.group(1)}$", command, re.M)


def pages(root):
    """README, all pages of docs/, and headers whose comments have blocks."""
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    for top in (root / "include", root / "transport/include"):
        found += [h for h in sorted(top.rglob("*.h")) if re.search(r"^\s*///? *```", h.read_text(), re.M)]
    return [p for p in found if p.is_file()]
