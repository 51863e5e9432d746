// Prompts of published chat templates as ids: those of apply_chat_template in Hugging Face's `transformers`.
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "bora/text/chat.h"
#include "bora/text/tokenizer.h"
#include "support/files.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace chat_ids_test {
using namespace bora;
using nlohmann::json;
using Ids = std::vector<std::int32_t>;
namespace {
const json& golden() {
  static const auto all = json::parse(std::ifstream(test::source_dir() + "/tests/golden/chat_ids.json"));
  return all;
}
std::vector<text::Turn> turns_of(const json& talk) {
  std::vector<text::Turn> turns;
  for (auto& turn : talk) turns.push_back({turn[0], turn[1]});
  return turns;
}
}  // namespace
TEST(ChatIds, AreThoseOfApplyChatTemplate) {
  auto& g = golden();
  int compared = 0;
  for (auto& [kind, tokenizer_json] : g["kinds"].items()) {
    test::TempFolder folder;
    std::ofstream(folder / "tokenizer.json") << tokenizer_json;
    std::ofstream(folder / "tokenizer_config.json") << g["named"];
    auto tokenizer = text::tokenizer_at(folder / "tokenizer.json", false);
    for (auto& [name, source] : g["templates"].items()) {
      std::ofstream(folder / "chat_template.jinja") << source.get<std::string>();
      auto layout = text::chat_template_of("", folder.path()).on("2026-11-30");
      std::size_t i = 0;
      for (auto& wanted : g["ids"][kind][name]) {
        auto turns = turns_of(g["talks"][i++]);
        std::optional<Ids> ids;
        try {
          auto prompt = layout.ask(turns);
          ids = tokenizer->encode(prompt.text, {.said = prompt.said});
        } catch (const ConfigError& e) {
          EXPECT_TRUE(wanted.is_null()) << kind << " " << name << " " << i << ": " << e.text();
          continue;
        }
        if (wanted.is_null()) continue;  // ours may say what theirs raises on
        EXPECT_EQ(*ids, wanted.get<Ids>()) << kind << " " << name << " " << i << "\n" << tokenizer->decode(*ids);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 200);
}
}  // namespace chat_ids_test
