"""The public headers as their declarations: for tools/api_index and tools/site."""
import pathlib
import re
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The order of the page. Headers in no folder come last.
LAYERS = """array base ops tree fx compile random shard named nn optim science io config text track data models train
job transport""".split()
# Namespaces of the library itself, in headers whose templates a program needs.
HIDDEN_SPACES = {"detail", "named_detail", "fx", "ops", "params", "param_rules", "kernels", "fields"}
NAME = r"[A-Za-z_]\w*"


class Declaration(typing.NamedTuple):
    """One at namespace scope: its namespaces, the code up to its body or semicolon, the comments above (`///`) and
    behind it, that of its group, its first line and the first behind it, counted from 0. A group is what follows a
    comment of `//` up to a blank line, a line of the preprocessor or the next such comment; if the comment stands above
    a namespace, all in it that is in no other group."""
    spaces: list
    code: str
    above: str
    behind: str
    group: str
    begin: int
    end: int

    def words(self):
        return self.above or self.behind or self.group


def declarations(text):
    spaces, above, group, lines, i = [], [], [], text.split("\n"), 0
    around = []   # the group comments of spaces
    while i < len(lines):
        line = lines[i]
        begin, i = i, i + 1
        opened = re.match(r"(inline )?namespace ?([\w:]*) ?\{$", line)
        if opened:
            spaces.append(opened.group(2))
            around.append(" ".join(group))
            group = []
        elif line.startswith("}"):   # bodies are skipped below, so a namespace ends
            spaces.pop()
            around.pop()
            group = []
        elif line.startswith("///"):
            above.append(line[3:].strip())
            continue
        elif line.startswith("//"):
            group = group if begin and re.match("//(?!/)", lines[begin - 1]) else []
            group += [line[2:].strip()] if not line.startswith("// ----") else []
        elif not line or line.startswith("#"):
            group = []
        elif line and not line.startswith(("#", "//", "}", " ", "  ", "extern")):
            whole, behind = line, ""
            while True:   # to the end of the declaration: its semicolon or its body
                code, _, note = whole.split("\n")[-1].partition("  // ")
                behind = behind or note
                bare = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "", re.sub(r"//.*", "", whole))
                if bare.count("(") == bare.count(")") and (bare.rstrip().endswith((";", "{", "}", "{}"))):
                    break
                whole += "\n" + lines[i]
                i += 1
            depth = bare.count("{") - bare.count("}")
            while depth > 0:   # the body
                inside = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "", re.sub(r"//.*", "", lines[i]))
                depth += inside.count("{") - inside.count("}")
                i += 1
            closed = re.match(r"\};?  // (.*)", lines[i - 1])
            behind = behind or (closed.group(1) if closed else "")
            code = re.sub(r"  //.*", "", whole)
            common = " ".join(group) or next((words for words in reversed(around) if words), "")
            yield Declaration([s for s in spaces if s], code, "\n".join(above), behind, common, begin, i)
        if line:
            above = []


def without_template(code):
    code = code.strip()
    while code.startswith("template"):
        depth, at = 0, code.index("<")
        for at in range(at, len(code)):
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            if depth == 0:
                break
        code = re.sub(r"^requires\s*\(.*?\)\)?\s", "", code[at + 1:].strip()) \
            if not code[at + 1:].strip().startswith("requires std") else \
            re.sub(r"^requires\s+\S+\s", "", code[at + 1:].strip())
    return code


def name_of(code):
    """(kind, name) of a declaration; None if it declares no name that programs use (a specialization, an operator, a
    member defined outside, a function whose call is an error)."""
    if "unavailable(" in code:
        return None
    code = without_template(code)
    code = re.sub(r"\[\[\w+\]\]\s*|\b(inline|constexpr|consteval|static|extern|explicit|friend)\s+", "", code)
    if re.match(rf"(struct|class)\s+{NAME}::", code) or re.search(rf"({NAME})::\1\(", code):
        return None
    type_ = re.match(rf"(struct|class|enum class|enum|union)\s+({NAME})\s*(<|final|:|\{{|;)?", code)
    if type_:
        forward = type_.group(3) in ("<", ";") or "{" not in code
        return None if forward else ("type", type_.group(2))
    alias = re.match(rf"using\s+({NAME})\s*=", code)
    if alias:
        return "type", alias.group(1)
    concept = re.match(rf"concept\s+({NAME})", code)
    if concept:
        return "concept", concept.group(1)
    if "operator" in code or code.startswith(("using ", "requires", "static_assert", "BORA_")):
        return None
    value = re.match(rf"[\w:<>,&* ]+?\s({NAME})(<.*>)?\s*(=|\{{|;)", code)
    call = re.search(rf"(?<![:\w])({NAME})\s*\(",
                     re.sub(r"decltype\(.*?\)|std::\w+",
                            lambda m: m.group(0).replace("(", "[").replace(")", "]"), code.partition("{")[0]))
    if value and (not call or value.end(1) < call.start(1)):
        return ("constant", value.group(1)) if not value.group(2) else None
    return ("function", call.group(1)) if call else None


