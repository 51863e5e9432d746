"""Encoders with the head of hidden tokens: a BERT, one with other options, a RoBERTa, a DistilBERT; and with heads of
classes and numbers for texts, of classes for tokens, and of answers' spans. python make_bert.py NAME ..: these alone.

token_types i32 [batch, position] of golden.safetensors: 1 for the tokens of a second text, where the model has types.
"""
import sys

from transformers import (BertConfig, BertForMaskedLM, BertForQuestionAnswering, BertForSequenceClassification,
                          BertForTokenClassification, DistilBertConfig, DistilBertForMaskedLM,
                          DistilBertForQuestionAnswering, DistilBertForSequenceClassification, RobertaConfig,
                          RobertaForMaskedLM, RobertaForSequenceClassification)

import common


def make(name, *args, **options):
    if not sys.argv[1:] or name in sys.argv[1:]:
        common.make(name, *args, **options)



SIZES = dict(vocab_size=96, attn_implementation="eager")
USUAL = dict(SIZES, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
             max_position_embeddings=12)

make("bert", BertForMaskedLM(BertConfig(**USUAL)), types=2)
make("bert_options", BertForMaskedLM(BertConfig(**{**USUAL, "num_attention_heads": 2, "num_hidden_layers": 1},
                                                hidden_act="relu", layer_norm_eps=1e-3, type_vocab_size=3,
                                                pad_token_id=2, hidden_dropout_prob=0.2)), seed=1, types=3)
make("roberta", RobertaForMaskedLM(RobertaConfig(**USUAL, layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1,
                                                 bos_token_id=0, eos_token_id=2)), seed=2)
make("distilbert", DistilBertForMaskedLM(DistilBertConfig(**SIZES, dim=16, n_layers=2, n_heads=4, hidden_dim=24,
                                                          max_position_embeddings=12)), seed=3)

SMALL = dict(vocab_size=40, attn_implementation="eager", hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
             intermediate_size=12, max_position_embeddings=12)
NAMES = {0: "no", 1: "perhaps", 2: "yes"}
NAMED = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()})
make("bert_classify", BertForSequenceClassification(BertConfig(**SMALL, **NAMED)), seed=4, types=2, classes=3)
make("bert_tag", BertForTokenClassification(BertConfig(**SMALL, num_labels=4)), seed=5, classes=4)
make("roberta_classify", RobertaForSequenceClassification(RobertaConfig(
    **SMALL, **NAMED, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)), seed=6, classes=3)
make("distilbert_regress", DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=40, attn_implementation="eager", dim=8, n_layers=1, n_heads=2, hidden_dim=12,
    max_position_embeddings=12, num_labels=1, problem_type="regression")), seed=7, classes=1)
make("bert_qa", BertForQuestionAnswering(BertConfig(**SMALL)), seed=8, types=2)
make("distilbert_qa", DistilBertForQuestionAnswering(DistilBertConfig(
    vocab_size=40, attn_implementation="eager", dim=8, n_layers=1, n_heads=2, hidden_dim=12,
    max_position_embeddings=12, qa_dropout=0.3)), seed=9)
