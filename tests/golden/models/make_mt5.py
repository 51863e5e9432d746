"""mT5 and umT5 (transformers 5.24.0), both with an output layer of their own, as the published files."""
import torch
from transformers import MT5Config, MT5ForConditionalGeneration, UMT5Config, UMT5ForConditionalGeneration

from common import make

SIZES = dict(vocab_size=64, d_model=16, num_layers=2, num_heads=2, d_kv=6, d_ff=20, decoder_start_token_id=0,
             pad_token_id=0, tie_word_embeddings=False, relative_attention_num_buckets=8,
             relative_attention_max_distance=6, attn_implementation="eager")


def untied(model):
    model.lm_head.weight = torch.nn.Parameter(torch.zeros(64, 16))
    return model


make("mt5", untied(MT5ForConditionalGeneration(MT5Config(**SIZES))), decoder_length=7)
make("umt5", untied(UMT5ForConditionalGeneration(UMT5Config(**SIZES))), seed=1, decoder_length=7)
