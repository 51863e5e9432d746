#!/usr/bin/env python3
"""Writes small files in the form of GPT-2's, Llama 3's, Qwen 2's and BERT's tokenizer.json beside this one, and
tokenizers.json with the ids of hard texts, by Hugging Face's library `tokenizers` 0.23.3."""
import json
import pathlib
import random

import tokenizers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

folder = pathlib.Path(__file__).parent
TEXT = """The ranks of a mesh meet before the first step. They exchange their addresses, their settings and the
fingerprint of the program; whoever differs is named, and everybody stops. It's simple: we'll say what's wrong, you've
got to mend it, and they're able to go on. I'd rather wait 10 seconds than lose 1000 steps, wouldn't you?
    for (int i = 0; i < 1024; ++i) { sum += x[i] * y[i]; }   // the sum of 1024 products
\tif (rank == 0) {\n\t\treturn "all of them";\n\t}\n\n\n
Die Größe der Blöcke hängt von der Größe des Netzes ab; für drei Ränge sind es drei Blöcke.
L'été où l'on a mesuré la vitesse, c'était déjà l'hiver à côté. ¿Cuántos años? ¡Mañana!
Скорость сети зависит от числа узлов. Сеть мала, а узлов много.
人工智能的模型很大，網路很慢。計算機の速度は遅い。速度は大切です。 한국어 문장은 짧다. שלום עולם. مرحبا بالعالم.
नमस्ते दुनिया। 😀 😀😀 👩‍👩‍👧 🇩🇪 naïve café résumé Ångström ½ Ⅷ ٣٤٥ 2024-11-22 3.14159e-10 0xdeadbeef
""" * 3
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
HARD = [
    "", " ", "  ", "a", " a", "  a", "a ", "a  ", "\n", "\n\n", " \n ", "a\n", "a \n b", "\r\n", "\r\n\r\nx", "\t\tx",
    "x\t\t", "   \n\n   \n  x   y  \n", "Hello, world!",
    "It's we'll they've I'D you'RE he'S 'tis 'TWAS don''t 's 'ſ rock'n'roll",
    "0 1 12 123 1234 12345 1,234,567.89 x1y22z333 1st ²³ ½ Ⅷ ٣٤٥٦ 一二三 १२३४", "3.14159e-10 0xDEADBEEF v1.2.3-rc4",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case", "a+b=c; x[i]->y::z(*p) != &q && !r || ~s ^ t",
    "// comment\n    return x;  // tail\n\n\n}\n", "<html><body class=\"x\">&nbsp;</body></html>",
    "https://example.org/a?b=c&d=%20#e", "人工智能的模型很大，網路很慢。", "計算機の速度は遅い。カタカナ ひらがな ｶﾀｶﾅ", "한국어 문장은 짧다. 각각",
    "ไทยไม่มีช่องว่าง", "Größe straße STRASSE ﬁne ǆ İstanbul ıi", "Скорость сети — 10 Гбит/с.", "שלום עולם",
    "مرحبا بالعالم", "नमस्ते दुनिया।", "😀", "😀😀 😀", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "👍🏽", "☃️ ❤️", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛", "𠜎𠜱",
    "é é e\u0301 e\u0323\u0302 e\u0302\u0323", "A\u030a Å \u212b", "q\u0323\u0307 q\u0307\u0323",
    "\u1100\u1161\u11a8 각 \uac00\u11a8", "\u0958 \u2126 \u2000 \ufb1d \U0002f800",
    "i\u0307\u0323x\u0300\u0301\u0302\u0303", "a\u00a0b", "a\u2003b\u2003\u2003c", "a\u200bb", "a\u200db",
    "a\u3000\u3000b", "a\u2028b\u2029c", "a\u0085b\u0085\u0085 c", "a\u180eb\u180e\u180ec", "a\u1680b",
    "a\u202fb\u205fc", "\ufeffbom", "a\x00b\x00\x00c", "\x01\x02\x7f\x1b[0m", "\x0b\x0c\x1c\x1d\x1e\x1f",
    "soft\u00adhyphen", "…“quoted”‘x’—–-", "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ",
    "<|endoftext|><|endoftext|>", "<|endoftext|", "<|<|endoftext|>|>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi!<|eot_id|>",
    "<|im_start|>system\nYou are.<|im_end|>\n<tool_call> {} </tool_call>", "<a><b>", "<a> <b>", "<a", "x <mask> y",
    "x  <mask>  y", "<mask><mask>", "\n<mask>\n", "x<left> y <right>z", "<left> <left>",
    "caf\u00e9! cafe\u0301! caf\u00e9", "a      b        c    d", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a" * 200,
    " " * 50 + "x" + " " * 50, "\n" * 30, "!?" * 20, "ababababab", "x--y--z", "the the the  the\tthe\nthe",
    "The ranks of a mesh meet before the first step.",
]


