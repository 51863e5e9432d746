#!/usr/bin/env python3
"""quantised_folders.py BORA: transformers reads the folders that `bora quantize` writes, and its logits are Bora's."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

bora = sys.argv[1]
temp = tempfile.TemporaryDirectory()
folder = pathlib.Path(temp.name)
VOCABULARY, NEW = 320, 12
PROMPTS = [[7, 250, 33, 91, 12, 12, 300], [1], list(range(5, 205, 5))]


def run(*words):
    done = subprocess.run([bora, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bora {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def make_model():
    """A llama with weights large enough that its scores differ, and tokens that are bytes or pairs of them."""
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=128, intermediate_size=384,
                                      num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                                      max_position_embeddings=256, initializer_range=0.15, bos_token_id=VOCABULARY - 1,
                                      eos_token_id=VOCABULARY - 1, tie_word_embeddings=False)
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder / "hf")
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(b) for b in plain] + [chr(256 + i) for i in range(256 - len(plain))]
    pairs = [f"{a} {b}" for a in letters[:8] for b in letters[:8]][:VOCABULARY - 257]
    tokens = [*letters, *(p.replace(" ", "") for p in pairs), "<|end|>"]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (folder / "hf/tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": level,
        "post_processor": None, "decoder": level,
        "added_tokens": [{"id": VOCABULARY - 1, "content": "<|end|>", "special": True, "single_word": False,
                          "lstrip": False, "rstrip": False, "normalized": False}],
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {t: i for i, t in enumerate(tokens)}, "merges": pairs}}))
    (folder / "hf/tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "bos_token": "<|end|>"}))


@torch.inference_mode()
def theirs(model, prompt):
    """For each of the likeliest next tokens: the log-probabilities of the 20 likeliest ones, best first."""
    ids, found = torch.tensor([prompt]), []
    for _ in range(NEW):
        scores = model(ids).logits[0, -1].log_softmax(-1)
        found.append(scores.sort(descending=True).values[:20].tolist())
        ids = torch.cat((ids, scores.argmax()[None, None]), 1)
    return found


def mine(out, *words):
    lines = [{"prompt": p, "max_tokens": NEW, "temperature": 0, "logprobs": 20, "ignore_eos": True} for p in PROMPTS]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    answers = [json.loads(x) for x in run("generate", out, "--prompts", folder / "prompts.jsonl", *words).splitlines()]
    return [[sorted(top.values(), reverse=True)[:20] for top in a["choices"][0]["logprobs"]["top_logprobs"]]
            for a in answers]


def furthest(one, other):
    return max(abs(a - b) for x, y in zip(one, other, strict=True) for s, t in zip(x, y, strict=True)
               for a, b in zip(s, t, strict=True))


make_model()
for weights in ("int8", "int4", "int4:128"):
    out = folder / weights.replace(":", "-")
    run("quantize", folder / "hf", out, "--weights", weights)
    model = transformers.AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32).eval()
    scores = [theirs(model, p) for p in PROMPTS]
    distance = furthest(scores, mine(out, "--weights", "f32"))
    print(f"{weights}: log-probabilities differ by {distance:.1e} at most")
    if distance > 1e-2:
        sys.exit(f"{weights}: transformers reads other numbers than Bora")
print("3 passed, 0 failed")
