// Beam search over models that are functions of a text, which they read from their pages: transformers' results, and
// the pages that beams share.
#include "bora/generate/beams.h"
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/models/stepper.h"
#include "bora/ops/creation.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/tree.h"
#include "support/golden.h"
#include "support/places.h"
#include "support/throws.h"

namespace beams_test {
using namespace bora;
using namespace bora::generate;
using nlohmann::json;
namespace {
using Ids = std::vector<std::int32_t>;
using Early = BeamOptions::Early;
constexpr auto kPage = models::Stepper::kPagePositions;

/// A model whose scores after a text are a function of it. The text lies in the pages, and comes from there alone.
class Scripted final : public models::Stepper {
 public:
  using Scores = std::function<std::vector<float>(const Ids& text)>;
  Scripted(std::int64_t tokens, Scores scores) : tokens_(tokens), scores_(std::move(scores)) {}
  tree::Node parameters() override { return {}; }
  std::int64_t positions() const override { return 1000; }
  std::int64_t window() const override { return positions(); }
  std::int64_t vocabulary() const override { return tokens_; }
  std::int64_t page_bytes() const override { return kPage * 4; }
  void allot(std::int64_t n) override { pages_.assign(static_cast<std::size_t>(n), Ids(kPage, -1)); }
  std::int64_t read(const Ids&) override { return 0; }
  void forget(std::int64_t) override {}
  Array step(const models::Step& step) override {
    ++steps;
    std::map<std::int32_t, int> users;
    for (auto& row : step.rows)
      for (auto page : std::set<std::int32_t>(row.pages.begin(), row.pages.end())) ++users[page];
    std::size_t at = 0;
    std::vector<float> all;
    std::int64_t wanted = 0;
    for (auto& row : step.rows) {
      EXPECT_EQ(std::ssize(row.pages), (row.before + row.count + kPage - 1) / kPage);
      auto place = [&](std::int64_t i) -> std::int32_t& {
        return pages_.at(static_cast<std::size_t>(row.pages.at(static_cast<std::size_t>(i / kPage))))
            .at(static_cast<std::size_t>(i % kPage));
      };
      for (auto i = row.before; i < row.before + row.count; ++i) {
        EXPECT_EQ(users[row.pages[static_cast<std::size_t>(i / kPage)]], 1) << "a page that others read is written";
        place(i) = step.tokens.at(at++);
      }
      wanted += row.wanted;
      for (auto n = row.before + row.count - row.wanted; n < row.before + row.count; ++n) {
        Ids text;
        for (std::int64_t i = 0; i <= n; ++i) text.push_back(place(i));
        auto scores = scores_(text);
        all.insert(all.end(), scores.begin(), scores.end());
      }
    }
    EXPECT_EQ(at, step.tokens.size());
    tokens += at;
    std::set<std::int32_t> used;
    for (auto& row : step.rows) used.insert(row.pages.begin(), row.pages.end());
    most_pages = std::max(most_pages, used.size());
    return wanted ? asarray(all, Shape{wanted, tokens_}) : zeros({0, tokens_});
  }
  std::size_t steps = 0, tokens = 0, most_pages = 0;

