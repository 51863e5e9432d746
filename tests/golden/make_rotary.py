"""Writes rotary.txt: rotary embeddings with options, by the functions of transformers.

  python make_rotary.py > rotary.txt

The operand has the numbers sin(0.37 i); positions are 0, 3, 6, ... Every line: name, count, numbers."""
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama

X = torch.sin(0.37 * torch.arange(2 * 5 * 2 * 16, dtype=torch.float64)).reshape(2, 5, 2, 16)
PLACES = 3 * torch.arange(5)


def show(name, y):
    print(name, y.numel(), *("%.9g" % n for n in y.flatten().tolist()))


def llama(name, dims=16, **parameters):
    config = LlamaConfig(hidden_size=dims, num_attention_heads=1, max_position_embeddings=256,
                         rope_parameters={"rope_theta": 10000.0, **parameters})
    if parameters["rope_type"] == "default":
        frequencies, amplitude = modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    else:
        frequencies, amplitude = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu")
    angle = PLACES[:, None].double() * frequencies.double()
    angle = torch.cat([angle, angle], -1)[None]
    cos, sin = torch.cos(angle) * amplitude, torch.sin(angle) * amplitude
    turned, _ = modeling_llama.apply_rotary_pos_emb(X[..., :dims], X[..., :dims], cos, sin, unsqueeze_dim=2)
    show(name, torch.cat([turned, X[..., dims:]], -1))


def gptj(name, dims):
    sin, cos = modeling_gptj.create_sinusoidal_positions(32, dims)[PLACES].double().chunk(2, -1)
    turned = modeling_gptj.apply_rotary_pos_emb(X[..., :dims], sin[None], cos[None])
    show(name, torch.cat([turned, X[..., dims:]], -1))


llama("linear", rope_type="linear", factor=4.0)
llama("llama3", rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
      original_max_position_embeddings=64)
llama("yarn", rope_type="yarn", factor=4.0, original_max_position_embeddings=64)
llama("yarn_bounds", rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=8.0, beta_slow=0.5,
      attention_factor=0.75, truncate=False)
llama("partial", 8, rope_type="default")
gptj("gptj", 8)
gptj("gptj_whole", 16)
