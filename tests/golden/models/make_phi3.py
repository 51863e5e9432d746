"""Two Phi-3s (transformers 5.24.0): with groups of heads and a window, and with other options."""
from transformers import Phi3Config, Phi3ForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("phi3", Phi3ForCausalLM(Phi3Config(**SIZES, num_key_value_heads=2, sliding_window=3)))
make("phi3_options", Phi3ForCausalLM(Phi3Config(
    **{**SIZES, "hidden_size": 32}, tie_word_embeddings=True, hidden_act="gelu", rms_norm_eps=1e-3,
    partial_rotary_factor=0.5, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})), seed=1)
