"""Writes answers/: a BERT with the head qa, and answers.json, what it says of questions.

  python make_answers.py     # torch 2.14.1, transformers 5.24.0, tokenizers 0.23.3

The answers are chosen as transformers 4's question-answering chose them, which version 5 has no more: in each window
the softmax of scores over the context's tokens and [CLS]; the largest product of a begin and an end that does not
precede it, over all windows, unless the smallest product of [CLS] alone is larger. Pieces of any length are allowed.
The tokenizer is tokenizer_word_piece.json of this folder, which knows the tokens' places in the text."""
import json
import pathlib

import tokenizers
import torch
import transformers

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "answers"
OVERLAP = 5
TEXTS = ["The rank waits.  They wait, and the block of 1024 ran.",
         "", "x", "Dré des Königs: die große Straße (24), wo sie 1024 fing.",
         "\tUzl 日本語 мир узлов 😀😀 " + "and their blocks ran, then you set the net. " * 4 + " Ende ",
         "they ran and " * 20 + "dead\u00a0beef 🇪🇺 ...", "unbreakable-words-that-go-on_and_on" * 3, " \n "]
QUESTIONS = ["who waits?", "wo fing er?", "how many blocks, and which of them ran with the great net in the sum?", ""]

torch.manual_seed(3)
tokenizer = tokenizers.Tokenizer.from_file(str(HERE / "tokenizer_word_piece.json"))
config = transformers.BertConfig(
    vocab_size=tokenizer.get_vocab_size(), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=12, max_position_embeddings=24, initializer_range=0.6, attn_implementation="eager")
model = transformers.BertForQuestionAnswering(config).eval()
with torch.no_grad():
    model.qa_outputs.bias.copy_(torch.tensor([0.3, -0.2]))
model.save_pretrained(FOLDER)
begin_of, end_of = (tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))


def answer(question, text):
    asked = tokenizer.encode(question, add_special_tokens=False).ids[:(config.max_position_embeddings - 3) // 2]
    whole = tokenizer.encode(text, add_special_tokens=False)
    room = config.max_position_embeddings - 3 - len(asked)
    step = room - min(OVERLAP, room // 2)
    none, best, second = 2.0, (-1.0, 0, 0), -1.0
    for begin in range(0, max(1, len(whole.ids)), step):
        part = whole.ids[begin:begin + room]
        ids = [begin_of, *asked, end_of, *part, end_of]
        first = len(asked) + 2
        types = [0] * first + [1] * (len(part) + 1)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))
        places = [0, *range(first, first + len(part))]
        s, e = (torch.softmax(x[0, places].double(), 0) for x in (out.start_logits, out.end_logits))
        none = min(none, float(s[0] * e[0]))
        for i in range(1, len(places)):
            for j in range(i, len(places)):
                score = float(s[i] * e[j])
                if score > best[0]:
                    best, second = (score, begin + i - 1, begin + j - 1), best[0]
                else:
                    second = max(second, score)
        if begin + room >= len(whole.ids):
            break
    highest, other = max(none, best[0]), min(max(none, second), max(best[0], second))
    assert none == 2 or highest - other > 1e-5, (question, text)   # else the choice is rounding's
    if none > best[0]:
        return {"answer": "", "start": 0, "end": 0, "score": none}
    start, end = whole.offsets[best[1]][0], whole.offsets[best[2]][1]
    return {"answer": text[start:end], "start": start, "end": end, "score": best[0]}


items = [{"question": q, "context": t} | answer(q, t) for t in TEXTS for q in QUESTIONS]
versions = {"torch": torch.__version__, "transformers": transformers.__version__}
(FOLDER / "answers.json").write_text(json.dumps(versions | {"overlap": OVERLAP, "items": items}, indent=1))
