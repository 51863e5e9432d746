// Drafts from the text itself: where they come from, when they stop, and what an engine does with them.
#include <gtest/gtest.h>
#include <random>
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"
#include "generate/lookup.h"
#include "generate/scripted.h"

namespace bora::lookup_test {
namespace {
using namespace generate;
using engine::Lookup;
using test::Heard;
using test::ScriptedStepper;
using Ids = std::vector<std::int32_t>;

/// The latest earlier end of the last n tokens; 0: none.
std::size_t place(const Ids& text, std::size_t n) {
  for (auto end = text.size() - 1; end >= n && text.size() > n; --end)
    if (std::equal(text.end() - static_cast<std::ptrdiff_t>(n), text.end(),
                   text.begin() + static_cast<std::ptrdiff_t>(end - n)))
      return end;
  return 0;
}
Ids expected(Ids text, std::size_t most) {
  auto from = place(text, 3) ? place(text, 3) : place(text, 2);
  Ids drafts;
  for (; from > 0 && drafts.size() < most; ++from) drafts.push_back(text[from]), text.push_back(text[from]);
  return drafts;
}
struct Run {
  test::Told told;
  EngineReport report;
  std::int64_t steps = 0, most_tokens = 0, cached = 0;
};
/// A request, and one that has its answer as the beginning of its prompt.
Run run(const std::shared_ptr<ScriptedStepper>& model, const Request& q, std::int64_t lookup) {
  auto mesh = Mesh::over(transport::local(1).at(0), {{"data", 1}});
  Engine e(*model, test::byte_tokenizer(), mesh, {.cache_bytes = 100, .step_tokens = 64, .lookup = lookup});
  Heard heard(1), turn(1);
  (void)e.submit(q, test::listener_of(heard));
  e.run(true);
  Run r{.told = heard.choices[0], .report = e.report(), .steps = model->steps, .most_tokens = model->most_tokens};
  auto next = q;
  next.prompt.insert(next.prompt.end(), r.told.ids.begin(), r.told.ids.end());
  next.max_tokens = 3;
  (void)e.submit(next, test::listener_of(turn));
  e.run(true);
  EXPECT_EQ(turn.choices[0].ids, test::alone(next, 0, {}, model->window()).ids);
  r.cached = turn.cached;
  return r;
}
}  // namespace

TEST(Lookup, DraftsFollowTheLatestPlaceOfTheLastTokens) {
  std::mt19937 bits(1);
  std::int64_t some = 0;
  for (int i = 0; i < 40; ++i) {
    Lookup lookup;
    Ids text;
    auto letters = 2 + bits() % 12;
    std::size_t hope = 2;
    for (int n = 0; n < 200; ++n) {
      text.push_back(static_cast<std::int32_t>(bits() % letters));
      if (bits() % 4 == 0) continue;  // not asked for each token
      auto most = bits() % 9;
      auto drafts = lookup.draft(text, static_cast<std::int64_t>(most));
      ASSERT_EQ(drafts, expected(text, std::min(most, hope)));
      if (drafts.empty()) continue;
      ++some;
      auto right = drafts.size() - (drafts.size() > 1 ? bits() % 2 : 0);
      lookup.verified(std::ssize(drafts), static_cast<std::int64_t>(right));
      hope = right == drafts.size() ? std::min<std::size_t>(2 * std::max(hope, right), 1024) : right + 1;
    }
  }
  EXPECT_GT(some, 3000);
}
TEST(Lookup, DraftsThatFailStopForAWhile) {
  Lookup lookup;
  Ids text;
  std::mt19937 bits(2);
  std::int64_t drafts = 0, last = 0;
  for (int n = 0; n < 2000; ++n) {
    text.push_back(static_cast<std::int32_t>(bits() % 4));
    auto some = std::ssize(lookup.draft(text, 8));
    lookup.verified(some, 0);
    drafts += some;
    if (some == 0) continue;
    if (n > 1000) { EXPECT_GT(n - last, 64); }
    last = n;
  }
  EXPECT_GT(drafts, 2000 / 66);
  EXPECT_LT(drafts, 2000 * 2 / 100);
  // One that is right brings them back.
  for (int n = 0; n < 66 && lookup.draft(text, 8).empty(); ++n) text.push_back(1);
  lookup.verified(1, 1);
  text.push_back(1);
  EXPECT_EQ(lookup.draft(text, 8), (Ids{1, 1}));
}
TEST(Lookup, TokensOfOneSlotAreForgottenAndNotConfused) {
  // Pairs whose hashes are alike, as a client may make them up: no call takes long, and no draft is another's.
  Lookup lookup;
  Ids text;
  for (std::int32_t i = 0; i < 60000; ++i) text.push_back(i % 2 == 0 ? 0 : i << 12);
  (void)lookup.draft(text, 2);
  text.insert(text.end(), {0, 59999 << 12});
  auto drafts = lookup.draft(text, 2);
  EXPECT_TRUE(drafts.empty() || drafts == expected(text, 2));
}
TEST(Lookup, ATextThatRepeatsItselfTakesFewSteps) {
  // Of the likeliest tokens after the last two the text soon goes round.
  for (unsigned seed = 0; seed < 10; ++seed) {
    Request q{.prompt = {'a', static_cast<std::int32_t>('a' + seed % 6)}, .choosing = {.temperature = 0},
              .max_tokens = 600, .ignore_eos = true, .logprobs = 2};
    q.prompt.insert(q.prompt.end(), 5 * seed, 'c');
    auto model = [] { return std::make_shared<ScriptedStepper>(2000, 2); };
    auto plain = run(model(), q, 0), guessed = run(model(), q, 4);
    auto alone = test::alone(q, 0, {}, 2);
    for (auto* r : {&plain, &guessed}) {
      EXPECT_EQ(r->told.ids, alone.ids);
      EXPECT_EQ(r->told.text, alone.text);
      for (std::size_t i = 0; i < alone.chosen.size(); ++i) {
        ASSERT_EQ(r->told.chosen.at(i).logprob, alone.chosen[i].logprob);
        ASSERT_EQ(r->told.chosen.at(i).top, alone.chosen[i].top);
      }
    }
    EXPECT_EQ(plain.steps, 600);
    EXPECT_LT(guessed.steps, 600 / 4);
    EXPECT_EQ(plain.report.drafted_tokens, 0);
    EXPECT_EQ(guessed.report.accepted_tokens, 600 - guessed.steps);
    EXPECT_EQ(guessed.report.generation_tokens, 600);
    EXPECT_LE(guessed.report.drafted_tokens, guessed.report.accepted_tokens + 100);
    EXPECT_EQ(guessed.cached, plain.cached);
    EXPECT_EQ(guessed.report.used_pages, 0);
  }
}
TEST(Lookup, AFullStepHasNoDrafts) {
  auto model = std::make_shared<ScriptedStepper>(2000, 2);
  auto mesh = Mesh::over(transport::local(1).at(0), {{"data", 1}});
  Engine e(*model, test::byte_tokenizer(), mesh, {.cache_bytes = 900, .rows = 64, .lookup = 8});
  std::vector<std::unique_ptr<Heard>> heard;
  for (int i = 0; i < 20; ++i) {
    heard.push_back(std::make_unique<Heard>(1));
    (void)e.submit({.prompt = {'a'}, .choosing = {.temperature = 0}, .max_tokens = 100 + 10 * i, .ignore_eos = true},
                   test::listener_of(*heard.back()));
  }
  e.run(true);
  EXPECT_LE(model->most_tokens, 20);
  EXPECT_GT(e.report().accepted_tokens, 100);  // when a few are left
  for (auto& h : heard) EXPECT_EQ(h->done, 1);
}
}  // namespace bora::lookup_test
