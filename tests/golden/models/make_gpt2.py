"""Two GPT-2: as OpenAI's files have it, and with every option that changes the computation."""
from transformers import GPT2Config, GPT2LMHeadModel

from common import make


def model(**options):
    config = GPT2Config(vocab_size=96, n_positions=16, n_embd=16, n_layer=2, bos_token_id=1, eos_token_id=2,
                        attn_implementation="eager", **options)
    return GPT2LMHeadModel(config)


make("gpt2_plain", model(n_head=4))
make("gpt2_options", model(n_head=2, n_inner=40, activation_function="relu", layer_norm_epsilon=1e-3,
                           scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True,
                           tie_word_embeddings=False, embd_pdrop=0.0, attn_pdrop=0.2), seed=1, double=False)
