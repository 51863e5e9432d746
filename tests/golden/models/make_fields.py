"""Each field of golden folders' config.json, and of its class, with another value: fields.json has

  {folder: {field: [value, result]}} where result is the logits of the first row's last position in `transformers`,
  "same" where they are the folder's own to 1e-6, or null where transformers itself refuses the value or the files.

Fields of generation, of names and of training alone are left out, and so are sizes that the files decide and the tie,
which is asked of the files, with a T5's scale_decoder_outputs where they have a head of its own. Development only,
after the scripts make_FAMILY.py: python make_fields.py [FOLDER..] (torch 2.14.1, transformers 5.24.0, CPU), which
keeps the other folders' entries.
"""
import copy
import json
import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = {"architectures", "model_type", "transformers_version", "dtype", "vocab_size", "bos_token_id",
            "eos_token_id",
            "pad_token_id", "initializer_range", "initializer_factor", "use_cache", "id2label", "label2id",
            "problem_type", "return_dict", "output_hidden_states", "output_attentions", "chunk_size_feed_forward",
            "is_encoder_decoder", "decoder_start_token_id", "num_hidden_layers", "n_layer", "num_layers",
            "num_decoder_layers", "max_position_embeddings", "n_positions", "tie_word_embeddings"}


def others(value):
    """Other values of a field: of its type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [value * 1.5 if value else 0.25]
    if isinstance(value, str):
        return ["relu" if value != "relu" else "silu"]
    if value is None:
        return [True, 2, 0.5]
    if isinstance(value, list) and value and isinstance(value[0], str):
        turned = {"full_attention": "sliding_attention", "sliding_attention": "full_attention"}
        return [[turned.get(value[0], "full_attention")] + value[1:]]
    if isinstance(value, list) and value and isinstance(value[0], int):
        return [[1 - value[0]] + value[1:]]
    if isinstance(value, list):
        return [[0]]
    return []


def config_of(fields):
    config = AutoConfig.for_model(**copy.deepcopy(fields))
    config._attn_implementation = config._experts_implementation = "eager"
    return config


def kind_of(fields, golden):
    if "MaskedLM" in fields["architectures"][0]:
        return AutoModelForMaskedLM
    return AutoModelForSeq2SeqLM if "decoder_ids" in golden else AutoModelForCausalLM


def logits(fields, golden, weights):
    """Of the first row's last position; none: transformers refuses the fields, or the weights do not fit."""
    try:
        config = config_of(fields)
        if "shared.weight" in weights and not torch.equal(weights["shared.weight"], weights["lm_head.weight"]):
            config.tie_word_embeddings = False  # from_pretrained asks the files
        model = kind_of(fields, golden).from_config(config)
        model.load_state_dict(weights)
        inputs = {"input_ids": torch.tensor(golden["ids"][:1].astype(np.int64))}
        if "decoder_ids" in golden:
            inputs["attention_mask"] = torch.tensor(golden["mask"][:1].astype(np.int64))
            inputs["decoder_input_ids"] = torch.tensor(golden["decoder_ids"][:1].astype(np.int64))
        with torch.no_grad():
            if kind_of(fields, golden) != AutoModelForMaskedLM:
                inputs["use_cache"] = False
            elif "token_types" in golden:
                inputs["token_type_ids"] = torch.tensor(golden["token_types"][:1].astype(np.int64))
            return model.double().eval()(**inputs).logits[0, -1].numpy()
    except Exception:
        return None


file_name = os.path.join(HERE, "fields.json")
result = json.load(open(file_name)) if os.path.exists(file_name) else {}
for name in sys.argv[1:] or sorted(os.listdir(HERE)):
    folder = os.path.join(HERE, name)
    if not os.path.exists(os.path.join(folder, "golden.safetensors")) or not os.path.exists(folder + "/config.json"):
        continue
    golden = load_file(folder + "/golden.safetensors")
    fields = json.load(open(folder + "/config.json"))
    weights = kind_of(fields, golden).from_pretrained(folder, config=config_of(fields)).state_dict()
    base = logits(fields, golden, weights)
    if base is None:
        print(name, "is not computed")
        continue
    assert np.abs(base - golden["logits"][0, -1]).max() < 1e-5, name
    result[name] = mine = {}
    for field, value in {**AutoConfig.for_model(fields["model_type"]).to_dict(), **fields}.items():
        own_head = "shared.weight" in weights and not torch.equal(weights["shared.weight"], weights["lm_head.weight"])
        if field in LEFT_OUT or (own_head and field == "scale_decoder_outputs"):
            continue
        for other in others(value):
            got = logits({**fields, field: other}, golden, weights)
            if got is None and value is None:
                continue  # of another type
            same = got is not None and np.abs(got - base).max() < 1e-6
            mine[field] = [other, "same" if same else got if got is None else [float(f"{x:.6g}") for x in got]]
            break
    print(name, {f: r[1] if not isinstance(r[1], list) else "other" for f, r in mine.items()}, flush=True)
    with open(file_name, "w") as file:
        def shown(all):
            return ",\n".join(f"  {json.dumps(f)}: {json.dumps(r)}" for f, r in all.items())

        lines = (f"{json.dumps(n)}: {{\n{shown(all)}\n}}" for n, all in sorted(result.items()))
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
