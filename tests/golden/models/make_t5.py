"""Three T5: version 1.0, version 1.1 and one with what is left."""
import torch
from transformers import T5Config, T5ForConditionalGeneration

from common import make


def model(untied=False, **options):
    config = T5Config(vocab_size=96, d_model=16, num_layers=2, decoder_start_token_id=0, pad_token_id=0,
                      attn_implementation="eager", **options)
    m = T5ForConditionalGeneration(config)
    if untied:  # as the published files of version 1.1; transformers ties new models of it too
        m.lm_head.weight = torch.nn.Parameter(torch.zeros(96, 16))
    return m


make("t5_v1_0", model(num_heads=4, d_kv=4, d_ff=24, feed_forward_proj="relu"), decoder_length=7)
make("t5_v1_1", model(untied=True, num_heads=2, d_kv=6, d_ff=20, feed_forward_proj="gated-gelu",
                      tie_word_embeddings=False, relative_attention_num_buckets=8, relative_attention_max_distance=6),
     seed=1, decoder_length=7)
make("t5_options", model(num_heads=4, d_kv=4, d_ff=16, feed_forward_proj="gated-silu", num_decoder_layers=1,
                         tie_word_embeddings=False, layer_norm_epsilon=1e-3), seed=2, decoder_length=5)
