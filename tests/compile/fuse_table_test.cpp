// Loops that fusion makes of the patterns of training: passes over memory, and bytes moved beside the least there can
// be.
#include <gtest/gtest.h>
#include "compile/api/executable.h"
#include "bora/fx/core.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "bora/optim/optim.h"
#include "bora/random/random.h"
#include "compile/testing.h"

namespace bora::fuse_table_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;

struct Case {
  std::string name;
  FlatFn f;
  Arrays in;
  std::size_t kernels = 1;
  double bytes = 1.0;  // moved, over those of inputs and outputs once
};
/// The gradients of `wrt` inputs of f; the last input is the cotangent of its result.
FlatFn backward(const FlatFn& f, const Mask& wrt) {
  return [=](const Arrays& a) {
    auto v = fx::vjp_flat(f, Arrays(a.begin(), a.end() - 1), wrt);
    Arrays r;
    for (auto& g : v.pullback({a.back()}))
      if (g.defined() && wrt[r.size()]) r.push_back(g);
    return r;
  };
}
FlatFn both(const FlatFn& f, const Mask& wrt) {
  return [=](const Arrays& a) {
    auto v = fx::vjp_flat(f, a, wrt);
    auto r = v.out;
    auto g = v.pullback({ones_like(v.out[0])});
    for (std::size_t i = 0; i < wrt.size(); ++i)
      if (wrt[i]) r.push_back(g[i]);
    return r;
  };
}
Arrays adamw(const Arrays& a, bool narrow) {
  auto &p = a[0], &mu = a[1], &nu = a[2], &g = a[3], &count = a[4];
  auto o = optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.1});
  optim::Leaves leaves{{"w"}, {p}};
  optim::State s{{{"adam.count", count}, {"adam.mu.w", mu}, {"adam.nu.w", nu}, {"learning_rate.count", count}}};
  auto [u, next] = o.update_flat({g}, s, leaves);
  auto r = optim::apply_updates_flat({p}, u);
  r.push_back(next.entries.at("adam.mu.w"));
  r.push_back(next.entries.at("adam.nu.w"));
  if (narrow) r.push_back(r[0].astype(bf16));
  return r;
}
Array labels(std::int64_t n, std::int64_t classes) {
  std::vector<std::int32_t> v;
  for (std::int64_t k = 0; k < n; ++k) v.push_back(static_cast<std::int32_t>(k * 7 % classes));
  return from_bytes({{n}, i32}, v.data());
}
std::vector<Case> cases() {
  auto x = numbers({4, 32, 96}, 1), ct = numbers({4, 32, 96}, 2), w = numbers({96}, 3), b = numbers({96}, 4);
  const std::uint32_t words[] = {7, 9};
  auto key = from_bytes({{}, Dtype::key}, words);
  auto soft = [](const Arrays& a) { return Arrays{softmax(a[0])}; };
  auto masked = [](const Arrays& a) {
    auto t = a[0].shape(-1);
    auto causal = broadcast_to(iota({t, t}, 0) >= iota({t, t}, 1), a[0].shape());
    return Arrays{softmax(where(causal, a[0] * 0.125, -1e30))};
  };
  auto lse = [](const Arrays& a) { return Arrays{logsumexp(a[0], -1)}; };
  auto norm = [](const Arrays& a) { return Arrays{layer_norm(a[0], a[1], a[2])}; };
  auto rms = [](const Arrays& a) { return Arrays{rms_norm(a[0], a[1])}; };
  auto loss = [](const Arrays& a) { return Arrays{mean(cross_entropy(a[0], a[1]))}; };
  auto dropout = [](const Arrays& a) {
    auto s = a[0].shape();
    auto bits = call_one(ops::RandomBits{s, u32, {}, s}, {a[3]});
    auto y = a[0] + a[1];
    y = y * 0.5 * (1.0 + tanh(0.7978845608 * (y + 0.044715 * y * y * y)));
    return Arrays{where(bits < constant(0xc0000000u, u32), y / 0.75, 0.0) + a[2]};
  };
  auto clipped = [](const Arrays& a) {
    auto norm = optim::global_norm_of(a);
    Arrays r;
    for (auto& g : a) r.push_back(where(norm < 1.0, g, g / norm));
    r.push_back(norm);
    return r;
  };
  // A layer reads only its weights: the mask and the scaled table are computed before the loop, unread values never.
  auto layers = [](const Arrays& a) {
    auto body = [&](const Arrays& c) {
      auto n = c[0].shape(-1);
      auto below = iota({n, n}, 0) >= iota({n, n}, 1);
      auto y = softmax(where(below, c[0] * broadcast_in_dim(c[1], {n, n}, {1}), -1e30)) + exp(a[1] * 0.5);
      return Arrays{y, exp(y)};
    };
    return Arrays{fx::scan_flat(body, {a[0]}, {a[2]}, 6, false)[0]};
  };
  auto scores = numbers({2, 3, 48, 48}, 5), logits = numbers({64, 300}, 6);
  Mask one{true, false, false, false};
  return {
      {"softmax", soft, {x}},
      {"softmax bf16", soft, {x.astype(bf16)}},
      {"softmax backward", backward(soft, {true}), {x, ct}},
      // The mask is made once, not for every head.
      {"masked softmax", masked, {scores}, 2, 1.05},
      {"masked softmax backward", backward(masked, {true}), {scores, numbers({2, 3, 48, 48}, 7)}, 2, 1.05},
      {"log-sum-exp", lse, {x}},
      {"log-sum-exp backward", both(lse, {true}), {x}},
      {"layer norm", norm, {x, w, b}},
      {"layer norm bf16", norm, {x.astype(bf16), w, b}},
      {"layer norm backward", backward(norm, {true, true, true}), {x, w, b, ct}},
      {"rms norm", rms, {x, w}},
      {"rms norm backward", backward(rms, {true, true}), {x, w, ct}},
      // And the mean of the losses.
      {"cross entropy", loss, {logits, labels(64, 300)}, 2, 1.01},
      {"cross entropy forward and backward", both(loss, {true, false}), {logits, labels(64, 300)}, 2, 1.01},
      {"cross entropy bf16", both(loss, {true, false}), {logits.astype(bf16), labels(64, 300)}, 2, 1.01},
      {"bias, gelu, dropout, residual", dropout, {x, w, ct, key}},
      {"its backward", backward(dropout, {true, true, true, false}), {x, w, ct, key, numbers({4, 32, 96}, 9)}},
      {"AdamW", [](const Arrays& a) { return adamw(a, false); }, {x, ct, abs(ct), ct + 1.0, constant(3, i32)}},
      {"AdamW with a bf16 copy",
       [](const Arrays& a) { return adamw(a, true); },
       {x, ct, abs(ct), ct + 1.0, constant(3, i32)}},
      // The norm is known behind the first pass over all gradients: three loops for their squares, two to scale them.
      // Six times a pass over carry, mask and table.
      {"scan over layers", layers, {numbers({48, 48}, 1), numbers({48, 48}, 2), numbers({6, 48}, 3)}, 2, 7.0},
      {"clipping", clipped, {x, ct, w}, 4, 1.5},
  };
}
TEST(FuseTable, PassesAndBytes) {
  for (auto& c : cases()) {
    SCOPED_TRACE(c.name);
    auto p = stage(c.f, types_of(c.in)).program;
    auto e = executable(p);
    auto& i = e->info();
    EXPECT_EQ(i.kernels, c.kernels) << e->explain();
    EXPECT_LE(i.moved_bytes, (c.bytes + 1e-3) * static_cast<double>(i.input_bytes + i.output_bytes)) << e->explain();
    same_bits(e->run(c.in), c.f(c.in), e->explain());
  }
}
/// f compiled for donated inputs too: a loop writes over what its sums have read.
void agrees(const FlatFn& f, const Arrays& in, std::size_t kernels) {
  auto p = stage(f, types_of(in)).program;
  Mask all(in.size(), true);
  for (auto& e : {executable(p), executable(p, all)}) {
    EXPECT_EQ(e->info().kernels, kernels) << e->explain();
    same_bits(e->run(compile_tests::copies(in), all), f(in), e->explain());
  }
}
TEST(FuseTable, SumsOverRowsRideAlong) {
  auto f = [](const Arrays& a) {
    auto y = tanh(a[0]) * a[1], column = iota(y.shape(), y.ndim() - 1, y.dtype());
    Dims rows;
    for (std::int64_t d = 0; d + 1 < y.ndim(); ++d) rows.push_back(d);
    return Arrays{y, sum(y, rows), amax(a[0] * a[0], rows), sum(a[0], rows), sum(a[0] * column, rows)};
  };
  for (Dtype d : {f32, f64, bf16})
    for (Shape s : {Shape{1, 130, 40}, Shape{3, 67, 24}, Shape{700, 16}, Shape{2, 5, 9, 600}, Shape{64, 33}}) {
      SCOPED_TRACE(to_string(Type{s, d}));
      agrees(f, {numbers(s, 1, d), numbers({s.back()}, 2, d)}, 1);
    }
  // With a loop that reduces rows, and operands of each kind: a row of 700 in portions, positions, indices.
  auto g = [](const Arrays& a) {
    auto s = a[0].shape();
    auto x = a[0] + broadcast_in_dim(a[1], s, {1, 2}) * iota(s, 1, f32);
    auto y = softmax(x) - x;
    return Arrays{y, sum(y * a[2], {0, 1}), sum(x, {0, 1}), sum(iota(s, 0, f32) * x, {0, 1})};
  };
  for (Shape s : {Shape{3, 70, 20}, Shape{90, 1, 700}, Shape{600, 3, 64}})
    agrees(g, {numbers(s, 1), numbers({s[1], s[2]}, 2), numbers(s, 3)}, 1);
}
TEST(FuseTable, ValuesOf32And64BitsShareALoop) {
  auto masked = [](const Arrays& a) {  // comparisons and selections on both sides
    auto row = iota(a[0].shape(), 0, i32), column = iota(a[0].shape(), 1, i32);
    auto small = a[1] + column.astype(a[1].dtype());
    auto y = where(row < column, a[0], -a[0]) * small.astype(f64);
    auto z = where(a[0] > 0.0, small, -small), whole = (a[0] * 100).astype(i64);
    auto last = sum(y, 1) + amax(small.astype(f64), 1), low = bitwise_and(whole, 7).astype(f32);
    return Arrays{y, z, (a[1] > z).astype(f64) + y, whole.astype(i32) + row, low, row < column, last};
  };
  for (Dtype d : {f32, bf16, i32, u32, u8})
    for (Shape s : {Shape{3, 40}, Shape{17, 300}, Shape{9, 33}}) {
      SCOPED_TRACE(to_string(Type{s, d}));
      agrees(masked, {numbers(s, 1, f64), numbers(s, 2, d)}, 1);
    }
  auto drawn = [](const Arrays& a) {
    auto key = a[1];
    auto keep = random::bernoulli(key, 0.7, a[0].shape());
    return Arrays{where(keep, a[0] / 0.7, 0.0), random::normal(key, a[0].shape(), f64) * a[0],
                  random::uniform(key, a[0].shape()).astype(f64) + a[0]};
  };
  for (Shape s : {Shape{3, 40}, Shape{300}, Shape{1, 1}, Shape{70, 33}})
    agrees(drawn, {numbers(s, 1, f64), random::key(3)}, 1);
}
TEST(FuseTable, ShortVectorsAreComponents) {
  auto pairs = [](const Arrays& a) {
    auto n = a[0].shape(0), m = a[1].shape(0), k = a[0].shape(1);
    auto d = reshape(a[0], {n, 1, k}) - reshape(a[1], {1, m, k});
    auto squares = sum(d * d, -1);
    auto near = d * reshape(squares + a[0].shape(0), {n, m, 1});
    return Arrays{squares, sum(near, 1), amax(near, 1), sum(d * -0.0F, -1), sum(near, 0), amin(d, 2)};
  };
  for (Dtype d : {f32, f64, i32, bf16})
    for (std::int64_t k : {1, 2, 3, 4, 5, 7, 8, 9})
      for (auto [n, m] : {std::pair{70, 90}, {33, 64}, {1, 5000}, {5, 3}}) {
        SCOPED_TRACE(to_string(Type{{n, m, k}, d}));
        Arrays in{numbers({n, k}, 1, d), numbers({m, k}, 2, d)};
        auto f = d == i32 ? FlatFn([&](const Arrays& a) {
          auto x = reshape(a[0], {n, 1, k}) - reshape(a[1], {1, m, k});
          return Arrays{sum(x * x, -1), sum(x, 1), amax(x, 1)};
        })
                          : FlatFn(pairs);
        auto e = executable(stage(f, types_of(in)).program);
        same_bits(e->run(in), f(in), e->explain());
      }
  Arrays in{numbers({80, 3}, 1), numbers({70, 3}, 2)};
  auto distances = [&](const Arrays& a) { return Arrays{pairs(a)[0]}; };
  auto slopes = backward(distances, {true, true});
  in.push_back(numbers({80, 70}, 3));
  auto e = executable(stage(slopes, types_of(in)).program);
  same_bits(e->run(in), slopes(in), e->explain());
  EXPECT_EQ(executable(stage(distances, {in[0].type(), in[1].type()}).program)->explain().find("80, 70, 3"),
            std::string::npos);
}
TEST(FuseTable, ExplainSaysWhatIsApart) {
  auto explained = [](const FlatFn& f, const Arrays& in) {
    return executable(stage(f, types_of(in)).program)->explain();
  };
  auto x = numbers({40, 32}, 1);
  auto sums = explained([](const Arrays& a) { return Arrays{sum(exp(a[0]), 0), a[0] * 2.0}; }, {x});
  EXPECT_NE(sums.find("sum of #2 over rows, which is not kept"), std::string::npos) << sums;
  EXPECT_NE(sums.find("bytes moved"), std::string::npos) << sums;
  auto says = [&](const FlatFn& f, const Arrays& in, const std::string& why) {
    auto text = explained(f, in);
    EXPECT_NE(text.find(why), std::string::npos) << text;
  };
  says([](const Arrays& a) { return Arrays{exp(a[0]) + transpose(exp(a[0])) * matmul(exp(a[0]), a[0]), exp(a[0])}; },
       {numbers({32, 32}, 1)}, "a kernel between them needs the one and is needed by the other");
  says([](const Arrays& a) { return Arrays{a[0] - sum(a[0] * 2.0, 0)}; }, {x},
       "before all of them are made");
  says([](const Arrays& a) { return Arrays{exp(sum(exp(a[0]), 1).astype(f64))}; }, {x},
       "one reduces in 4 bytes, the other computes in 8");
  says(
      [](const Arrays& a) {
        return Arrays{reshape(exp(a[0]), {8, 160}) -
                      amax(reshape(exp(a[0]), {8, 160}), 1, {.keepdims = true}) * sum(sum(exp(a[0]), 1))};
      },
      {x}, "apart");
}
}  // namespace
}  // namespace bora::fuse_table_test
