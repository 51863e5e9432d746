// Laws of generation for many sequences, over the registry of models: a token's scores have the same bits whether the
// tokens before it came as one prompt, in pieces or one by one, alone or beside others, on any number of threads; and
// they are those of the forward pass.
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>
#include <numeric>
#include <random>
#include "bora/base/parallel.h"
#include "bora/models/stepper.h"
#include "bora/nn/axes.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/mesh.h"
#include "bora/train/trainer.h"
#include "kernels/api/amx.h"
#include "kernels/api/cpu.h"
#include "laws/effort.h"
#include "models/small.h"
#include "support/throws.h"

namespace stepper_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::kVocabulary;
using Numbers = std::vector<std::int32_t>;
using Scores = std::vector<std::vector<float>>;  // of each position
using Lengths = std::vector<std::int64_t>;
constexpr std::int64_t kPositions = 80, P = Stepper::kPagePositions;

/// Small models of every type that see several pages.
std::vector<config::Choice<Model>> models_of_pages() {
  std::vector<config::Choice<Model>> all;
  for (auto& small : test::small_models()) {
    if (!small->generates()) continue;
    auto d = small.write();
    d.at("positions") = config::scalar(std::to_string(kPositions));
    all.emplace_back().read(d, "model", {});
    all.back().check("model");
  }
  return all;
}
/// Whether all cases are tried with this model, or one: unless BORA_LAWS=full with the first one of a type.
template <class F> void each_model(F&& f) {
  std::string_view before;
  auto all = models_of_pages();
  for (auto& model : all) {
    f(*model, laws::effort() == laws::Effort::full || model->type() != before);
    before = model->type();
  }
}
struct Sequence {
  Numbers tokens, inputs;
};
/// n tokens; those before `same` are the same for every seed.
Sequence sequence(const Model& model, std::size_t n, unsigned seed, std::size_t same = 0) {
  Sequence r;
  for (std::size_t i = 0; i < n; ++i)
    r.tokens.push_back(static_cast<std::int32_t>((i * 5 + (i < same ? 0 : seed) * 3) % 13));
  if (model.decoder_start())
    for (std::size_t i = 0; i < 30 + 7 * seed; ++i) r.inputs.push_back(static_cast<std::int32_t>((i * 7 + seed) % 13));
  return r;
}
constexpr const char *kF32 = "f32", *kBf16 = "p=f32,c=bf16,o=f32";
constexpr const char* kPages = "pages of integers";
/// Of a policy, or of packed weights: int8, int4, int4:128.
ModelOptions options(const std::string& form) {
  if (form == kPages) return {.vocabulary = kVocabulary, .int8_pages = true};
  if (form.starts_with("int")) return {.vocabulary = kVocabulary, .weights = nn::WeightFormat::parse(form)};
  return {kVocabulary, Policy::parse(form)};
}
/// Without a kernel of ours for the unit bf16 products of few rows have other bits than those of many.
bool has_the_law(const std::string& policy) {
  return policy != kBf16 || kernels::has_bf16_dot() || kernels::has_bf16_tiles() || !kernels::has_bf16_unit();
}
std::unique_ptr<Stepper> stepper(const Model& model, const std::string& policy, const AxisMapping& storage = {}) {
  auto s = model.stepper(options(policy), storage, random::key(5));
  s->allot(20);
  return s;
}
/// A sequence on its way through a Stepper, with pages in no order.
struct Row {
  Sequence sequence;
  Numbers pages;
  std::int64_t inputs = -1, done = 0;
  Scores scores = {};
};
class Feeder {
 public:
  explicit Feeder(Stepper& s, std::int64_t first_page = 0) : s_(s) {
    for (auto p = static_cast<std::int32_t>(first_page); p < 20; ++p) free_.push_back(p);
    std::shuffle(free_.begin(), free_.end(), std::mt19937(3));
  }
  Row begin(const Sequence& q) {
    Row r{q, {}};
    if (!q.inputs.empty()) r.inputs = s_.read(q.inputs);
    return r;
  }
  /// One step with so many more tokens of each of these rows.
  void step(const std::vector<std::pair<Row*, std::int64_t>>& rows) {
    Step step;
    for (auto [row, n] : rows) {
      auto at = row->sequence.tokens.begin() + row->done;
      step.tokens.insert(step.tokens.end(), at, at + n);
      while (static_cast<std::int64_t>(row->pages.size()) * P < row->done + n)
        row->pages.push_back(free_.back()), free_.pop_back();
      step.rows.push_back({.before = row->done, .count = n, .pages = row->pages, .wanted = n, .inputs = row->inputs});
    }
    auto all = s_.step(step);
    EXPECT_EQ(all.shape(), (Shape{static_cast<std::int64_t>(step.tokens.size()), kVocabulary}));
    auto numbers = all.to_vector<float>();
    auto at = numbers.begin();
    for (auto [row, n] : rows)
      for (std::int64_t i = 0; i < n; ++i, ++row->done, at += kVocabulary)
        row->scores.emplace_back(at, at + kVocabulary);
  }
  void end(Row& row) {
    free_.insert(free_.end(), row.pages.begin(), row.pages.end());
    if (row.inputs >= 0) s_.forget(row.inputs);
  }
  Scores alone(const Sequence& q, const Lengths& pieces) {
    auto row = begin(q);
    for (auto n : pieces) step({{&row, n}});
    end(row);
    return row.scores;
  }