def varied(count):
    """Texts of random pieces, always the same."""
    draw = random.Random(2026)
    pieces = [" ", " ", " ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "'", "the", "The", "of", "Block", "rank", "1",
              "42", "٣", "½", ".", ",", "!?", "—", "é", "e\u0301", "\u0301", "ñ", "ß", "Я", "сеть", "語", "模型", "한",
              "\u1100", "\u1161", "😀", "👩‍👧", "\u00a0", "\u3000", "\u200b", "\u0085", "\u180e", "\x00",
              "<|endoftext|>", "<mask>", "<a>", "<b>", "<|im_end|>", "_", "(", "{}", "ab", "\u0323", "\u0302"]
    return ["".join(draw.choice(pieces) for _ in range(draw.randint(3, 30))) for _ in range(count)]


def train(pre_tokenizer, size, normalizer=None):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizer
    if normalizer:
        t.normalizer = normalizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    t.train_from_iterator(TEXT.split("\n\n\n"), trainer)
    j = json.loads(t.to_str())
    assert len(j["model"]["vocab"]) == size, len(j["model"]["vocab"])
    j["decoder"] = json.loads(decoders.ByteLevel().__getstate__())
    return j


def token(id, content, special=True, **options):
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=special)
    return {"id": id, "content": content} | flags | options


def split(pattern):
    return pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**({"add_prefix_space": False, "use_regex": False} | options))


