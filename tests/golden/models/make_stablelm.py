"""Two StableLMs (transformers 5.24.0): one behind the other with groups of heads, side by side with other options."""
from transformers import StableLmConfig, StableLmForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, max_position_embeddings=32,
             pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("stablelm", StableLmForCausalLM(StableLmConfig(**SIZES, num_attention_heads=2, num_key_value_heads=1)))
make("stablelm_options", StableLmForCausalLM(StableLmConfig(
    **SIZES, num_attention_heads=4, num_key_value_heads=4, use_parallel_residual=True, use_qkv_bias=True,
    tie_word_embeddings=True, hidden_act="gelu", layer_norm_eps=1e-3, partial_rotary_factor=0.5, hidden_dropout=0.1,
    attention_dropout=0.2,
    rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0, "partial_rotary_factor": 0.5})), seed=1)
