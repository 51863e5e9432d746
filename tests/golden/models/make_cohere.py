"""Two Cohere models (transformers 5.24.0): with groups of heads, and with other options."""
from transformers import CohereConfig, CohereForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("cohere", CohereForCausalLM(CohereConfig(**SIZES, num_key_value_heads=2)))
make("cohere_options", CohereForCausalLM(CohereConfig(
    **SIZES, attention_bias=True, tie_word_embeddings=False, hidden_act="gelu", layer_norm_eps=1e-3, logit_scale=0.5,
    rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0})), seed=1)
