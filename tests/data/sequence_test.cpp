// Sequences: equal to Grain's MapDataset (tests/golden/make_data.py), and their laws.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <atomic>
#include <cerrno>
#include <map>
#include <numeric>
#include <thread>
#include "bora/data/sequence.h"
#include "support/golden.h"
#include "support/throws.h"

namespace sequence_test {
namespace {
std::atomic<bool> no_threads{false};
std::atomic<int> refused{0};
}  // namespace
/// In front of the system's, for this process only.
extern "C" int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x) noexcept {
  static auto* real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (no_threads) ++refused;
  return no_threads ? EAGAIN : real(t, a, f, x);
}

using namespace bora;
using namespace bora::data;
using namespace bora::test;
namespace {
using Numbers = Sequence<std::int64_t>;
std::string text(std::int64_t x) { return std::to_string(x); }
std::string text(double x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.13a", x);  // as Python's float.hex
  return buffer;
}
template <class T> std::string text(const std::vector<T>& all) {
  std::string result;
  for (auto& x : all) result += (result.empty() ? "" : ",") + text(static_cast<T>(x));
  return result;
}
std::string text(const std::vector<std::int32_t>& all) {
  return text(std::vector<std::int64_t>(all.begin(), all.end()));
}
template <class T> std::vector<std::string> texts(const Sequence<T>& s, const std::vector<std::int64_t>& at) {
  std::vector<std::string> result;
  for (auto i : at) {
    auto x = s.at(i);
    result.push_back(x ? text(*x) : "-");
  }
  return result;
}
std::vector<std::int64_t> from_to(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(to - from));
  std::iota(result.begin(), result.end(), from);
  return result;
}
/// The elements that make_data.py wrote of pipelines, to compare with Bora's.
struct Golden {
  std::map<std::string, GoldenLine> lines;
  std::size_t compared = 0;
  Golden() {
    for (auto& line : golden_lines("data.txt"))
      if (line.name != "mix" && line.name != "mix_size" && line.name != "pack") lines[line.name] = line;
  }
  template <class T> void expect(const std::string& name, const Sequence<T>& s, const std::vector<std::int64_t>& at) {
    ++compared;
    auto line = lines.find(name);
    ASSERT_NE(line, lines.end()) << name;
    EXPECT_EQ(text(s.size()), line->second.parameters.at(0)) << name;
    EXPECT_EQ(texts(s, at), line->second.values) << name;
  }
  void expect_rows(const std::string& name, const Sequence<TokenRow>& rows) {
    ++compared;
    std::vector<std::string> got;
    for (auto it = rows.iterate(); auto r = it.next();)
      got.push_back(text(r->tokens) + "/" + text(r->segments) + "/" + text(r->positions));
    EXPECT_EQ(got, lines.at(name).values) << name;
  }
};
auto same = [](std::int64_t x) { return x; };
std::vector<std::int32_t> tokens_of(std::int64_t n, std::int64_t more) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(n * 7 % 11 + more));
  std::iota(result.begin(), result.end(), static_cast<std::int32_t>(1000 * n));
  return result;
}
using bora::test::error_of;
}  // namespace