def is_hidden(spaces):
    return any(part in HIDDEN_SPACES for s in spaces for part in s.split("::"))


def full_name(spaces, name):
    """Without `bora::` in front."""
    return "::".join([s.removeprefix("bora::") for s in spaces if s != "bora"] + [name])


def first_sentence(text):
    text = re.sub(r"\s+", " ", text).strip()
    end = re.search(r"(?<!e\.g)(?<!i\.e)(?<!et al)(?<=[\w)`'\"\]])\.(?=\s|$)", text)
    return text[:end.start()] if end else text


def headers():
    """Every public header as layer/name, with its file."""
    found = {p.relative_to(top).with_suffix("").as_posix(): p
             for top in (ROOT / "include/bora", ROOT / "transport/include/bora") for p in top.rglob("*.h")}
    places = {layer: i for i, layer in enumerate(LAYERS)}
    return dict(sorted(found.items(), key=lambda f: (places.get(f[0].split("/")[0], len(places)), f[0])))


def reach(header, seen):
    """The headers of include/ that a header includes, itself among them."""
    path = ROOT / "include" / header
    if header not in seen and path.exists():
        seen.add(header)
        for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            reach(include, seen)
    return seen


# ---- the fields that users fill in -----------------------------------------------------------------------------------
class Field(typing.NamedTuple):
    name: str
    line: int   # counted from 0
    words: str


def option_types(texts):
    """The names of structs that users fill in: by their last word, or because a function takes one as `= {}`."""
    found = set()
    for text in texts:
        found |= set(re.findall(r"\bstruct (\w*(?:Options|Config|Settings|Init|Request)) \{", text))
        found |= set(re.findall(r"\b(\w+)&?(?: \w+)? = \{\}[,)]", text))
    return found


def without_nested(code, pairs):
    """The code without what stands between these brackets, innermost first."""
    for opening, closing in pairs:
        before = None
        while before != code:
            before, code = code, re.sub(rf"{re.escape(opening)}[^{re.escape(opening + closing)}]*"
                                        rf"{re.escape(closing)}", "", code)
    return code


def field_names(code):
    """The names of the fields that one declaration in a struct declares; [] if it declares none."""
    if re.match(r"(static|using|friend|enum|struct|class|template|explicit|constexpr|virtual)\b", code):
        return []
    code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|<<|>=|<=|==|->', "", code)
    code = without_nested(code, ["{}", "<>"] if "=" in code.partition("{")[0] or "<" in code else ["{}"])
    if "(" in code.partition("=")[0] or "operator" in code or not code.rstrip().endswith(";"):
        return []
    parts = without_nested(code, ["()", "[]"]).rstrip("; \n").split(",")
    names = [re.search(rf"({NAME})\s*$", part.partition("=")[0].rstrip()) for part in parts]
    return [n.group(1) for n in names if n] if re.search(r"[\w>*&]\s+\w+\s*(=|,|$)", parts[0] + ",") else []


def option_fields(text, d):
    """The public fields of a struct. A field has the words of its own declaration or group, of its row in `meanings`,
    or those of the struct if they call it by its name, or those at the top of the header if they have it in
    `backticks`."""
    whole = "\n".join(text.split("\n")[d.begin:d.end])
    body = whole[whole.index("{") + 1:whole.rindex("}")]
    first = d.begin + whole[:whole.index("{")].count("\n")
    made = re.search(rf"\b{name_of(d.code)[1]}\(", body)   # by its constructors, not by its fields
    if made or not without_template(d.code).startswith("struct"):
        return
    if "\n" not in body:
        body = body.strip()
    body = re.split(r"^ (?:private|protected):", body, flags=re.M)[0]
    lines = [line.removeprefix("  ") for line in body.split("\n")]
    if "\n" in body:
        lines[0] = ""   # the comment behind the brace is the struct's
    about = f"{d.above} {d.behind} {d.group}"
    top = text.partition("#pragma once")[0]
    for inner in declarations("\n".join(lines)):
        for name in field_names(inner.code):
            meaning = re.search(rf'\{{"{name.rstrip("_")}",\s*"', body)
            named = re.search(rf"(?<![\w.]){name}(?![\w(])", about)
            yield Field(name, first + inner.begin, inner.words() or (meaning and meaning.group(0)) or
                        (about if named else "") or (top if f"`{name}`" in top else ""))


def wordless(text, option_types):
    """(line counted from 0, what to do) for each public name of a header, and each field of one of these types, that
    has no words."""
    names, fields = {}, []
    for d in declarations(text):
        named = name_of(d.code)
        if not d.spaces or is_hidden(d.spaces) or not named:
            continue
        line, words = names.get(full_name(d.spaces, named[1]), (d.begin, ""))
        names[full_name(d.spaces, named[1])] = line, words or d.words()
        if named[0] == "type" and named[1] in option_types and "{" in d.code:
            fields += [(f.line, f"{named[1]}::{f.name}") for f in option_fields(text, d) if not f.words]
    found = [(line, name) for name, (line, words) in names.items() if not words] + fields
    return [(line, f"{name} has no words: a comment above it (///) or behind it (//), or one of its group (//)")
            for line, name in sorted(found)]
