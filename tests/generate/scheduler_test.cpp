// Pages, the tree of prefixes, plans and messages, without an engine and without a model.
#include <gtest/gtest.h>
#include <random>
#include "generate/channel.h"
#include "generate/scheduler.h"
#include "support/throws.h"

namespace bora::scheduler_test {
namespace {
using namespace generate::engine;
using Ids = std::vector<std::int32_t>;

Ids tokens(std::int64_t n, std::int32_t first = 0) {
  Ids ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + static_cast<std::int32_t>(i);
  return ids;
}
Sequence sequence(std::int64_t n, std::int32_t first = 0) { return {.tokens = tokens(n, first), .scored = n - 1}; }
/// Computes a step, and gives each sequence that wants a token one.
std::vector<Part> advance(Scheduler& s, bool begin = true) {
  auto plan = s.plan(begin);
  s.done(plan);
  for (auto& part : plan.parts)
    if (part.wanted > 0) s.at(part.key).tokens.push_back(1), ++s.at(part.key).scored;
  return plan.parts;
}
std::int64_t count_of(const std::vector<Part>& parts, const Key& key) {
  for (auto& p : parts)
    if (p.key == key) return p.count;
  return 0;
}
}  // namespace

TEST(PagePool, APageIsFreeWhenItsLastUserHasLeft) {
  PagePool pool(2);
  auto a = pool.take().value(), b = pool.take().value();
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 1);
  EXPECT_FALSE(pool.take());
  pool.retain(a);
  EXPECT_EQ(pool.release(a), 1);
  EXPECT_FALSE(pool.take());
  EXPECT_EQ(pool.release(a), 0);
  EXPECT_MESSAGE(ValueError, pool.release(a), "page 0 is free already");
  EXPECT_MESSAGE(ValueError, pool.retain(a), "page 0 is free");
  EXPECT_EQ(pool.take(), a);
}
TEST(PrefixTree, FindsExactTokensOfFullPagesAlone) {
  PrefixTree tree(8);
  auto text = tokens(96);
  Ids mine;
  auto* node = tree.root();
  for (int i = 0; i < 3; ++i) {
    mine.push_back(tree.take().value());
    node = tree.add(node, std::span(text).subspan(static_cast<std::size_t>(32 * i)), mine.back());
  }
  auto found = [&](const Ids& t, std::int64_t most = 100) {
    Ids pages;
    (void)tree.find(t, most, pages);
    for (auto page : pages) tree.release(page);
    return pages;
  };
  EXPECT_EQ(found(text), mine);
  EXPECT_EQ(found(text, 2), Ids(mine.begin(), mine.begin() + 2));
  EXPECT_EQ(found(tokens(95)), Ids(mine.begin(), mine.begin() + 2));
  EXPECT_EQ(found(tokens(31)), Ids());
  EXPECT_EQ(found(tokens(96, 1)), Ids());
  auto other = text;
  other[63] = 0;
  EXPECT_EQ(found(other), Ids(mine.begin(), mine.begin() + 1));
  // A second page with the same tokens is given back.
  auto twice = tree.take().value();
  EXPECT_EQ(tree.available(), 4);
  EXPECT_EQ(tree.add(tree.root(), text, twice)->page, mine[0]);
  EXPECT_EQ(twice, mine[0]);
  EXPECT_EQ(tree.available(), 5);
  tree.release(twice);
  for (auto page : mine) tree.release(page);
  EXPECT_EQ(tree.available(), 8);
  EXPECT_EQ(found(text), mine);
  tree.clear();
  EXPECT_EQ(found(text), Ids());
  EXPECT_EQ(tree.available(), 8);
}
TEST(PrefixTree, ThePageThatWasUsedLongestAgoGoesFirstAndNoneBeforeThoseThatFollowIt) {
  PrefixTree tree(4);
  auto enter = [&](const Ids& text) {
    Ids pages;
    auto* node = tree.find(text, 100, pages);
    for (auto i = std::ssize(pages); i < std::ssize(text) / 32; ++i) {
      pages.push_back(tree.take().value());
      node = tree.add(node, std::span(text).subspan(static_cast<std::size_t>(32 * i)), pages.back());
    }
    for (auto i = pages.rbegin(); i != pages.rend(); ++i) tree.release(*i);
    return pages;
  };
  auto known = [&](const Ids& text) {
    Ids pages;
    (void)tree.find(text, 100, pages);
    for (auto page : pages) tree.release(page);
    return std::ssize(pages);
  };
  auto a = tokens(64), b = tokens(64, 500), c = tokens(32, 900);
  enter(a);
  enter(b);
  enter(c);                // takes the end of a
  EXPECT_EQ(known(b), 2);  // looking is using
  EXPECT_EQ(known(a), 1);
  EXPECT_EQ(known(c), 1);
  enter(tokens(32, 2000));
  EXPECT_EQ(known(b), 1);  // its end was used before a and c
  enter(tokens(32, 3000));
  EXPECT_EQ(known(a), 0);
}
TEST(Scheduler, ASequenceOfManyStepsHasItsTokensInOrder) {
  Scheduler s({.pages = 10, .step_tokens = 40, .rows = 4, .scores = 4});
  s.add({1, 0}, sequence(100));
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (int i = 0; i < 5; ++i)
    for (auto& p : advance(s)) {
      parts.emplace_back(p.before, p.count);
      EXPECT_EQ(p.wanted, i < 2 ? 0 : 1);
    }
  std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 40}, {40, 40}, {80, 20}, {100, 1}, {101, 1}};
  EXPECT_EQ(parts, expected);
  EXPECT_EQ(s.used_pages(), 4);
  s.remove({1, 0});
  EXPECT_EQ(s.used_pages(), 0);
}
TEST(Scheduler, RowsThatDecodeGoFirstAndPromptsShareTheRest) {
  Scheduler s({.pages = 200, .step_tokens = 32, .rows = 4, .scores = 4});
  s.add({1, 0}, sequence(2));
  (void)advance(s);
  s.add({2, 0}, sequence(1000, 100));
  s.add({3, 0}, sequence(10, 2000));
  s.add({4, 0}, sequence(100, 3000));
  auto p = advance(s);
  EXPECT_EQ(count_of(p, {1, 0}), 1);
  EXPECT_EQ(count_of(p, {3, 0}), 10);  // an even share of 31 tokens
  EXPECT_EQ(count_of(p, {2, 0}) + count_of(p, {4, 0}), 21);
  EXPECT_GE(count_of(p, {2, 0}), 10);
  s.add({5, 0}, sequence(10, 2000));
  EXPECT_EQ(count_of(advance(s), {5, 0}), 0);  // four rows run
}
TEST(Scheduler, TheNewestGoesBackAndIsComputedAgain) {
  Scheduler s({.pages = 5, .step_tokens = 64, .rows = 4, .scores = 4});
  s.add({1, 0}, sequence(60, 0));
  s.add({2, 0}, sequence(60, 1000));
  std::int64_t again = 0;
  for (int i = 0; i < 60; ++i) {
    auto p = advance(s);
    ASSERT_GT(count_of(p, {1, 0}), 0) << i;  // the oldest always goes on
    again += count_of(p, {2, 0}) > 1 ? 1 : 0;
  }
  EXPECT_GE(s.counts().preemptions, 1);
  EXPECT_EQ(s.at({1, 0}).done, 118);  // two steps for the prompt, beside the other one's
  s.remove({1, 0});
  for (int i = 0; i < 30; ++i) (void)advance(s);
  EXPECT_GT(s.at({2, 0}).done, 60);
  s.remove({2, 0});
  EXPECT_EQ(s.used_pages(), 0);
}
TEST(Scheduler, ThoseThatHaveNotBegunWaitWhereTheyMust) {
  Scheduler s({.pages = 5, .step_tokens = 64, .rows = 4, .scores = 4});
  s.add({1, 0}, sequence(10));
  EXPECT_TRUE(advance(s, false).empty());
  EXPECT_EQ(advance(s, true).size(), 1U);
  s.add({2, 0}, sequence(10));
  EXPECT_EQ(advance(s, false).size(), 1U);
  EXPECT_MESSAGE(ValueError, s.add({3, 0}, sequence(161)), "161 tokens for 5 pages of 32");
}
TEST(Scheduler, ScoresOfManyTokensAreCutIntoSteps) {
  Scheduler s({.pages = 5, .step_tokens = 64, .rows = 2, .scores = 7});
  s.add({1, 0}, {.tokens = tokens(60), .scored = 20});
  std::int64_t scored = 20, steps = 0;
  for (; scored < 60; ++steps)
    for (auto& p : s.plan(true).parts) {
      EXPECT_LE(p.wanted, 7);
      s.done({{p}, {}});
      EXPECT_TRUE(p.wanted == 0 || p.before + p.count - p.wanted == scored);
      scored += p.wanted;
      s.at({1, 0}).scored = scored;
    }
  EXPECT_EQ(steps, 6);
}
TEST(Channel, AMessageIsReadAsItWasWritten) {
  std::mt19937 bits(3);
  auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<unsigned>(n)); };
  models::Step last;
  std::size_t of_steps = 0, steps = 0;
  for (int i = 0; i < 500; ++i) {
    Message m{.kind = static_cast<Message::Kind>(below(6)), .inputs = tokens(below(9))};
    if (m.kind == Message::Kind::step) {
      m.step = last;  // most rows go on
      m.step.tokens = tokens(below(40));
      auto& rows = m.step.rows;
      if (below(3) == 0 && !rows.empty()) rows.erase(rows.begin() + below(std::ssize(rows)));
      if (below(3) == 0) m.step.rows.push_back({.pages = tokens(1 + below(300), static_cast<std::int32_t>(below(9)))});
      for (auto& row : m.step.rows) {
        row.before = below(100000), row.count = 1 + below(9), row.wanted = below(3), row.inputs = below(4) - 1;
        if (below(9) == 0) row.pages.push_back(static_cast<std::int32_t>(below(100)));
      }
    }
    auto numbers = encode(m, last);
    auto read = decode(numbers, last);
    EXPECT_EQ(read.kind, m.kind);
    EXPECT_EQ(read.inputs, m.inputs);
    EXPECT_EQ(read.step.tokens, m.step.tokens);
    ASSERT_EQ(read.step.rows.size(), m.step.rows.size());
    for (std::size_t r = 0; r < m.step.rows.size(); ++r) {
      auto &a = read.step.rows[r], &b = m.step.rows[r];
      EXPECT_EQ(a.pages, b.pages);
      EXPECT_EQ((std::vector{a.before, a.count, a.wanted, a.inputs}),
                (std::vector{b.before, b.count, b.wanted, b.inputs}));
    }
    if (m.kind == Message::Kind::step) last = m.step, of_steps += numbers.size(), ++steps;
    numbers.pop_back();
    EXPECT_MESSAGE(ValueError, decode(numbers, last), "engine: a message");
  }
  EXPECT_LT(of_steps / steps, 300U);
}
}  // namespace bora::scheduler_test
