"""Two Granites (transformers 5.24.0): with numbers of their own, and with those of the class and other options."""
from transformers import GraniteConfig, GraniteForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("granite", GraniteForCausalLM(GraniteConfig(
    **SIZES, num_key_value_heads=2, embedding_multiplier=3.0, residual_multiplier=0.6, attention_multiplier=0.3,
    logits_scaling=2.5, tie_word_embeddings=True)))
make("granite_options", GraniteForCausalLM(GraniteConfig(
    **SIZES, attention_bias=True, mlp_bias=True, hidden_act="gelu", rms_norm_eps=1e-3, attention_multiplier=0.25,
    rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0})), seed=1)
