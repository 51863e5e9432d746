// How a token is chosen: the table of functions against transformers, and the laws of draws.
#include "bora/generate/choosing.h"
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include "generate/api/choosing_steps.h"
#include "generate/row.h"
#include "support/golden.h"
#include "support/places.h"
#include "support/throws.h"

namespace choosing_test {
using namespace bora;
using namespace bora::generate;
using nlohmann::json;
namespace {
using Ids = std::vector<std::int32_t>;
constexpr auto kInfinity = std::numeric_limits<float>::infinity();

const json& golden() {
  static const auto all = json::parse(std::ifstream(test::golden_path("choosing.json")));
  return all;
}
Choosing choosing_of(const json& how) {
  Choosing c;
  auto take = [&](const char* name, auto& field) {
    if (how.contains(name)) how.at(name).get_to(field);
  };
  take("temperature", c.temperature);
  take("top_k", c.top_k);
  take("top_p", c.top_p);
  take("min_p", c.min_p);
  take("typical_p", c.typical_p);
  take("repetition_penalty", c.repetition_penalty);
  take("presence_penalty", c.presence_penalty);
  take("frequency_penalty", c.frequency_penalty);
  take("min_tokens", c.min_tokens);
  take("logit_bias", c.logit_bias);
  return c;
}
Before before_of(const json& c) {
  Before b{.ends = golden()["ends"].get<Ids>(), .given = std::ssize(c["answer"])};
  for (auto id : c["prompt"].get<Ids>()) b.tokens.emplace(id, 0);
  for (auto id : c["answer"].get<Ids>()) ++b.tokens[id];
  return b;
}
std::vector<float> row_of(const json& c) { return golden()["rows"].at(c["row"].get<std::string>()); }
/// The scores that are left, by id.
std::map<std::int32_t, float> left_of(const Row& row) {
  std::map<std::int32_t, float> left;
  for (std::size_t k = 0; k < row.scores.size(); ++k)
    if (row.scores[k] > -kInfinity) left[row.id(k)] = row.scores[k];
  return left;
}
Row changed(std::vector<float> scores, const Choosing& how, const Before& before = {}) {
  Row row{std::move(scores)};
  for (auto& step : choosing_steps())
    if (step.acts(how)) step.apply(row, how, before);
  return row;
}
std::vector<float> random_scores(std::size_t n, unsigned seed, float width = 3) {
  std::mt19937 draw(seed);
  std::normal_distribution<float> normal(0, width);
  std::vector<float> scores(n);
  for (auto& x : scores) x = normal(draw);
  return scores;
}
Ids draws(const Choosing& how, const std::vector<float>& scores, int n, std::uint64_t seed = 1,
          std::int64_t choice = 0) {
  Chooser chooser(how, {}, {}, 0, seed, choice);
  Ids ids;
  for (int k = 0; k < n; ++k) ids.push_back(chooser.next(scores).value());
  return ids;
}
}  // namespace

// ---- transformers ---------------------------------------------------------------------------------------------------
TEST(Choosing, FunctionsAreThoseOfTransformers) {
  std::set<std::string_view> acted;
  for (auto& c : golden()["cases"]) {
    SCOPED_TRACE(c.dump());
    auto how = choosing_of(c["how"]);
    for (auto& step : choosing_steps())
      if (step.acts(how)) acted.insert(step.name);
    auto left = left_of(changed(row_of(c), how, before_of(c)));
    auto want = c["left"].get<std::vector<std::pair<std::int32_t, float>>>();
    ASSERT_EQ(left.size(), want.size());
    for (auto& [id, score] : want) {
      ASSERT_TRUE(left.contains(id)) << id;
      EXPECT_NEAR(left[id], score, 1e-5F * std::max(1.0F, std::abs(score))) << id;
    }
  }
  acted.insert("grammar");  // grammar_test.cpp
  for (auto& step : choosing_steps()) EXPECT_TRUE(acted.contains(step.name)) << step.name << " has no case";
}
TEST(Choosing, TheDocumentsPrintTheTable) {
  std::ifstream page(test::source_dir() + "/docs/serving.md");
  std::vector<std::string> rows, want;
  std::string line;
  while (std::getline(page, line) && line != "## How a token is chosen") {}
  while (std::getline(page, line) && !line.starts_with("## "))
    if (line.starts_with("| `")) rows.push_back(line);
  for (auto& step : choosing_steps())
    want.push_back("| `" + std::string(step.name) + "` | " + std::string(step.meaning) + " |");
  EXPECT_EQ(rows, want);
}
TEST(Choosing, LogProbabilitiesAreThoseOfTorch) {
  for (auto& [name, want] : golden()["logprobs"].items()) {
    std::vector<float> row = golden()["rows"][name];
    for (std::int32_t id = 0; id < std::ssize(row); ++id) {
      auto c = logprobs(row, id, 7);
      EXPECT_NEAR(c.logprob, want[static_cast<std::size_t>(id)].get<float>(), 2e-6F * (1 + std::abs(c.logprob)));
      EXPECT_EQ(c.id, id);
      ASSERT_EQ(c.top.size(), std::min<std::size_t>(7, row.size()));
      for (auto& [other, logprob] : c.top) {
        EXPECT_EQ(logprob, logprobs(row, other, 0).logprob);  // the same float
      }
    }
  }
}

// ---- rows -----------------------------------------------------------------------------------------------------------
TEST(Rows, ExponentialsAreWithinTwoUlpAndSumUp) {
  std::vector<float> x;
  for (int i = 0; i < 100'001; ++i) x.push_back(-static_cast<float>(i) * 0.00087F);
  x.insert(x.end(), {-87.5F, -1000.0F, -kInfinity});
  std::vector<float> y(x.size());
  rows::exponentials(x, 0, y.data());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto want = x[i] < -87 ? 0.0 : std::exp(static_cast<double>(x[i]));
    EXPECT_NEAR(y[i], want, want * 2.4e-7) << x[i];
    sum += want;
  }
  EXPECT_NEAR(rows::exponential_sum(x, 0), sum, sum * 1e-6);
  auto blocks = rows::block_sums(x, 0);
  EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), 0.0), rows::exponential_sum(x, 0));
}
TEST(Rows, LargestOnesAreThoseOfASort) {
  std::mt19937 draw(4);
  for (int k = 0; k < 300; ++k) {
    std::vector<float> x(1 + draw() % 90);
    for (auto& v : x) v = static_cast<float>(draw() % 20) - (k % 3 == 0 ? 30.0F : 3.0F);  // with ties
    if (k % 5 == 0) x[draw() % x.size()] = -kInfinity;
    std::vector<std::int32_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
      return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
    });
    auto n = static_cast<std::int64_t>(draw() % (x.size() + 3));
    auto best = rows::best(x, n);
    ASSERT_EQ(std::ssize(best), std::min(n, std::ssize(x)));
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].place, order[i]);
    EXPECT_EQ(rows::largest_id(x), order[0]);
    if (n > 0) {
      auto last = static_cast<std::size_t>(order[static_cast<std::size_t>(std::min(n, std::ssize(x)) - 1)]);
      EXPECT_EQ(rows::nth_largest(x, n), x[last]);
    }
    auto least = static_cast<float>(draw() % 20) - 10;
    Ids places;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] >= least) places.push_back(static_cast<std::int32_t>(i));
    EXPECT_EQ(rows::places_of(x, least), places);
    x[draw() % x.size()] = std::nanf("");
    EXPECT_TRUE(std::isnan(rows::largest(x)));
    EXPECT_EQ(rows::largest_id(x), -1);
  }
  auto many = random_scores(20'000, 8);
  auto sorted = many;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (std::size_t n : {1, 50, 1024, 1025, 7000, 20'000}) {
    EXPECT_EQ(rows::nth_largest(many, static_cast<std::int64_t>(n)), sorted[n - 1]);
  }
}
TEST(Rows, TheFewestAreThoseOfASort) {
  std::mt19937 draw(6);
  for (int k = 0; k < 400; ++k) {
    std::vector<rows::Weighted> items(k < 380 ? draw() % 300 : 5000 + draw() % 3000);
    double all = 0;
    auto keys = k % 20 == 19 ? 1 : 3000U;
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = {k < 380 ? static_cast<float>(draw() % 50) : static_cast<float>(draw() % keys) / 7 - 99,
                  static_cast<float>(draw() % 8), static_cast<std::int32_t>(i)};
      if (draw() % 9 == 0) items[i].key = -kInfinity;
      all += static_cast<double>(items[i].weight);
    }
    auto sorted = items;
    std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.key > b.key; });
    auto sum = all * static_cast<double>(draw() % 12) / 10;  // whole numbers: sums are exact
    std::size_t want = 0;
    for (double had = 0; want < sorted.size() && (want == 0 || had < sum);)
      had += static_cast<double>(sorted[want++].weight);
    auto n = rows::fewest(items, sum);
    ASSERT_EQ(n, want);
    std::set<std::int32_t> found, wanted;
    for (std::size_t i = 0; i < n; ++i) found.insert(items[i].place), wanted.insert(sorted[i].place);
    EXPECT_EQ(found, wanted);
  }
}
/// The functions by a sort of everything, over a row as long as a vocabulary.
TEST(Choosing, LongRowsAreThoseOfASort) {
  for (float width : {0.01F, 1.0F, 4.0F}) {
    auto scores = random_scores(60'000, 11, width);
    auto most = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
    std::vector<std::pair<float, std::int32_t>> order;
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      order.emplace_back(-scores[i], static_cast<std::int32_t>(i));
      sum += std::exp(static_cast<double>(scores[i]) - most);
    }
    std::sort(order.begin(), order.end());
    for (double p : {0.1, 0.5, 0.9, 0.99}) {
      auto row = changed(scores, {.top_p = p});
      double above = 0;
      std::size_t n = 0;
      while (above < p * sum) above += std::exp(-static_cast<double>(order[n++].first) - most);
      EXPECT_NEAR(static_cast<double>(row.scores.size()), static_cast<double>(n), 1 + n * 1e-4) << width << " " << p;
      EXPECT_TRUE(std::is_sorted(row.ids.begin(), row.ids.end()));
      auto least = *std::min_element(row.scores.begin(), row.scores.end());
      auto as_likely = [&](auto x) { return x >= least; };
      EXPECT_EQ(std::ssize(row.scores), std::count_if(scores.begin(), scores.end(), as_likely));
    }
  }
}

