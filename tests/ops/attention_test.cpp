// bora::attention against attention with its scores in memory: every option, values and gradients, at sizes that cross
// tiles.
#include <fstream>
#include <sstream>
#include "compile/api/executable.h"
#include "bora/bora.h"
#include "bora/fx/core.h"
#include "bora/ops/contractions.h"
#include "ops/checks.h"
#include "support/places.h"

namespace bora::test::attention_test {
namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
Array wave(const Shape& s, double phase = 0) {
  return sin(reshape(arange(volume(s), f64), s) * 0.7 + phase) +
         0.3 * cos(reshape(arange(volume(s), f64), s) * 1.9 + phase);
}
/// The specification of bora::attention, written with other operations.
Array dense(const Array& q, const Array& k, const Array& v, const AttentionOptions& o) {
  auto lead = q.ndim() - 3, S = q.shape(-3), T = k.shape(-3), H = q.shape(-2), group = H / k.shape(-2);
  auto keys = repeat(k, group, lead + 1), values = repeat(v, group, lead + 1);
  auto scores = matmul(moveaxis(q, -2, lead), swapaxes(moveaxis(keys, -2, lead), -1, -2)) *
                o.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape(-1))));
  if (o.soft_cap) scores = *o.soft_cap * tanh(scores / *o.soft_cap);
  if (o.bias.defined()) scores = scores + o.bias;
  auto distance = iota({S, T}, 1) - iota({S, T}, 0);
  auto attends =
      broadcast_to(distance <= Scalar(o.right.value_or(T)) && distance >= Scalar(-o.left.value_or(S)), scores.shape());
  if (o.causal) attends = attends && distance <= 0;
  if (o.window.defined()) attends = attends && distance > -reshape(o.window, {-1, 1, 1, 1});
  if (o.mask.defined()) attends = attends && o.mask;
  if (o.query_segments.defined()) {
    auto lift = [&](const Array& a, std::int64_t axis) {
      return a.ndim() > 1 ? expand_dims(expand_dims(a, axis), lead) : expand_dims(a, axis);
    };
    attends = attends && lift(o.query_segments, -1) == lift(o.key_segments, -2);
  }
  scores = where(attends, scores, -inf);
  auto top = amax(stop_gradient(scores), -1, {.keepdims = true});
  top = where(isfinite(top), top, 0);
  auto e = exp(scores - top), total = sum(e, -1, {.keepdims = true});
  if (o.sinks.defined()) total = total + exp(reshape(o.sinks, {H, 1, 1}) - top);
  auto w = e / where(total == 0, 1, total);
  if (o.dropout > 0) {
    auto keep = static_cast<float>(1 - o.dropout);
    w = where(random::bernoulli(o.key, 1 - o.dropout, w.shape()), w / static_cast<double>(keep), 0);
  }
  return moveaxis(matmul(w, moveaxis(values, -2, lead)), lead, -2);
}
struct Case {
  std::string what;
  AttentionOptions o;
};
constexpr std::int64_t S = 70, T = 130, H = 4;
std::vector<Case> cases() {
  auto place = [](const Shape& s, int d) { return iota(s, d); };
  auto mask = (place({2, 1, S, T}, 2) * 7 + place({2, 1, S, T}, 3) * 3 + place({2, 1, S, T}, 0)) % 5 > 1;
  auto blocks =
      floor_divide(place({S, T}, 0), 64) == floor_divide(place({S, T}, 1), 64);  // whole tiles: all or nothing
  return {
      {"nothing", {}},
      {"causal", {.causal = true}},
      {"scale", {.scale = -0.2}},
      {"mask", {.mask = mask}},
      {"mask of keys", {.mask = place({2, 1, 1, T}, 3) < 100}},
      {"blocks", {.mask = blocks}},
      {"a query that sees nothing", {.mask = place({S, 1}, 0) != 69}},
      {"bias", {.bias = wave({H, S, T}, 2)}},
      {"bias of keys, with -inf", {.bias = where(arange(T) % 3 == 0, constant(-inf, f64), wave({T}))}},
      {"bias of batches", {.bias = wave({2, 1, S, 1}, 1)}},
      {"window", {.left = 20, .right = 5}},
      {"causal window", {.causal = true, .left = 20}},
      {"window behind", {.left = 80, .right = -10}},
      {"window as a value", {.causal = true, .window = array(20)}},
      {"window of each row", {.causal = true, .left = 40, .window = asarray(std::vector<int>{7, 1 << 30})}},
      {"window that ends ahead", {.window = asarray(std::vector<int>{-2, 1})}},
      {"segments",
       {.query_segments = floor_divide(place({2, S}, 1) + 13 * place({2, S}, 0), 40),
        .key_segments = floor_divide(place({2, T}, 1) + 13 * place({2, T}, 0), 50)}},
      {"segments of one batch",
       {.causal = true, .query_segments = floor_divide(arange(S), 33), .key_segments = floor_divide(arange(T), 33)}},
      {"cap", {.soft_cap = 0.5}},
      {"sinks", {.causal = true, .left = 20, .sinks = wave({H}, 4)}},
      {"cap and bias", {.causal = true, .bias = wave({S, T}), .soft_cap = 0.7}},
      {"dropout", {.dropout = 0.3, .key = random::key(5)}},
      {"everything",
       {.causal = true,
        .mask = mask,
        .bias = wave({H, S, T}, 2),
        .scale = 0.4,
        .left = 30,
        .query_segments = floor_divide(arange(S), 60),
        .key_segments = floor_divide(arange(T), 50),
        .soft_cap = 2.,
        .dropout = 0.2,
        .key = random::key(6),
        .window = array(25),
        .sinks = wave({H}, 4)}}};
}
/// Largest difference relative to the largest number (which may be 0: a bias that all keys share changes nothing).
double off(const Array& a, const Array& b) {
  return (amax(abs(a.astype(f64) - b.astype(f64))) / maximum(amax(abs(b.astype(f64))), 1.)).item<double>();
}
TEST(Attention, EveryOptionEqualsTheDenseForm) {
  auto w = wave({2, S, H, 12}, 3);
  for (std::int64_t heads : {4, 2, 1})
    for (auto& [what, o] : cases()) {
      SCOPED_TRACE(what + ", heads " + std::to_string(heads));
      if (heads != 2 && what != "everything" && what != "bias" && what != "causal") continue;
      bool bias = o.bias.defined(), sinks = o.sinks.defined();
      auto f = [&, o = o](const Arrays& a, bool tiled) {
        auto with = o;
        if (bias) with.bias = a[3];
        if (sinks) with.sinks = a.back();
        auto y = tiled ? attention(a[0], a[1], a[2], with) : dense(a[0], a[1], a[2], with);
        return Arrays{y * w.astype(y.dtype())};
      };
      Arrays in{wave({2, S, H, 10}), wave({2, T, heads, 10}, 0.3), wave({2, T, heads, 12}, 0.9)};
      if (bias) in.push_back(o.bias);
      if (sinks) in.push_back(o.sinks);
      auto both = [&](const Arrays& x, bool tiled) {
        auto v = fx::vjp_flat([&](const Arrays& a) { return f(a, tiled); }, x, Mask(x.size(), true));
        auto g = v.pullback({ones(v.out[0].shape(), v.out[0].dtype())});
        g.push_back(v.out[0]);
        return g;
      };
      auto want = both(in, false);
      for (auto [dtype, tolerance] : {std::pair{f64, 1e-12}, {f32, 3e-6}, {bf16, 3e-2}}) {
        Arrays x;
        for (auto& a : in) x.push_back(a.astype(dtype));
        auto got = both(x, true);
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(got[i].dtype(), dtype);
          EXPECT_LT(off(got[i], want[i]), tolerance) << dtype << ", result " << i;
        }
      }
    }
}
TEST(Attention, EqualsJax) {  // tests/golden/make_attention.py; JAX takes the softmax of f64 in f32
  auto numbers = [](const Shape& s, double seed) { return sin(reshape(arange(volume(s), f64), s) * 0.37 + seed); };
  Shape q{2, 5, 4, 3};
  auto keep = remainder(iota({2 * 1 * 5 * 7}, 0) * 5, 7) != 3;
  std::map<std::string, std::pair<std::int64_t, AttentionOptions>> cases{
      {"plain", {4, {}}},
      {"causal", {4, {.causal = true}}},
      {"grouped", {2, {.causal = true}}},
      {"shared", {1, {.scale = 0.9}}},
      {"mask", {4, {.mask = reshape(keep, {2, 1, 5, 7})}}},
      {"window", {4, {.left = 2, .right = 1}}},
      {"bias", {2, {.bias = numbers({1, 4, 5, 7}, 4)}}}};
  std::ifstream file(test::source_dir() + "/tests/golden/attention.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    SCOPED_TRACE(name);
    auto [heads, o] = cases.at(name);
    Arrays in{numbers(q, 0), numbers({2, 7, heads, 3}, 1), numbers({2, 7, heads, 3}, 2)};
    if (o.bias.defined()) in.push_back(o.bias);
    auto v = fx::vjp_flat(
        [&, o = o](const Arrays& a) {
          auto with = o;
          if (a.size() > 3) with.bias = a[3];
          return Arrays{attention(a[0], a[1], a[2], with)};
        },
        in, Mask(in.size(), true));
    auto got = v.pullback({numbers(q, 3)});
    got.insert(got.begin(), v.out[0]);
    for (auto& a : got)
      for (auto x : a.to_vector<double>()) {
        double want = NAN;
        words >> want;
        EXPECT_NEAR(x, want, 1e-6);
      }
  }
  EXPECT_EQ(lines, cases.size());
}
TEST(Attention, IsOneInstructionWithoutAMatrixOfScores) {
  const std::int64_t n = 1024;
  auto q = wave({n, 2, 8}).astype(f32);
  auto step = [](const Arrays& a) {
    auto v = fx::vjp_flat([](const Arrays& x) { return Arrays{attention(x[0], x[1], x[2], {.causal = true})}; }, a,
                          Mask(3, true));
    return v.pullback({v.out[0]});
  };
  auto program = stage(step, types_of({q, q, q})).program;
  auto e = executable(program);
  auto text = e->explain();
  auto count = [&](const std::string& word) {
    std::size_t k = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++k;
    return k;
  };
  EXPECT_EQ(count("= attention "), 1u) << text;
  EXPECT_EQ(count("= attention_grad "), 1u) << text;
  EXPECT_LT(e->info().slab_bytes, static_cast<std::size_t>(n * n))
      << "of 8 bytes a pair of positions, were scores kept";
}
TEST(Attention, HeadsThatAreSplitDropTheSameWeights) {
  auto q = wave({2, 6, 4, 3}), k = wave({2, 5, 4, 3}, 0.3), v = wave({2, 5, 4, 3}, 0.9);
  AttentionOptions o{.dropout = 0.5, .key = random::key(3)};
  auto want = attention(q, k, v, o);
  local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh&) {
    Spec spec{"data", none, "model", none};
    auto split = [&](const Array& x) { return with_sharding_constraint(x, spec); };
    EXPECT_TRUE(close(gather(attention(split(q), split(k), split(v), o)), want, 1e-12, 1e-12));
  });
}
TEST(Attention, DropoutBelowTheSpacingOfFloatsDropsNothing) {
  auto q = wave({5, 2, 3});
  EXPECT_TRUE(array_equal(attention(q, q, q, {.dropout = 1e-9, .key = random::key(3)}), attention(q, q, q)));
}
/// Derivatives of any order of a score that is masked, and whose exponential overflows.
TEST(Attention, MaskedScoresHaveNoDerivativesOfAnyOrder) {
  auto k = iota({2, 1, 1}, 0, f32) * 100, v = k + 1;
  auto third = grad([&](const Array& a) {
    return sum(grad([&](const Array& b) {
      return sum(grad([&](const Array& q) { return sum(attention(q, k, v, {.causal = true, .scale = 1.})); })(b));
    })(a));
  })(ones({2, 1, 1}, f32));
  EXPECT_TRUE(array_equal(isfinite(third), ones({2, 1, 1}, boolean))) << third;
}
TEST(Attention, MistakesInOptionsAreNamed) {
  auto q = zeros({4, 2, 3});
  EXPECT_MESSAGE(ShapeError, attention(q, q, q, {.mask = ones({3, 4}, boolean)}),
                 "the mask [3, 4] does not broadcast to [2, 4, 4]");
  EXPECT_MESSAGE(ShapeError, attention(q, q, q, {.query_segments = arange(5), .key_segments = arange(4)}),
                 "query_segments [5]");
  EXPECT_MESSAGE(ValueError, attention(q, q, q, {.query_segments = arange(4)}),
                 "given together, .key_segments is missing");
  EXPECT_MESSAGE(DtypeError, attention(q, q, q, {.query_segments = arange(4), .key_segments = arange(4, i64)}),
                 "of i32 or u8, got i64[4]");
  EXPECT_MESSAGE(ValueError, attention(q, q, q, {.soft_cap = 0.}), "must be positive, got 0");
  EXPECT_MESSAGE(ValueError, attention(q, q, q, {.dropout = 1, .key = random::key(0)}), "in [0, 1), got 1");
  EXPECT_MESSAGE(DtypeError, attention(q, q, q, {.window = array(2.)}), ".window is of i32, got f32");
  EXPECT_MESSAGE(ShapeError, attention(q, q, q, {.window = arange(2)}), "the window [2] does not broadcast to []");
  EXPECT_MESSAGE(ValueError, attention(q, q, q, {.dropout = 0.1}), "one random key in .key, got none");
  EXPECT_MESSAGE(ShapeError, attention(q, q, q, {.sinks = zeros({3})}), ".sinks are [2], a score for each head");
}
}  // namespace
}  // namespace bora::test::attention_test
