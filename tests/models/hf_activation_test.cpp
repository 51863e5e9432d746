// Words of config.json for activations: read with the meaning that transformers gives them, and written as its words.
#include <gtest/gtest.h>
#include "bora/config/choice.h"
#include "bora/nn/activation.h"
#include "models/small.h"
#include "support/throws.h"

namespace hf_activation_test {
using namespace bora;
using namespace bora::models;
namespace {
struct Place {
  std::string type, field;
};
/// Models whose config.json has a field for the activation.
const std::vector<Place> kPlaces{{"gpt2", "activation_function"}, {"opt", "activation_function"},
                                 {"gptj", "activation_function"}, {"llama", "hidden_act"},
                                 {"mixtral", "hidden_act"},       {"gpt_neox", "hidden_act"},
                                 {"olmo2", "hidden_act"},         {"phi3", "hidden_act"},
                                 {"granite", "hidden_act"},       {"smollm3", "hidden_act"},
                                 {"qwen3_moe", "hidden_act"},     {"stablelm", "hidden_act"},
                                 {"falcon", "activation"},        {"cohere", "hidden_act"},
                                 {"t5", "feed_forward_proj"}};
using test::model_of;
std::string setting(const config::Choice<Model>& m, std::string_view name) {
  return m->write_fields().find(name)->text;
}
std::string written(const config::Choice<Model>& m) {
  HfConfig c;
  m->to_hf(c);
  return c.text();
}
/// The config.json of a model with its default activation, and another word in the field.
config::Choice<Model> read(const Place& p, const std::string& word) {
  auto m = model_of(p.type, p.type == "t5" ? std::vector<std::string>{"gated=false"} : std::vector<std::string>{});
  auto c = HfConfig::parse(written(m), "config.json");
  auto before = '"' + c.word(p.field) + '"';
  auto text = c.text();
  auto at = text.find('"' + p.field + '"');
  at = text.find(before, at);
  auto edited = HfConfig::parse(text.replace(at, before.size(), '"' + word + '"'), "config.json");
  config::Choice<Model> again(p.type);
  again.edit().from_hf(edited);
  return again;
}
TEST(HfActivation, EachWordOfTransformersIsItsFunction) {
  for (auto& p : kPlaces)
    for (auto& row : nn::words_of()) {
      std::string word(row.word), what = p.type + " " + word;
      if (!row.hugging_face) {
        EXPECT_MESSAGE(IoError, read(p, word), p.field + ": " + word + " is not supported; relu, gelu, gelu_new, ");
        continue;
      }
      auto m = read(p, word);
      EXPECT_EQ(setting(m, "activation"), nn::to_string(row.value)) << what;
      // The written word is one that gives the same function.
      auto c = HfConfig::parse(written(m), "config.json");
      EXPECT_EQ(setting(read(p, c.word(p.field)), "activation"), nn::to_string(row.value)) << what;
    }
}
TEST(HfActivation, FourWordsAreWrittenAsTheyWereInVersion01) {
  for (auto& p : kPlaces)
    for (auto word : {"relu", "gelu", "gelu_new", "silu"}) {
      std::vector<std::string> items{"activation=" + std::string(word)};
      if (p.type == "t5") items.emplace_back("gated=false");
      auto m = model_of(p.type, items);
      EXPECT_EQ(setting(m, "activation"), word) << p.type;
      EXPECT_EQ(HfConfig::parse(written(m), "").word(p.field), word) << p.type;
    }
}
TEST(HfActivation, GatedUnitsOfT5) {
  auto word = [](const std::string& activation) {
    return HfConfig::parse(written(model_of("t5", {"gated=true", "activation=" + activation})), "")
        .word("feed_forward_proj");
  };
  EXPECT_EQ(word("gelu_new"), "gated-gelu");
  EXPECT_EQ(word("silu"), "gated-silu");
  EXPECT_MESSAGE(ConfigError, word("gelu"), "T5 has no gated units with the exact gelu");
  Place t5{"t5", "feed_forward_proj"};
  for (auto [words, name] : {std::pair{"gated-gelu", "gelu_new"}, {"gated-silu", "silu"}, {"gated-relu", "relu"}}) {
    auto m = read(t5, words);
    EXPECT_EQ(setting(m, "activation"), name);
    EXPECT_EQ(setting(m, "gated"), "true");
  }
  EXPECT_MESSAGE(IoError, read(t5, "gated-elu"), "gated-elu is not supported; relu, gelu, ");
  EXPECT_MESSAGE(IoError, read(t5, "gated-elu"), "are, also behind gated-");
}
TEST(HfActivation, FunctionsThatTransformersLacksAreNotExported) {
  for (auto& p : kPlaces) {
    std::vector<std::string> items{"activation=elu"};
    if (p.type == "t5") items.emplace_back("gated=false");
    EXPECT_MESSAGE(ConfigError, written(model_of(p.type, items)),
                   "model.activation: transformers has no function elu");
  }
}
}  // namespace
}  // namespace hf_activation_test
