"""An adapter of PEFT's for gpt2_plain, as peft 0.21.2 writes it, with golden results beside it.

Development only: python make_peft.py, after make_gpt2.py. Writes peft_gpt2/: adapter_config.json,
adapter_model.safetensors, and golden.safetensors: the loss (mean over labels, shifted) of gpt2_plain's golden ids with
the adapter, and the gradient of each of its tensors."""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.numpy import load_file, save_file
from transformers import GPT2LMHeadModel

HERE = os.path.dirname(os.path.abspath(__file__))
base = GPT2LMHeadModel.from_pretrained(os.path.join(HERE, "gpt2_plain"), attn_implementation="eager")
config = LoraConfig(r=3, lora_alpha=5, use_rslora=True, target_modules=["c_fc", "c_proj"], fan_in_fan_out=True,
                    task_type="CAUSAL_LM")
model = get_peft_model(base, config).double().eval()
random = np.random.RandomState(4)
for name, p in model.named_parameters():
    if p.requires_grad:
        p.data.copy_(torch.tensor(0.3 * random.standard_normal(tuple(p.shape))))
given = load_file(os.path.join(HERE, "gpt2_plain", "golden.safetensors"))
out = model(input_ids=torch.tensor(given["ids"]).long(), attention_mask=torch.tensor(given["mask"]),
            labels=torch.tensor(given["labels"]).long(), use_cache=False)
out.loss.backward()
folder = os.path.join(HERE, "peft_gpt2")
golden = {"grad." + n.replace(".default", ""): p.grad.numpy().astype(np.float32)
          for n, p in model.named_parameters() if p.requires_grad}
golden["loss"] = np.array(float(out.loss), np.float32)
model.peft_config["default"].base_model_name_or_path = "gpt2_plain"
model.float().save_pretrained(folder)
os.remove(os.path.join(folder, "README.md"))
save_file({k: np.ascontiguousarray(v) for k, v in golden.items()}, os.path.join(folder, "golden.safetensors"))
print("loss", float(out.loss), "without", given["loss"])
