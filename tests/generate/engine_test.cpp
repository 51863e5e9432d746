// The engine's law: the answer to a request is that of the request alone, whatever else happens.
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>
#include "bora/generate/grammar.h"
#include "bora/generate/replicas.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"
#include "generate/scripted.h"
#include "support/throws.h"

namespace bora::engine_test {
namespace {
using namespace generate;
using test::alone;
using test::Heard;
using test::listener_of;
using test::ScriptedStepper;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

const Mesh& one_rank() {
  static const auto mesh = Mesh::over(transport::local(1).at(0), {{"data", 1}});
  return mesh;
}
EngineOptions options(std::int64_t pages, std::int64_t step_tokens = 48, std::int64_t rows = 6) {
  return {.cache_bytes = pages, .step_tokens = step_tokens, .rows = rows, .queue = 1000, .ends = {test::kEnd}};
}
/// An engine of a scripted model in this thread.
struct Fixture {
  explicit Fixture(const EngineOptions& o, const std::shared_ptr<ScriptedStepper>& m = std::make_shared<
                                               ScriptedStepper>())
      : model(m), engine(*model, test::byte_tokenizer(), mesh, o) {}
  std::shared_ptr<ScriptedStepper> model;
  Mesh mesh = one_rank();  // they take turns
  Engine engine;
};
struct Random {
  std::mt19937 bits;
  explicit Random(unsigned seed) : bits(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::vector<std::int32_t> letters(std::int64_t n) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
    for (auto& id : ids) id = static_cast<std::int32_t>('a' + below(6));
    return ids;
  }
};
/// Short texts, which end by themselves or are cut off.
std::shared_ptr<const Grammar> grammar() {
  static const Grammars all(test::byte_tokenizer());
  return all.json_schema(R"({"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 4})");
}
/// Prompts begin with parts of a few texts, so that requests share pages.
Request random_request(Random& r, std::int64_t most) {
  Request q;
  auto text = Random(static_cast<unsigned>(r.below(3))).letters(most);
  text.resize(static_cast<std::size_t>(r.below(most * 3 / 4)));
  auto more = r.letters(1 + r.below(most / 8));
  q.prompt = std::move(text);
  q.prompt.insert(q.prompt.end(), more.begin(), more.end());
  q.max_tokens = r.below(most - std::ssize(q.prompt) + 1);
  q.choosing.temperature = r.one_in(4) ? 0 : 1;
  if (r.one_in(4)) q.choosing.min_tokens = r.below(8);
  if (r.one_in(4)) q.n = 1 + r.below(4);
  if (r.one_in(8)) q.best_of = q.n + r.below(3);
  if (r.one_in(4)) q.stop = {"abc", "fed"};
  if (r.one_in(8)) q.stop_ids = {'f'};
  q.ignore_eos = r.one_in(4);
  q.seed = static_cast<std::uint64_t>(r.below(1000));
  if (r.one_in(3)) q.logprobs = r.below(4);
  if (r.one_in(6)) q.choosing.grammar = grammar();
  if (r.one_in(5)) q.prompt_logprobs = r.below(3);
  return q;
}
void same(const Chosen& a, const Chosen& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.logprob, b.logprob);
  EXPECT_EQ(a.top, b.top);
}
/// A choice that was told is the whole answer, or, where it was ended from outside, the beginning of it.
void is_answer(const test::Told& told, const Request& q, std::int64_t choice) {
  auto expected = alone(q, choice, {test::kEnd});
  ASSERT_EQ(told.ends, 1);
  bool whole = told.end.finish == Finish::stop || told.end.finish == Finish::length;
  if (whole) {
    ASSERT_EQ(told.ids, expected.ids);
    EXPECT_EQ(told.text, expected.text);
    EXPECT_EQ(told.end.finish, expected.end.finish);
    EXPECT_EQ(told.end.stop, expected.end.stop);
  } else {
    ASSERT_LE(told.ids.size(), expected.ids.size());
    ASSERT_TRUE(std::equal(told.ids.begin(), told.ids.end(), expected.ids.begin()));
  }
  EXPECT_EQ(told.end.tokens, std::ssize(told.ids));
  for (std::size_t i = 0; q.logprobs && i < told.ids.size(); ++i) same(told.chosen[i], expected.chosen[i]);
}
void is_prompt(const Heard& heard, const Request& q) {
  ASSERT_EQ(heard.prompt.size(), q.prompt_logprobs ? q.prompt.size() : 0);
  for (std::size_t i = 1; i < heard.prompt.size(); ++i) {
    auto scores = test::scores_of(test::hash_of({q.prompt.begin(), q.prompt.begin() + static_cast<std::ptrdiff_t>(i)}));
    same(heard.prompt[i].value(), logprobs(std::span(scores).first(256), q.prompt[i], *q.prompt_logprobs));
  }
}
/// The n best of best_of answers, the best first.
std::vector<std::int64_t> best(const Request& q) {
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t i = 0; i < std::max(q.n, q.best_of); ++i) {
    auto a = alone(q, i, {test::kEnd});
    double sum = 0;
    for (auto& c : a.chosen) sum += c.logprob;
    order.emplace_back(q.best_of > q.n ? -sum / static_cast<double>(std::max<std::int64_t>(a.end.tokens, 1)) : 0, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> r;
  for (auto& [badness, i] : order) r.push_back(i);
  return r;
}
void is_whole(const Heard& heard, const Request& q) {
  ASSERT_EQ(heard.done, 1);
  is_prompt(heard, q);
  auto order = best(q);
  for (std::size_t i = 0; i < heard.choices.size(); ++i) is_answer(heard.choices[i], q, order[i]);
}
void holds_nothing(const Fixture& f) {
  auto r = f.engine.report();
  EXPECT_EQ(r.running, 0);
  EXPECT_EQ(r.waiting, 0);
  EXPECT_EQ(r.used_pages, 0);
  EXPECT_EQ(f.model->inputs_held(), 0U);
}
}  // namespace

