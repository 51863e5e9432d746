"""Two GPT-NeoXs: attention and MLP side by side, as Pythia's sizes; and one behind the other, with a tied output layer,
scaled angles of half a head, other sizes and no biases of attention."""
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from common import make


def model(**options):
    config = GPTNeoXConfig(vocab_size=96, max_position_embeddings=16, hidden_size=16, num_hidden_layers=2,
                           attn_implementation="eager", **options)
    return GPTNeoXForCausalLM(config)


def in_files(name, array):
    return {name.replace("lm_head.", "embed_out."): array}


make("gpt_neox_plain", model(num_attention_heads=2, intermediate_size=64, rotary_pct=0.25), in_files=in_files)
make("gpt_neox_options", model(num_attention_heads=4, intermediate_size=40, use_parallel_residual=False,
                               hidden_act="gelu_new", layer_norm_eps=1e-3, attention_bias=False,
                               tie_word_embeddings=True, hidden_dropout=0.1, attention_dropout=0.2,
                               rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0,
                                                "partial_rotary_factor": 0.5}), seed=1, in_files=in_files)
