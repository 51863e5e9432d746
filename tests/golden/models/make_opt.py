"""Three OPTs: norms first, as most sizes; norms last and projected embeddings, as 350m, with a padding token among the
tokens; and without everything that may be left out."""
from transformers import OPTConfig, OPTForCausalLM

from common import make, tokens


def model(**options):
    config = OPTConfig(vocab_size=96, max_position_embeddings=16, hidden_size=16, num_hidden_layers=2, bos_token_id=0,
                       attn_implementation="eager", **options)
    return OPTForCausalLM(config)


make("opt_plain", model(num_attention_heads=4, ffn_dim=40))
post_norm = model(num_attention_heads=2, ffn_dim=24, do_layer_norm_before=False, word_embed_proj_dim=8,
                  activation_function="gelu", attention_dropout=0.2, pad_token_id=4)
post_norm.config.pad_token_id = int(tokens(post_norm.config, 1, 3, 8)[0][0, 2])  # lookups of it have no gradient
make("opt_post_norm", type(post_norm)(post_norm.config), seed=1)
make("opt_bare", model(num_attention_heads=4, ffn_dim=16, word_embed_proj_dim=24, enable_bias=False,
                       layer_norm_elementwise_affine=False, _remove_final_layer_norm=True, tie_word_embeddings=False,
                       dropout=0.0, pad_token_id=None), seed=2)
