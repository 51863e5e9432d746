// poisson, binomial, multinomial. Rejection repeats the draw of the whole array with fresh keys until every element was
// accepted once, and keeps each element's last accepted count (jax.random). A first pass finds the number
// of rounds of each element, whose maximum the second pass draws. Positions are global, so any layout gives the same.
#include <limits>
#include <numbers>
#include "bora/base/parallel.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "ops/api/same_everywhere.h"
#include "random/draw.h"
#include "random/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"
#include "bora/ops/transform.h"

namespace bora::random {
namespace {
enum class Law : std::uint8_t { poisson, binomial };
/// The keys of the rounds of one key, made as they are needed.
class Rounds {
 public:
  void start(Words key) {
    if (key == key_ && !chain_.empty()) return;
    key_ = key;
    chain_ = {key};
    waits_ = {key};
    pairs_.clear();
    singles_.clear();
  }
  /// Keys of the two uniform numbers of a round of rejection.
  const std::array<Words, 2>& pair(std::size_t round) {
    for (; pairs_.size() <= round; chain_.push_back(kernels::threefry(chain_.back(), 0)))
      pairs_.push_back({kernels::threefry(chain_.back(), 1), kernels::threefry(chain_.back(), 2)});
    return pairs_[round];
  }
  /// The key of one uniform number of a sum; of a pair of children, `own` is the number's, the other the next round's.
  const Words& single(std::size_t round, std::uint64_t own) {
    for (; singles_.size() <= round; waits_.push_back(kernels::threefry(waits_.back(), 1 - own)))
      singles_.push_back(kernels::threefry(waits_.back(), own));
    return singles_[round];
  }

 private:
  Words key_{};
  std::vector<Words> chain_, waits_, singles_;
  std::vector<std::array<Words, 2>> pairs_;
};
template <class T> struct Round {
  bool accepted;
  T count;
};

/// Stirling's series: log k! - ((k + 1/2) log k - k + log(2 pi) / 2), for k >= 10.
double stirling_rest(double k) {
  double square = 1 / (k * k);
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - square / 1188) * square) * square) * square) / k;
}
/// log(lam^k e^-lam / k!) by the deviance, which does not cancel for large lam (Loader 2000).
double poisson_log_mass(double k, double lam) {
  if (k < 10) {
    double factorial = 1;
    for (double i = 2; i <= k; ++i) factorial *= i;
    return k * log_of(lam) - lam - log_of(factorial);
  }
  double away = k - lam, deviance = k * log1p_of(away / lam) - away;
  return -stirling_rest(k) - deviance - 0.5 * log_of(2 * std::numbers::pi * k);
}
/// Poisson counts, in steps of f32 as JAX's; exact ones in f64.
template <class F> struct PoissonLaw {
  using T = F;
  T lam;
  bool few() const { return lam != lam || lam < 10; }
  PoissonLaw of_rejection() const { return {few() ? T(1e5) : lam}; }
  bool never() const { return false; }
  /// Knuth, The Art of Computer Programming 2, 3.4.1: uniform numbers until their product falls below exp(-lam).
  T sum(Rounds& keys, std::int64_t at) const {
    T count = 0, product = 0;
    for (std::size_t i = 0; product > -lam; ++i, ++count) product += log_of(unit_scalar<T>(keys.single(i, 1), at));
    return count - 1;
  }
  /// Hörmann, The transformed rejection method for generating Poisson random variables (1993): PTRS.
  struct Rejection {
    T lam, log_lam, b, a, inv_alpha, v_r;
    Round<T> operator()(const std::array<Words, 2>& keys, std::int64_t at) const {
      T u = unit_scalar<T>(keys[0], at) - T(0.5), v = unit_scalar<T>(keys[1], at), shifted = T(0.5) - std::abs(u);
      T k = std::floor(std::fma(2 * a / shifted + b, u, lam) + T(0.43));
      if (shifted >= T(0.07) && v <= v_r) return {true, k};
      if (k < 0 || (shifted < T(0.013) && v > shifted)) return {false, k};
      T s = log_of(v * inv_alpha / (a / (shifted * shifted) + b));
      if constexpr (std::is_same_v<T, double>) return {s <= poisson_log_mass(k, lam), k};
      else return {s <= std::fma(k, log_lam, -lam) - lgamma_scalar(k + 1), k};
    }
  };
  Rejection rejection() const {
    T b = std::fma(T(2.53), std::sqrt(lam), T(0.931)), a = std::fma(T(0.02483), b, T(-0.059));
    return {lam, log_of(lam), b, a, T(1.1239) + T(1.1328) / (b - T(3.4)), T(0.9277) - T(3.6224) / (b - 2)};
  }
  T result(T count) const { return lam == 0 ? 0 : count; }
};