TEST(EngineTest, EveryAnswerIsThatOfTheRequestAlone) {
  std::int64_t preemptions = 0, hits = 0, drafted = 0, accepted = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random r(seed);
    auto pages = 4 + r.below(r.one_in(2) ? 8 : 40);
    auto o = options(pages, 1 + r.below(64), 1 + r.below(8));
    o.lookup = r.one_in(2) ? 0 : 1 + r.below(9);
    Fixture f(o);
    auto most = std::min<std::int64_t>(256, pages * 32);
    std::vector<Request> asked;
    std::vector<std::unique_ptr<Heard>> heard;
    for (int i = 0; i < 30; ++i) {
      asked.push_back(random_request(r, most));
      heard.push_back(std::make_unique<Heard>(asked.back().n));
      ASSERT_TRUE(f.engine.submit(asked.back(), listener_of(*heard.back())));
      if (r.one_in(10)) f.engine.run(true);
    }
    f.engine.run(true);
    for (std::size_t i = 0; i < asked.size(); ++i) is_whole(*heard[i], asked[i]);
    holds_nothing(f);
    preemptions += f.engine.report().preemptions;
    hits += f.engine.report().prefix_hits;
    drafted += f.engine.report().drafted_tokens;
    accepted += f.engine.report().accepted_tokens;
    if (HasFailure()) FAIL() << "with seed " << seed;
  }
  EXPECT_GT(preemptions, 50);
  EXPECT_GT(hits, 10000);
  EXPECT_GT(accepted, 200);
  EXPECT_GT(drafted, accepted + 200);
}
TEST(EngineTest, ManyThreadsAskAndCancel) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto o = options(24, 40, 5);
    o.lookup = seed % 2 == 0 ? 0 : 4;
    Fixture f(o);
    std::thread engine([&] { f.engine.run(); });
    std::vector<std::thread> clients;
    std::mutex all;
    struct One {
      Request request;
      std::unique_ptr<Heard> heard;
      bool touched;
    };
    std::vector<One> told;
    for (unsigned c = 0; c < 4; ++c)
      clients.emplace_back([&, c] {
        Random r(100 * seed + c);
        for (int i = 0; i < 60; ++i) {
          auto q = random_request(r, 256);
          if (r.one_in(10)) q.deadline = Clock::now() + milliseconds(r.below(20) - 5);
          auto heard = std::make_unique<Heard>(q.n);
          auto id = f.engine.submit(q, listener_of(*heard));
          ASSERT_TRUE(id);
          bool cancels = r.one_in(4);
          if (cancels) {
            std::this_thread::sleep_for(std::chrono::microseconds(r.below(3000)));
            f.engine.cancel(*id);
          }
          if (r.one_in(3)) while (heard->done == 0) std::this_thread::sleep_for(milliseconds(1));
          std::lock_guard lock(all);
          bool touched = cancels || q.deadline;
          told.push_back({std::move(q), std::move(heard), touched});
        }
      });
    for (auto& c : clients) c.join();
    f.engine.stop(std::chrono::minutes(5));
    engine.join();
    ASSERT_EQ(told.size(), 240U);
    std::map<Finish, int> finishes;
    for (auto& [q, heard, touched] : told) {
      ASSERT_EQ(heard->done, 1);
      bool whole = !touched || q.best_of <= q.n;  // the best of those that had ended may be others
      for (auto& c : heard->choices) {
        ++finishes[c.end.finish];
        whole = whole && (c.end.finish == Finish::stop || c.end.finish == Finish::length);
        EXPECT_EQ(c.end.error, c.end.finish == Finish::failed ? "the deadline of the request has passed" : "");
      }
      if (whole) is_whole(*heard, q);
      else if (q.best_of <= q.n)
        for (std::size_t i = 0; i < heard->choices.size(); ++i)
          is_answer(heard->choices[i], q, static_cast<std::int64_t>(i));
    }
    EXPECT_GT(finishes[Finish::stop], 20);
    EXPECT_GT(finishes[Finish::cancelled], 5);
    EXPECT_GT(finishes[Finish::failed], 1);
    holds_nothing(f);
    if (HasFailure()) FAIL() << "with seed " << seed;
  }
}
TEST(EngineTest, ALongPromptStopsNobody) {
  Fixture f(options(100, 16, 4), std::make_shared<ScriptedStepper>(2048));
  Random r(1);
  Request decoding{.prompt = r.letters(4), .max_tokens = 100, .ignore_eos = true};
  Request small{.prompt = r.letters(20), .max_tokens = 1, .ignore_eos = true};
  Request large{.prompt = r.letters(1000), .max_tokens = 1, .ignore_eos = true};
  Heard a(1), b(1), c(1);
  std::vector<std::int64_t> when;
  auto listener = listener_of(a);
  auto tell = listener.token;
  listener.token = [&](std::int64_t i, const Chosen& chosen, const std::string& text) {
    when.push_back(f.model->steps);
    if (when.size() == 10) (void)f.engine.submit(large, listener_of(b));
    if (when.size() == 20) (void)f.engine.submit(small, listener_of(c));
    tell(i, chosen, text);
  };
  std::int64_t small_at = 0;
  auto of_small = listener_of(c);
  (void)f.engine.submit(decoding, listener);
  f.model->before_step = [&](auto& m) { small_at = c.done == 1 && small_at == 0 ? m.steps : small_at; };
  f.engine.run(true);
  for (std::size_t i = 1; i < when.size(); ++i) EXPECT_EQ(when[i], when[i - 1] + 1);  // a token in each step
  EXPECT_LE(small_at, when[20] + 5);  // a prompt of 20 tokens has half of the others' 15
  EXPECT_EQ(f.model->most_tokens, 16);
  is_whole(a, decoding), is_whole(b, large), is_whole(c, small);
}
TEST(EngineTest, ACancelledRequestHoldsNoPageInTheNextStep) {
  for (int phase = 0; phase < 3; ++phase) {  // while it waits, reads, decodes
    Fixture f(options(40, 8, phase == 0 ? 1 : 4));
    Random r(3);
    Request q{.prompt = r.letters(100), .max_tokens = 40, .ignore_eos = true}, other = q;
    other.prompt = r.letters(3);
    Heard a(1), b(1);
    (void)f.engine.submit(other, listener_of(b));
    auto id = f.engine.submit(q, listener_of(a)).value();
    std::int64_t held = -1, cancelled_at = -1;
    f.model->before_step = [&](auto& m) {
      bool now = phase == 2 ? a.choices[0].ids.size() == 5 : m.steps == 5;
      if (now && cancelled_at < 0) f.engine.cancel(id), cancelled_at = m.steps;
      if (cancelled_at >= 0 && m.steps == cancelled_at + 2) held = f.engine.report().used_pages;
    };
    f.engine.run(true);
    EXPECT_EQ(a.choices[0].end.finish, Finish::cancelled) << phase;
    EXPECT_EQ(a.choices[0].ids.size(), phase == 2 ? 6U : 0U);
    EXPECT_LE(held, 2) << phase;
    is_answer(a.choices[0], q, 0);
    is_whole(b, other);
    holds_nothing(f);
  }
}
TEST(EngineTest, TheQueueIsBoundedAndInOrder) {
  auto o = options(40, 64, 1);
  o.queue = 3;
  Fixture f(o);
  std::vector<int> order;
  std::vector<Request> asked;
  for (int i = 0; i < 5; ++i) {
    asked.push_back({.prompt = Random(7).letters(5 + 40 * (i % 2)), .max_tokens = 3 + i, .ignore_eos = true});
    auto id = f.engine.submit(asked.back(), {.done = [&order, i](auto) { order.push_back(i); }});
    EXPECT_EQ(id.has_value(), i < 3);
  }
  EXPECT_EQ(f.engine.report().waiting, 3);
  f.engine.run(true);
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  EXPECT_TRUE(f.engine.submit(asked[3], {}));
  f.engine.stop(milliseconds(0));
  EXPECT_FALSE(f.engine.submit(asked[4], {}));
}
TEST(EngineTest, ChoicesAndLaterTurnsShareThePromptsPages) {
  Fixture f(options(100, 512, 8));
  Random r(5);
  Request q{.prompt = r.letters(130), .max_tokens = 70, .n = 4, .ignore_eos = true};
  Heard a(4), b(1), c(1);
  (void)f.engine.submit(q, listener_of(a));
  f.engine.run(true);
  is_whole(a, q);
  EXPECT_EQ(a.cached, 0);
  EXPECT_LE(f.model->most_tokens, 130);  // the others read the last two tokens of the prompt
  auto turn = q;
  turn.prompt.insert(turn.prompt.end(), a.choices[2].ids.begin(), a.choices[2].ids.end());
  turn.n = 1, turn.max_tokens = 8;
  (void)f.engine.submit(turn, listener_of(b));
  f.engine.run(true);
  is_whole(b, turn);
  EXPECT_EQ(b.cached, (130 + 69) / 32 * 32);  // the last token was never computed
  EXPECT_EQ(f.engine.report().prefix_hits, b.cached);
  turn.prompt[40] = turn.prompt[40] == 'a' ? 'b' : 'a';
  (void)f.engine.submit(turn, listener_of(c));
  f.engine.run(true);
  is_whole(c, turn);
  EXPECT_EQ(c.cached, 32);
  holds_nothing(f);
}
TEST(EngineTest, PagesBeforeTheWindowAreUsedAgain) {
  constexpr std::int64_t kWindow = 70;
  Fixture f(options(14, 24, 3), std::make_shared<ScriptedStepper>(2000, kWindow));
  Random r(6);
  std::vector<Request> asked;
  std::vector<std::unique_ptr<Heard>> heard;
  for (int i = 0; i < 12; ++i) {
    Request q{.prompt = Random(1).letters(1 + r.below(700)), .max_tokens = r.below(600), .n = 1 + r.below(2),
              .ignore_eos = true};
    asked.push_back(q);
    heard.push_back(std::make_unique<Heard>(q.n));
    (void)f.engine.submit(q, listener_of(*heard.back()));
  }
  f.engine.run(true);
  for (std::size_t i = 0; i < asked.size(); ++i)
    for (std::int64_t c = 0; c < asked[i].n; ++c) {
      auto expected = alone(asked[i], c, {test::kEnd}, kWindow);
      EXPECT_EQ(heard[i]->choices[static_cast<std::size_t>(c)].ids, expected.ids) << i;
    }
  holds_nothing(f);
  Fixture small(options(5, 24, 3), f.model);
  EXPECT_MESSAGE(ValueError, small.engine.submit({.prompt = {'a'}, .max_tokens = 900}, {}),
                 "take 6 pages of 32 positions, and the cache has 5");
}
TEST(EngineTest, AnEncodersInputsAreReadOnceAndForgotten) {
  auto o = options(6);
  o.encoder = true;
  Fixture f(o);
  Random r(8);
  std::vector<Request> asked;
  std::vector<std::unique_ptr<Heard>> heard;
  for (int i = 0; i < 20; ++i) {
    Request q{.prompt = {'a'}, .inputs = r.letters(1 + r.below(99)), .max_tokens = r.below(60), .n = 1 + r.below(3)};
    asked.push_back(q);
    heard.push_back(std::make_unique<Heard>(q.n));
    (void)f.engine.submit(q, listener_of(*heard.back()));
  }
  f.engine.run(true);
  for (std::size_t i = 0; i < asked.size(); ++i) is_whole(*heard[i], asked[i]);
  holds_nothing(f);
  EXPECT_MESSAGE(ValueError, f.engine.submit({.prompt = {'a'}, .inputs = r.letters(193)}, {}), "take 7 pages");
  EXPECT_MESSAGE(ValueError, f.engine.submit({.prompt = {'a'}}, {}), "inputs: none, and the model has an encoder");
}
TEST(EngineTest, ARequestThatCanNeverBeAnsweredNamesItsField) {
  Fixture f(options(4));
  auto says = [&](const Request& q, const std::string& words) {
    EXPECT_MESSAGE(ValueError, f.engine.submit(q, {}), words);
  };
  says({}, "prompt: it has no token");
  says({.prompt = {-1}}, "prompt: there are tokens 0 to 255, and no token -1");
  says({.prompt = {256}}, "prompt: there are tokens 0 to 255, and no token 256");
  says({.prompt = {'a'}, .inputs = {'a'}}, "inputs: the model has no encoder");
  says({.prompt = {'a'}, .max_tokens = -1}, "max_tokens: must be 0 or more, got -1");
  says({.prompt = {'a'}, .max_tokens = 256}, "max_tokens: a prompt of 1 tokens and 256 more are above the model's 256");
  says({.prompt = {'a'}, .max_tokens = 129}, "take 5 pages of 32 positions, and the cache has 4 in all");
  says({.prompt = {'a'}, .n = 0}, "n: must be 1 to 128, got 0");
  says({.prompt = {'a'}, .n = 3, .best_of = 2}, "best_of: must be n, which is 3, to 128, got 2");
  says({.prompt = {'a'}, .stop = {""}}, "stop: an empty text");
  says({.prompt = {'a'}, .stop_ids = {300}}, "stop_ids: there are tokens");
  says({.prompt = {'a'}, .logprobs = 300}, "logprobs: must be 0 to 256");
  says({.prompt = {'a'}, .choosing = {.temperature = -1}}, "temperature: must be a number from 0 on");
  Heard a(1);
  EXPECT_TRUE(f.engine.submit({.prompt = {'a'}, .max_tokens = 128, .ignore_eos = true}, listener_of(a)));
  f.engine.run(true);
  EXPECT_EQ(a.choices[0].end.tokens, 128);
}
TEST(EngineTest, AnErrorOfTheModelIsTold) {
  Fixture f(options(40));
  Heard a(2), b(1);
  (void)f.engine.submit({.prompt = {'a'}, .max_tokens = 50, .n = 2, .ignore_eos = true}, listener_of(a));
  (void)f.engine.submit({.prompt = Random(2).letters(200), .max_tokens = 50}, listener_of(b));
  f.model->before_step = [](auto& m) { check<IoError>(m.steps < 7, "the page is torn"); };
  EXPECT_MESSAGE(IoError, f.engine.run(), "the page is torn");
  for (auto* t : {&a.choices[0], &a.choices[1], &b.choices[0]}) {
    EXPECT_EQ(t->ends, 1);
    EXPECT_EQ(t->end.finish, Finish::failed);
    EXPECT_EQ(t->end.error, "the page is torn");
  }
  EXPECT_EQ(a.done + b.done, 2);
  EXPECT_TRUE(f.engine.report().failed);
  EXPECT_FALSE(f.engine.submit({.prompt = {'a'}}, {}));
}
TEST(EngineTest, StopLetsRequestsEndForAWhile) {
  for (bool long_enough : {false, true}) {
    Fixture f(options(40));
    Heard a(1), b(1);
    Request q{.prompt = {'a'}, .max_tokens = 200, .ignore_eos = true};
    (void)f.engine.submit(q, listener_of(a));
    f.model->before_step = [&](auto& m) {
      if (m.steps != 20) return;
      f.engine.stop(std::chrono::minutes(5));
      EXPECT_FALSE(f.engine.submit(q, listener_of(b)));
      if (!long_enough) f.engine.stop(milliseconds(0));
    };
    f.engine.run();
    EXPECT_EQ(a.choices[0].end.finish, long_enough ? Finish::length : Finish::cancelled);
    EXPECT_EQ(a.choices[0].ids.size(), long_enough ? 200U : 21U);
    is_answer(a.choices[0], q, 0);
    holds_nothing(f);
  }
}
TEST(EngineTest, OtherWeightsComeBetweenRequests) {
  auto o = options(40);
  o.exchange = [](models::Stepper& m, const std::string& from) {
    check<IoError>(from != "nowhere", "there is no such folder");
    static_cast<ScriptedStepper&>(m).weights = from.size();
  };
  Fixture f(o);
  std::thread engine([&] { f.engine.run(); });
  Request q{.prompt = Random(4).letters(70), .max_tokens = 60, .ignore_eos = true};
  Heard a(1), b(1), c(1);
  auto listener = listener_of(a);
  std::thread other;
  std::atomic<bool> exchanged = false;
  auto tell = listener.token;
  listener.token = [&](std::int64_t i, const Chosen& chosen, const std::string& text) {
    tell(i, chosen, text);
    if (a.choices[0].ids.size() != 3) return;
    other = std::thread([&] {
      f.engine.exchange("four");
      exchanged = true;
    });
    while (f.engine.report().steps == 0) std::this_thread::yield();
    (void)f.engine.submit(q, listener_of(b));
  };
  (void)f.engine.submit(q, listener);
  while (b.done == 0) std::this_thread::sleep_for(milliseconds(1));
  other.join();
  EXPECT_TRUE(exchanged);
  is_whole(a, q);                                    // with the old weights, to its end
  auto texts = std::pair{a.choices[0].text, b.choices[0].text};
  (void)f.engine.submit(q, listener_of(c));
  while (c.done == 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_NE(texts.first, c.choices[0].text);
  EXPECT_MESSAGE(ValueError, f.engine.exchange("nowhere"), "there is no such folder");
  f.engine.stop(milliseconds(0));
  engine.join();
  EXPECT_MESSAGE(ValueError, f.engine.exchange("four"), "it has ended");
}
TEST(EngineTest, RanksDoWhatRankZeroPlans) {
  for (int ranks : {2, 3}) {
    std::vector<std::uint64_t> logs(static_cast<std::size_t>(ranks));
    local_mesh({{"model", ranks}}, [&](const Mesh& mesh) {
      ScriptedStepper model(512);
      auto o = options(30 + mesh.rank(), 40, 5);  // the least of all counts
      o.lookup = 4;
      o.exchange = [](models::Stepper& m, const std::string& from) {
        static_cast<ScriptedStepper&>(m).weights = from.size();
      };
      Engine engine(model, test::byte_tokenizer(), mesh, o);
      EXPECT_EQ(engine.report().pages, 30);
      Random r(11);
      std::vector<Request> asked;
      std::vector<std::unique_ptr<Heard>> heard;
      for (int i = 0; mesh.rank() == 0 && i < 40; ++i) {
        asked.push_back(random_request(r, 400));
        heard.push_back(std::make_unique<Heard>(asked.back().n));
        EXPECT_TRUE(engine.submit(asked.back(), listener_of(*heard.back())));
      }
      engine.run(true);
      for (std::size_t i = 0; i < asked.size(); ++i) is_whole(*heard[i], asked[i]);
      std::thread other;
      if (mesh.rank() == 0)
        other = std::thread([&] {
          engine.exchange("four");
          engine.stop(milliseconds(0));
        });
      engine.run();
      if (other.joinable()) other.join();
      EXPECT_EQ(model.weights, 4U);
      EXPECT_GT(model.steps, 20);
      logs[static_cast<std::size_t>(mesh.rank())] = model.log;
      if (mesh.rank() > 0) { EXPECT_MESSAGE(ValueError, engine.submit({.prompt = {97}}, {}), "takes no requests"); }
    });
    for (auto log : logs) EXPECT_EQ(log, logs[0]);
  }
}
TEST(EngineTest, ReplicasShareTheRequests) {
  for (int ranks : {2, 3}) {
    std::vector<std::int64_t> steps(static_cast<std::size_t>(ranks));
    local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
      ScriptedStepper mine;
      Replicas model(mine, mesh);
      auto o = options(10 + mesh.rank(), 40, 5);
      o.replicas = ranks;
      o.lookup = 4;
      Engine engine(model, test::byte_tokenizer(), mesh, o);
      EXPECT_EQ(engine.report().pages, 10 * ranks);
      Random r(13);
      std::vector<Request> asked;
      std::vector<std::unique_ptr<Heard>> heard;
      for (int i = 0; mesh.rank() == 0 && i < 60; ++i) {
        asked.push_back(random_request(r, 250));
        heard.push_back(std::make_unique<Heard>(asked.back().n));
        EXPECT_TRUE(engine.submit(asked.back(), listener_of(*heard.back())));
      }
      engine.run(true);
      for (std::size_t i = 0; i < asked.size(); ++i) is_whole(*heard[i], asked[i]);
      EXPECT_EQ(engine.report().used_pages, 0);
      steps[static_cast<std::size_t>(mesh.rank())] = mine.steps;
    });
    for (auto n : steps) EXPECT_GT(n, 100);
  }
}
TEST(EngineTest, ALostRankEndsAllRequests) {
  std::vector<std::unique_ptr<Heard>> heard;
  for (int i = 0; i < 3; ++i) heard.push_back(std::make_unique<Heard>(1));
  std::string said;
  auto all = [&](const Mesh& mesh) {
    ScriptedStepper model;
    Engine engine(model, test::byte_tokenizer(), mesh, options(40));
    if (mesh.rank() == 1) model.before_step = [](auto& m) { check<IoError>(m.steps < 5, "rank 1 burns"); };
    Request q{.prompt = {'a'}, .max_tokens = 200, .ignore_eos = true};
    for (auto& h : heard)
      if (mesh.rank() == 0) (void)engine.submit(q, listener_of(*h));
    try {
      engine.run();
    } catch (const std::exception& e) {
      if (mesh.rank() == 0) said = e.what();
      throw;
    }
  };
  EXPECT_THROW(local_mesh({{"model", 2}}, all), Error);
  EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
  for (auto& h : heard) {
    EXPECT_EQ(h->done, 1);
    EXPECT_EQ(h->choices[0].end.finish, Finish::failed);
    EXPECT_NE(h->choices[0].end.error.find("rank 1"), std::string::npos);
  }
}
}  // namespace bora::engine_test
