// A wrong call of a split array says what it says of a whole one.
#include <gtest/gtest.h>
#include <functional>
#include <utility>
#include <vector>
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/ops.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/shard/mesh.h"
#include "bora/shard/shard.h"
#include "support/throws.h"

namespace bora::errors_test {
namespace {
using Call = std::function<Array(const Array&)>;
const std::vector<std::pair<const char*, Call>> calls{
    {"reshape", [](const Array& x) { return reshape(x, {3, 5}); }},
    {"reshape to more", [](const Array& x) { return reshape(x, {24, 16, 3}); }},
    {"reshape to fewer", [](const Array& x) { return reshape(x, {24}); }},
    {"add", [](const Array& x) { return x + ones({24, 15}); }},
    {"matmul", [](const Array& x) { return matmul(x, ones({24, 16})); }},
    {"transpose", [](const Array& x) { return transpose(x, {0, 0}); }},
    {"concatenate", [](const Array& x) { return concatenate({x, ones({24, 16, 1})}, 0); }},
    {"broadcast_to", [](const Array& x) { return broadcast_to(x, {24, 17}); }},
    {"sum", [](const Array& x) { return sum(x, 2); }},
    {"expand_dims", [](const Array& x) { return expand_dims(x, 7); }},
    {"squeeze", [](const Array& x) { return squeeze(x, 0); }},
};
}  // namespace

TEST(Errors, OfSplitArraysAreThoseOfWholeOnes) {
  for (auto& [name, call] : calls) {
    auto whole = test::error_of([&] { return call(ones({24, 16})); });
    EXPECT_NE(whole, "no error") << name;
    for (auto& spec : {Spec{"data"}, Spec{none, "data"}}) {
      std::vector<std::string> said(3);
      local_mesh({{"data", 3}}, [&](const Mesh& mesh) {
        auto x = shard(ones({24, 16}), spec);
        said[static_cast<std::size_t>(mesh.rank())] = test::error_of([&] { return call(x); });
      });
      for (auto& text : said) EXPECT_EQ(text, whole) << name;
    }
  }
}
}  // namespace bora::errors_test
