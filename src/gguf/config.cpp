// config.cpp -- the config.json that transformers would have for a GGUF file's model. The keys are llama.cpp's (of its
// package gguf, constants), their meanings those of its conversion, which wrote them from such a file.
#include <algorithm>
#include <charconv>
#include <cmath>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"

namespace bora::gguf {
namespace {
/// The double with a float's shortest digits: 1e-5, not 0.0000099999997.
double digits_of(float x) {
  char text[32];
  auto end = std::to_chars(text, std::end(text), x).ptr;
  double r = 0;
  std::from_chars(text, end, r);
  return r;
}
class Config {
 public:
  explicit Config(const File& f) : f_(f), kind_(architecture(f)) {}
  std::string text() {
    w_.object()("model_type", kind_);
    if (f_.maybe_integer("split.count").value_or(1) > 1)
      f_.wrong("split.count", "a model in several files is not supported; llama-gguf-split --merge makes it one");
    if (f_.maybe_integer(kind_ + ".expert_count").value_or(0) > 0)
      f_.wrong(kind_ + ".expert_count", "a mixture of experts is not supported in GGUF files");
    auto words = f_.tensor("token_embd.weight");
    check<IoError>(words && words->shape.size() == 2, f_.path(), ": there is no matrix token_embd.weight");
    w_("vocab_size", words->shape[0])("tie_word_embeddings", f_.tensor("output.weight") == nullptr);
    if (kind_ == "gpt2") gpt2();
    else decoder();
    if (kind_ == "gemma2") gemma2();
    w_.end();
    return w_.take();
  }

