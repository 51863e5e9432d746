"""harness.json: what lm-evaluation-harness says of a made-up task on models/gpt2_plain, whose texts are ids. Needs
lm_eval, datasets, torch and transformers."""
import json
import pathlib
import random
import tempfile

import datasets
import lm_eval
import torch
import transformers
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, models, pre_tokenizers

here = pathlib.Path(__file__).parent
rand = random.Random(5)
ids = lambda n: " ".join(str(rand.randrange(96)) for _ in range(n))
choose = []
for k in range(30):  # contexts up to more than the model's 16 positions; choices of one length and of several
    choices = [ids(2 if k % 3 == 0 else rand.randrange(1, 5)) for _ in range(rand.randrange(2, 5))]
    choose.append({"context": ids(rand.randrange(2, 22)), "choices": choices, "answer": rand.randrange(len(choices))})
write = [{"context": ids(rand.randrange(2, 9)), "answer": "", "length": 3} for _ in range(12)]

tokenizer = Tokenizer(models.WordLevel({str(i): i for i in range(96)} | {"<end>": 96}, unk_token="<end>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")
model = transformers.AutoModelForCausalLM.from_pretrained(here / "models/gpt2_plain", dtype=torch.float32)
lm = HFLM(pretrained=model, tokenizer=tokenizer, backend="causal", batch_size=1, max_length=16)
with torch.no_grad():  # two of three answers are right
    for k, w in enumerate(write):
        row = [int(i) for i in w["context"].split()]
        for _ in range(3):
            row.append(int(model(torch.tensor([row])).logits[0, -1].argmax()))
        w["answer"] = " ".join(str(i) for i in row[-3:]) if k % 3 else ids(3)


def task(name, lines, output, metrics, **more):
    path = f"{folder}/{name}.jsonl"
    with open(path, "w") as f:
        for line in lines:
            f.write(json.dumps(line) + "\n")
    return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}},
            "test_split": "test", "output_type": output, "doc_to_text": "{{context}}",
            "metric_list": [{"metric": m, "aggregation": "perplexity" if m == "perplexity" else "mean",
                             "higher_is_better": m != "perplexity"} for m in metrics], **more}


with tempfile.TemporaryDirectory() as folder:
    one = [{"context": c["context"], "continuation": " " + c["choices"][0]} for c in choose]
    tasks = [task("choose", choose, "multiple_choice", ["acc", "acc_norm"], doc_to_choice="{{choices}}",
                  doc_to_target="{{answer}}"),
             task("write", write, "generate_until", ["exact_match"], doc_to_target="{{answer}}",
                  generation_kwargs={"until": ["\n\n"], "max_gen_toks": 3, "do_sample": False}),
             task("pairs", one, "loglikelihood", ["perplexity", "acc"], doc_to_target="{{continuation}}")]
    found = lm_eval.simple_evaluate(lm, tasks=tasks, task_manager=TaskManager(include_defaults=False),
                                    bootstrap_iters=10, log_samples=True)
logprobs = [[r[0][0] for r in s["resps"]] for s in sorted(found["samples"]["choose"], key=lambda s: s["doc_id"])]
results = {t: {m.split(",")[0]: x for m, x in r.items() if isinstance(x, float)} for t, r in found["results"].items()}
versions = f"lm_eval {lm_eval.__version__}, transformers {transformers.__version__}, torch {torch.__version__}, " \
           f"datasets {datasets.__version__}"
golden = {"versions": versions, "choose": choose, "write": write, "logprobs": logprobs, "results": results}
(here / "harness.json").write_text(json.dumps(golden, indent=1) + "\n")
print(results)