 private:
  std::int64_t tokens_;
  Scores scores_;
  std::vector<Ids> pages_ = {};
};
/// Numbers of the whole text, so that a wrong token anywhere gives other scores.
std::vector<float> hashed(const Ids& text, std::size_t tokens) {
  std::uint64_t h = 1469598103934665603U;
  for (auto id : text) h = (h ^ static_cast<std::uint64_t>(id + 7)) * 1099511628211U;
  std::vector<float> scores(tokens);
  for (auto& x : scores) {
    h = h * 6364136223846793005U + 1442695040888963407U;
    x = static_cast<float>(h >> 40) / static_cast<float>(1 << 22);
  }
  return scores;
}
Ids numbers(std::int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}
/// The result, with as many pages as beam_pages() says.
std::vector<Beam> searched(Scripted& model, const Ids& prompt, const BeamOptions& how) {
  auto n = beam_pages(std::ssize(prompt), how);
  model.allot(n);
  return beams(model, prompt, how, numbers(n));
}
double score_of(const Ids& prompt, const Ids& tokens, std::size_t vocabulary, double penalty) {
  auto text = prompt;
  double sum = 0;
  for (auto id : tokens) {
    sum += static_cast<double>(logprobs(hashed(text, vocabulary), id, 0).logprob);
    text.push_back(id);
  }
  return sum / std::pow(static_cast<double>(tokens.size()), penalty);
}
const json& golden() {
  static const auto all = json::parse(std::ifstream(test::golden_path("beams.json")));
  return all;
}
BeamOptions options_of(const json& c) {
  auto& how = c["how"];
  auto& early = how["early_stopping"];
  BeamOptions o{.beams = c["beams"],
                .returned = c["beams"],
                .max_tokens = c["max_tokens"],
                .length_penalty = how["length_penalty"],
                .early_stopping = early == "never" ? Early::never : early == true ? Early::yes : Early::no,
                .ends = c["ends"]};
  o.choosing.repetition_penalty = how.value("repetition_penalty", 1.0);
  o.choosing.min_tokens = how.value("min_new_tokens", 0);
  return o;
}
void expect_results(const std::vector<Beam>& found, const json& c) {
  auto ends = c["ends"].get<Ids>();
  ASSERT_EQ(found.size(), c["results"].size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    auto want = c["results"][k][0].get<Ids>();
    EXPECT_EQ(found[k].tokens, want);
    EXPECT_NEAR(found[k].score, c["results"][k][1].get<double>(), 2e-5);
    EXPECT_EQ(found[k].ended, std::count(ends.begin(), ends.end(), want.back()) == 1);
  }
}
}  // namespace

TEST(Beams, AreThoseOfTransformers) {
  std::vector<float> table = golden()["table"];
  constexpr std::size_t n = 14;
  ASSERT_EQ(table.size(), n * n * n);
  Scripted model(n, [&](const Ids& text) {
    auto before = text.size() > 1 ? static_cast<std::size_t>(text[text.size() - 2]) : 0;
    auto row = table.begin() + static_cast<std::ptrdiff_t>((before * n + static_cast<std::size_t>(text.back())) * n);
    return std::vector<float>(row, row + n);
  });
  ASSERT_GT(golden()["cases"].size(), 100U);
  for (auto& c : golden()["cases"]) {
    SCOPED_TRACE(c.dump());
    expect_results(searched(model, c["prompt"], options_of(c)), c);
  }
}
/// The same through folders of Hugging Face's and the stepper of their models.
TEST(Beams, OfModelsAreThoseOfTransformers) {
  for (auto& c : golden()["models"]) {
    SCOPED_TRACE(c.dump());
    job::TrainedRun words{test::source_dir() + "/tests/golden/models/" + c["model"].get<std::string>()};
    auto s = job::settings_to_generate(words, "test");
    auto tokenizer = s.tokenizer->open();
    job::on_mesh({s, tokenizer, "test"}, [&](const Mesh& mesh) {
      auto model = job::stepper_of(s, *tokenizer, mesh.shape());
      job::read_parameters(model->parameters(), job::find_checkpoint(words, mesh), s, words, mesh);
      model->allot(8);
      auto o = options_of(c);
      auto prompt = c["prompt"].get<Ids>();
      if (auto start = s.model->decoder_start()) {
        o.inputs = model->read(prompt);
        prompt = {*start};
      }
      expect_results(beams(*model, prompt, o, numbers(8)), c);
      return 0;
    });
  }
}
TEST(Beams, ShareTheirFullPagesAndReadTheirOwnText) {
  constexpr std::size_t n = 50;
  for (std::int64_t length : {1, 31, 32, 33, 70})
    for (std::int64_t width : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(length) + " " + std::to_string(width));
      Ids prompt;
      for (std::int64_t i = 0; i < length; ++i) prompt.push_back(static_cast<std::int32_t>(i * i % 50));
      Scripted model(n, [](const Ids& text) { return hashed(text, n); });
      BeamOptions o{.beams = width, .returned = width, .max_tokens = 80, .length_penalty = 0.7, .step_tokens = 13};
      auto found = searched(model, prompt, o);
      ASSERT_EQ(std::ssize(found), width);
      for (auto& b : found) {
        ASSERT_EQ(b.tokens.size(), 80U);
        EXPECT_FALSE(b.ended);
        EXPECT_NEAR(b.score, score_of(prompt, b.tokens, n, 0.7), 1e-4);
      }
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [](auto& a, auto& b) { return a.score > b.score; }));
      EXPECT_LE(static_cast<std::int64_t>(model.most_pages), beam_pages(length, o));
      // What is computed again is less than a page for each beam and step; a prompt is computed once.
      EXPECT_LT(model.tokens, static_cast<std::size_t>(length + width * 80 * kPage));
      EXPECT_TRUE(width > 1 || model.tokens == static_cast<std::size_t>(length + 79)) << model.tokens;
    }
}
TEST(Beams, OneBeamIsTheGreedyText) {
  Scripted model(50, [](const Ids& text) { return hashed(text, 50); });
  Ids text = {4};
  auto found = searched(model, text, {.beams = 1, .max_tokens = 30});
  for (int k = 0; k < 30; ++k)
    text.push_back(Chooser({.temperature = 0}, {}, {}, 0, 0, 0).next(hashed(text, 50)).value());
  EXPECT_EQ(found.at(0).tokens, Ids(text.begin() + 1, text.end()));
}
TEST(Beams, WithinASmallSpaceTheBestTextIsFound) {
  // Four tokens and three steps: with as many beams as there are texts nothing is lost.
  constexpr std::size_t n = 4;
  Scripted model(n, [](const Ids& text) { return hashed(text, n); });
  auto found = searched(model, {2}, {.beams = 16, .returned = 16, .max_tokens = 3, .length_penalty = 0});
  double best = -1e9;
  for (std::int32_t i = 0; i < 64; ++i)
    best = std::max(best, score_of({2}, {i / 16, i / 4 % 4, i % 4}, n, 0));
  EXPECT_NEAR(found.at(0).score, best, 1e-5);
  std::set<Ids> apart;
  for (auto& b : found) apart.insert(b.tokens);
  EXPECT_EQ(apart.size(), found.size());
}
TEST(Beams, TokensOfTheTokenizerAlone) {
  Scripted model(50, [](const Ids& text) { return hashed(text, 50); });
  for (auto& b : searched(model, {1}, {.beams = 4, .returned = 4, .max_tokens = 20, .tokens = 9}))
    for (auto id : b.tokens) EXPECT_LT(id, 9);
}
TEST(Beams, BadOptionsAreNamed) {
  Scripted model(5, [](const Ids& text) { return hashed(text, 5); });
  auto refused = [&](const Ids& prompt, const BeamOptions& o, std::int64_t pages, const std::string& words) {
    model.allot(pages);
    auto text = test::error_of<ValueError>([&] { (void)beams(model, prompt, o, numbers(pages)); });
    EXPECT_TRUE(text.starts_with(words)) << text;
  };
  refused({1}, {.beams = 0}, 9, "beams: must be from 1 to 256, got 0");
  refused({1}, {.beams = 2, .returned = 3}, 9, "returned: must be from 1 to 2, got 3");
  refused({1}, {.max_tokens = 0}, 9, "max_tokens: must be from 1");
  refused({1}, {.length_penalty = std::nan("")}, 9, "length_penalty: must be a number");
  refused({1}, {.choosing = {.top_k = 3}}, 9, "top_k: beams draw no tokens; leave it out");
  refused({1}, {.choosing = {.temperature = 0.5}}, 9, "temperature: beams draw no tokens");
  refused({1}, {.choosing = {.min_p = 2}}, 9, "min_p: must be from 0 to 1");
  refused({}, {}, 9, "beams: the prompt has no token");
  refused({1}, {.max_tokens = 1001}, 9, "beams: 1 tokens of the prompt and 1001 of the answer exceed");
  refused(Ids(40, 1), {.beams = 2, .max_tokens = 60}, 3, "beams: there are too few pages; beam_pages() says how many");
  refused({1}, {.beams = 2, .tokens = 1}, 9, "beams: 2 beams need 2 tokens or more, the model has 1");
  Scripted odd(5, [](const Ids&) { return std::vector<float>{0, 1, std::nanf(""), 2, 3}; });
  odd.allot(9);
  EXPECT_THROW((void)beams(odd, Ids{1}, {}, numbers(9)), ValueError);
}
}  // namespace beams_test
