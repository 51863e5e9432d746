// Pairs of contexts and continuations as tokens.
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/text/tokenizer.h"
#include "job/pair_encoder.h"
#include "support/golden.h"

namespace pairs_test {
using namespace bora;
using nlohmann::json;
using Ids = std::vector<std::int32_t>;

/// Tokens of pairs, of lm-evaluation-harness itself.
TEST(Pairs, AreEncodedAsTheHarnessDoes) {
  auto golden = json::parse(std::ifstream(test::golden_path("pairs.json")));
  int cut = 0;
  for (auto& c : golden["cases"]) {
    SCOPED_TRACE(c.dump());
    auto name = c["tokenizer"].get<std::string>();
    auto open = [&](const char* special) {
      return text::open_tokenizer({"type=" + c["type"].get<std::string>(),
                                   "path=" + test::golden_path("tokenizer_" + name + ".json"),
                                   std::string("add_special_tokens=") + special});
    };
    job::PairEncoder encode{open("true"), open("false"), c["prefix"].get<std::int32_t>(), c["encoder"].get<bool>()};
    auto e = encode({c["context"], c["continuation"]});
    EXPECT_EQ(e.context, c["ids"][0].get<Ids>());
    EXPECT_EQ(e.continuation, c["ids"][1].get<Ids>());
    cut += e.bytes > std::ssize(c["continuation"].get<std::string>());
  }
  EXPECT_GT(cut, 10);
}
}  // namespace pairs_test
