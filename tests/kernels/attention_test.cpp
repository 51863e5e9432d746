// Attention's kernel: the same bits for every number of threads and on every instruction set. Values are compared in
// ops/attention_test.cpp.
#include "kernels/api/attention.h"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <vector>
#include "bora/base/parallel.h"
#include "compile/api/program.h"

namespace bora::kernels::attention_test {
namespace {
using I = std::int64_t;
struct Numbers {
  unsigned x = 7;
  double operator()() {
    x = x * 1664525u + 1013904223u;
    return static_cast<double>(x >> 8) / (1 << 23) - 1;
  }
};
/// A problem with every option, or with none.
template <class T> struct Problem {
  using C = std::conditional_t<sizeof(T) == 8, double, float>;
  AttentionCall c;
  std::vector<T> q, k, v, d_out, out, dq, dk, dv;
  std::vector<C> bias, lse, delta, dbias;
  std::vector<unsigned char> mask;
  std::vector<std::int32_t> query_segments, key_segments, window;
  std::vector<std::uint32_t> key{7, 9};
  std::vector<I> row, zero, by_batch, batch_at, query_at, key_at, row_at;
  Problem(I B, I S, I T_, I K, I G, I D, I E, bool options) {
    Numbers next;
    auto fill = [&](auto& x, I n) {
      x.resize(static_cast<std::size_t>(n));
      for (auto& e : x) e = static_cast<std::remove_reference_t<decltype(e)>>(static_cast<C>(next()));
    };
    fill(q, B * S * K * G * D), fill(k, B * T_ * K * D), fill(v, B * T_ * K * E), fill(d_out, B * S * K * G * E);
    fill(delta, B * K * G * S);
    out = d_out, dq = q, dk = k, dv = v, lse = delta;
    constexpr Dtype d = sizeof(T) == 8 ? f64 : sizeof(T) == 4 ? f32 : bf16;
    c = {.dtype = d,
         .batch = B,
         .heads = K,
         .group = G,
         .queries = S,
         .keys = T_,
         .dim = D,
         .value_dim = E,
         .scale = 0.3,
         .left = S + T_,
         .right = 0,
         .q = q.data(),
         .k = k.data(),
         .v = v.data()};
    if (!options) return;
    c.soft_cap = 2, c.left = 90, c.right = 40, c.keep = 0.8f;
    for (I b = 0; b < B; ++b)
      zero.push_back(0), by_batch.push_back(b * S * T_), query_at.push_back(b * S), key_at.push_back(b * T_),
          row_at.push_back(b * K * G), batch_at.push_back(b), window.push_back(static_cast<int>(80 - 20 * b));
    for (I i = 0; i < B * S * T_; ++i) mask.push_back(next() > -0.7);
    fill(bias, G * S * T_);
    dbias = bias;
    for (I i = 0; i < B * S; ++i) query_segments.push_back(static_cast<int>(i % S / 70));
    for (I i = 0; i < B * T_; ++i) key_segments.push_back(static_cast<int>(i % T_ / 60));
    for (I i = 0; i < B * K * G; ++i) row.push_back((I{1} << 33) + i);
    c.mask = {mask.data(), by_batch.data(), 0, 0, T_, 1};
    c.bias = {bias.data(), zero.data(), 0, S * T_, T_, 1};
    c.query_segments = {query_segments.data(), query_at.data(), 0, 0, 1, 0};
    c.key_segments = {key_segments.data(), key_at.data(), 0, 0, 0, 1};
    c.random_key = {key.data(), zero.data()};
    c.row = {row.data(), row_at.data(), G, 1};
    c.window = {window.data(), batch_at.data()};
  }
  /// Everything that comes out, as bytes.
  std::string run(Isa which, int threads) {
    set_thread_count(threads);
    attention(c, out.data(), lse.data(), which);
    attention_gradient(c,
                       {d_out.data(), lse.data(), delta.data(), dq.data(), dk.data(), dv.data(),
                        dbias.empty() ? nullptr : dbias.data(), static_cast<I>(dbias.size())},
                       which);
    set_thread_count(0);
    std::string r;
    auto add = [&](const auto& x) { r.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(x[0])); };
    add(out), add(lse), add(dq), add(dk), add(dv), add(dbias);
    return r;
  }
};
template <class T> class AttentionKernel : public testing::Test {};
using Types = testing::Types<float, double, bfloat16>;
TYPED_TEST_SUITE(AttentionKernel, Types);
TYPED_TEST(AttentionKernel, BitsDependOnTheProblemOnly) {
  for (bool options : {false, true})
    for (auto [B, S, T, K, G, D, E] : {std::array<I, 7>{1, 150, 200, 1, 2, 20, 33},
                                       {2, 64, 64, 3, 1, 64, 64},
                                       {1, 1, 130, 1, 1, 5, 16},
                                       {1, 131, 70, 1, 1, 96, 80}}) {
      Problem<TypeParam> p(B, S, T, K, G, D, E, options);
      auto want = p.run(Isa::v3, 1);
      for (int threads : {2, 5})
        EXPECT_TRUE(p.run(Isa::v3, threads) == want) << "threads " << threads << ", S " << S << ", options " << options;
      if (__builtin_cpu_supports("x86-64-v4")) {
        EXPECT_TRUE(p.run(Isa::v4, 2) == want) << "v4, S " << S << ", options " << options;
      }
    }
}
}  // namespace
}  // namespace bora::kernels::attention_test
