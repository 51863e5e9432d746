#!/usr/bin/env python3
"""Writes small tokenizers in the form of Llama 2's, Mistral's, Gemma's and T5's tokenizer.json and of Llama's and T5's
.model beside this file, and tokenizer_digests.json with digests of ids and decoded texts of odd strings, for these and
for those of make_tokenizers.py, by `tokenizers` 0.23.3 and `sentencepiece` 0.1.97, the version of Debian 12
(pip install sentencepiece==0.1.97): 0.2 breaks some ties otherwise."""
import base64
import hashlib
import io
import json
import pathlib
import random
import struct
import tempfile

import sentencepiece
import tokenizers
from make_tokenizers import HARD, TEXT, token, varied
from tokenizers import Tokenizer

folder = pathlib.Path(__file__).parent
SPACE = "\u2581"
# A little of nmt_nfkc, whose table would be large: characters that become others, several, one, and nothing.
RULES = [("\u3000", " "), ("\u00a0", " "), ("\u2003", " "), ("\t", " "), ("\n", " "), ("\r", " "), ("\ufb01", "fi"),
         ("\u212b", "\u00c5"), ("A\u030a", "\u00c5"), ("e\u0301", "\u00e9"), ("\u00bd", "1\u20442"), ("\u200b", ""),
         ("\u00ad", ""), ("\u2026", "..."), ("\uff76", "\u30ab"), ("\u2167", "VIII"), ("\x01", ""), ("\x7f", ""),
         ("\ufeff", ""), ("\u1100\u1161", "\uac00"), ("\u2460", "1"), ("\U0001d518", "U")]


def train(kind, size, rules=(), **options):
    out = io.BytesIO()
    lines = [line for line in TEXT.split("\n") if line.strip()]
    if rules:
        table = pathlib.Path(tempfile.mkdtemp()) / "rules.tsv"
        table.write_text("".join(" ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n"
                                 for a, b in rules))
        options["normalization_rule_tsv"] = str(table)
    else:
        options["normalization_rule_name"] = "identity"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, model_type=kind, vocab_size=size, num_threads=1,
        minloglevel=2, hard_vocab_limit=False, **options)
    return out.getvalue()


def fields(data):
    """Fields of a protocol buffer: number, value."""
    at = 0

    def varint():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 5:
            at += 4
            yield tag >> 3, struct.unpack("<f", data[at - 4:at])[0]
        else:
            size = varint()
            at += size
            yield tag >> 3, data[at - size:at]


def pieces(model):
    """(text, score) of all pieces."""
    return [(dict(fields(value)).get(1).decode(), dict(fields(value)).get(2, 0.0))
            for number, value in fields(model) if number == 1]


def charsmap(model):
    spec = next(value for number, value in fields(model) if number == 3)
    return base64.b64encode(dict(fields(spec))[2]).decode()


def bpe(model):
    """The model of a tokenizer.json, its merges in the order of the scores, as `transformers` takes them."""
    all_pieces = pieces(model)
    ids = {text: i for i, (text, _) in enumerate(all_pieces)}
    merges = []
    for text, i in ids.items():
        found = [(text[:k], text[k:]) for k in range(1, len(text)) if text[:k] in ids and text[k:] in ids]
        merges += [(all_pieces[i][1], pair) for pair in sorted(found, key=lambda p: (ids[p[0]], ids[p[1]]))]
    merges = [pair for _, pair in sorted(merges, key=lambda m: m[0], reverse=True)]
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": ids,
            "merges": merges}


def sequence(kind, key, *items):
    return {"type": "Sequence", key: list(items)}


def template(*parts):
    """The post-processor that puts tokens around a text, None."""
    single = [{"Sequence": {"id": "A", "type_id": 0}} if p is None else {"SpecialToken": {"id": p[0], "type_id": 0}}
              for p in parts]
    pair = single + [{"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {p[0]: {"id": p[0], "ids": [p[1]], "tokens": [p[0]]} for p in parts if p}}


def document(model, added, **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None} | parts | {"model": model}


def replace(pattern, content):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def metaspace(**options):
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True} | options


BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}