/// Stirling's series of log k! without its leading terms, from a table for small k.
template <class T> T stirling_tail(T k) {
  constexpr double table[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                              0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                              0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return T(table[static_cast<int>(std::max(k, T(0)))]);
  T square = T(10) * T(10);  // k is held at 9 here, in JAX too
  return (T(1.0 / 12) - (T(1.0 / 360) - T(1.0 / 1260) / square) / square) / T(10);
}
/// exact: with the whole of Stirling's series, and logarithms of quotients near 1 by their distance from it.
template <class F, bool exact = false> struct BinomialLaw {
  using T = F;
  T n, p;
  T q() const {
    T x = p < T(0.5) ? p : 1 - p;
    return x != x || x < 0 ? T(0.01) : x;
  }
  bool invalid_n() const { return n != n || n < 0; }
  bool few() const { return invalid_n() || n * q() <= 10; }
  BinomialLaw of_rejection() const { return few() ? BinomialLaw{T(1e4), T(0.5)} : BinomialLaw{std::floor(n), q()}; }
  bool never() const { return std::isinf(n) && q() == 0; }  // no draw is accepted, none is needed
  /// Sums of geometric numbers until they exceed n (Devroye 1986, X.4).
  T sum(Rounds& keys, std::int64_t at) const {
    T count = 0, total = 0, trials = std::floor(n), slope = log1p_of(-q());
    for (std::size_t i = 0; total <= trials; ++i, ++count)
      total += std::ceil(log_of(unit_scalar<T>(keys.single(i, 0), at)) / slope);
    return count - 1;
  }
  /// Hörmann, The generation of binomial random variates (1993): BTRS.
  struct Rejection {
    T n, b, a, c, v_r, r, alpha, m, p;
    /// log(n! p^k (1 - p)^(n - k) / (k! (n - k)!)) without what does not depend on k.
    T log_mass(T k) const { return poisson_log_mass(k, n * p) + poisson_log_mass(n - k, n * (1 - p)); }
    Round<T> operator()(const std::array<Words, 2>& keys, std::int64_t at) const {
      T u = unit_scalar<T>(keys[0], at) - T(0.5), v = unit_scalar<T>(keys[1], at), us = T(0.5) - std::abs(u);
      T k = std::floor(std::fma(2 * a / us + b, u, c));
      if (us >= T(0.07) && v <= v_r) return {true, k};
      if (k < 0 || k > n) return {false, k};
      v = log_of(v * alpha / (a / (us * us) + b));
      if constexpr (exact) return {v <= log_mass(k) - log_mass(m), k};
      T bound = (m + T(0.5)) * log_of((m + 1) / (r * (n - m + 1))) + (n + 1) * log_of((n - m + 1) / (n - k + 1)) +
                (k + T(0.5)) * log_of(r * (n - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(n - m) -
                stirling_tail(k) - stirling_tail(n - k);
      return {v <= bound, k};
    }
  };
  Rejection rejection() const {
    T deviation = std::sqrt(n * p * (1 - p)), b = std::fma(T(2.53), deviation, T(1.15));
    return {n,
            b,
            T(-0.0873) + T(0.0248) * b + T(0.01) * p,
            std::fma(n, p, T(0.5)),
            T(0.92) - T(4.2) / b,
            p / (1 - p),
            (T(2.83) + T(5.1) / b) * deviation,
            std::floor((n + 1) * p),
            p};
  }
  T result(T count) const {
    if (invalid_n() || p != p || p < 0 || p > 1) return std::numeric_limits<T>::quiet_NaN();
    if (std::isinf(n)) return n;
    return p < T(0.5) ? count : std::floor(n) - count;
  }
};

/// Keys, global positions and parameters, all alike -> the rounds of rejection until the first acceptance (i32); with
/// the number of rounds as a further input, the counts.
struct Counts {
  Law law;
  bool drawn, exact = false;
  static constexpr std::string_view name = "counts";
  static constexpr bool random = true;
  std::size_t parameters() const { return law == Law::poisson ? 1 : 2; }
  Type infer(const Types& in) const {
    check<DtypeError>(in.size() == 2 + parameters() + drawn && in[0].dtype == Dtype::key && in[1].dtype == i64,
                      "counts: needs keys, positions and parameters, got ", in.at(0), " and ", in.at(1));
    auto d = in[2].dtype;
    check<DtypeError>(d == f32 || d == f64, "counts: needs parameters of f32 or f64, got ", in[2]);
    for (auto& t : in)
      check<ShapeError>(t.shape == in[0].shape, "counts: needs operands of one shape, got ", in[0], " and ", t);
    return {in[0].shape, drawn ? d : i32};
  }
  void eval(InputViews in, OutputViews out) const {
    auto of = [&](auto t) {
      using T = decltype(t);
      auto* first = in[2].as<T>();
      if (law == Law::poisson) return run(in, out, [&](std::int64_t i) { return PoissonLaw<T>{first[i]}; });
      auto* second = in[3].as<T>();
      if (exact) run(in, out, [&](std::int64_t i) { return BinomialLaw<T, true>{first[i], second[i]}; });
      else run(in, out, [&](std::int64_t i) { return BinomialLaw<T>{first[i], second[i]}; });
    };
    if (in[2].type.dtype == f32) of(float{});
    else of(double{});
  }
  template <class At> void run(InputViews in, OutputViews out, At&& law_at) const {
    using T = typename decltype(law_at(0))::T;
    auto* keys = in[0].as<Words>();
    auto* positions = in[1].as<std::int64_t>();
    parallel_for(out[0].type.size(), grain_for(400), [&](std::int64_t begin, std::int64_t end) {
      Rounds rounds;
      for (auto i = begin; i < end; ++i) {
        rounds.start(keys[i]);
        auto one = law_at(i);
        if (!drawn) {
          std::int32_t first = 0;
          auto draw = one.of_rejection().rejection();
          if (!one.never())
            for (bool accepted = false; !accepted; ++first)
              accepted = draw(rounds.pair(static_cast<std::size_t>(first)), positions[i]).accepted;
          out[0].as<std::int32_t>()[i] = first;
          continue;
        }
        T count = -1;
        if (one.few()) count = one.sum(rounds, positions[i]);
        else if (!one.never()) {
          auto draw = one.of_rejection().rejection();
          auto last = in[2 + parameters()].template as<std::int32_t>()[i];
          for (std::int32_t r = 0; r < last; ++r)
            if (auto x = draw(rounds.pair(static_cast<std::size_t>(r)), positions[i]); x.accepted) count = x.count;
        }
        out[0].as<T>()[i] = one.result(count);
      }
    });
  }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  Counts lift(std::int64_t) const { return *this; }
  static SamplesOf<Counts> samples() {
    auto keys = random::split(key(3), 2), at = iota({2}, 0, i64), rounds = array({4, 4});
    auto lam = array({2.5, 40.0}), n = asarray(std::vector<double>{5, 90}), p = asarray(std::vector<double>{0.2, 0.7});
    return {{{Law::poisson, true}, {keys, at, lam, rounds}},
            {{Law::poisson, false}, {keys, at, lam}},
            {{Law::binomial, true}, {keys, at, n, p, rounds}},
            {{Law::poisson, true, true}, {keys, at, n, rounds}},
            {{Law::binomial, true, true}, {keys, at, n, p, rounds}}};
  }
};
/// Row-major positions in the whole draw, born in its layout.
Array global_positions(const Shape& shape, const Spec& spec) {
  auto at = broadcast_to(constant(0, i64), shape);
  std::int64_t stride = 1;
  for (auto d = shape.size(); d-- > 0; stride *= shape[d]) {
    auto line = iota({shape[d]}, 0, i64);
    if (d < spec.size() && !spec[d].empty()) line = ops::constrained(line, Spec{spec[d]});
    at = at + broadcast_in_dim(line * stride, shape, {static_cast<std::int64_t>(d)});
  }
  return at;
}
/// `few`: no element can need rejection, so its rounds are not counted.
Array counts(Law law, const Array& k, Arrays parameters, const Shape& shape, const DrawOptions& draw, bool few) {
  check<ShardError>(draw.spec.size() <= shape.size(), "random: the Spec ", draw.spec,
                    " has more entries than the shape ", shape);
  Arrays in{broadcast_to(k, shape), global_positions(shape, draw.spec)};
  for (auto& p : parameters) in.push_back(stop_gradient(broadcast_to(p, shape)));
  auto rounds = constant(0, i32);
  if (!few && volume(shape) > 0) rounds = amax(call_one(Counts{law, false, draw.exact}, in));
  in.push_back(broadcast_to(rounds, shape));
  return call_one(Counts{law, true, draw.exact}, in);
}
}  // namespace
Array poisson(const Array& k, const Parameter& lam, const std::optional<Shape>& shape, Dtype dtype,
              const DrawOptions& draw) {
  one_key("poisson", k);
  check<DtypeError>(is_integer(dtype), "poisson: the dtype must be an integer one, got ", dtype);
  auto s = draw_shape("poisson", shape, {lam});
  bool few = lam.is_number && PoissonLaw<float>{static_cast<float>(lam.number.value)}.few();
  return counts(Law::poisson, k, {value_of(lam, draw.exact ? f64 : f32)}, s, draw, few).astype(dtype);
}
Array binomial(const Array& k, const Parameter& n, const Parameter& p, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw) {
  one_key("binomial", k);
  floating("binomial", dtype);
  auto d = draw.exact ? f64 : p.is_number || !is_float(p.array.dtype()) ? f32 : p.array.dtype();
  check<DtypeError>(!is_narrow(d), "binomial: p must be f32 or f64, got ", d);
  auto s = draw_shape("binomial", shape, {n, p});
  bool few = n.is_number && p.is_number &&
             BinomialLaw<float>{static_cast<float>(n.number.value), static_cast<float>(p.number.value)}.few();
  return counts(Law::binomial, k, {value_of(n, d), value_of(p, d)}, s, draw, few).astype(dtype);
}
Array multinomial(const Array& k, const Parameter& n, const Array& p, const std::optional<Shape>& shape, Dtype dtype,
                  const DrawOptions& draw) {
  one_key("multinomial", k);
  floating("multinomial", dtype);
  check<ShapeError>(p.ndim() > 0, "multinomial: p needs a dimension of categories, got ", p.type());
  auto d = draw.exact ? f64 : real_accumulator(p.dtype());
  auto s = shape.value_or(p.shape());
  check<ShapeError>(!s.empty(), "multinomial: the shape needs the dimension of categories, got ", s);
  auto batch = s;
  batch.pop_back();
  auto wide = broadcast_to(p.astype(d), s), left = broadcast_to(value_of(n, d), batch);
  auto rest = flip(cumsum(flip(wide, -1), -1), -1);
  auto ratio = clip(wide / where(rest == 0, 1.0, rest), 0.0, 1.0);
  check<ShardError>(draw.spec.size() <= batch.size(), "multinomial: the Spec ", draw.spec,
                    " has more entries than the batch dimensions ", batch, "; categories stay together");
  auto keys = random::split(k, s.back());
  Arrays columns;
  for (std::int64_t c = 0; c < s.back(); ++c) {
    auto count = binomial(detail::element(keys, c), left, index_in_dim(ratio, -1, c), batch, d, draw);
    columns.push_back(count);
    left = left - count;
  }
  return columns.empty() ? zeros(s, dtype) : stack(columns, -1).astype(dtype);
}
}  // namespace bora::random
