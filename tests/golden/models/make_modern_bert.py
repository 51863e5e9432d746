"""ModernBERTs: hidden tokens, with other options and layers, and the other heads."""
import sys

from transformers import (ModernBertConfig, ModernBertForMaskedLM, ModernBertForQuestionAnswering,
                          ModernBertForSequenceClassification, ModernBertForTokenClassification)

import common


def make(name, *args, **options):
    if not sys.argv[1:] or name in sys.argv[1:]:
        common.make(name, *args, **options)


SIZES = dict(vocab_size=40, attn_implementation="eager", hidden_size=8, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=12, local_attention=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             cls_token_id=1, sep_token_id=2)
ROPE = {"full_attention": {"rope_type": "default", "rope_theta": 300.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}}

make("modernbert", ModernBertForMaskedLM(ModernBertConfig(
    **{**SIZES, "hidden_size": 16, "num_attention_heads": 4, "vocab_size": 64}, num_hidden_layers=4)))
make("modernbert_options", ModernBertForMaskedLM(ModernBertConfig(
    **{**SIZES, "local_attention": 6, "pad_token_id": 3}, num_hidden_layers=3, rope_parameters=ROPE, norm_eps=1e-3,
    layer_types=["sliding_attention", "full_attention", "sliding_attention"], hidden_activation="relu",
    classifier_activation="silu")), seed=1)
NAMES = {0: "no", 1: "perhaps", 2: "yes"}
NAMED = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()})
make("modernbert_classify", ModernBertForSequenceClassification(ModernBertConfig(
    **SIZES, **NAMED, num_hidden_layers=2)), seed=2, classes=3)
make("modernbert_regress", ModernBertForSequenceClassification(ModernBertConfig(
    **SIZES, num_hidden_layers=2, num_labels=1, problem_type="regression", classifier_pooling="mean")), seed=3,
     classes=1)
make("modernbert_tag", ModernBertForTokenClassification(ModernBertConfig(
    **SIZES, num_hidden_layers=1, num_labels=4)), seed=4, classes=4)
make("modernbert_qa", ModernBertForQuestionAnswering(ModernBertConfig(**SIZES, num_hidden_layers=2)), seed=5)
