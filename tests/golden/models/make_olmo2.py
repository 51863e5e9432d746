"""Two OLMo 2s (transformers 5.24.0): with groups of heads, and with other options."""
from transformers import Olmo2Config, Olmo2ForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("olmo2", Olmo2ForCausalLM(Olmo2Config(**SIZES, num_key_value_heads=2)))
make("olmo2_options", Olmo2ForCausalLM(Olmo2Config(
    **SIZES, attention_bias=True, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh", rms_norm_eps=1e-3,
    rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0})), seed=1)
