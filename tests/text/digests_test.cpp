// Ids and texts of odd strings by Hugging Face's library and by SentencePiece, of which digests are kept.
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include "base/api/sha256.h"
#include "bora/base/text.h"
#include "bora/text/tokenizer.h"
#include "laws/effort.h"
#include "support/places.h"

namespace digests_test {
using namespace bora;
using nlohmann::json;
namespace {
const std::string kGolden = test::source_dir() + "/tests/golden/";
struct Texts {
  std::vector<std::string> all;
  json digests;
};
std::string bytes_of(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}
const Texts& golden() {
  static const auto texts = [] {
    auto j = json::parse(std::ifstream(kGolden + "tokenizer_digests.json"));
    Texts t{j["texts"].get<std::vector<std::string>>(), j["digests"]};
    for (auto& hex : j["bytes"]) t.all.push_back(bytes_of(hex));
    for (auto& [piece, count] : j["long"].get<std::vector<std::pair<std::string, int>>>()) {
      auto& s = t.all.emplace_back();
      for (int i = 0; i < count; ++i) s += piece;
    }
    return t;
  }();
  return texts;
}
std::string digest(const std::string& s) { return sha256(s).substr(0, 8); }
std::string digest(const std::vector<std::int32_t>& ids) {
  std::string text;
  for (auto id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return digest(text);
}
std::shared_ptr<const text::Tokenizer> open(const std::string& name, bool whole = false) {
  bool model = name.ends_with(".model");
  return text::open_tokenizer({model ? "type=sentencepiece" : "type=huggingface",
                               "path=" + kGolden + "tokenizer_" + name + (model ? "" : ".json"),
                               std::string("add_special_tokens=") + (whole ? "true" : "false")});
}
class Digests : public testing::TestWithParam<std::string> {};
}  // namespace

TEST_P(Digests, IdsAndTextsAreThoseOfTheRealSystem) {
  auto name = GetParam();
  bool whole = name.ends_with(" whole"), model = name.ends_with(".model");
  auto t = open(whole ? name.substr(0, name.size() - 6) : name, whole);
  auto rows = golden().digests[name].get<std::vector<std::string>>();
  ASSERT_LE(rows.size(), golden().all.size());
  EXPECT_GE(rows.size(), whole ? 60u : 400u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;  // it took too long there
    auto& s = golden().all[i];
    if (s.size() > 10000 && laws::effort() != laws::Effort::full) continue;  // a megabyte
    // SentencePiece neither finds control symbols in texts nor shows them.
    auto ids = t->encode(s, {.special = !model});
    auto decoded = t->decode(ids, {.special = !whole && !model});
    auto shown = one_line(s.substr(0, 200));
    EXPECT_EQ(digest(ids), rows[i].substr(0, 8)) << i << ": " << shown << ": " << json(ids).dump().substr(0, 500);
    // The library decodes added tokens of Latin-1 letters as bytes: no text is known then.
    if (rows[i].substr(8) != "????????") {
      EXPECT_EQ(digest(decoded), rows[i].substr(8)) << i << ": " << shown << ": " << one_line(decoded.substr(0, 500));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Golden, Digests, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (auto& [name, rows] : golden().digests.items()) names.push_back(name);
                           return names;
                         }()),
                         [](auto& info) {
                           auto name = info.param;
                           std::replace_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '.'; }, '_');
                           return name;
                         });
}  // namespace digests_test
