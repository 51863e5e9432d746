"""Writes pairs.json: tokens of contexts and continuations, of lm-evaluation-harness 0.4.13 (HFLM).

  python make_pairs.py > pairs.json

The tokenizers are those of this folder, tokenizer_NAME.json. `prefix` stands for an empty context."""
import json
import pathlib
import types
import lm_eval
import transformers
from lm_eval.models.huggingface import HFLM

HERE = pathlib.Path(__file__).parent
# Name, type in Bora, prefix, whether the model has an encoder.
TOKENIZERS = [("gpt2", "bpe", "<|endoftext|>", False), ("llama3", "bpe", "<|begin_of_text|>", False),
              ("llama2", "huggingface", "<s>", False), ("t5", "huggingface", "</s>", True)]
PAIRS = [("The cat", " sat"), ("The cat ", "sat"), ("The cat \n\t ", "sat down."), ("The cat", "sat"), ("", "The cat"),
         ("", " a"), (" ", " a"), ("Q: 2+2?\nA:", " 4"), ("caf\u00e9\u00a0\u3000", "au lait"),
         ("\u65e5\u672c", "\u8a9e\u3002"), ("x" * 40, "y"), ("a\x1f", "b"), ("under", "stand"), ("  lead", "ing  ")]


class Harness(HFLM):
    def __init__(self, tokenizer, prefix, encoder):
        self.tokenizer, self.backend, self.add_bos_token = tokenizer, "seq2seq" if encoder else "causal", None
        self.custom_prefix_token_id, self.enable_thinking = prefix, False
        self.asked = []

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **more):
        self.asked += [[context, continuation] for _, context, continuation in requests]


cases = []
for name, kind, prefix, encoder in TOKENIZERS:
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(HERE / f"tokenizer_{name}.json"))
    first = tokenizer.convert_tokens_to_ids(prefix)
    pairs = PAIRS + [(prefix + "The cat", " sat"), ("", prefix + "a")]
    for context, continuation in pairs:
        harness = Harness(tokenizer, first, encoder)
        harness.loglikelihood([types.SimpleNamespace(args=(context, continuation))], disable_tqdm=True)
        if not harness.asked[0][0]:
            continue  # of white space alone: the harness then reads scores that are none of the continuation's
        cases.append({"tokenizer": name, "type": kind, "prefix": first, "encoder": encoder, "context": context,
                      "continuation": continuation, "ids": harness.asked[0]})
VERSIONS = f"lm_eval {lm_eval.__version__}, transformers {transformers.__version__}"
print("{\"made_by\": " + json.dumps(VERSIONS) + ",\n\"cases\": [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]}")
