// Every line of tests/golden/random.txt (made by JAX, see make_random.py), drawn again.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "support/golden.h"

namespace bora::golden_test {
namespace {
struct Line {
  std::string sampler, text;
  Array key;
  Dtype dtype;
  Shape shape;
  std::vector<std::string> params;
  std::vector<std::uint64_t> bits;
  double number(std::size_t i) const { return std::stod(params.at(i)); }
  std::int64_t integer(std::size_t i) const { return std::stoll(params.at(i)); }
};
std::vector<Line> lines() {
  std::vector<Line> r;
  for (auto& g : test::golden_lines("random.txt")) {
    auto& p = g.parameters;  // the key's words, the dtype, the shape, the sampler's own
    Line l;
    l.sampler = g.name, l.text = g.text;
    const std::uint32_t words[] = {static_cast<std::uint32_t>(std::stoul(p[0], nullptr, 16)),
                                   static_cast<std::uint32_t>(std::stoul(p[1], nullptr, 16))};
    l.key = from_bytes({{}, Dtype::key}, words);
    l.dtype = parse_dtype(p[2]);
    for (auto n : test::numbers(p[3])) l.shape.push_back(n);
    l.params.assign(p.begin() + 4, p.end());
    for (auto& word : g.values) l.bits.push_back(std::stoull(word, nullptr, 16));
    r.push_back(std::move(l));
  }
  return r;
}
std::vector<std::uint64_t> bits_of(const Array& x) {
  std::vector<std::uint64_t> r;
  auto size = dtype_size(x.dtype());
  auto* p = static_cast<const char*>(x.bytes());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::uint64_t b = 0;
    std::memcpy(&b, p + static_cast<std::size_t>(i) * size, size);
    r.push_back(b);
  }
  return r;
}
Array draw(const Line& l) {
  namespace r = random;
  const auto& s = l.sampler;
  const auto& k = l.key;
  auto logits = [] {
    std::vector<float> v;
    for (int i = 0; i < 12; ++i) v.push_back(static_cast<float>(std::sin(static_cast<double>(i))));
    return asarray(v, Shape{4, 3});
  };
  auto rows = reshape(arange(12), {4, 3});
  auto p = array({1, 2, 4, 1, 8}, f32) / 16;
  auto shapes = array({0.1, 0.5, 1.0, 2.5, 30.0, 0.9});
  if (s == "bits") return r::bits(k, l.shape, l.dtype);
  if (s == "split") return r::key_data(index_in_dim(r::split(k, 3), 0, l.integer(0)));
  if (s == "fold_in") return r::key_data(r::fold_in(k, l.integer(0)));
  if (s == "uniform") return r::uniform(k, l.shape, l.dtype, l.number(0), l.number(1));
  if (s == "normal") return r::normal(k, l.shape, l.dtype);
  if (s == "gumbel") return r::gumbel(k, l.shape, l.dtype);
  if (s == "exponential") return r::exponential(k, l.shape, l.dtype);
  if (s == "laplace") return r::laplace(k, l.shape, l.dtype);
  if (s == "logistic") return r::logistic(k, l.shape, l.dtype);
  if (s == "randint") return r::randint(k, l.shape, l.integer(0), l.integer(1), l.dtype);
  if (s == "truncated_normal") return r::truncated_normal(k, l.number(0), l.number(1), l.shape, l.dtype);
  if (s == "bernoulli") return r::bernoulli(k, l.number(0), l.shape);
  if (s == "bernoulli_bf16") return r::bernoulli(k, array(l.number(0), bf16), l.shape);
  if (s == "rademacher") return r::rademacher(k, l.shape);
  if (s == "permutation") return r::permutation(k, l.integer(0));
  if (s == "permutation_rows") return r::permutation(k, rows);
  if (s == "permutation_independent") return r::permutation(k, rows, {.axis = 1, .independent = true});
  if (s == "categorical") return r::categorical(k, logits());
  if (s == "categorical_axis0") return r::categorical(k, logits(), 0);
  if (s == "categorical_shape") return r::categorical(k, logits(), -1, l.shape);
  if (s == "choice") return r::choice(k, 40, l.shape);
  if (s == "choice_once") return r::choice(k, 40, l.shape, {.replace = false});
  if (s == "choice_p") return r::choice(k, 5, l.shape, {.p = p});
  if (s == "choice_p_once") return r::choice(k, 5, l.shape, {.replace = false, .p = p});
  if (s == "gamma") return r::gamma(k, shapes);
  if (s == "loggamma") return r::loggamma(k, shapes);
  if (s == "dirichlet") return r::dirichlet(k, shapes, Shape{2});
  throw std::runtime_error("no such sampler: " + s);
}
/// Is the sampler one of those that docs/numerics.md promises exactly? Everything else goes through a
/// logarithm or erf_inv.
bool exact(const Line& l) {
  for (auto name : {"bits", "split", "fold_in", "uniform", "randint", "bernoulli", "bernoulli_bf16", "rademacher",
                    "permutation", "permutation_rows", "permutation_independent", "categorical", "categorical_axis0",
                    "categorical_shape", "choice", "choice_once", "choice_p", "choice_p_once"})
    if (l.sampler == name) return true;
  return l.sampler == "normal" && l.dtype == bf16;
}
template <class T> double value_of(std::uint64_t bits) {
  T x;
  std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
  return static_cast<double>(x);
}
double value_of(std::uint64_t bits, Dtype d) {
  return d == f64    ? value_of<double>(bits)
         : d == bf16 ? static_cast<double>(value_of<bfloat16>(bits))
                     : value_of<float>(bits);
}

TEST(Golden, EveryLineOfJax) {
  auto all = lines();
  ASSERT_GT(all.size(), 150u);
  for (auto& l : all) {
    SCOPED_TRACE(l.text);
    Array x;
    ASSERT_NO_THROW(x = draw(l));
    ASSERT_EQ(x.dtype(), l.dtype);
    ASSERT_EQ(x.shape(), l.shape);
    auto got = bits_of(x);
    if (exact(l)) {
      EXPECT_EQ(got, l.bits);
      continue;
    }
    auto rtol = l.dtype == f64                                                                ? 1e-14
                : l.dtype == bf16                                                             ? 0x1p-7
                : l.sampler == "gamma" || l.sampler == "loggamma" || l.sampler == "dirichlet" ? 3e-6
                                                                                              : 1e-6;
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto want = value_of(l.bits[i], l.dtype), have = value_of(got[i], l.dtype);
      // Related to normal, as random.h states.
      bool kin = l.dtype != bf16 && l.sampler != "gamma" && l.sampler != "loggamma" && l.sampler != "dirichlet";
      EXPECT_NEAR(have, want, rtol * std::max(std::abs(want), kin ? 0. : 0.1)) << "element " << i;
    }
  }
}
}  // namespace
}  // namespace bora::golden_test
