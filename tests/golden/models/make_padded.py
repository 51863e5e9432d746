"""The golden folders' models with padding on both sides, in `transformers`: padded.npz has for each folder NAME

  NAME.ids i32 [batch, position], NAME.mask (1: a token, 0: padding), NAME.logits f32 [batch, position, vocab], whose
  numbers are of note where the mask is 1 (0 elsewhere), NAME.labels (-100: ignored) and NAME.loss.

Development only, after the scripts make_FAMILY.py: python make_padded.py (torch 2.14.1, transformers 5.24.0, CPU).
"""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ["gpt2_plain", "gptj_options", "opt_plain", "opt_post_norm", "olmo2", "phi3", "qwen3_moe", "granite",
           "smollm3", "gemma3", "stablelm_options", "falcon", "cohere", "gpt_oss"]

all = {}
for name in FOLDERS:
    folder = os.path.join(HERE, name)
    config = AutoConfig.from_pretrained(folder)
    random = np.random.RandomState(3)
    ids = random.randint(3, config.vocab_size, (3, 9))
    mask = np.ones((3, 9), np.int64)
    mask[0, :4] = 0  # left
    mask[2, 7:] = 0  # right
    labels = np.where(mask == 1, ids, -100)
    labels[0, 4] = -100  # padding stands before it, whose logits depend on the implementation
    config._experts_implementation = "eager"
    config.output_router_logits = False  # the loss of the tokens alone
    model = AutoModelForCausalLM.from_pretrained(folder, config=config).double().eval()
    with torch.no_grad():
        out = model(torch.tensor(ids), attention_mask=torch.tensor(mask), labels=torch.tensor(labels))
    logits = np.where(mask[..., None] == 1, out.logits.numpy(), 0)  # elsewhere they depend on the implementation
    all |= {f"{name}.ids": ids.astype(np.int32), f"{name}.mask": mask.astype(np.int32),
            f"{name}.labels": labels.astype(np.int32), f"{name}.logits": logits.astype(np.float32),
            f"{name}.loss": np.array(float(out.loss), np.float32)}
    print(name, float(out.loss))
np.savez_compressed(os.path.join(HERE, "padded.npz"), **all)