 private:
  Stepper& s_;
  Numbers free_;
};
Scores forward(const Model& model, const Sequence& q, const std::string& policy) {
  auto scorer = model.scorer(options(policy), {}, random::key(5));
  auto row = [](const Numbers& x, const char* axis) {
    auto n = static_cast<std::int64_t>(x.size());
    return NamedArray(asarray(x, Shape{1, n}), {{nn::kBatch, 1}, {axis, n}});
  };
  training::Example e{.tokens = row(q.tokens, nn::kPosition)};
  if (!q.inputs.empty()) e.inputs = row(q.inputs, nn::kInput);
  auto numbers = scorer->scores(e).array().to_vector<float>();
  Scores r;
  for (auto at = numbers.begin(); at != numbers.end(); at += kVocabulary) r.emplace_back(at, at + kVocabulary);
  return r;
}
float off(const Scores& a, const Scores& b) {
  float most = a.size() == b.size() ? 0 : 1e9F;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    for (std::size_t v = 0; v < a[i].size(); ++v) most = std::max(most, std::abs(a[i][v] - b[i][v]));
  return most;
}
}  // namespace

TEST(Stepper, ScoresHaveTheSameBitsHoweverTokensCome) {
  each_model([&](auto& model, bool every) {
    Scores numbers;
    for (std::string policy : {kF32, kPages, kBf16, "int8", "int4"}) {
      if ((policy != kF32 && !every) || !has_the_law(policy)) continue;
      SCOPED_TRACE(std::string(model.type()) + ", " + policy);
      auto s = stepper(model, policy);
      Feeder feed(*s);
      auto a = sequence(model, 70, 1), b = sequence(model, 40, 2), c = sequence(model, 9, 3);
      auto whole = feed.alone(a, {70});
      if (policy == kF32) { EXPECT_LE(off(whole, forward(model, a, policy)), 1e-5F) << "against the forward pass"; }
      if (policy == kF32) numbers = whole;
      if (policy == kPages) {
        EXPECT_GT(off(whole, numbers), 0.F);
        EXPECT_LE(off(whole, numbers), 0.02F) << "against pages of numbers";
        EXPECT_LT(s->page_bytes(), stepper(model, kF32)->page_bytes());
      }
      EXPECT_EQ(feed.alone(a, {33, 5, 31, 1}), whole) << "in pieces";
      EXPECT_EQ(feed.alone(a, Lengths(70, 1)), whole) << "one by one";
      if (!every) continue;
      auto of_b = feed.alone(b, {40}), of_c = feed.alone(c, {9});
      auto x = feed.begin(a), y = feed.begin(b), z = feed.begin(c);
      feed.step({{&x, 35}});
      feed.step({{&y, 3}, {&x, 34}, {&z, 1}});
      feed.step({{&z, 7}, {&y, 37}, {&x, 1}});
      feed.step({{&z, 1}});
      EXPECT_EQ(x.scores, whole) << "beside others";
      EXPECT_EQ(y.scores, of_b) << "beside others";
      EXPECT_EQ(z.scores, of_c) << "beside others";
      for (auto* row : {&x, &y, &z}) feed.end(*row);
      for (int threads = 1; threads <= 4; ++threads) {
        set_thread_count(threads);
        EXPECT_EQ(feed.alone(a, {33, 36, 1}), whole) << threads << " threads";
      }
      set_thread_count(0);
    }
  });
}
TEST(Stepper, ScoresHaveTheSameBitsWhereProductsAreLarge) {
  for (auto model : {test::model_of("gpt2", {"layers=1", "embed=192", "heads=3", "positions=80"}),
                     test::model_of("llama", {"layers=1", "embed=320", "heads=5", "kv_heads=1", "positions=80"})})
    for (std::string policy : {kF32, kBf16, "int8", "int4", "int4:128"}) {
      if (!has_the_law(policy)) continue;
      SCOPED_TRACE(std::string(model->type()) + ", " + policy);
      auto s = stepper(*model, policy);
      Feeder feed(*s);
      auto a = sequence(*model, 70, 1);
      auto whole = feed.alone(a, {70});
      EXPECT_EQ(feed.alone(a, {33, 19, 12, 3, 2, 1}), whole);
      EXPECT_EQ(feed.alone(a, {1, 1, 1, 67}), whole);
    }
}
TEST(Stepper, SequencesShareThePagesOfTheirBeginning) {
  auto model = test::model_of("gpt2", {"layers=2", "embed=16", "heads=4", "positions=80"});
  auto s = stepper(*model, kF32);
  Feeder feed(*s);
  auto a = sequence(*model, 60, 1, 32), b = sequence(*model, 50, 2, 32);
  ASSERT_TRUE(std::equal(a.tokens.begin(), a.tokens.begin() + 32, b.tokens.begin()));
  ASSERT_NE(a.tokens[33], b.tokens[33]);
  auto want_a = feed.alone(a, {60}), want_b = feed.alone(b, {50});
  auto x = feed.begin(a), y = feed.begin(b);
  feed.step({{&x, 32}});
  y.pages = x.pages, y.done = 32, y.scores = x.scores;
  feed.step({{&y, 3}, {&x, 20}});
  feed.step({{&x, 8}, {&y, 15}});
  EXPECT_EQ(x.scores, want_a);
  EXPECT_EQ(y.scores, want_b);
}
TEST(Stepper, PagesBeforeTheWindowMayBeGone) {
  auto model = test::model_of("llama", {"layers=2", "embed=16", "heads=4", "positions=80", "window=20"});
  auto s = stepper(*model, kF32);
  EXPECT_EQ(s->window(), 20);
  Feeder feed(*s);
  auto a = sequence(*model, 80, 1);
  auto want = feed.alone(a, {80});
  auto x = feed.begin(a);
  feed.step({{&x, 50}});
  EXPECT_EQ(s->positions(), 80);
  feed.step({{&x, 1}});  // position 50 sees 31
  x.pages[0] = -1;
  feed.step({{&x, 20}});
  feed.step({{&x, 9}});
  EXPECT_EQ(x.scores, want);
  auto mixed = test::model_of("llama", {"layers=2", "embed=16", "heads=4", "positions=80", "window=20",
                                        "layer_types=[full, sliding]"});
  EXPECT_EQ(stepper(*mixed, kF32)->window(), 80);
}
TEST(Stepper, IsTheSameOnAMesh) {
  each_model([&](auto& model, bool every) {
    if (!every) return;
    SCOPED_TRACE(std::string(model.type()));
    auto s = stepper(model, kF32);
    Feeder feed(*s);
    auto a = sequence(model, 40, 1), b = sequence(model, 12, 2);
    auto want_a = feed.alone(a, {40}), want_b = feed.alone(b, {12});
    auto page = s->page_bytes();
    local_mesh({{"data", 1}, {"model", 2}}, [&](const Mesh& mesh) {
      auto mapping = layout_mappings(parse_layout("tp"), mesh.shape());
      UseMapping split(mapping.compute);
      auto on_mesh = stepper(model, kF32, mapping.storage);
      if (model.type() == "gpt2") { EXPECT_EQ(on_mesh->page_bytes() * 2, page); }
      Feeder all(*on_mesh);
      auto x = all.begin(a), y = all.begin(b);
      all.step({{&x, 30}, {&y, 5}});
      all.step({{&x, 10}, {&y, 7}});
      EXPECT_LE(off(x.scores, want_a), 1e-5F) << "rank " << mesh.rank();
      EXPECT_LE(off(y.scores, want_b), 1e-5F) << "rank " << mesh.rank();
    });
  });
}
TEST(Stepper, TakesTheLastScoresThatARowWants) {
  auto model = test::model_of("gpt2", {"layers=1", "embed=16", "heads=4", "positions=80"});
  auto s = stepper(*model, kF32);
  auto a = sequence(*model, 10, 1);
  auto all = Feeder(*s).alone(a, {10});
  auto step = [&](Lengths wanted) {
    Step step{a.tokens, {}};
    step.tokens.insert(step.tokens.end(), a.tokens.begin(), a.tokens.end());
    for (std::int32_t r = 0; r < 2; ++r)
      step.rows.push_back({.count = 10, .pages = {r}, .wanted = wanted[static_cast<std::size_t>(r)]});
    return s->step(step);
  };
  auto some = step({2, 0});
  EXPECT_EQ(some.shape(), (Shape{2, kVocabulary}));
  auto both = all[8];
  both.insert(both.end(), all[9].begin(), all[9].end());
  EXPECT_EQ(some.to_vector<float>(), both);
  EXPECT_EQ(step({0, 0}).shape(), (Shape{0, kVocabulary}));
  EXPECT_EQ(step({1, 1}).to_vector<float>().size(), 2u * kVocabulary);
}
TEST(Stepper, TouchesThePagesThatItUses) {
  auto resident = [] {
    std::ifstream file("/proc/self/statm");
    std::int64_t all = 0, mine = 0;
    file >> all >> mine;
    return mine * sysconf(_SC_PAGESIZE);
  };
  auto model = test::model_of("gpt2", {"layers=2", "embed=64", "heads=4", "positions=131072"});
  auto s = stepper(*model, kF32);
  auto a = sequence(*model, 40, 1);
  auto want = Feeder(*s).alone(a, {40});
  auto before = resident();
  std::int64_t pages = (std::int64_t{1} << 29) / s->page_bytes();
  s->allot(pages);
  EXPECT_EQ(Feeder(*s).alone(a, {40}), want);
  EXPECT_LT(resident() - before, std::int64_t{64} << 20) << "of " << pages * s->page_bytes() << " bytes";
}
TEST(Stepper, TakesLongStepsInPieces) {
  auto model = test::model_of("gpt2", {"layers=1", "embed=16", "heads=4", "positions=640"});
  auto s = stepper(*model, kF32);
  s->allot(40);
  auto a = sequence(*model, 600, 1);
  auto scores = [&](const Lengths& pieces, std::int64_t wanted) {
    std::vector<float> last;
    std::int64_t done = 0;
    Numbers pages(19);
    std::iota(pages.begin(), pages.end(), 7);
    for (auto n : pieces) {
      Step step{{a.tokens.begin() + done, a.tokens.begin() + done + n}, {{.before = done, .count = n, .pages = pages}}};
      step.rows[0].wanted = wanted;
      last = s->step(step).to_vector<float>();
      done += n;
    }
    return last;
  };
  auto want = scores({200, 200, 200}, 150);
  EXPECT_EQ(want.size(), 150u * kVocabulary);
  EXPECT_EQ(scores({600}, 150), want);  // the scores of both pieces
  auto last = scores({600}, 1);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), want.end() - kVocabulary));
}
TEST(Stepper, RefusesStepsThatDoNotFit) {
  auto model = test::model_of("gpt2", {"layers=1", "embed=16", "heads=4", "positions=80"});
  auto s = model->stepper({kVocabulary, {}}, {}, random::key(5));
  auto refused = [&](const Step& step) { return test::error_of<ValueError>([&] { (void)s->step(step); }); };
  auto says = [](const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), text.npos) << text; };
  says(refused({{1}, {{.pages = {0}}}}), "call allot(n) first");
  EXPECT_THROW(s->allot(0), ValueError);
  s->allot(3);
  says(refused({{1}, {{.before = 80, .pages = {0, 1, 2}}}}), "has 81 positions, but the model sees 80");
  says(refused({{1}, {{.before = 40, .pages = {0}}}}), "has 1 pages, but 41 positions need 2");
  says(refused({{1}, {{.pages = {3}}}}), "has page 3; there are 3");
  says(refused({{1}, {{.pages = {-1}}}}), "has page -1");
  says(refused({{1, 2}, {{.pages = {0}}}}), "the rows have 1 tokens, the step 2");
  says(refused({{13}, {{.pages = {0}}}}), "13 is no token; there are 13");
  says(refused({{1}, {{.pages = {0}, .wanted = 2}}}), "wants the scores of 2 of its 1 tokens");
  says(refused({{1}, {{.pages = {0}, .inputs = 0}}}), "has inputs, but no encoder");
  says(refused({{}, {}}), "the rows have 0 tokens");
  EXPECT_THROW((void)s->read({1}), ValueError);
  EXPECT_EQ(s->step({{1}, {{.pages = {0}}}}).shape(), (Shape{1, kVocabulary}));  // and goes on
  auto t5 = test::model_of("t5", {"layers=1", "embed=16", "heads=4", "positions=80"});
  s = t5->stepper({kVocabulary, {}}, {}, random::key(5));
  s->allot(3);
  says(refused({{1}, {{.pages = {0}}}}), "has no inputs of the encoder");
  auto first = s->read(Numbers(40, 1)), second = s->read({1});
  says(test::error_of<ValueError>([&] { (void)s->read({1}); }), "but 0 of 3 are free");
  s->forget(second);
  says(refused({{1}, {{.pages = {0}, .inputs = second}}}), "which were not read, or forgotten");
  EXPECT_EQ(s->step({{1}, {{.pages = {0}, .inputs = first}}}).shape(), (Shape{1, kVocabulary}));
  EXPECT_THROW(s->forget(second), ValueError);
}
}  // namespace stepper_test
