// Attention in pages: against bora::attention over each sequence alone, and the law of equal bits: whatever tokens a
// call has, on any number of threads and every instruction set.
#include <random>
#include "bora/bora.h"
#include "kernels/api/paged_attention.h"
#include "ops/checks.h"

namespace bora::test::paged_attention_test {
namespace {
constexpr std::int64_t P = kPagePositions, K = 2, D = 20, E = 24;
using Numbers = std::vector<std::int32_t>;
/// Sequences whose keys lie in pages in no order.
struct Sequences {
  std::vector<std::int64_t> lengths;
  std::int64_t group;
  Array q, k, v;  // [all tokens, heads, size]: of the sequences one after the other
  Array keys, values;
  std::vector<Numbers> pages;
};
Array wave(const Shape& s, double phase, Dtype d) {
  auto at = reshape(arange(volume(s), f64), s);
  return (sin(at * 0.7 + phase) + 0.4 * cos(at * 1.9 - phase)).astype(d);
}
Sequences sequences(std::vector<std::int64_t> lengths, std::int64_t group, Dtype d) {
  Sequences r{std::move(lengths), group, {}, {}, {}, {}, {}, {}};
  auto all = std::accumulate(r.lengths.begin(), r.lengths.end(), std::int64_t{0});
  r.q = wave({all, K * group, D}, 0.3, d), r.k = wave({all, K, D}, 1.1, d), r.v = wave({all, K, E}, 2.2, d);
  std::int64_t count = 3;  // some are of nobody
  for (auto n : r.lengths) count += (n + P - 1) / P;
  Numbers order(static_cast<std::size_t>(count)), slots;
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  for (auto n : r.lengths) {
    auto& mine = r.pages.emplace_back();
    for (std::int64_t i = 0; i < n; ++i) {
      if (i % P == 0) mine.push_back(order.back()), order.pop_back();
      slots.push_back(static_cast<std::int32_t>(mine.back() * P + i % P));
    }
  }
  // What nobody wrote is NaN: nobody may read it.
  auto nan = std::numeric_limits<double>::quiet_NaN();
  r.keys = write_key_pages(full({count, K, D, P}, nan, d), r.k, asarray(slots));
  r.values = write_value_pages(full({count, K, P, E}, nan, d), r.v, asarray(slots));
  return r;
}
/// A token of a call: sequence and position.
using Token = std::pair<std::size_t, std::int64_t>;
Array attended(const Sequences& s, const std::vector<Token>& tokens, const PagedAttentionOptions& o = {}) {
  Numbers first, positions, table, rows;
  std::vector<std::int32_t> begins;
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < s.lengths.size(); ++i) {
    begins.push_back(static_cast<std::int32_t>(table.size()));
    table.insert(table.end(), s.pages[i].begin(), s.pages[i].end());
    starts.push_back(start);
    start += s.lengths[i];
  }
  for (auto [i, p] : tokens) {
    first.push_back(begins[i]);
    positions.push_back(static_cast<std::int32_t>(p));
    rows.push_back(static_cast<std::int32_t>(starts[i] + std::max<std::int64_t>(p, 0)));
  }
  return paged_attention(take(s.q, asarray(rows), 0), s.keys, s.values,
                         {asarray(first), asarray(positions), asarray(table)}, o);
}
/// Keys and values as integers with scales, in the same pages, and what they stand for.
struct Small {
  Sequences integers, numbers;
  Array key_scales, value_scales;
  PagedAttentionOptions with(PagedAttentionOptions o) const {
    o.key_scales = key_scales, o.value_scales = value_scales;
    return o;
  }
};
Small small(const Sequences& s) {
  Small r{s, s, {}, {}};
  Numbers slots;
  for (std::size_t i = 0; i < s.lengths.size(); ++i)
    for (std::int64_t t = 0; t < s.lengths[i]; ++t)
      slots.push_back(static_cast<std::int32_t>(s.pages[i][static_cast<std::size_t>(t / P)] * P + t % P));
  auto at = asarray(slots);
  auto room = full({s.keys.shape(0), K, P, 1}, std::numeric_limits<double>::quiet_NaN(), f32);
  auto wide = s.q.dtype() == f64 ? f64 : f32;
  auto cut = [&](const Array& x, Array& scales, Array& whole) {
    auto scale = amax(abs(x.astype(f32)), -1, {.keepdims = true}) / 127;
    auto y = round(x.astype(f32) / scale).astype(i8);  // kept as bytes
    scales = write_value_pages(room, scale, at);
    whole = y.astype(wide) * scale.astype(wide);
    return bitcast(y, u8);
  };
  Array k, v;
  auto k8 = cut(s.k, r.key_scales, k), v8 = cut(s.v, r.value_scales, v);
  r.integers.keys = write_key_pages(zeros(s.keys.shape(), u8), k8, at);
  r.integers.values = write_value_pages(zeros(s.values.shape(), u8), v8, at);
  r.numbers.q = s.q.astype(wide);
  r.numbers.keys = write_key_pages(zeros(s.keys.shape(), wide), k, at);
  r.numbers.values = write_value_pages(zeros(s.values.shape(), wide), v, at);
  return r;
}
std::vector<Token> all_tokens(const Sequences& s) {
  std::vector<Token> r;
  for (std::size_t i = 0; i < s.lengths.size(); ++i)
    for (std::int64_t p = 0; p < s.lengths[i]; ++p) r.emplace_back(i, p);
  return r;
}
struct Case {
  std::string what;
  PagedAttentionOptions o;
};
std::vector<Case> cases(std::int64_t group) {
  auto bias = wave({K * group, 40}, 0.5, f64);
  return {{"plain", {}},
          {"window", {.window = array(37).astype(i32)}},
          {"window of a chunk", {.scale = 0.4, .window = array(300).astype(i32)}},
          {"cap", {.soft_cap = 0.7}},
          {"bias", {.scale = 1., .bias = bias}},
          {"sinks", {.window = array(37).astype(i32), .sinks = wave({K * group}, 2, f64) * 3}},
          {"all",
           {.soft_cap = 1.5, .window = array(290).astype(i32), .bias = bias, .sinks = wave({K * group}, 2, f64)}}};
}
}  // namespace

