"""Llama and the models that differ from it by options: each option that changes the computation is in one of them."""
from transformers import (LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

from common import make

SIZES = dict(vocab_size=96, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager")


def rope(kind, theta=10000.0, **parameters):
    return {"rope_type": kind, "rope_theta": theta, **parameters}


def llama(**options):
    return LlamaForCausalLM(LlamaConfig(**{**SIZES, **options}))


make("llama_llama3", llama(tie_word_embeddings=False, rope_parameters=rope(
    "llama3", 50.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)))
make("llama_linear", llama(tie_word_embeddings=True, attention_bias=True, mlp_bias=True, num_key_value_heads=4,
                           rms_norm_eps=1e-3, rope_parameters=rope("linear", factor=2.0)), seed=1)
make("llama_yarn", llama(head_dim=8, hidden_act="gelu_pytorch_tanh", num_key_value_heads=1, rope_parameters=rope(
    "yarn", 100.0, factor=4.0, original_max_position_embeddings=8, beta_fast=8.0)), seed=2)
make("mistral", MistralForCausalLM(MistralConfig(**SIZES, head_dim=6, sliding_window=3,
                                                 rope_parameters=rope("default", 1000.0))), seed=3)
make("qwen2", Qwen2ForCausalLM(Qwen2Config(**{**SIZES, "num_hidden_layers": 3}, tie_word_embeddings=True,
                                           use_sliding_window=True, sliding_window=3, max_window_layers=1,
                                           rope_parameters=rope("default", 1e6))), seed=4)
make("qwen3", Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8, tie_word_embeddings=True,
                                           rope_parameters=rope("default", 1e6))), seed=5)
make("qwen3_windows", Qwen3ForCausalLM(Qwen3Config(**{**SIZES, "num_hidden_layers": 3}, head_dim=6, attention_bias=True,
                                                   use_sliding_window=True, sliding_window=3,
                                                   layer_types=["sliding_attention", "full_attention",
                                                                "sliding_attention"])), seed=6)