// ---- draws ----------------------------------------------------------------------------------------------------------
TEST(Chooser, TemperatureZeroTakesTheFirstOfTheLikeliest) {
  std::vector<float> scores = {1, 5, 5, -kInfinity, 5, 2, 3, 4, 5, 5};
  EXPECT_EQ(draws({.temperature = 0}, scores, 3), (Ids{1, 1, 1}));
  EXPECT_EQ(draws({.temperature = 1e-9, .top_k = 3, .top_p = 0.1, .min_p = 0.3, .typical_p = 0.2}, scores, 2),
            (Ids{1, 1}));
  EXPECT_EQ(draws({.temperature = 0, .logit_bias = {{7, 2.0F}}}, scores, 1), (Ids{7}));
  // Penalties count the answer: after each token another one is the likeliest.
  EXPECT_EQ(draws({.temperature = 0, .presence_penalty = 0.5}, {3, 2.8F, 2.6F, 0}, 4), (Ids{0, 1, 2, 0}));
  EXPECT_EQ(draws({.temperature = 0, .frequency_penalty = 0.5}, {3, 2.8F, 0, 0}, 5), (Ids{0, 1, 0, 1, 0}));
  Chooser chooser({.temperature = 0, .repetition_penalty = 2}, Ids{1, 2}, {}, 0, 0, 0);
  EXPECT_EQ(chooser.next(scores), 4);
  EXPECT_EQ(chooser.next(scores), 8);
  Chooser ends({.temperature = 0, .min_tokens = 2}, Ids{7}, {1, 2}, 0, 0, 0);
  EXPECT_EQ(ends.next(scores), 4);
  EXPECT_EQ(ends.next(scores), 4);
  EXPECT_EQ(ends.next(scores), 1);
}
TEST(Chooser, DrawsDependOnSeedChoiceAndPositionAlone) {
  auto scores = random_scores(5000, 3);
  auto one = draws({}, scores, 20, 5, 2);
  EXPECT_EQ(draws({}, scores, 20, 5, 2), one);
  for (auto [seed, choice] : {std::pair<std::uint64_t, int>{5, 3}, {6, 2}, {2, 5}, {~std::uint64_t{0}, 0}})
    EXPECT_NE(draws({}, scores, 20, seed, choice), one) << seed << " " << choice;
  EXPECT_NE(std::set<std::int32_t>(one.begin(), one.end()).size(), 1U);
  // An answer that is computed again goes on in the same way, whatever stands in for its first tokens.
  for (std::size_t at : {1, 7, 19}) {
    Chooser again({}, Ids(at, 9), {}, 0, 5, 2);
    EXPECT_EQ(again.next(scores), one[at]);
  }
  // The scores of other rows, moved elsewhere in memory, say nothing.
  std::vector<float> moved(scores.size() + 3);
  std::copy(scores.begin(), scores.end(), moved.begin() + 3);
  Chooser chooser({}, {}, {}, 0, 5, 2);
  for (auto id : one) EXPECT_EQ(chooser.next(std::span(moved).subspan(3)), id);
}
TEST(Chooser, DrawsHaveTheProbabilitiesThatAreLeft) {
  for (auto& c : golden()["cases"]) {
    SCOPED_TRACE(c.dump());
    auto how = choosing_of(c["how"]);
    how.presence_penalty = how.frequency_penalty = how.min_tokens = 0, how.repetition_penalty = 1;  // all draws alike
    auto scores = row_of(c);
    auto left = left_of(changed(scores, how));
    float most = -kInfinity;
    double sum = 0;
    for (auto& [id, score] : left) most = std::max(most, score);
    for (auto& [id, score] : left) sum += std::exp(static_cast<double>(score - most));
    constexpr int n = 2000;
    std::map<std::int32_t, double> counts;
    for (auto id : draws(how, scores, n)) ++counts[id];
    for (auto& [id, count] : counts) EXPECT_TRUE(left.contains(id)) << id;
    for (auto& [id, score] : left) {
      auto p = std::exp(static_cast<double>(score - most)) / sum;
      EXPECT_NEAR(counts[id], n * p, 5 * std::sqrt(n * p * (1 - p)) + 2) << id;
    }
  }
  // Of a long row, in all of its blocks.
  auto scores = random_scores(5000, 2, 0.5F);
  std::map<std::size_t, double> counts;
  for (auto id : draws({}, scores, 20'000)) ++counts[static_cast<std::size_t>(id) / 1000];
  auto sum = rows::exponential_sum(scores, 0);
  for (std::size_t part = 0; part < 5; ++part) {
    auto p = rows::exponential_sum(std::span(scores).subspan(part * 1000, 1000), 0) / sum;
    EXPECT_NEAR(counts[part], 20'000 * p, 5 * std::sqrt(20'000 * p)) << part;
  }
}
TEST(Chooser, TakesTokensOfTheTokenizerAlone) {
  std::vector<float> scores = {1, 2, 3, 50, 60};
  Chooser greedy({.temperature = 0}, {}, {}, 3, 0, 0), drawn({.logit_bias = {{2, -1.0F}}}, {}, {}, 3, 0, 0);
  EXPECT_EQ(greedy.next(scores), 2);
  for (int k = 0; k < 50; ++k) EXPECT_LT(drawn.next(scores).value(), 3);
  scores[4] = std::nanf("");  // of no token
  EXPECT_EQ(greedy.next(scores), 2);
}
TEST(Chooser, ScoresThatAreNotFiniteGiveNoToken) {
  for (auto temperature : {0.0, 1.0})
    for (auto bad : {std::nanf(""), kInfinity}) {
      std::vector<float> scores = {0, 1, bad, 3, 4, 5, 6, 7, 8, 9};
      Chooser chooser({.temperature = temperature}, {}, {}, 0, 0, 0);
      EXPECT_EQ(chooser.next(scores), std::nullopt);
      EXPECT_EQ(chooser.next(std::vector<float>(10, -kInfinity)), std::nullopt);
      EXPECT_EQ(chooser.next({}), std::nullopt);
      scores[2] = -kInfinity;  // a token that cannot come
      for (int k = 0; k < 100; ++k) EXPECT_NE(chooser.next(scores).value(), 2);
      EXPECT_THROW((void)logprobs(std::vector<float>{0, bad}, 0, 0), ValueError);
    }
  Chooser none({.min_tokens = 1}, {}, {0, 1}, 0, 0, 0);
  EXPECT_EQ(none.next(std::vector<float>{1, 2}), std::nullopt);
  EXPECT_EQ(logprobs(std::vector<float>{0, -kInfinity}, 1, 2).logprob, -kInfinity);
}
TEST(Chooser, ValuesOutsideTheirDomainAreNamed) {
  auto nan = std::nan("");
  auto refused = [](const Choosing& how, const std::string& words) {
    EXPECT_TRUE(test::error_of<ValueError>([&] { check(how); }).starts_with(words)) << words;
    EXPECT_THROW(Chooser(how, {}, {}, 0, 0, 0), ValueError);
  };
  refused({.temperature = -0.1}, "temperature: must be a number from 0 on, got -0.1");
  refused({.temperature = nan}, "temperature: must be");
  refused({.temperature = HUGE_VAL}, "temperature: must be");
  refused({.top_k = -1}, "top_k: must be 0 (all) or more, got -1");
  for (auto p : {0.0, -1.0, 1.1, nan}) {
    refused({.top_p = p}, "top_p: must be above 0 and at most 1, got ");
    refused({.typical_p = p}, "typical_p: must be above 0 and at most 1, got ");
  }
  for (auto p : {-0.1, 1.1, nan}) refused({.min_p = p}, "min_p: must be from 0 to 1, got ");
  for (auto p : {0.0, -1.0, nan}) refused({.repetition_penalty = p}, "repetition_penalty: must be a number above 0");
  for (auto p : {-2.1, 2.1, nan}) {
    refused({.presence_penalty = p}, "presence_penalty: must be from -2 to 2");
    refused({.frequency_penalty = p}, "frequency_penalty: must be from -2 to 2");
  }
  refused({.logit_bias = {{1, 100.5F}}}, "logit_bias: must be from -100 to 100, got 100.5");
  refused({.logit_bias = {{-1, 1.0F}}}, "logit_bias: -1 is no token");
  refused({.min_tokens = -3}, "min_tokens: must be 0 or more, got -3");
  EXPECT_THROW(Chooser({.logit_bias = {{7, 1.0F}}}, {}, {}, 7, 0, 0), ValueError);
  EXPECT_THROW((void)Chooser({.logit_bias = {{7, 1.0F}}}, {}, {}, 0, 0, 0).next(std::vector<float>(7)), ValueError);
  EXPECT_THROW((void)logprobs(std::vector<float>{0, 1}, 2, 0), ValueError);
  EXPECT_THROW((void)logprobs(std::vector<float>{0, 1}, -1, 0), ValueError);
  check({.temperature = 0, .top_k = 5, .top_p = 1, .min_p = 1, .typical_p = 1e-9, .repetition_penalty = 0.1,
         .presence_penalty = -2, .frequency_penalty = 2, .logit_bias = {{0, -100.0F}}, .min_tokens = 1 << 20});
}
}  // namespace choosing_test
