"""Three Falcons (transformers 5.24.0): as of 7 B, with one head of keys; as of 40 B, with groups and two norms; and one
with as many heads of keys, attention and MLP one behind the other, biases."""
from transformers import FalconConfig, FalconForCausalLM

from common import make

SIZES = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32,
             pad_token_id=0, bos_token_id=1, eos_token_id=2, attn_implementation="eager")

make("falcon", FalconForCausalLM(FalconConfig(**SIZES, ffn_hidden_size=24)))
make("falcon_groups", FalconForCausalLM(FalconConfig(**SIZES, ffn_hidden_size=24, new_decoder_architecture=True,
                                                     num_kv_heads=2, layer_norm_epsilon=1e-3)), seed=1)
make("falcon_options", FalconForCausalLM(FalconConfig(
    **SIZES, multi_query=False, parallel_attn=False, bias=True, tie_word_embeddings=False, activation="silu",
    ffn_hidden_size=20, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0})), seed=2)
