#!/usr/bin/env python3
"""Writes chat_ids.json beside this script: published chat templates (of TRL and Axolotl, Apache-2.0), conversations,
and the ids that apply_chat_template of Hugging Face's `transformers` gives for each with two small tokenizers; null
where the template raises an error. transformers 5.24.0, tokenizers 0.23.3.

    make_chat_ids.py FOLDER..      of *.jinja files, whose turns are texts"""
import json
import pathlib
import re
import sys

import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
NAMED = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
TALKS = [
    [("user", "Hello, what is 2 + 2?")],
    [("system", "You answer briefly."), ("user", "  Two spaces first\nand a second line "),
     ("assistant", "Yes."), ("user", "Why? \u00dcber \u4f60\u597d")],
    [("user", "a"), ("assistant", "\n\nnew lines first, then code:\n\n    x = [1, 2]\n"), ("user", "\n")],
]
# Each template with what it has that others lack; texts of media and tools stay out, which no turn has here.
MARK = re.compile(r"<\|[A-Za-z0-9_]+\|>|<[a-z_]+_of_(?:turn|image)>|\[/?[A-Z_]+\]|<\uff5c[^>]+\uff5c>|</?think>|"
                  r"<</?SYS>>")


def marks(templates):
    found = set()
    for source in templates.values():
        found |= set(MARK.findall(source))
    return sorted(found - set(NAMED.values()))


def corpus():
    for page in sorted((HERE.parent.parent / "docs").glob("*.md"))[:12]:
        yield page.read_text()[:20000]


def made(kind, special):
    t = Tokenizer(models.BPE(unk_token="<unk>" if kind == "metaspace" else None, byte_fallback=kind == "metaspace"))
    alphabet = []
    if kind == "bytes":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:   # as Llama 2 has it
        t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                       decoders.Strip(" ", 1, 0)])
    first = list(NAMED.values()) + ([f"<0x{i:02X}>" for i in range(256)] if kind == "metaspace" else [])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=900 + len(first), special_tokens=first, initial_alphabet=alphabet, show_progress=False,
        max_token_length=12))
    data = json.loads(t.to_str())
    data["added_tokens"] = [a for a in data["added_tokens"] if a["content"] in NAMED.values()]
    t = Tokenizer.from_str(json.dumps(data))
    t.add_special_tokens([AddedToken(m, special=True, normalized=False) for m in special])
    return t


def main():
    templates = {}
    for folder in sys.argv[1:]:
        for file in sorted(pathlib.Path(folder).glob("*.jinja")):
            source = file.read_text()
            if source not in templates.values():
                templates[f"{pathlib.Path(folder).name}/{file.stem}"] = source
    out = {"transformers": __import__("transformers").__version__, "tokenizers": tokenizers.__version__, "named": NAMED,
           "talks": TALKS, "kinds": {}, "templates": templates, "ids": {}}
    for kind in ("bytes", "metaspace"):
        t = made(kind, marks(templates))
        out["kinds"][kind] = json.loads(t.to_str())
        hf = PreTrainedTokenizerFast(tokenizer_object=t, **NAMED)
        for name, source in templates.items():
            rows = []
            for talk in TALKS:
                messages = [{"role": r, "content": c} for r, c in talk]
                try:
                    ids = hf.apply_chat_template(messages, chat_template=source, tokenize=True,
                                                 add_generation_prompt=True)
                    ids = ids["input_ids"] if not isinstance(ids, list) else ids
                except Exception as e:   # what a template raises
                    print(f"{kind} {name}: {type(e).__name__} {str(e)[:90]}")
                    ids = None
                rows.append(ids)
            out["ids"].setdefault(kind, {})[name] = rows
    (HERE / "chat_ids.json").write_text(json.dumps(out, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
