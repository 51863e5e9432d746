"""Two GPT-Js: positions turn whole heads; they turn a part of them, with a tied output layer and other sizes."""
from transformers import GPTJConfig, GPTJForCausalLM

from common import make


def model(**options):
    config = GPTJConfig(vocab_size=96, n_positions=16, n_embd=16, n_layer=2, bos_token_id=1, eos_token_id=2,
                        attn_implementation="eager", **options)
    return GPTJForCausalLM(config)


make("gptj_plain", model(n_head=4, rotary_dim=4))
make("gptj_options", model(n_head=2, rotary_dim=4, n_inner=40, activation_function="gelu_pytorch_tanh",
                           layer_norm_epsilon=1e-3, tie_word_embeddings=True, resid_pdrop=0.1, attn_pdrop=0.2), seed=1)
