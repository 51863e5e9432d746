"""Three Phi-3s (transformers 5.24.0): with groups of heads and a window, with other options, and with longrope, whose
rows are not longer than those of pre-training. phi3_long/longer.safetensors has longer ones: ids i32 [1, position],
logits f32 [1, position, vocab]."""
import os

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import Phi3Config, Phi3ForCausalLM

from common import HERE, make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("phi3", Phi3ForCausalLM(Phi3Config(**SIZES, num_key_value_heads=2, sliding_window=3)))
make("phi3_options", Phi3ForCausalLM(Phi3Config(
    **{**SIZES, "hidden_size": 32}, tie_word_embeddings=True, hidden_act="gelu", rms_norm_eps=1e-3,
    partial_rotary_factor=0.5, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})), seed=1)
make("phi3_long", Phi3ForCausalLM(Phi3Config(
    **SIZES, num_key_value_heads=2, original_max_position_embeddings=8, rope_parameters={
        "rope_type": "longrope", "rope_theta": 100.0, "short_factor": [1.0, 1.5], "long_factor": [1.25, 4.0]})), seed=2)
folder = os.path.join(HERE, "phi3_long")
model = Phi3ForCausalLM.from_pretrained(folder, attn_implementation="eager").double().eval()
ids = np.random.RandomState(5).randint(3, 64, (1, 14))
with torch.no_grad():
    logits = model(torch.tensor(ids), use_cache=False).logits.numpy()
save_file({"ids": ids.astype(np.int32), "logits": logits.astype(np.float32)}, folder + "/longer.safetensors")
