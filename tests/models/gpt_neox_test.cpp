// Fields of GPT-NeoX's config.json that others have not: the part of each head that positions turn, under its old and
// its new name.
#include <gtest/gtest.h>
#include "models/small.h"
#include "support/throws.h"

namespace gpt_neox_test {
using namespace bora;
using namespace bora::models;
namespace {
config::Choice<Model> read(const std::string& fields) {
  auto c = HfConfig::parse(R"({"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8)" + fields + "}",
                           "config.json");
  config::Choice<Model> m("gpt_neox");
  m.edit().from_hf(c);
  c.done();
  m.check("model");
  return m;
}
std::string setting(const config::Choice<Model>& m, std::string_view name) {
  return m->write_fields().find(name)->text;
}
TEST(GptNeoX, PublishedFilesOfPythiaAreRead) {
  auto m = read(R"(, "hidden_act": "gelu", "intermediate_size": 2048, "layer_norm_eps": 1e-05, "eos_token_id": 0,
                   "max_position_embeddings": 2048, "num_hidden_layers": 6, "rotary_emb_base": 10000,
                   "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16", "use_cache": true,
                   "use_parallel_residual": true, "vocab_size": 50304)");
  EXPECT_EQ(setting(m, "rotary"), "16");
  EXPECT_EQ(setting(m, "theta"), "10000");
  EXPECT_EQ(setting(m, "parallel"), "true");
  EXPECT_EQ(setting(m, "tied"), "false");
  EXPECT_EQ(setting(m, "activation"), "gelu");
}
TEST(GptNeoX, EitherNameGivesThePartOfAHead) {
  EXPECT_EQ(setting(read(""), "rotary"), "16");
  EXPECT_EQ(setting(read(R"(, "rotary_pct": 1.0)"), "rotary"), "0");
  EXPECT_EQ(setting(read(R"(, "rotary_pct": 0.25, "rope_parameters": {"partial_rotary_factor": 0.5})"), "rotary"),
            "32");
  EXPECT_EQ(setting(read(R"(, "rotary_emb_base": 100, "rope_scaling": {"type": "linear", "factor": 2.0})"), "theta"),
            "100");
}
TEST(GptNeoX, PartsThatDoNotTurnInPairsAreRefused) {
  EXPECT_MESSAGE(IoError, read(R"(, "rotary_pct": 0)"), "rotary_pct: 0 is not supported; a part above 0 and up to 1");
  EXPECT_MESSAGE(IoError, read(R"(, "rotary_pct": 1.5)"), "rotary_pct: 1.5 is not supported; a part above 0 and up");
  EXPECT_MESSAGE(IoError, read(R"(, "rotary_pct": 0.01)"), "rotary_pct: 0.01 is not supported; heads of 64 numbers");
  EXPECT_MESSAGE(IoError, read(R"(, "rope_parameters": {"partial_rotary_factor": -1})"),
                 "rope_parameters.partial_rotary_factor: -1 is not supported; a part above 0 and up to 1 is");
  EXPECT_MESSAGE(ConfigError, read(R"(, "rotary_pct": 0.05)"), "rotary: 3 numbers of a head cannot be turned in pairs");
}
TEST(GptNeoX, AnyPartIsWrittenSoThatItIsReadAgain) {
  for (int size : {64, 80, 96, 98, 110})
    for (int turned = 2; turned < size; turned += 2) {
      HfConfig c;
      test::model_of("gpt_neox", {"heads=2", "embed=" + std::to_string(2 * size), "rotary=" + std::to_string(turned)})
          ->to_hf(c);
      auto again = HfConfig::parse(c.text(), "config.json");
      EXPECT_EQ(static_cast<int>(size * again.number("rotary_pct")), turned) << size;
    }
}
}  // namespace
}  // namespace gpt_neox_test