def llama2(model):
    added = [token(i, t) for i, t in enumerate(("<unk>", "<s>", "</s>"))]
    size = len(pieces(model))
    added.append(token(size, "the end", False, normalized=True))
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return document(bpe(model), added,
                    normalizer=sequence("", "normalizers", {"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE)),
                    decoder=sequence("", "decoders", replace(SPACE, " "), BYTES, FUSE, strip),
                    post_processor=template(("<s>", 1), None))


def mistral(model):
    """As newer files say it."""
    j = llama2(model)
    j["added_tokens"] = j["added_tokens"][:3] + [token(len(pieces(model)), "[INST]", True, lstrip=True)]
    j["normalizer"] = None
    j["pre_tokenizer"] = metaspace(prepend_scheme="first", split=False)
    return j


def gemma(model):
    added = [token(i, t) for i, t in enumerate(("<unk>", "<s>", "</s>"))]
    size = len(pieces(model))
    added += [token(size + i, t, False)
              for i, t in enumerate(("\n\n", "\n\n\n", SPACE * 2, SPACE * 3, "<start_of_turn>"))]
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    j = document(bpe(model), added, normalizer=replace(" ", SPACE), pre_tokenizer=split,
                 decoder=sequence("", "decoders", replace(SPACE, " "), BYTES, FUSE))
    j["model"]["fuse_unk"] = j["model"]["byte_fallback"] = False  # unknown characters as they were before
    return j


def unigram(model, unknown, fallback):
    return {"type": "Unigram", "unk_id": unknown, "vocab": pieces(model), "byte_fallback": fallback}


def t5(model):
    special = [(i, t) for i, (t, _) in enumerate(pieces(model)) if t in ("<pad>", "</s>", "<unk>") or "extra_id" in t]
    added = [token(i, t) for i, t in special]
    return document(unigram(model, 2, False), added,
                    normalizer={"type": "Precompiled", "precompiled_charsmap": charsmap(model)},
                    pre_tokenizer=sequence("", "pretokenizers", {"type": "WhitespaceSplit"}, metaspace()),
                    decoder=metaspace(), post_processor=template(None, ("</s>", 1)))


def odd_unigram(model):
    """What else a Unigram may have."""
    added = [token(0, "<unk>"), token(len(pieces(model)), "Caf\u00c9", False, normalized=True)]
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}|[xy]+"}, "content": " "}
    digits = {"type": "Split", "pattern": {"Regex": "[0-9]"}, "behavior": "Contiguous", "invert": False}
    next_ = {"type": "Split", "pattern": {"Regex": "[.!?]+"}, "behavior": "MergedWithNext", "invert": True}
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    return document(unigram(model, 0, True), added,
                    normalizer=sequence("", "normalizers", {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "NFKC"},
                                        strip, spaces),
                    pre_tokenizer=sequence("", "pretokenizers", metaspace(prepend_scheme="first", split=False), digits,
                                           next_),
                    decoder=sequence("", "decoders", BYTES, metaspace(prepend_scheme="first")),
                    post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1],
                                    "trim_offsets": True, "add_prefix_space": False})


def texts():
    """Strings, bytes that are no UTF-8, and long strings as (piece, count)."""
    draw = random.Random(19)
    ranges = [(0x20, 0x7f), (0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x500), (0x590, 0x700), (0x900, 0x980),
              (0xe00, 0xe80), (0x1100, 0x1200), (0x2000, 0x2070), (0x2150, 0x2200), (0x2600, 0x2700), (0x3000, 0x3100),
              (0x4e00, 0x4f00), (0xac00, 0xad00), (0xfb00, 0xfb50), (0xff00, 0xffa0), (0x1d400, 0x1d500),
              (0x1f1e6, 0x1f200), (0x1f3fb, 0x1f650)]
    more = ["<s>", "</s>", "<unk>", "<pad>", " <s> a", "a</s> b", "<s><s>x", "[INST] hi [/INST]",
            "x [INST]y", "the end",
            "a the end b", "the ends",
            "<extra_id_0> and <extra_id_1>.",
            "CAF\u00c9 caf\u00e9 Cafe\u0301", SPACE, SPACE + "a",
            "a" + SPACE, SPACE * 3 + "x" + SPACE * 2, "<0x41>", "<0xE2><0x82><0xAC>",
            "<start_of_turn>user\n\n\nhi", "  xx  yy",
            " lead", "trail ", "\u3000\u3000a\u3000", "\x01a", "\u200b", "\u200ba \u200b",
            "A\u030a e\u0301\u0327 \u1100\u1161\u11a8",
            "\u0130 \u01c5 \u03a3\u03c3\u03c2", "1.2!3? ok...no", "!!", "42", "\u24f5\u2460\u2167\u00bd"]
    strings = HARD + more + varied(60)[:40]
    while len(strings) < 380:
        some = [draw.choice(ranges) for _ in range(draw.randint(1, 4))]
        chars = [chr(draw.randrange(*draw.choice(some))) if draw.random() < 0.85 else " "
                 for _ in range(draw.randint(1, 24))]
        strings.append("".join(chars))
    broken = [b"\xff", b"a\xe2\x82z", b"\xe2\x82\xac\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80",
              b"\xf4\x90\x80\x80",
              b" \x80 \x80", b"caf\xe9", b"\xe8\xaa", b"\xf1\x80\x80\xe1\x80\xc2b"]
    broken += [bytes(draw.randrange(256) for _ in range(draw.randint(1, 20))) for _ in range(39)]
    long = [("a", 1_000_000), ("ab", 500_000), ("\u8a9e", 333_334), ("1", 1_000_000), ("\U0001f600", 250_000),
            ("!", 1_000_000), ("x\u0301", 333_334), (" ", 1_000_000), ("\n", 1_000_000), ("the", 333_334)]
    assert all(string.encode() for string in strings if string)
    return strings, broken, long


