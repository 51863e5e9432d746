"""Writes beams.json: beam search of transformers 5.24 (torch 2.13) over a model that is a table.

  python make_beams.py > beams.json

The scores after a text are table[token before the last][last token], [14, 14, 14]; the first token has 0 before it.
Results: tokens behind the prompt, the last one an end or not, and sequences_scores. "models": the same of models of the
folder models; of t5 the prompt is the encoder's input."""
import json
import pathlib
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

TOKENS = 14
torch.manual_seed(3)
TABLE = (torch.randn(TOKENS, TOKENS, TOKENS) * 1.5).mul(10000).round().div(10000)
PAD = 13


class TableConfig(PretrainedConfig):
    model_type = "table"


class TableModel(PreTrainedModel, GenerationMixin):
    config_class = TableConfig
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__(config)
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids, **unused):
        before = torch.nn.functional.pad(input_ids[:, :-1], (1, 0))
        return CausalLMOutput(logits=TABLE[before, input_ids])


model = TableModel(TableConfig(vocab_size=TOKENS)).eval()


def case(prompt, beams, ends, max_tokens, model=model, **more):
    how = {"num_beams": beams, "max_new_tokens": max_tokens, "length_penalty": 1.0, "early_stopping": False,
           "num_return_sequences": beams, **more}
    out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                         do_sample=False, use_cache=not isinstance(model, TableModel),
                         pad_token_id=PAD, eos_token_id=ends or None,
                         return_dict_in_generate=True, output_scores=True, output_logits=True, **how)
    first = 1 if model.config.is_encoder_decoder else len(prompt)
    results = []
    for row, score, beam in zip(out.sequences.tolist(), out.sequences_scores.tolist(), out.beam_indices.tolist()):
        n = sum(i >= 0 for i in beam)
        results.append([row[first:first + n], float("%.7g" % score)])
    return {"prompt": prompt, "beams": beams, "ends": ends, "max_tokens": max_tokens, "how": {
        k: v for k, v in how.items() if k not in ("num_beams", "max_new_tokens", "num_return_sequences")},
        "results": results}


cases = []
for beams in (2, 3, 5):
    for prompt, ends in (([1], [4]), ([5, 2, 9], [4, 7]), ([3, 3], [])):
        for penalty in (1.0, 0.0, 2.5, -1.0):
            for early in (False, True, "never"):
                cases.append(case(prompt, beams, ends, 9, length_penalty=penalty, early_stopping=early))
cases.append(case([1], 4, [4], 1))
cases.append(case([6, 1], 4, [4], 40, length_penalty=0.3, early_stopping="never"))
cases.append(case([6, 1], 3, [4, 0], 12, repetition_penalty=1.4))
cases.append(case([6, 1], 3, [4, 0], 12, min_new_tokens=6))
models = []
for name, ends in (("gpt2_plain", [2, 5]), ("llama_llama3", [4]), ("qwen3", []), ("gemma2", [1]), ("t5_v1_1", [1])):
    kind = AutoModelForSeq2SeqLM if name.startswith("t5") else AutoModelForCausalLM
    one = kind.from_pretrained(pathlib.Path(__file__).parent / "models" / name).eval()
    for beams, early in ((3, False), (4, True)):
        models.append({"model": name} | case([7, 9, 4], beams, ends, 9, one, length_penalty=0.5, early_stopping=early))
VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
print("{\"made_by\": " + json.dumps(VERSIONS)
      + ",\n\"table\": " + json.dumps([round(x, 4) for x in TABLE.flatten().tolist()])
      + ",\n\"cases\": [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n],\n\"models\": [\n"
      + ",\n".join(json.dumps(c) for c in models) + "\n]}")
