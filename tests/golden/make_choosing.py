"""Writes choosing.json: rows of scores after the logit functions of transformers 5.24 (torch 2.13).

  python make_choosing.py > choosing.json

A case has a row, the fields of Choosing, tokens of prompt and answer and, as pairs of id and score, the scores that are
left. Functions are in the order of generate's own list; presence and frequency penalties, which transformers has not,
are those of vLLM (vllm/model_executor/layers/utils.py, apply_penalties)."""
import json
import math
import torch
import transformers
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers.generation import logits_process as lp

torch.manual_seed(7)
ROWS = {"plain": torch.randn(48) * 2,
        "flat": torch.randn(48) * 0.05,
        "peaked": torch.cat([torch.randn(40), torch.tensor([12.0, 11.5, 9.0, -30.0, -30.5, -60.0, 8.9, 3.0])]),
        "small": torch.randn(5)}
ROWS = {name: [round(x, 4) for x in row.tolist()] for name, row in ROWS.items()}
ENDS = [3, 17]


class VllmPenalties:
    def __init__(self, how, prompt):
        self.how, self.prompt = how, prompt

    def __call__(self, ids, scores):
        scores = scores.clone()
        counts = torch.bincount(ids[0, len(self.prompt):], minlength=scores.shape[1]).float()[None]
        scores -= self.how.get("frequency_penalty", 0) * counts
        scores -= self.how.get("presence_penalty", 0) * (counts > 0)
        return scores


def processors(how, prompt):
    if "logit_bias" in how:
        yield lp.SequenceBiasLogitsProcessor({(int(i),): float(b) for i, b in how["logit_bias"]})
    if "repetition_penalty" in how:
        yield lp.RepetitionPenaltyLogitsProcessor(how["repetition_penalty"])
    if "presence_penalty" in how or "frequency_penalty" in how:
        yield VllmPenalties(how, prompt)
    if "min_tokens" in how:
        yield lp.MinNewTokensLengthLogitsProcessor(len(prompt), how["min_tokens"], ENDS)
    if "temperature" in how:
        yield lp.TemperatureLogitsWarper(how["temperature"])
    if "top_k" in how:
        yield lp.TopKLogitsWarper(how["top_k"])
    if "top_p" in how:
        yield lp.TopPLogitsWarper(how["top_p"])
    if "min_p" in how:
        yield lp.MinPLogitsWarper(how["min_p"])
    if "typical_p" in how:
        yield lp.TypicalLogitsWarper(how["typical_p"])


def check_order():
    """The order in processors() is that in which generate applies them."""
    model = GPT2LMHeadModel(GPT2Config(vocab_size=48, n_embd=8, n_layer=1, n_head=1))
    how = GenerationConfig(do_sample=True, sequence_bias=[[[1], 1.0]], repetition_penalty=2.0, min_new_tokens=1,
                           temperature=0.5, top_k=3, top_p=0.5, min_p=0.1, typical_p=0.5, eos_token_id=ENDS)
    model._prepare_special_tokens(how, True, device="cpu")
    ids = torch.tensor([[1]])
    theirs = [type(f) for f in model._get_logits_processor(how, 1, ids, None, device="cpu")]
    ours = [type(f) for f in processors({"logit_bias": [[1, 1.0]], "repetition_penalty": 2.0, "min_tokens": 1,
                                         "temperature": 0.5, "top_k": 3, "top_p": 0.5, "min_p": 0.1,
                                         "typical_p": 0.5}, [1])]
    assert theirs == ours, (theirs, ours)


check_order()


def case(row, prompt=(1, 2, 2, 4), answer=(5, 2, 5), **how):
    scores = torch.tensor([ROWS[row]])
    ids = torch.tensor([list(prompt) + list(answer)])
    for f in processors(how, prompt):
        scores = f(ids, scores)
    left = [[i, float("%.7g" % x)] for i, x in enumerate(scores[0].tolist()) if x != -math.inf]
    return {"row": row, "how": how, "prompt": list(prompt), "answer": list(answer), "left": left}


cases = []
for row in ROWS:
    big = row != "small"
    for bias in ([[0, 1.5], [4, -100.0]], [[2, 100.0]]):
        cases.append(case(row, (1, 2), (), logit_bias=bias))
    for penalty in (0.5, 1.3, 4.0):
        cases.append(case(row, (1, 2, 2, 4), (4,) if not big else (40, 41, 43, 2), repetition_penalty=penalty))
    if big:
        cases.append(case(row, presence_penalty=0.7))
        cases.append(case(row, frequency_penalty=-1.25))
        cases.append(case(row, presence_penalty=-2.0, frequency_penalty=0.3))
        cases.append(case(row, min_tokens=4))
        cases.append(case(row, min_tokens=3))
    for t in (0.25, 1.7):
        cases.append(case(row, (1,), (), temperature=t))
    for k in (1, 3, 47, 1000):
        cases.append(case(row, (1,), (), top_k=k))
    for p in (1e-9, 0.3, 0.8, 0.95, 0.999):
        cases.append(case(row, (1,), (), top_p=p))
        cases.append(case(row, (1,), (), typical_p=p))
    for p in (0.01, 0.2, 1.0):
        cases.append(case(row, (1,), (), min_p=p))
    if big:
        cases.append(case(row, logit_bias=[[7, 2.0], [5, 3.0]], repetition_penalty=1.2, presence_penalty=0.5,
                          frequency_penalty=0.25, min_tokens=9, temperature=0.8, top_k=20, top_p=0.9, min_p=0.02,
                          typical_p=0.9))
        cases.append(case(row, temperature=1.5, top_p=0.7, typical_p=0.6))
        cases.append(case(row, min_tokens=5, top_k=46, min_p=0.05))
logprobs = {name: [float("%.7g" % x) for x in torch.log_softmax(torch.tensor(row), -1).tolist()]
            for name, row in ROWS.items()}
VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
print(json.dumps({"made_by": VERSIONS, "ends": ENDS})[:-1]
      + ",\n\"rows\": {" + ",\n".join(f"{json.dumps(n)}: {json.dumps(r)}" for n, r in ROWS.items())
      + "},\n\"logprobs\": {" + ",\n".join(f"{json.dumps(n)}: {json.dumps(r)}" for n, r in logprobs.items())
      + "},\n\"cases\": [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]}")
