"""Two SmolLM3s (transformers 5.24.0): every second layer without angles, and other layers and options."""
from transformers import SmolLM3Config, SmolLM3ForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_attention_heads=4, max_position_embeddings=32,
             pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("smollm3", SmolLM3ForCausalLM(SmolLM3Config(**SIZES, num_hidden_layers=2, num_key_value_heads=2,
                                                 no_rope_layer_interval=2)))
make("smollm3_options", SmolLM3ForCausalLM(SmolLM3Config(
    **SIZES, num_hidden_layers=3, num_key_value_heads=4, no_rope_layers=[0, 1, 1], attention_bias=True, mlp_bias=True,
    tie_word_embeddings=False, hidden_act="gelu", rms_norm_eps=1e-3,
    rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0})), seed=1)