def digest(data):
    return hashlib.sha256(data.encode()).hexdigest()[:8]


def row(encode, decode, text):
    ids = encode(text)
    decoded = decode(ids)
    broken = "\ufffd" in decoded and "\ufffd" not in text  # it decodes added tokens of Latin-1 letters as bytes
    return digest(" ".join(map(str, ids))) + ("?" * 8 if broken else digest(decoded))


def main():
    llama_model = train("bpe", 700, byte_fallback=True, split_digits=True, remove_extra_whitespaces=False,
                        character_coverage=0.99)
    t5_model = train("unigram", 500, RULES, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, character_coverage=0.98,
                     user_defined_symbols=["<extra_id_1>", "<extra_id_0>"])
    plain = train("unigram", 600, byte_fallback=True, character_coverage=0.98)
    (folder / "tokenizer_llama.model").write_bytes(llama_model)
    (folder / "tokenizer_t5.model").write_bytes(t5_model)
    made = {"llama2": llama2(llama_model), "mistral": mistral(llama_model), "gemma": gemma(llama_model),
            "t5": t5(t5_model), "unigram": odd_unigram(plain)}
    for name, j in made.items():
        (folder / f"tokenizer_{name}.json").write_text(json.dumps(j, ensure_ascii=False, separators=(",", ":")) + "\n")
    strings, broken, long = texts()
    all_texts = strings + [b.decode(errors="replace") for b in broken] + [piece * n for piece, n in long]
    out = {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__, "texts": strings,
           "bytes": [b.hex() for b in broken], "long": long, "digests": {}}
    for name in ("gpt2", "llama3", "qwen2", "odd", "words", "bert", *made):
        t = Tokenizer.from_file(str(folder / f"tokenizer_{name}.json"))
        t.no_truncation()
        out["digests"][name] = [row(lambda s: t.encode(s, add_special_tokens=False).ids,
                                    lambda ids: t.decode(ids, skip_special_tokens=False), s) for s in all_texts]
        if name == "bert":  # its table of punctuation is older than U+061D
            out["digests"][name] = ["" if "\u061d" in s else r for s, r in zip(all_texts, out["digests"][name])]
        out["digests"][name + " whole"] = [row(lambda s: t.encode(s).ids,
                                               lambda ids: t.decode(ids, skip_special_tokens=True), s)
                                          for s in strings[:60]]
    for name in ("llama.model", "t5.model"):
        t = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"tokenizer_{name}"))
        # A run of characters that T5's does not know takes the square of its length.
        slow = ("\u8a9e", "\U0001f600", "x\u0301") if name == "t5.model" else ()
        out["digests"][name] = ["" if len(s) > 10_000 and slow and s.startswith(slow) else row(t.encode, t.decode, s)
                                for s in all_texts]
    (folder / "tokenizer_digests.json").write_text(json.dumps(out, separators=(",", ":")).replace("],", "],\n") + "\n")


if __name__ == "__main__":
    main()