TEST(Sequence, EqualsGrain) {
  Golden g;
  g.expect("range", range(3, 50, 7), from_to(0, 16));
  g.expect("shuffle", range(10).seed(42).shuffle(), from_to(0, 30));
  g.expect("shuffle_deep", range(10).map(same).seed(42).map(same).map([](std::int64_t x) { return x + 1; }).shuffle(),
           from_to(0, 20));
  g.expect("shuffle_wide", range(100).seed((std::uint64_t{1} << 40) + 7).shuffle(), from_to(95, 115));
  auto some = from_to(0, 10), later = from_to(1000, 1010);
  some.insert(some.end(), later.begin(), later.end());
  some.push_back(5'000'000'000'003);
  g.expect("shuffle_own", range(1000).seed(1).shuffle({.seed = 0xffffffff}), some);
  const std::int64_t large = 1'000'000'000'000;
  g.expect("shuffle_large", range(large).shuffle({.seed = 7}), {0, 1, large - 1, large, large + 5, 1000 * large});
  g.expect("window", range(24).shuffle({.window = 6, .seed = 3}), from_to(0, 48));
  g.expect("slice", range(20).seed(1).shuffle().slice(3, kEndless, 4), from_to(0, 15));
  g.expect("slice_between", range(20).slice(2, 15, 5), from_to(0, 9));
  auto seven = range(7).seed(3).shuffle();
  g.expect("repeat", seven.repeat(3), from_to(0, 21));
  g.expect("repeat_same", seven.repeat(3, {.reseed = false}), from_to(0, 21));
  g.expect("repeat_endless", seven.repeat(), from_to(21, 42));
  g.expect("concatenate", concatenate<std::int64_t>({range(4), range(10, 13), range(20, 25).seed(1).shuffle()}),
           from_to(0, 30));
  auto ten = range(10).seed(1).shuffle();
  g.expect("batch", ten.batch(4), from_to(0, 7));
  g.expect("batch_whole", ten.batch(4, {.drop_remainder = true}), from_to(0, 5));
  auto odd = [](std::int64_t x) { return x % 3 != 1; };
  auto twice = [](std::int64_t x) { return 2 * x; };
  g.expect("filter", range(20).seed(2).shuffle().filter(odd).map(twice), from_to(0, 30));
  auto both = [](std::int64_t i, std::int64_t x) { return 100 * i + x; };
  g.expect("map_with_index", range(6).seed(2).shuffle().map_with_index(both), from_to(0, 14));
  std::vector<Numbers> parts = {range(30).seed(1).shuffle(), range(100, 120).seed(2).shuffle(), range(200, 207)};
  g.expect("mix_three", mix(parts, Mix::of({0.6, 0.3, 0.1})), from_to(0, 80));
  auto seeded = mix(parts, Mix::of({2, 1, 1})).shuffle();
  g.expect("mix_seeded", seeded, from_to(0, 40));
  g.expect("chain", seeded.slice(1, kEndless, 2).repeat(2).batch(3), from_to(0, 12));
  auto integers = [](std::int64_t low, std::int64_t high) {
    return [=](std::int64_t, Philox& random) {
      std::vector<std::int64_t> r(5);
      for (auto& x : r) x = random.integer(low, high);
      return r;
    };
  };
  auto uniform = [](std::int64_t, Philox& random) {
    std::vector<double> r(5);
    for (auto& x : r) x = random.uniform();
    return r;
  };
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, (std::uint64_t{1} << 35) + 1}) {
    auto draws = range(5).seed(seed);
    auto name = "random_" + std::to_string(seed) + "_";
    std::vector<std::int64_t> at = {0, 1, 5, 10'000'000'000};
    g.expect(name + "bits32", draws.random_map(integers(0, std::int64_t{1} << 32)), at);
    g.expect(name + "below_10", draws.random_map(integers(0, 10)), at);
    g.expect(name + "wide", draws.random_map(integers(-5, (std::int64_t{1} << 40) + 12345)), at);
    g.expect(name + "any", draws.random_map(integers(kLeast, kEndless)), at);
    g.expect(name + "largest", draws.random_map(integers(0, 3 * (std::int64_t{1} << 30))), at);
    g.expect(name + "uniform", draws.random_map(uniform), at);
  }
  auto pair = [](std::int64_t x, Philox& random) { return std::vector<std::int64_t>{x, random.integer(0, 100)}; };
  g.expect("random_own", range(5).random_map(pair, 11), from_to(0, 10));
  auto documents = range(40).seed(5).shuffle().map([](std::int64_t n) { return tokens_of(n, 1); });
  g.expect_rows("packed_first", pack(documents, {.capacity = 16, .open_rows = 3}));
  g.expect_rows("packed_best", pack(documents, {.capacity = 16, .packing = Packing::best_fit, .open_rows = 3}));
  g.expect_rows("split", concat_then_split(documents, 16));
  auto with_empty = range(40).seed(5).shuffle().map([](std::int64_t n) { return tokens_of(n, 0); });
  g.expect_rows("split_empty", concat_then_split(with_empty, 16));
  EXPECT_EQ(g.compared, g.lines.size());
}

