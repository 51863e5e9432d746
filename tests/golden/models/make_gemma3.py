"""Two Gemma 3s of text (transformers 5.24.0): with windows, two bases of angles and scaling; and with a soft cap."""
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2,
             head_dim=6, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             attn_implementation="eager")


def angles(full, sliding):
    return {"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": sliding}}


make("gemma3", Gemma3ForCausalLM(Gemma3TextConfig(
    **SIZES, num_hidden_layers=3, sliding_window=3, query_pre_attn_scalar=10,
    layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    rope_parameters=angles({"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0}, 100.0))), std=0.2)
make("gemma3_options", Gemma3ForCausalLM(Gemma3TextConfig(
    **SIZES, num_hidden_layers=2, sliding_window=4, query_pre_attn_scalar=6, final_logit_softcapping=3.0,
    attention_bias=True, tie_word_embeddings=False, rms_norm_eps=1e-3,
    rope_parameters=angles({"rope_type": "default", "rope_theta": 50.0}, 10000.0))), seed=1, std=0.2)