 private:
  std::string key(std::string_view name) const { return kind_ + "." + std::string(name); }
  void gpt2() {
    w_("n_layer", f_.integer(key("block_count")))("n_embd", f_.integer(key("embedding_length")));
    w_("n_head", f_.integer(key("attention.head_count")))("n_positions", f_.integer(key("context_length")));
    w_("n_inner", f_.integer(key("feed_forward_length")));
    w_("layer_norm_epsilon", digits_of(f_.number(key("attention.layer_norm_epsilon"))));
    w_("activation_function", "gelu_new");
  }
  void decoder() {
    auto heads = f_.integer(key("attention.head_count")), embed = f_.integer(key("embedding_length"));
    if (heads < 1 || heads > embed) f_.wrong(key("attention.head_count"), heads, " for vectors of ", embed);
    auto size = f_.maybe_integer(key("attention.key_length")).value_or(embed / heads);
    size_ = size, embed_ = embed, heads_ = heads;
    if (auto values = f_.maybe_integer(key("attention.value_length")); values && *values != size)
      f_.wrong(key("attention.value_length"), *values, " is not supported; the keys' ", size, " is");
    if (auto turned = f_.maybe_integer(key("rope.dimension_count")); turned && *turned != size)
      f_.wrong(key("rope.dimension_count"), *turned, " is not supported; all ", size, " numbers of a head are");
    w_("num_hidden_layers", f_.integer(key("block_count")))("hidden_size", embed)("num_attention_heads", heads);
    w_("num_key_value_heads", f_.maybe_integer(key("attention.head_count_kv")).value_or(heads))("head_dim", size);
    w_("intermediate_size", f_.integer(key("feed_forward_length")));
    w_("max_position_embeddings", f_.integer(key("context_length")));
    w_("rms_norm_eps", digits_of(f_.number(key("attention.layer_norm_rms_epsilon"))));
    w_("rope_theta", digits_of(f_.maybe_number(key("rope.freq_base")).value_or(10000)));
    scaling();
    if (kind_.starts_with("gemma")) {
      w_("hidden_act", "gelu_pytorch_tanh")("hidden_activation", "gelu_pytorch_tanh");
      return;
    }
    w_("hidden_act", "silu");
    if (kind_ == "llama") {
      w_("attention_bias", f_.tensor("blk.0.attn_output.bias") != nullptr);
      w_("mlp_bias", f_.tensor("blk.0.ffn_down.bias") != nullptr);
    }
  }
  void gemma2() {
    auto cap = [&](const char* name, const char* theirs, float absent) {
      w_(name, digits_of(f_.maybe_number(key(theirs)).value_or(absent)));
    };
    cap("attn_logit_softcapping", "attn_logit_softcapping", 50);
    cap("final_logit_softcapping", "final_logit_softcapping", 30);
    w_("sliding_window", f_.maybe_integer(key("attention.sliding_window")).value_or(4096));
    // Not in the file: llama.cpp knows that the model of 46 layers, of 27 B, differs.
    w_("query_pre_attn_scalar", f_.integer(key("block_count")) == 46 ? embed_ / heads_ : size_);
  }
  void scaling() {
    auto kind = f_.maybe_text(key("rope.scaling.type")).value_or("none");
    auto factor = f_.maybe_number(key("rope.scaling.factor"));
    auto older = f_.maybe_number(key("rope.scale_linear"));
    if (older && *older != 1 && kind == "none") kind = "linear", factor = older;
    auto factors = f_.tensor("rope_freqs.weight");
    if (factors) return llama3(*factors, kind);
    if (kind == "none" || !factor || *factor == 1) return;
    if (kind != "linear" && kind != "yarn")
      f_.wrong(key("rope.scaling.type"), "'", one_line(kind), "' is not supported; none, linear, yarn are");
    w_("rope_scaling").object()("rope_type", kind)("factor", digits_of(*factor));
    if (kind == "yarn") {
      w_("original_max_position_embeddings", f_.integer(key("rope.scaling.original_context_length")));
      for (auto [name, theirs] : {std::pair{"beta_fast", "rope.scaling.yarn_beta_fast"},
                                  {"beta_slow", "rope.scaling.yarn_beta_slow"}})
        if (auto x = f_.maybe_number(key(theirs))) w_(name, digits_of(*x));
      for (auto theirs : {"rope.scaling.yarn_attn_factor", "rope.scaling.attn_factor"})
        if (auto x = f_.maybe_number(key(theirs)); x && *x != 1)
          f_.wrong(key(theirs), *x, " is not supported; 1 is");
    }
    w_.end();
  }
  /// Llama 3's scaling: the file has the factor of each frequency, and not the numbers that it came from. Those of
  /// Llama 3 are tried; others are refused.
  void llama3(const Tensor& t, const std::string& kind) {
    auto wrong = [&](std::string_view words) { fail<IoError>(f_.path(), ": rope_freqs.weight: ", words); };
    if (kind_ != "llama" || kind != "none") wrong("is not supported beside these settings");
    if (t.encoding != Encoding::f32 || t.numbers != size_ / 2) wrong("expected a number f32 for each pair of a head's");
    std::vector<float> all(static_cast<std::size_t>(t.numbers));
    decode(t, 0, t.numbers, all.data());
    auto factor = *std::max_element(all.begin(), all.end());
    if (factor == 1 && *std::min_element(all.begin(), all.end()) == 1) return;
    constexpr double low = 1, high = 4, positions = 8192;
    double base = f_.maybe_number(key("rope.freq_base")).value_or(10000);
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto length = 2 * M_PI * std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(size_));
      auto smooth = std::clamp((positions / length - low) / (high - low), 0.0, 1.0);
      auto mine = 1 / ((1 - smooth) / factor + smooth);
      if (!(std::abs(all[i] - mine) <= 1e-4 * mine))
        wrong("these factors are not those of Llama 3's scaling (original positions 8192, low 1, high 4)");
    }
    w_("rope_scaling").object()("rope_type", "llama3")("factor", digits_of(factor))("low_freq_factor", low);
    w_("high_freq_factor", high)("original_max_position_embeddings", static_cast<std::int64_t>(positions)).end();
  }
  const File& f_;
  std::string kind_;
  std::int64_t size_ = 0, embed_ = 0, heads_ = 1;
  JsonWriter w_;
};
}  // namespace

std::string architecture(const File& f) {
  constexpr std::string_view key = "general.architecture";
  auto name = f.text(key);
  std::string known;
  for (auto one : kArchitectures) {
    if (one == name) return name;
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  f.wrong(key, "'", one_line(name), "' is not supported; supported: ", known);
}
std::string config_json(const File& f) { return Config(f).text(); }
}  // namespace bora::gguf
