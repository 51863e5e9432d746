// BERT and its kin in Hugging Face's folders.
#include "models/families/bert.h"
#include "models/families/encoder_head_fields.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"

namespace bora::models {
namespace {
using Form = BertConfig::Form;
/// The words of a class of transformers: of config.json, and of the parts of tensors' names.
struct BertWords {
  const char *type, *name;
  std::string base;  // the name of the encoder in models with a head
  const char *layer, *q, *k, *v, *out, *norm_1, *up, *down, *norm_2;
  const char *transform, *transform_norm, *bias, *decoder, *pooler;
};
const BertWords& words_of(Form form) {
  static const BertWords bert{"bert", "Bert", "bert.", "encoder.layer.{}.", "attention.self.query",
                              "attention.self.key", "attention.self.value", "attention.output.dense",
                              "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
                              "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                              "cls.predictions.bias", "cls.predictions.decoder", "bert.pooler.dense"};
  static const BertWords roberta = [] {
    auto r = bert;
    r.type = "roberta", r.name = "Roberta", r.base = "roberta.";
    r.transform = "lm_head.dense", r.transform_norm = "lm_head.layer_norm", r.bias = "lm_head.bias";
    r.decoder = "lm_head.decoder", r.pooler = "classifier.dense";
    return r;
  }();
  static const BertWords distilbert{"distilbert", "DistilBert", "distilbert.", "transformer.layer.{}.",
                                    "attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
                                    "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm",
                                    "vocab_transform", "vocab_layer_norm", "vocab_projector.bias", "vocab_projector",
                                    "pre_classifier"};
  return form == Form::bert ? bert : form == Form::roberta ? roberta : distilbert;
}
HfFields<BertConfig> bert_fields(Form form) {
  using C = BertConfig;
  if (form == Form::distilbert)
    return {{"n_layers", &C::layers, 6},
            {"dim", &C::embed, 768},
            {"n_heads", &C::heads, 12},
            {"hidden_dim", &C::hidden, 3072, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 512},
            {"activation", &C::activation, "gelu"},
            {"dropout", &C::dropout, 0.1},
            {"attention_dropout", &C::attention_dropout, 0.1}};
  return {{"num_hidden_layers", &C::layers, 12},
          {"hidden_size", &C::embed, 768},
          {"num_attention_heads", &C::heads, 12},
          {"intermediate_size", &C::hidden, 3072, &C::hidden_units},
          {"max_position_embeddings", &C::positions, 512, [](const C& c) { return c.positions + c.first_position(); }},
          {"type_vocab_size", &C::types, 2},
          {"hidden_act", &C::activation, "gelu"},
          {"hidden_dropout_prob", &C::dropout, 0.1},
          {"attention_probs_dropout_prob", &C::attention_dropout, 0.1},
          {"layer_norm_eps", &C::eps, 1e-12}};
}
}  // namespace

BertConfig Bert::from_hf(HfConfig& c) {
  BertConfig b;
  auto type = c.word("model_type");
  for (auto form : {Form::bert, Form::roberta, Form::distilbert})
    if (type == words_of(form).type) b.form = form;
  read_fields(b, c, bert_fields(b.form));
  if (!c.is_null("pad_token_id")) b.padding = c.integer("pad_token_id", b.form == Form::roberta ? 1 : 0);
  c.expect("position_embedding_type", "absolute");
  c.expect("tie_word_embeddings", true);
  b.head = read_head(c);
  b.labels = read_labels(c, b.head);
  if (b.head != EncoderTask::mlm && b.form != Form::distilbert) {
    auto rate = c.number("classifier_dropout", b.dropout);
    if (b.head != EncoderTask::qa && b.head != EncoderTask::embed) b.head_dropout = rate;
  }
  if (b.form == Form::distilbert) {
    b.types = 0;
    c.expect("sinusoidal_pos_embds", false);  // true: positions that are not trained
    c.ignore({"tie_weights_"});
    auto of_texts = c.number("seq_classif_dropout", 0.2), of_answers = c.number("qa_dropout", 0.1);
    if (b.head == EncoderTask::tag) b.head_dropout = b.dropout;
    else if (b.head == EncoderTask::qa) b.head_dropout = of_answers;
    else if (b.head == EncoderTask::classify || b.head == EncoderTask::regress) b.head_dropout = of_texts;
    return b;
  }
  if (b.form == Form::roberta && (!b.padding || b.positions <= *b.padding + 1))
    c.refuse(b.padding ? "max_position_embeddings" : "pad_token_id", "positions count from pad_token_id + 1 on");
  b.positions -= b.first_position();
  return b;
}
void Bert::to_hf(const BertConfig& b, HfConfig& c) {
  auto& words = words_of(b.form);
  bool distilled = b.form == Form::distilbert;
  check<ConfigError>(distilled == (b.types == 0), "model.types: ", b.types, ", but transformers' model of the form ",
                     words.type, distilled ? " has no types of tokens" : " has some; set it to 1 or more");
  check<ConfigError>(!distilled || b.eps == BertConfig().eps, "model.eps: ", b.eps,
                     ", but transformers' DistilBERT has norms of ", BertConfig().eps);
  write_type(c, words.name + std::string(architecture_of(b.head)), words.type);
  write_fields(b, c, bert_fields(b.form));
  write_labels(c, b.head, b.labels);
  bool answers = b.head == EncoderTask::qa, none = b.head == EncoderTask::mlm || b.head == EncoderTask::embed;
  check<ConfigError>(distilled || !answers || b.head_dropout == 0, "model.head_dropout: ", b.head_dropout,
                     ", but transformers' model of the form ", words.type, " drops nothing in front of this head");
  if (!none && (distilled || !answers))
    c.set(!distilled ? "classifier_dropout" : answers ? "qa_dropout" : "seq_classif_dropout", b.head_dropout);
  c.set("tie_word_embeddings", true);
  c.set("pad_token_id", b.padding ? HfConfig::Value(*b.padding) : HfConfig::Value());
}
std::vector<HfWeight> Bert::hf_weights(const BertConfig& b) {
  auto& words = words_of(b.form);
  auto e = b.embed, h = b.heads, d = e / h;
  HfWeights all;
  auto table = [&](const std::string& leaf, const std::string& name) {
    all.push_back({.leaf = leaf, .tensor = words.base + "embeddings." + name + "_embeddings.weight"});
  };
  auto norm = [&](const std::string& leaf, const std::string& tensor) {
    hf_same(all, leaf, tensor, {"weight", "bias"});
  };
  table("words.weight", "word");
  table("places", "position");
  if (b.types) table("types.weight", "token_type");
  norm("norm", words.base + "embeddings.LayerNorm");
  const std::string block = "blocks.layer.", layer = words.base + words.layer;
  for (auto [leaf, tensor] : {std::pair{"q", words.q}, {"k", words.k}, {"v", words.v}}) {
    auto to = block + "attn." + leaf, from = layer + tensor;
    all.push_back({.leaf = to + ".weight", .tensor = from + ".weight", .view = Shape{h, d, e}, .order = {2, 0, 1}});
    all.push_back({.leaf = to + ".bias", .tensor = from + ".bias", .view = Shape{h, d}});
  }
  all.push_back({.leaf = block + "attn.out.weight", .tensor = layer + words.out + ".weight", .view = Shape{e, h, d},
                 .order = {1, 2, 0}});
  all.push_back({.leaf = block + "attn.out.bias", .tensor = layer + words.out + ".bias"});
  norm(block + "norm_1", layer + words.norm_1);
  hf_linear(all, block + "mlp.up", layer + words.up, true);
  hf_linear(all, block + "mlp.down", layer + words.down, true);
  norm(block + "norm_2", layer + words.norm_2);
  if (b.head == EncoderTask::mlm) {
    hf_linear(all, "top.dense", words.transform, true);
    norm("top.norm", words.transform_norm);
    all.push_back({.leaf = "top.bias", .tensor = words.bias});
    const std::string decoder = words.decoder;
    if (b.form != Form::distilbert) all.push_back({.leaf = "top.bias", .tensor = decoder + ".bias", .copy = true});
    all.push_back({.leaf = "words.weight", .tensor = decoder + ".weight", .copy = true});
  } else if (b.head != EncoderTask::embed) {
    bool answers = b.head == EncoderTask::qa, dense = b.head != EncoderTask::tag && !answers;
    if (dense) hf_linear(all, "top.dense", words.pooler, true);
    bool inner = dense && b.form == Form::roberta;
    hf_linear(all, "top.classifier", answers ? "qa_outputs" : inner ? "classifier.out_proj" : "classifier", true);
  }
  // Folders of the encoder alone lack its name in front; the first ones of BERT call a norm's weight gamma.
  auto also = [&](const auto& other_name) {
    for (std::size_t i = 0, n = all.size(); i < n; ++i) {
      auto w = all[i];
      auto name = other_name(w.tensor);
      if (name.empty()) continue;
      w.tensor = name, w.copy = true;
      all.push_back(w);
    }
  };
  also([](const std::string& name) {
    auto at = name.find("LayerNorm.");
    if (at == name.npos) return std::string();
    return name.substr(0, at) + (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
  });
  also([&](const std::string& name) {
    return name.starts_with(words.base) ? name.substr(words.base.size()) : std::string();
  });
  return all;
}
}  // namespace bora::models