TEST(PagedAttention, IsAttentionOfEachSequence) {
  for (auto dtype : {f64, f32, bf16})
    for (std::int64_t group : {1, 3, 30}) {
      auto s = sequences({600, 1, 33, 256, 32}, group, dtype);
      for (auto& [what, o] : cases(group)) {
        auto got = attended(s, all_tokens(s), o);
        ASSERT_EQ(got.dtype(), dtype);
        std::int64_t at = 0;
        for (auto n : s.lengths) {
          auto part = [&](const Array& x) { return slice_in_dim(x, 0, at, at + n); };
          AttentionOptions plain{.causal = true, .scale = o.scale, .soft_cap = o.soft_cap, .sinks = o.sinks};
          if (o.window.defined()) plain.window = o.window;
          if (o.bias.defined()) {
            auto apart = clip(expand_dims(arange(n), 1) - expand_dims(arange(n), 0), 0, 39);
            plain.bias = take(o.bias, apart, 1);
          }
          auto want = attention(part(s.q), part(s.k), part(s.v), plain);
          auto bound = dtype == f64 ? 1e-12 : dtype == f32 ? 4e-6 : 2e-2;
          EXPECT_TRUE(close(part(got).astype(f64), want.astype(f64), bound, bound))
              << what << ", " << n << " positions, groups of " << group << ", " << dtype_name(dtype);
          at += n;
        }
      }
    }
}
TEST(PagedAttention, BitsDependOnATokensOwnKeysAlone) {
  for (auto dtype : {f64, f32, bf16})
    for (std::int64_t group : {1, 4}) {
      auto s = sequences({570, 40, 7}, group, dtype);
      for (auto& [what, o] : cases(group)) {
        SCOPED_TRACE(what + ", groups of " + std::to_string(group) + ", " + std::string(dtype_name(dtype)));
        auto tokens = all_tokens(s);
        auto whole = attended(s, tokens, o);
        auto same = [&](const std::vector<Token>& some, const Array& got, const char* how) {
          Numbers rows;
          for (auto& t : some)
            rows.push_back(static_cast<std::int32_t>(std::find(tokens.begin(), tokens.end(), t) - tokens.begin()));
          EXPECT_TRUE(array_equal(got, take(whole, asarray(rows), 0))) << how;
        };
        std::vector<Token> some;
        for (std::int64_t p : {0, 31, 32, 255, 256, 257, 511, 512, 569}) {
          std::vector<Token> one{{0, p}};
          same(one, attended(s, one, o), "alone");
          some.push_back(one[0]);
          some.emplace_back(1, p % 40);
        }
        same(some, attended(s, some, o), "ragged rows");
        std::vector<Token> chunk;
        for (std::int64_t p = 250; p < 290; ++p) chunk.emplace_back(0, p);
        same(chunk, attended(s, chunk, o), "a chunk");
        for (int threads = 1; threads <= 4; ++threads) {
          set_thread_count(threads);
          same(tokens, attended(s, tokens, o), "threads");
          same({{0, 569}}, attended(s, {{0, 569}}, o), "one token, threads");
        }
        set_thread_count(0);
      }
    }
}
/// Integers times scales: as the numbers that they stand for, with the same bits whatever else there is.
TEST(PagedAttention, IntegersStandForNumbers) {
  for (auto dtype : {f64, f32, bf16})
    for (std::int64_t group : {1, 4}) {
      auto all = small(sequences({300, 40, 7}, group, dtype));
      auto tokens = all_tokens(all.integers);
      for (auto& [what, o] : cases(group)) {
        SCOPED_TRACE(what + ", groups of " + std::to_string(group) + ", " + std::string(dtype_name(dtype)));
        auto got = attended(all.integers, tokens, all.with(o));
        ASSERT_EQ(got.dtype(), dtype);
        auto bound = dtype == f64 ? 1e-12 : dtype == f32 ? 4e-6 : 2e-2;
        EXPECT_TRUE(close(got.astype(f64), attended(all.numbers, tokens, o).astype(f64), bound, bound));
        EXPECT_TRUE(array_equal(attended(all.integers, {{0, 290}}, all.with(o)), take(got, array({290}), 0)));
      }
    }
  auto all = small(sequences({5}, 1, f32));
  EXPECT_MESSAGE(DtypeError, attended(all.numbers, {{0, 0}}, all.with({})), "with scales keys and values of u8");
  EXPECT_MESSAGE(ValueError, attended(all.integers, {{0, 0}}, {.key_scales = all.key_scales}), "belong together");
}
TEST(PagedAttention, HasTheSameBitsOnEveryInstructionSet) {
  if (kernels::isa() == kernels::Isa::v3) GTEST_SKIP() << "this processor has no AVX-512";
  for (auto dtype : {f64, f32, bf16})
    for (std::int64_t dim : {5, 20, 64}) {
      constexpr std::int64_t tokens = 9, group = 3, pages = 20;
      auto q = wave({tokens, K, group, dim}, 0.3, dtype), k = wave({pages, K, dim, P}, 1, dtype),
           v = wave({pages, K, P, dim}, 2, dtype), bias = wave({K, group, 9}, 3, dtype == f64 ? f64 : f32),
           sinks = wave({K, group}, 4, dtype == f64 ? f64 : f32);
      Numbers table(pages), first(tokens, 0), positions{3, 4, 5, 6, 300, 301, 302, 639, -1}, window(tokens, 280);
      std::iota(table.begin(), table.end(), 0);
      kernels::PagedCall c{.dtype = dtype, .tokens = tokens, .heads = K, .group = group, .dim = dim, .value_dim = dim,
                           .pages = pages, .table_size = pages, .scale = 0.3, .soft_cap = 1.2, .q = q.bytes(),
                           .keys = k.bytes(), .values = v.bytes(), .first = first.data(),
                           .positions = positions.data(), .table = table.data(), .window = window.data(),
                           .bias = bias.bytes(), .distances = 9, .sinks = sinks.bytes()};
      std::vector<char> a(q.nbytes()), b(q.nbytes());
      kernels::paged_attention(c, a.data(), kernels::Isa::v3);
      kernels::paged_attention(c, b.data(), kernels::Isa::v4);
      EXPECT_EQ(a, b) << dtype_name(dtype) << " " << dim;
      auto k8 = (k.astype(f32) * 90).astype(i8), v8 = (v.astype(f32) * 90).astype(i8),
           scales = wave({pages, K, P}, 4, f32);
      c.keys = k8.bytes(), c.values = v8.bytes();
      c.key_scales = c.value_scales = reinterpret_cast<const float*>(scales.bytes());
      kernels::paged_attention(c, a.data(), kernels::Isa::v3);
      kernels::paged_attention(c, b.data(), kernels::Isa::v4);
      EXPECT_EQ(a, b) << "i8 beside " << dtype_name(dtype) << " " << dim;
    }
}
TEST(PagedAttention, LooksAtNoPageThatNoTokenSees) {
  auto s = sequences({100}, 1, f32);
  auto want = attended(s, {{0, 99}}, {.window = array(30).astype(i32)});
  s.pages[0][0] = s.pages[0][1] = -1;  // positions 0 .. 63
  EXPECT_TRUE(array_equal(attended(s, {{0, 99}}, {.window = array(30).astype(i32)}), want));
  EXPECT_MESSAGE(IndexError, attended(s, {{0, 99}}), "page 0 of the sequence of token 0 is -1");
  EXPECT_MESSAGE(IndexError, attended(s, {{0, 500}}, {.window = array(3).astype(i32)}), "of a table of 4");
  EXPECT_TRUE(array_equal(attended(s, {{0, -1}}), zeros({1, K, E}, f32))) << "a token of no sequence";
}
TEST(PagedAttention, RefusesWhatDoesNotFit) {
  auto s = sequences({5}, 1, f32);
  PagedTokens one{asarray(Numbers{0}), asarray(Numbers{0}), asarray(Numbers{0})};
  auto q = zeros({1, K, D}, f32);
  EXPECT_MESSAGE(ShapeError, paged_attention(zeros({1, 3, D}, f32), s.keys, s.values, one), "3 heads of q");
  EXPECT_MESSAGE(ShapeError, paged_attention(zeros({1, K, 3}, f32), s.keys, s.values, one),
                 "keys must be [4, 2, 3, 32]");
  EXPECT_MESSAGE(ValueError, paged_attention(q, s.keys, s.values, one, {.soft_cap = 0.}), "must be positive");
  EXPECT_MESSAGE(DtypeError, write_key_pages(zeros({1, K, D, P}, boolean), zeros({1, K, D}, boolean), one.first),
                 "not defined for bool");
  EXPECT_MESSAGE(ShapeError, write_value_pages(s.keys, zeros({1, K, D}, f32), one.first), "32, D]");
  EXPECT_MESSAGE(TraceError, grad([&](const Array& x) { return sum(paged_attention(x, s.keys, s.values, one)); })(q),
                 "paged_attention cannot be differentiated");
}
}  // namespace bora::test::paged_attention_test
