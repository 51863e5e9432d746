#!/usr/bin/env python3
"""Writes bpe_training.json beside this script: byte-level BPE trained by Hugging Face's library `tokenizers` 0.23.3 on
small texts, among them such whose pairs overlap, are equally frequent, or make a special token."""
import json
import pathlib
import random

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

GPT2 = None  # built in
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
PATTERNS = {"gpt2": GPT2, "llama3": LLAMA3, "qwen2": LLAMA3.replace("{1,3}", "")}
PROSE = """The ranks of a mesh meet before the first step. They exchange their addresses, their settings and the
fingerprint of the program; whoever differs is named, and everybody stops. It's simple: we'll say what's wrong, you've
got to mend it, and they're able to go on. I'd rather wait 10 seconds than lose 1000 steps, wouldn't you?

    for (int i = 0; i < 1024; ++i) { sum += x[i] * y[i]; }   // the sum of 1024 products
\tif (rank == 0) {\n\t\treturn "all of them";\r\n\t}\n\n\n
Die Größe der Blöcke hängt von der Größe des Netzes ab; für drei Ränge sind es drei Blöcke.
Скорость сети зависит от числа узлов. Сеть мала, а узлов много.
人工智能的模型很大，網路很慢。計算機の速度は遅い。速度は大切です。 한국어 문장은 짧다. שלום עולם.
😀 😀😀 👩‍👩‍👧 naïve café ½ Ⅷ 2024-11-22 3.14159e-10 0xdeadbeef <|endoftext|> the the the<|endoftext|>
"""
CHECK = [PROSE[100:400], "the theory of thrones", "Größe 語 😀", "<|endoftext|>a", "   x\n\n\ny  ", "aabababbaaa abab",
         "abcabcab cab bca", "0 10 100 1000"]


def train(texts, pattern, vocab, min_count, specials):
    t = Tokenizer(models.BPE())
    regex = PATTERNS[pattern]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex is None)
    split = regex and pre_tokenizers.Split(tokenizers.Regex(regex), "isolated")
    t.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level]) if regex else byte_level
    trainer = trainers.BpeTrainer(vocab_size=vocab, min_frequency=min_count, special_tokens=specials,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t.train_from_iterator(texts, trainer)
    model = json.loads(t.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    assert [model["vocab"][x] for x in tokens] == list(range(len(tokens)))
    return {"texts": texts, "pattern": pattern, "vocab": vocab, "min_count": min_count, "specials": specials,
            "tokens": tokens[256 + len(specials):], "merges": [" ".join(m) for m in model["merges"]],
            "ids": [t.encode(x).ids for x in CHECK]}


END = ["<|endoftext|>"]
draw = random.Random(4096)
cases = [train([PROSE], "gpt2", 500, 0, END), train(PROSE.split("\n"), "gpt2", 400, 3, END),
         train([PROSE, PROSE, "the"], "llama3", 480, 2, ["<a>", "<|im end|>", "the"]),
         train([PROSE], "qwen2", 420, 0, []), train([], "gpt2", 300, 0, END),
         train(["a", "b c", ""], "gpt2", 300, 0, [])]
for k in range(40):
    alphabet, length = "abcdef"[:2 + k % 3], 2 + k % 11
    words = ["".join(draw.choices(alphabet, k=draw.randint(1, length))) for _ in range(draw.randint(3, 40))]
    cases.append(train([" ".join(words[:20]), "\n".join(words[20:])], "gpt2", 256 + draw.randint(0, 40), k % 4, []))
# Special tokens that words hold: merges lead to them.
for k in range(16):
    words = ["".join(draw.choices("abc"[:1 + k % 3], k=draw.randint(1, 9 + k))) for _ in range(draw.randint(9, 60))]
    cases.append(train([" ".join(words)], "gpt2", 256 + 60, 0, ["aa", "ab", "ca", "abc", "cabc"][:1 + k % 5]))
assert sum(len(c["merges"]) > len(c["tokens"]) for c in cases) > 10
path = pathlib.Path(__file__).parent / "bpe_training.json"
lines = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases)
head = json.dumps({"tokenizers": tokenizers.__version__, "check": CHECK})[:-1]
path.write_text(head + ', "cases": [\n' + lines + "\n]}\n")
