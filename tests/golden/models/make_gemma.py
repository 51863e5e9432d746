"""Gemma and Gemma 2, the second with windows in every other layer and both soft caps, and without any."""
from transformers import Gemma2Config, Gemma2ForCausalLM, GemmaConfig, GemmaForCausalLM

from common import make

SIZES = dict(vocab_size=96, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=6, max_position_embeddings=32, pad_token_id=0, bos_token_id=1,
             eos_token_id=2, attn_implementation="eager")

make("gemma", GemmaForCausalLM(GemmaConfig(**SIZES)), std=0.2)
make("gemma2", Gemma2ForCausalLM(Gemma2Config(**{**SIZES, "num_hidden_layers": 3}, sliding_window=3,
                                              query_pre_attn_scalar=10, attn_logit_softcapping=2.0,
                                              final_logit_softcapping=3.0)), seed=1, std=0.2)
make("gemma2_plain", Gemma2ForCausalLM(Gemma2Config(**SIZES, sliding_window=32, query_pre_attn_scalar=6,
                                                    attn_logit_softcapping=None, final_logit_softcapping=None,
                                                    attention_bias=True, tie_word_embeddings=False,
                                                    layer_types=["full_attention"] * 2)), seed=2, std=0.2)