def gpt2():
    j = train(byte_level(use_regex=True), 700)
    j["added_tokens"] = [token(700, "<|endoftext|>", normalized=True)]
    j["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    j["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    j["pre_tokenizer"].pop("use_regex")  # as in files of the library's first versions
    model = j["model"]
    for key in ("type", "byte_fallback", "ignore_merges"):
        model.pop(key)
    model["continuing_subword_prefix"] = model["end_of_word_suffix"] = ""
    model["merges"] = [" ".join(pair) for pair in model["merges"]]
    return j


def llama3():
    j = train(pre_tokenizers.Sequence([split(LLAMA3), byte_level()]), 700)
    j["model"]["ignore_merges"] = True
    del j["model"]["merges"][20::9]  # words that only ignore_merges finds
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    j["added_tokens"] = [token(700 + i, name) for i, name in enumerate(names)]
    begin = {"id": names[0], "ids": [700], "tokens": [names[0]]}
    single = [{"SpecialToken": {"id": names[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = single + [{"SpecialToken": {"id": names[0], "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
    j["post_processor"] = {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {names[0]: begin}}]}
    return j


def qwen2():
    j = train(pre_tokenizers.Sequence([split(QWEN2), byte_level()]), 600, normalizers.NFC())
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    j["added_tokens"] = [token(600 + i, name, i < 3) for i, name in enumerate(names)]
    j["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return j


def odd():
    """What files may have besides: digits, prefix spaces, other splits, added tokens of all kinds."""
    stages = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split("--", "isolated"),
              split(r"(?<=[\w])[\u4e00-\u9fff]+|\p{Han}{2,3}|[^\P{L}\S]|(?=z)|z*(?=[y;])"),
              byte_level(add_prefix_space=True, use_regex=True)]
    j = train(pre_tokenizers.Sequence(stages), 450, normalizers.NFC())
    j["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    old, old_id = next((t, i) for t, i in j["model"]["vocab"].items() if i > 256 and t.isascii() and t.isalpha())
    added = [token(450, "<a>"), token(451, "<b>"), token(452, "<a><b>"),
             token(453, "<mask>", lstrip=True, rstrip=True), token(454, "<left>", lstrip=True),
             token(455, "<right>", rstrip=True, normalized=True)]
    plain = [(old_id, old), (456, "cafe\u0301!"), (457, "    "), (458, "  "), (459, "語")]
    j["added_tokens"] = added + [token(id, content, False, normalized=True) for id, content in plain]
    text, end = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "end", "type_id": 0}}
    ids = {"end": {"id": "end", "ids": [451, 452], "tokens": ["<b>", "<a><b>"]}}
    j["post_processor"] = {"type": "TemplateProcessing", "single": [text, end],
                           "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": ids}
    return j


def words():
    """The first one of the library's tutorial, with tokens that are whole words."""
    t = Tokenizer(models.BPE(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    names = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    trainer = trainers.BpeTrainer(vocab_size=500, limit_alphabet=90, special_tokens=names, show_progress=False)
    t.train_from_iterator(TEXT.split("\n"), trainer)
    t.add_tokens([tokenizers.AddedToken("the", single_word=True, normalized=False),
                  tokenizers.AddedToken("e", single_word=True, lstrip=True, normalized=False),
                  tokenizers.AddedToken("cafe\u0301", single_word=True, normalized=True)])
    j = json.loads(t.to_str())
    j["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    j["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    return j


def bert():
    """Words and punctuation as code cuts them, not a regular expression."""
    t = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.Lowercase()])
    steps = [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.CharDelimiterSplit("x"),
             pre_tokenizers.Punctuation("contiguous")]
    t.pre_tokenizer = pre_tokenizers.Sequence(steps)
    trainer = trainers.BpeTrainer(vocab_size=400, limit_alphabet=70, special_tokens=["[UNK]"], show_progress=False)
    t.train_from_iterator(TEXT.split("\n"), trainer)
    return json.loads(t.to_str())


def word_piece():
    """Words in their longest pieces, as the tokenizers of BERT cut them."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=500, limit_alphabet=120, special_tokens=special,
                                        show_progress=False)
    t.train_from_iterator(TEXT.split("\n"), trainer)
    ids = {name: t.token_to_id(name) for name in ("[CLS]", "[SEP]")}
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=list(ids.items()))
    return json.loads(t.to_str())


def main():
    cases = {text: {} for text in HARD + varied(60)}
    for make in (words, bert):
        written = json.dumps(make(), ensure_ascii=False, separators=(",", ":"))
        (folder / f"tokenizer_{make.__name__}.json").write_text(written + "\n")
    for make in (gpt2, llama3, qwen2, odd, word_piece):
        name = make.__name__
        written = json.dumps(make(), ensure_ascii=False, separators=(",", ":"))
        (folder / f"tokenizer_{name}.json").write_text(written + "\n")
        t = Tokenizer.from_file(str(folder / f"tokenizer_{name}.json"))
        for text, row in cases.items():
            row[name] = t.encode(text, add_special_tokens=False).ids
            whole = t.encode(text).ids
            if name in ("llama3", "odd", "word_piece") and len(text) < 8:
                row[name + " whole"] = whole
            decoded = t.decode(row[name], skip_special_tokens=False)
            if decoded != text:  # broken: it decodes added tokens of Latin-1 letters as bytes
                row[name + " text"] = None if "\ufffd" in decoded else decoded
    lines = ",\n".join(json.dumps({"text": text} | row, separators=(",", ":")) for text, row in cases.items())
    head = f'{{"tokenizers": "{tokenizers.__version__}", "cases": [\n'
    (folder / "tokenizers.json").write_text(head + lines + "\n]}\n")


if __name__ == "__main__":
    main()
