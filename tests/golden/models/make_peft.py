"""An adapter of PEFT's for gpt2_plain, as peft 0.21.2 writes it, with golden results beside it.

Development only: python make_peft.py [NAME], after make_gpt2.py. Writes peft_gpt2/ and, with use_dora, peft_dora/:
adapter_config.json, adapter_model.safetensors, and golden.safetensors: the loss (mean over labels, shifted) of
gpt2_plain's golden ids with the adapter, and the gradient of each of its tensors."""
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.numpy import load_file, save_file
from transformers import GPT2LMHeadModel

HERE = os.path.dirname(os.path.abspath(__file__))


def make(folder, dora):
    base = GPT2LMHeadModel.from_pretrained(os.path.join(HERE, "gpt2_plain"), attn_implementation="eager")
    config = LoraConfig(r=3, lora_alpha=5, use_rslora=True, use_dora=dora, target_modules=["c_fc", "c_proj"],
                        fan_in_fan_out=True, task_type="CAUSAL_LM")
    model = get_peft_model(base, config).double().eval()
    random = np.random.RandomState(4)
    for name, p in model.named_parameters():
        if p.requires_grad:
            drawn = torch.tensor(0.3 * random.standard_normal(tuple(p.shape)))
            p.data.copy_(p.data * (1 + drawn) if "magnitude" in name else drawn)
    given = load_file(os.path.join(HERE, "gpt2_plain", "golden.safetensors"))
    out = model(input_ids=torch.tensor(given["ids"]).long(), attention_mask=torch.tensor(given["mask"]),
                labels=torch.tensor(given["labels"]).long(), use_cache=False)
    out.loss.backward()
    folder = os.path.join(HERE, folder)
    ends = ".lora_magnitude_vector.default.weight", ".lora_magnitude_vector"  # as the file has it
    golden = {"grad." + n.replace(*ends).replace(".default", ""): p.grad.numpy().astype(np.float32)
              for n, p in model.named_parameters() if p.requires_grad}
    golden["loss"] = np.array(float(out.loss), np.float32)
    model.peft_config["default"].base_model_name_or_path = "gpt2_plain"
    model.float().save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    save_file({k: np.ascontiguousarray(v) for k, v in golden.items()}, os.path.join(folder, "golden.safetensors"))
    print(folder, "loss", float(out.loss), "without", given["loss"])


for name, dora in {"peft_gpt2": False, "peft_dora": True}.items():
    if name in (sys.argv[1:] or [name]):
        make(name, dora)
