"""transformers' side of perf/serve/compare: generate_peer.py THREADS FOLDER DTYPE. Commands and answers are those of
perf/serve/steps.cpp: decode ROWS CACHED STEPS, prefill TOKENS."""
import json
import sys
import time

import torch
import transformers

transformers.logging.set_verbosity_error()
torch.set_num_threads(int(sys.argv[1]))
begun = time.perf_counter()
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[2], dtype=getattr(torch, sys.argv[3]),
                                                          attn_implementation="sdpa").eval()
print(json.dumps({"loaded": time.perf_counter() - begun}), flush=True)
draw = torch.Generator().manual_seed(1)


def prompt(rows, tokens):
    ids = torch.randint(0, model.config.vocab_size, (rows, tokens), generator=draw)
    answer = model(ids, use_cache=True, logits_to_keep=1)
    return answer.logits[:, -1:].argmax(-1), answer.past_key_values


@torch.inference_mode()
def answer(command, *numbers):
    if command == "prefill":
        now = time.perf_counter()
        prompt(1, numbers[0])
        return time.perf_counter() - now
    rows, cached, steps = numbers
    token, cache = prompt(rows, cached)
    times = []
    for _ in range(steps + 1):
        now = time.perf_counter()
        step = model(token, past_key_values=cache, use_cache=True)
        token, cache = step.logits[:, -1:].argmax(-1), step.past_key_values
        times.append(time.perf_counter() - now)
    return times[1:]


for line in sys.stdin:
    words = line.split()
    print(json.dumps({"seconds": answer(words[0], *map(int, words[1:]))}), flush=True)