TEST(Sequence, WindowsAreShuffledByTheirOwnLength) {
  for (std::int64_t n : {1, 5, 23, 24})
    for (std::int64_t window : {1, 2, 7, 23, 100}) {
      auto s = range(n).shuffle({.window = window, .seed = 9});
      for (std::int64_t pass = 0; pass < 3; ++pass)
        for (std::int64_t begin = 0; begin < n; begin += window) {
          std::vector<std::int64_t> seen;
          auto end = std::min(n, begin + window);
          for (auto i = begin; i < end; ++i) seen.push_back(*s.at(pass * n + i));
          std::sort(seen.begin(), seen.end());
          ASSERT_EQ(seen, from_to(begin, end)) << n << " " << window;
        }
    }
}
TEST(Sequence, HostsSeeEveryElementOncePerPass) {
  auto whole =
      mix<std::int64_t>({range(60).seed(1).shuffle(), range(100, 130).seed(2).shuffle()}, Mix::of({2, 1})).shuffle();
  for (std::int64_t pass = 0; pass < 2; ++pass)
    for (std::int64_t hosts : {1, 2, 3, 4, 7}) {
      std::vector<std::int64_t> all;
      for (std::int64_t host = 0; host < hosts; ++host) {
        auto part = whole.slice(host, kEndless, hosts);
        for (std::int64_t i = 0; i < part.size(); ++i) {
          all.push_back(*part.at(pass * part.size() + i));
          ASSERT_EQ(all.back(), *whole.at(pass * whole.size() + i * hosts + host));  // the global order
        }
      }
      std::sort(all.begin(), all.end());
      auto expected = from_to(0, 60), more = from_to(100, 130);
      expected.insert(expected.end(), more.begin(), more.end());
      ASSERT_EQ(all, expected) << hosts;
    }
}
namespace {
/// Pipelines of all transformations, for laws that hold for any.
std::vector<Sequence<std::vector<std::int64_t>>> pipelines() {
  auto one = [](std::int64_t x) { return std::vector<std::int64_t>{x}; };
  auto draw = [](std::int64_t x, Philox& random) { return std::vector<std::int64_t>{x, random.integer(0, 1000)}; };
  auto third = [](std::int64_t x) { return x % 3 == 0; };
  auto base = range(50).seed(4).shuffle();
  auto rows = pack(base.map([](std::int64_t n) { return tokens_of(n, 0); }), {.capacity = 12, .open_rows = 4});
  auto row = [](const TokenRow& r) { return std::vector<std::int64_t>(r.tokens.begin(), r.tokens.end()); };
  Mix stages({{0, {1, 1, 0}}, {20, {1, 2, 3}}});
  return {base.map(one),
          base.random_map(draw).repeat(3),
          base.filter(third).map(one).repeat(2),
          base.filter(third).compact().batch(4).repeat(2),
          mix<std::int64_t>({base, range(70, 90), range(100, 160)}, stages).shuffle({.window = 7}).batch(3),
          concatenate<std::int64_t>({base, base.pick(0.2).held_out}).shuffle().batch(8, {.drop_remainder = true}),
          rows.map(row).seed(1).shuffle(),
          base.filter([](std::int64_t) { return false; }).map(one)};
}
template <class T> std::vector<T> rest_of(Iterator<T> it) {
  std::vector<T> result;
  while (auto x = it.next()) result.push_back(std::move(*x));
  return result;
}
}  // namespace
TEST(Iterator, GoesOnFromItsState) {
  for (auto& s : pipelines()) {
    auto all = rest_of(s.iterate());
    for (std::int64_t ahead : {0, 3}) {
      auto it = s.iterate({.ahead = ahead});
      for (std::size_t i = 0; i <= all.size(); ++i) {
        ASSERT_EQ(rest_of(s.iterate({.from = it.state()})), std::vector(all.begin() + static_cast<int>(i), all.end()));
        auto x = it.next();
        ASSERT_EQ(x.has_value(), i < all.size());
        if (i < all.size()) { ASSERT_EQ(*x, all[i]); }
      }
      it.restore(0);
      ASSERT_EQ(rest_of(std::move(it)), all);
    }
  }
}
TEST(Iterator, AheadGivesTheSameInTurn) {
  for (auto& s : pipelines()) {
    auto all = rest_of(s.iterate());
    for (std::int64_t ahead : {1, 2, 5, 100})
      for (int threads : {0, 1, 2, 5}) ASSERT_EQ(rest_of(s.iterate({.ahead = ahead, .threads = threads})), all);
  }
}
TEST(Iterator, WorksWithoutMoreThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has no worker yet
  auto wrong = [] {
    no_threads = true;
    int wrong = 0;
    for (auto& s : pipelines()) wrong += rest_of(s.iterate({.ahead = 5, .threads = 2})) != rest_of(s.iterate());
    return wrong + (refused == 0);
  };
  EXPECT_EXIT(std::exit(wrong()), testing::ExitedWithCode(0), "");
}
TEST(Iterator, MakesNoMoreThanItsDepthAhead) {
  std::atomic<std::int64_t> most{0}, asked{0};
  auto s = range(400).map([&](std::int64_t i) {
    for (auto m = most.load(); m < i && !most.compare_exchange_weak(m, i);) {}
    EXPECT_LE(i, asked.load() + 5);
    return i;
  });
  auto it = s.iterate({.ahead = 5});
  for (std::int64_t i = 0; i < 300; ++i) {
    asked = i;
    ASSERT_EQ(it.next(), i);
  }
  // A worker on a busy machine may spin in the arena of an earlier iterator for seconds before it comes.
  for (int wait = 0; most < 304 && wait < 20000; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(most, 304);  // workers do it while the caller does something else
}
TEST(Iterator, PassesErrorsOnAndKeepsItsState) {
  for (std::int64_t ahead : {0, 1, 4}) {
    auto s = range(10).map([](std::int64_t i) { return i == 3 ? throw IoError("gone") : i; });
    auto it = s.iterate({.ahead = ahead});
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(it.next(), i);
    for (int again = 0; again < 2; ++again) {
      EXPECT_THROW(it.next(), IoError);
      EXPECT_EQ(it.state(), 3);
    }
    it.restore(4);
    EXPECT_EQ(it.next(), 4);
  }
}
TEST(Iterator, MakesAnElementAgainAfterItsError) {  // a file system may have been away for a moment
  for (std::int64_t ahead : {0, 1, 4}) {
    std::atomic<int> left{2};
    auto s = range(10).map([&](std::int64_t i) { return i == 3 && left-- > 0 ? throw IoError("away") : i; });
    auto it = s.iterate({.ahead = ahead});
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(it.next(), i);
    for (int again = 0; again < 2; ++again) EXPECT_THROW(it.next(), IoError);
    for (std::int64_t i = 3; i < 10; ++i) EXPECT_EQ(it.next(), i);
    EXPECT_EQ(it.next(), std::nullopt);
  }
}
TEST(Sequence, APickIsAPartition) {
  for (std::int64_t n : {1, 2, 7, 100, 1001})
    for (double share : {0.01, 0.05, 0.3, 0.5, 0.97}) {
      auto [train, held_out] = range(n).pick(share);
      EXPECT_NEAR(static_cast<double>(held_out.size()), share * static_cast<double>(n), 0.5001);
      auto all = rest_of(train.iterate()), held = rest_of(held_out.iterate());
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
      for (std::size_t i = 0; i + 1 < held.size(); ++i)
        EXPECT_NEAR(static_cast<double>(held[i + 1] - held[i]), 1 / share, 1);
      all.insert(all.end(), held.begin(), held.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, from_to(0, n)) << n << " " << share;
    }
  auto part = range(20).seed(1).shuffle().pick(0.25).held_out;
  EXPECT_NE(texts(part, from_to(0, 5)), texts(part, from_to(5, 10)));  // the next pass
}
TEST(Sequence, HolesAreLeftOutOfRows) {
  auto odd = [](std::int64_t x) { return x % 2 == 1; };
  auto tokens = [](std::int64_t n) { return tokens_of(n, 1); };
  auto dense = range(1, 40, 2).map(tokens), holes = range(40).filter(odd).map(tokens);
  EXPECT_EQ(rest_of(pack(holes, {.capacity = 9}).iterate()), rest_of(pack(dense, {.capacity = 9}).iterate()));
  EXPECT_EQ(rest_of(concat_then_split(holes, 9).iterate()), rest_of(concat_then_split(dense, 9).iterate()));
  EXPECT_EQ(rest_of(holes.compact().iterate()), rest_of(dense.iterate()));
}
TEST(Sequence, AnyStructIsASource) {
  struct Words {
    std::vector<std::string> all = {"a", "bc", "def"};
    std::size_t size() const { return all.size(); }
    const std::string& at(std::int64_t i) const { return all[static_cast<std::size_t>(i)]; }
  };
  auto s = sequence(Words{});
  EXPECT_EQ(s.at(4), "bc");
  auto shared = sequence(std::make_shared<Words>());
  EXPECT_EQ(shared.map([](const std::string& w) { return w.size(); }).at(2), 3U);
}
TEST(Sequence, ErrorsSayTheArgument) {
  auto s = range(5);
  EXPECT_EQ(error_of([&] { s.shuffle(); }), "shuffle: there is no seed; give it one, or call seed() before it");
  EXPECT_EQ(error_of([&] { s.random_map([](std::int64_t x, Philox&) { return x; }); }),
            "random_map: there is no seed; give it one, or call seed() before it");
  EXPECT_EQ(error_of([&] { s.shuffle({.seed = std::uint64_t{1} << 32}); }),
            "shuffle: the seed 4294967296 is not below 2^32");
  EXPECT_EQ(error_of([&] { s.filter([](std::int64_t) { return true; }).batch(2); }),
            "batch: the sequence has holes left by a filter; call compact() before batch");
  EXPECT_EQ(error_of([&] { s.at(-1); }), "sequence: there is no element number -1");
  EXPECT_EQ(error_of([&] { range(0).at(0); }), "sequence: there are no elements");
  EXPECT_EQ(error_of([&] { s.repeat().repeat(); }), "repeat: the sequence has no end");
  EXPECT_EQ(error_of([&] { mix<std::int64_t>({s, range(0)}, Mix::of({1, 1})); }), "mix: sequence 1 has no elements");
  EXPECT_EQ(error_of([&] { mix<std::int64_t>({s}, Mix::of({1, 1})); }), "mix: 1 sequences and 2 weights");
  EXPECT_EQ(error_of([&] { s.iterate({.from = 6}); }), "sequence: there is no state 6 of 5 elements");
  EXPECT_EQ(error_of([&] { s.slice(0, 5, 0); }), "slice: the step 0 must be positive");
  EXPECT_EQ(error_of([&] { s.batch(0); }), "batch: batches of 0 elements");
  EXPECT_EQ(error_of([&] { s.pick(1); }), "pick: hold_out is 1; it must be between 0 and 1");
  EXPECT_EQ(mix<std::int64_t>({s, range(0)}, Mix::of({1, 0})).size(), 5);
}
}  // namespace sequence_test
