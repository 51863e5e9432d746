#!/usr/bin/env python3
"""Checks the command lines of README.md, docs/*.md and the heads of examples/*.yaml: in every `bora ..` the command
exists, it has the flags, settings have the keys, and files of examples/ exist. usage: commands.py ROOT BORA. Prints
every violation; exit 1 if there is one."""
import pathlib
import re
import shlex
import subprocess
import sys

ROOT, BORA = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]


def said(*words):
    return subprocess.run([BORA, *words], capture_output=True, text=True).stdout


def keys_of(text):
    """Names of settings, short ones too, and the words of choices: "model.type .. gpt2, llama"."""
    rows = re.findall(r"^ {2}([a-z][\w.]*) +\S+ +(.*)$", text, re.M)
    return {name for name, _ in rows} | {s for _, rest in rows for s in re.findall(r"\(short: ([\w.]+)\)", rest)}


COMMANDS = re.findall(r"^ {2}([a-z-]+)  ", said("--help").split("Subcommands:")[1], re.M)
FLAGS = {c: set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", said(c, "--help").split("Settings and their")[0]))
         for c in COMMANDS}
KEYS = keys_of(said("help"))
for group, words in re.findall(r"^ {2}([\w.]+)\.type +\S+ +([\w, ]+)$", said("help"), re.M):
    for word in words.split(", "):
        KEYS |= keys_of(said("help", f"{group}.{word}"))


def is_key(name):
    return name in KEYS or any(key.startswith(name + ".") for key in KEYS)


def lines():
    """(place, command): blocks and spans of the pages, comments of the examples; joined where a line goes on."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for found in re.finditer(r"^ *(?:\$ )?(?:[\w@]+ )*?(?:\w+=\S+ )*bora (?:\w|--).*$", text, re.M):
            block = text[:found.start()].count("```") % 2 == 1
            if block and "|| echo" not in found.group(0):   # not one that is shown to fail
                yield f"{page.name}:{text[:found.start()].count(chr(10)) + 1}", found.group(0)
        for span in re.finditer(r"`(?:\./run )?(bora [^`]*)`", text):
            if text[:span.start()].count("```") % 2 == 0:
                yield f"{page.name}:{text[:span.start()].count(chr(10)) + 1}", " ".join(span.group(1).split())
    for page in sorted((ROOT / "examples").glob("*.yaml")):
        head = re.sub(r"(?:\\)?\n#     *", " ", page.read_text())
        for found in re.finditer(r"^#   (bora .*)$", head, re.M):
            yield page.name, found.group(1)


def problems_of(command):
    try:
        words = shlex.split(re.sub(r"\$\([^)]*\)", "", command), comments=True)
    except ValueError as error:
        return [str(error)]
    words = words[words.index("bora") + 1:]
    found, name = [], None
    if words and words[0].startswith("-"):
        return [] if words[0] in ("--help", "--version") else [f"no flag {words[0]}"]
    for word in words:
        if word in ("|", ">", "<", "&&") or set(word) <= set("."):
            break
        if name is None or (name == "launch" and word in COMMANDS):
            if word.rstrip(".").isupper() or word == "agent":  # stands for a command; the launcher calls agent
                return []
            if word not in COMMANDS:
                return [f"no command '{word}'"]
            name = word
        elif name == "launch" and word == "--":
            continue
        elif word.startswith("-") and not re.fullmatch(r"-\d.*", word):
            if word.split("=")[0] not in FLAGS[name]:
                found.append(f"{name} has no flag {word}")
        elif re.match(r"[a-z][\w.]*=", word):
            key = word.split("=")[0]
            after_mesh = words[words.index(word) - 1] in ("--mesh", "--env")
            if not after_mesh and not is_key(key):
                found.append(f"no setting {key}")
        elif word.startswith("examples/") and not list(ROOT.glob(word)):
            found.append(f"no file {word}")
        elif name == "launch" and word.startswith("./"):
            break  # a program of the reader's
    return found


count, wrong = 0, []
for place, command in lines():
    count += 1
    wrong += [f"{place}: {problem}: {command}" for problem in problems_of(command)]
if count < 80 or len(KEYS) < 120:
    wrong.append(f"only {count} commands and {len(KEYS)} settings were found")
print("\n".join(wrong) if wrong else f"{count} commands, {len(KEYS)} settings")
sys.exit(bool(wrong))
