// Fused = eager, bit for bit: the patterns that must be one pass over memory, and random Programs.
#include <gtest/gtest.h>
#include <random>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "ops/api/product.h"
#include "compile/testing.h"

namespace bora::fuse_test {
namespace {
using compile_tests::donated::agrees;
using compile_tests::numbers;
using compile_tests::same_bits;

Array plain_softmax(const Array& x) {
  auto m = amax(x, -1, {.keepdims = true});
  auto e = exp(x - m);
  return e / sum(e, -1, {.keepdims = true});
}
Array plain_log_softmax(const Array& x) {
  auto y = x - amax(x, -1, {.keepdims = true});
  return y - log(sum(exp(y), -1, {.keepdims = true}));
}
Arrays plain_layer_norm(const Array& x, const Array& w, const Array& b) {
  auto m = mean(x, -1, {.keepdims = true});
  auto c = x - m;
  auto r = rsqrt(mean(c * c, -1, {.keepdims = true}) + 1e-5);
  return {c * r * w + b, m, r};
}
Array gelu_of(const Array& x) { return x * 0.5 * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }

TEST(Fuse, Softmax) {
  for (Dtype d : {f32, f64, bf16})
    for (Shape s : {Shape{4, 7}, Shape{3, 2, 40}, Shape{1, 300}, Shape{5, 1}}) {
      EXPECT_LE(agrees([](const Arrays& a) { return Arrays{plain_softmax(a[0])}; }, {numbers(s, 1, d)}).kernels,
                s.back() == 1 ? 9u : 1u)
          << s << " " << d;
      EXPECT_LE(agrees([](const Arrays& a) { return Arrays{plain_log_softmax(a[0])}; }, {numbers(s, 1, d)}).kernels,
                s.back() == 1 ? 9u : 1u)
          << s << " " << d;
    }
}
TEST(Fuse, MaskedSoftmaxOfScores) {
  auto f = [](const Arrays& a) {
    auto t = a[0].shape(-1);
    auto causal = broadcast_to(iota({t, t}, 0) >= iota({t, t}, 1), a[0].shape());
    return Arrays{plain_softmax(select(causal, a[0] * 0.125, full_of(a[0].type(), -1e30)))};
  };
  EXPECT_EQ(agrees(f, {numbers({2, 3, 6, 6}, 1)}).kernels, 2u);  // the mask is made once, not for every head
}
TEST(Fuse, LayerNormForward) {
  auto f = [](const Arrays& a) { return plain_layer_norm(a[0], a[1], a[2]); };
  EXPECT_EQ(agrees(f, {numbers({2, 5, 24}, 1), numbers({24}, 2), numbers({24}, 3)}).kernels, 1u);
}
TEST(Fuse, LayerNormBackward) {
  auto f = [](const Arrays& a) {
    auto &x = a[0], &w = a[1], &m = a[2], &r = a[3], &ct = a[4];
    auto xhat = (x - m) * r, g = ct * w;
    auto dx = r * (g - mean(g, -1, {.keepdims = true}) - xhat * mean(g * xhat, -1, {.keepdims = true}));
    return Arrays{dx, sum(ct * xhat, {0, 1}), sum(ct, {0, 1})};
  };
  auto i = agrees(f, {numbers({2, 5, 24}, 1), numbers({24}, 2), numbers({2, 5, 1}, 3), numbers({2, 5, 1}, 4),
                      numbers({2, 5, 24}, 5)});
  EXPECT_EQ(i.kernels, 1u);
}
TEST(Fuse, BiasGeluDropoutResidual) {
  auto f = [](const Arrays& a) {
    auto bits = call_one(ops::RandomBits{{4, 6, 16}, u32, {}, {4, 6, 16}}, {a[3]});
    auto keep = bits < constant(0xc0000000u, u32);
    auto y = gelu_of(a[0] + a[1]);
    return Arrays{select(keep, y / 0.75, zeros_like(y)) + a[2]};
  };
  const std::uint32_t words[] = {7, 9};
  EXPECT_EQ(
      agrees(f, {numbers({4, 6, 16}, 1), numbers({16}, 2), numbers({4, 6, 16}, 3), from_bytes({{}, Dtype::key}, words)})
          .kernels,
      1u);
}
TEST(Fuse, BlocksOfRandomDraws) {
  auto f = [](const Arrays& a) {
    auto bits = call_one(ops::RandomBits{{4, 6}, u32, {}, {2, 3}}, {a[0], a[1], a[2] + constant(1, i32)});
    return Arrays{bits & constant(0xffffu, u32)};
  };
  const std::uint32_t words[] = {7, 9, 11, 13};
  agrees(f, {from_bytes({{}, Dtype::key}, words), constant(2, i32), constant(1, i32)});
  auto g = [](const Arrays& a) {
    return Arrays{call_one(ops::RandomBits{{4, 6}, i64, {}, {4, 6}}, {a[0]}) & constant(1023, i64)};
  };
  EXPECT_EQ(agrees(g, {from_bytes({{2}, Dtype::key}, words)}).kernels, 1u);
}
TEST(Fuse, AdamW) {
  auto f = [](const Arrays& a) {
    auto &p = a[0], &m = a[1], &v = a[2], &g = a[3], &rate = a[4];
    auto m2 = 0.9 * m + 0.1 * g, v2 = 0.99 * v + 0.01 * g * g;
    auto p2 = p - rate * (m2 / (sqrt(v2) + 1e-8) + 0.1 * p);
    return Arrays{p2, m2, v2, p2.astype(bf16)};
  };
  Arrays in{numbers({8, 40}, 1), numbers({8, 40}, 2), abs(numbers({8, 40}, 3)), numbers({8, 40}, 4), numbers({}, 5)};
  EXPECT_EQ(agrees(f, in).kernels, 1u);
  Mask d{true, true, true, false, false};
  auto p = stage(f, types_of(in)).program;
  EXPECT_EQ(executable(p, d)->info().donated_bytes, 3u * 8 * 40 * 4) << executable(p, d)->explain();
  EXPECT_EQ(executable(p, d)->info().slab_bytes, 0u);
}
TEST(Fuse, CrossEntropyOfARow) {
  auto f = [](const Arrays& a) {
    auto y = plain_log_softmax(a[0].astype(f32));
    auto hot = broadcast_to(expand_dims(a[1], -1), a[0].shape()) == iota(a[0].shape(), 1);
    auto loss = negative(sum(select(hot, y, zeros_like(y)), -1));
    return Arrays{mean(loss), (exp(y) - hot.astype(f32)).astype(bf16)};
  };
  const std::int32_t labels[] = {3, 0, 70, 2};
  EXPECT_LE(agrees(f, {numbers({4, 80}, 1, bf16), from_bytes({{4}, i32}, labels)}).kernels, 2u);
}
TEST(Fuse, ValuesOfTwoWidthsAreNotMixed) {
  agrees(
      [](const Arrays& a) {
        return Arrays{exp((a[0] * 2.0).astype(f64)) + a[1], (exp(a[1]) * 2.0).astype(f32) + a[0]};
      },
      {numbers({3, 9}, 1), numbers({3, 9}, 2, f64)});
  agrees(
      [](const Arrays& a) {
        return Arrays{(a[0] > 0.0).astype(f64) * a[1], iota({3, 9}, 1).astype(f64) * a[1]};
      },
      {numbers({3, 9}, 1), numbers({3, 9}, 2, f64)});
}
TEST(Fuse, NoPathLeavesAndComesBack) {
  agrees(
      [](const Arrays& a) {
        auto y = exp(a[0]);
        auto z = matmul(y, y);  // outside, between two members of one chain
        return Arrays{y * z + a[0], plain_softmax(z) + y};
      },
      {numbers({6, 6}, 1)});
}
TEST(Fuse, ManyOperands) {
  agrees(
      [](const Arrays& a) {
        Arrays r;
        auto total = a[0];
        for (std::size_t k = 1; k < a.size(); ++k) {
          total = total * 0.5 + a[k];
          r.push_back(total);
        }
        return r;
      },
      [] {
        Arrays a;
        for (int k = 0; k < 70; ++k) a.push_back(numbers({2, 3}, static_cast<std::uint64_t>(k)));
        return a;
      }());
}
TEST(Fuse, BroadcastsOfEveryKind) {
  agrees(
      [](const Arrays& a) {
        auto s = a[0].shape();
        auto x =
            a[0] + broadcast_in_dim(a[1], s, {1}) * broadcast_in_dim(a[2], s, {0, 2}) - broadcast_in_dim(a[3], s, {2});
        auto y = reshape(x, {12, 5}) * broadcast_in_dim(a[3], {12, 5}, {1});
        auto twice = broadcast_in_dim(broadcast_in_dim(a[1], {4, 5}, {0}), s, {1, 2});
        return Arrays{reshape(y, s) + twice, broadcast_in_dim(a[3], s, {2}), sum(x, -1), sum(y, 0), sum(x, {1, 2})};
      },
      {numbers({3, 4, 5}, 1), numbers({4}, 2), numbers({3, 5}, 3), numbers({5}, 4)});
}
TEST(Fuse, CanBeSwitchedOff) {
  auto compiled = [](const CompileOptions& options) {
    auto f = [](const Arrays& a) { return Arrays{plain_softmax(a[0])}; };
    return executable(stage(f, {{{4, 7}, f32}}, {}, options).program);
  };
  auto fused = compiled({})->run({numbers({4, 7}, 1)});
  auto plain = compiled({.fuse = false});
  EXPECT_EQ(plain->info().fused, 0u);
  EXPECT_GT(plain->info().kernels, 3u);
  same_bits(plain->run({numbers({4, 7}, 1)}), fused);
}

// ---- slices, pads, concatenations: read where they lie -------------------------------------------------------------
/// Five points of the heat equation: walls of `wall` in dimension d, periodic in the last one.
Array heat_step(const Array& x, const Array& k, std::int64_t d, int wall) {
  auto n = x.shape(d);
  Dims none(static_cast<std::size_t>(x.ndim())), one = none;
  one[static_cast<std::size_t>(d)] = 1;
  auto above = pad(slice_in_dim(x, d, 0, n - 1), one, none, wall);
  auto below = pad(slice_in_dim(x, d, 1, n), none, one, wall);
  return x + k * (above + below + roll(x, 1, -1) + roll(x, -1, -1) - 4 * x);
}
TEST(Fuse, StencilIsOneLoop) {
  for (Dtype type : {f32, f64, bf16, i32})
    for (Shape s : {Shape{6, 20}, Shape{2, 3}, Shape{3, 5, 7}, Shape{300, 500}}) {
      auto f = [](const Arrays& a) { return Arrays{heat_step(a[0], a[1], a[0].ndim() - 2, 2)}; };
      EXPECT_EQ(agrees(f, {numbers(s, 1, type), numbers(s, 2, type)}).kernels, 1u) << s << " " << type;
    }
  auto walls = [](const Arrays& a) { return Arrays{heat_step(a[0], a[1], 0, 0) * heat_step(a[0], a[1], 1, 0)}; };
  EXPECT_EQ(agrees(walls, {numbers({5, 6, 7}, 1), numbers({5, 6, 7}, 2)}).kernels, 1u);
}
TEST(Fuse, SlicesAndPadsOfEveryKind) {
  auto one = [](const FlatFn& f, std::size_t kernels = 1) {
    auto i = agrees(f, {numbers({6, 20}, 1), numbers({6, 20}, 2), numbers({6, 40}, 3), numbers({12, 20}, 4)});
    EXPECT_EQ(i.kernels, kernels);
  };
  one([](const Arrays& a) { return Arrays{slice(a[0], {1, 2}, {5, 19}) * slice(a[1], {2, 0}, {6, 17})}; });
  one([](const Arrays& a) { return Arrays{a[0] - slice(a[3], {1, 0}, {12, 20}, {2, 1})}; });
  one([](const Arrays& a) { return Arrays{a[0] - slice(a[2], {0, 1}, {6, 40}, {1, 2})}; });
  one([](const Arrays& a) { return Arrays{a[0] * pad(a[3], {-3, 0}, {-3, 0})}; });
  one([](const Arrays& a) { return Arrays{a[0] * pad(a[2], {0, -30}, {0, 10}, 3)}; });
  one([](const Arrays& a) { return Arrays{a[0] * pad(a[3], {-20, 0}, {14, 0}, 3)}; });  // the value alone
  one([](const Arrays& a) { return Arrays{a[0] * pad(a[0], {0, 0}, {0, -19}, 1, {0, 1})}; }, 2u);
  one([](const Arrays& a) { return Arrays{a[3] * concatenate({a[0], a[1]}, 0)}; });
  one([](const Arrays& a) { return Arrays{a[2] * concatenate({a[0], a[1]}, 1)}; });
  one([](const Arrays& a) { return Arrays{a[0] - broadcast_to(slice(a[1], {2, 0}, {3, 20}), {6, 20})}; });
  one([](const Arrays& a) { return Arrays{a[0] - broadcast_to(slice(a[1], {0, 3}, {6, 4}), {6, 20})}; });
  one([](const Arrays& a) { return Arrays{a[0] - index_in_dim(a[1], 0, 4)}; });
  one([](const Arrays& a) { return Arrays{a[0] - pad(slice(iota({9, 20}, 0), {2, 0}, {6, 20}), {1, 0}, {1, 0}, 5)}; });
  one([](const Arrays& a) { return Arrays{concatenate({a[0], a[1]}, 0) * 2, slice(a[2], {0, 0}, {6, 20}) * 3}; }, 2u);
  auto at = [](int i, int j) { return Arrays{constant(i, i32), constant(j, i32)}; };
  one([=](const Arrays& a) { return Arrays{slice(a[0], {1, 2}, {5, 19}) * dynamic_slice(a[2], at(9, 3), {4, 17})}; });
  one([=](const Arrays& a) { return Arrays{a[3] * dynamic_update_slice(a[3], a[0], at(2, 0)) + 1}; });
  one([](const Arrays& a) { return Arrays{plain_softmax(concatenate({a[0], a[1]}, 0) * 2)}; });
  // rows of two parts
  one([](const Arrays& a) { return Arrays{plain_softmax(concatenate({a[0], a[1]}, 1) * 2)}; }, 2u);
  one([](const Arrays& a) { return Arrays{matmul(slice(a[0], {0, 0}, {6, 6}), a[1])}; }, 2u);
  auto draw = [](const Arrays& a) {
    auto bits = call_one(ops::RandomBits{{6, 20}, u32, {}, {6, 20}}, {a[0]});
    return Arrays{bits + pad(slice(bits, {1, 1}, {5, 19}), {1, 1}, {1, 1}, 7), pad(a[1], {1, 2}, {1, 2}) + bits};
  };
  const std::uint32_t words[] = {7, 9};
  agrees(draw, {from_bytes({{}, Dtype::key}, words), numbers({4, 16}, 1).astype(u32)});
}
TEST(Fuse, StoresOverAnOperandOnlyWhereItIsReadInPlace) {
  auto donated = [](const FlatFn& f) {
    Arrays in{numbers({6, 20}, 1), numbers({4, 18}, 2)};
    auto info = executable(stage(f, types_of(in)).program, Mask{true, false})->info();
    agrees(f, in);
    return info.donated_bytes;
  };
  EXPECT_EQ(donated([](const Arrays& a) { return Arrays{a[0] + pad(a[1], {1, 1}, {1, 1})}; }), 480u);
  EXPECT_EQ(donated([](const Arrays& a) { return Arrays{a[0] + roll(a[0], 1, 0)}; }), 0u);
  auto below = [](const Array& x) { return slice(x, {1, 0}, {6, 20}); };
  EXPECT_EQ(donated([=](const Arrays& a) { return Arrays{pad(below(a[0]), {0, 0}, {1, 0}) * 2}; }), 0u);
  EXPECT_EQ(donated([=](const Arrays& a) { return Arrays{pad(below(a[0]), {1, 0}, {0, 0}) * 2}; }), 480u);
}
TEST(Fuse, SliceOfWhatIsChangedInPlaceIsTakenBefore) {
  auto f = [](const Arrays& a) {
    auto part = slice(a[0], {1, 2}, {5, 19});
    auto next = dynamic_update_slice(a[0], a[1], {constant(0, i32), constant(0, i32)});
    return Arrays{next, exp(part) * slice(next, {0, 0}, {4, 17})};
  };
  Arrays in{numbers({6, 20}, 1), numbers({2, 2}, 2)};
  agrees(f, in);
  EXPECT_EQ(executable(stage(f, types_of(in)).program, Mask{true, false})->info().donated_bytes, 480u);
}
TEST(Fuse, SmallSliceThatIsReadLateIsTakenAtOnce) {
  auto kernels = [](int far) {
    auto f = [far](const Arrays& a) {
      auto x = matmul(a[0], a[0]), part = slice(x, {0, 0}, {2, 20}), y = sum(x);
      for (int k = 0; k < far; ++k) y = sum(broadcast_to(y, {3, 3})) * 0.125;
      return Arrays{y, part * 2};
    };
    std::string text;
    auto p = stage(f, {{{20, 20}, f32}}).program;
    agrees(f, {numbers({20, 20}, 1)});
    return executable(p)->explain().find("= slice") != std::string::npos;
  };
  EXPECT_FALSE(kernels(3));
  EXPECT_TRUE(kernels(80));
}
TEST(Fuse, BoxWithTooManyOperandsIsNoLoop) {
  Arrays in;
  for (unsigned k = 0; k < 40; ++k) in.push_back(numbers({1, 4}, k));
  auto f = [](const Arrays& a) {
    auto r = full_of({{9, 4}, f32}, 1);
    for (std::size_t k = 0; k < a.size(); ++k) r = r * pad(a[k], {k < 20 ? 2 : 5, 0}, {k < 20 ? 6 : 3, 0}, 1);
    return Arrays{r};
  };
  EXPECT_LE(agrees(f, in).kernels, 3u);  // 20 operands each in two boxes
  auto g = [](const Arrays& a) {
    auto r = full_of({{9, 4}, f32}, 1);
    for (auto& x : a) r = r * pad(x, {2, 0}, {6, 0}, 1);
    return Arrays{r};
  };
  EXPECT_GE(agrees(g, in).kernels, 2u);
}
TEST(Fuse, ExplainShowsBoxesAndWindows) {
  auto f = [](const Arrays& a) { return Arrays{a[0] * pad(slice(a[0], {1, 0}, {6, 20}), {0, 0}, {1, 0})}; };
  auto text = executable(stage(f, {{{6, 20}, f32}}).program)->explain();
  for (auto* part : {"[0:5, 0:20] over 5 x 20", "is %0 from element 20, strides 20 1", "edge [5:6, 0:20]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// ---- random Programs -----------------------------------------------------------------------------------------------
struct Maker {
  std::mt19937 random;
  Arrays values;
  bool windows = false;  // slices, pads and concatenations too
  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  const Array& any() {
    return values[static_cast<std::size_t>(values.size() < 6 || pick(3)
                                               ? std::max<int>(0, static_cast<int>(values.size()) - 1 - pick(8))
                                               : pick(static_cast<int>(values.size())))];
  }
  const Array* like(const Array& x, bool same_dtype) {
    for (int tries = 0; tries < 20; ++tries) {
      auto& y = any();
      if (y.shape() == x.shape() && (!same_dtype || y.dtype() == x.dtype())) return &y;
    }
    return nullptr;
  }
  void step() {
    if (values.back().size() > 4000) values.pop_back();
    auto x = any();
    bool real = is_float(x.dtype());
    switch (pick(windows ? 20 : 14)) {
      case 0:
      case 1:
        if (!real) break;
        values.push_back(pick(2) ? tanh(x) : pick(2) ? exp(x * 0.25) : x * 0.5 + 0.25);
        break;
      case 2:
      case 3:
      case 4:
        if (auto* y = like(x, true); y && x.dtype() != boolean)
          values.push_back(pick(3) == 0 ? x * *y : pick(2) ? x + *y : maximum(x, *y));
        break;
      case 5:
        if (auto* y = like(x, true)) values.push_back(x.dtype() == boolean ? x == *y : x < *y);
        break;
      case 6: {
        const Dtype to[] = {f32, f64, bf16, i32, boolean, u8};
        values.push_back(x.astype(to[pick(6)]));
        break;
      }
      case 7:
        if (x.ndim() > 0 && x.dtype() != boolean)
          values.push_back(pick(2) ? sum(x, -1, {.keepdims = pick(2) == 0}) : amax(x, -1, {.keepdims = true}));
        break;
      case 8:
        if (x.ndim() > 1 && x.dtype() != boolean)
          values.push_back(pick(2) ? sum(x, 0) : sum(x, Dims{x.ndim() - 2, x.ndim() - 1}));
        break;
      case 9: {
        auto& like = any();
        if (x.ndim() == like.ndim() && x.ndim() > 0) {
          auto s = x.shape();
          s[s.size() - 1] = 1;
          if (s == x.shape())
            values.push_back(
                broadcast_to(x, like.shape().front() == x.shape().front() && x.ndim() == 2 ? like.shape() : x.shape()));
        } else if (x.ndim() < like.ndim()) {
          auto s = like.shape(), tail = Shape(Dims(s.end() - x.ndim(), s.end())),
               head = Shape(Dims(s.begin(), s.begin() + x.ndim()));
          Dims d;
          if (tail == x.shape())
            for (std::int64_t k = 0; k < x.ndim(); ++k) d.push_back(like.ndim() - x.ndim() + k);
          else if (head == x.shape())
            for (std::int64_t k = 0; k < x.ndim(); ++k) d.push_back(k);
          else break;
          values.push_back(broadcast_in_dim(x, s, d));
        }
        break;
      }
      case 10:
        if (x.ndim() > 1) values.push_back(pick(2) ? reshape(x, {-1}) : reshape(x, {-1, x.shape(-1)}));
        break;
      case 11:
        if (auto* y = like(x, true))
          if (auto* c = like(x, false); c && c->dtype() == boolean) values.push_back(select(*c, x, *y));
        break;
      case 12:
        if (x.ndim() == 2) values.push_back(transpose(x));
        break;
      case 13:
        if (x.ndim() > 0 && x.dtype() != boolean && (x.dtype() != u8 || x.size() < 256))
          values.push_back(x + iota(x.shape(), pick(static_cast<int>(x.ndim())), x.dtype()));
        break;
      case 14: {
        Dims start, limit, stride;
        for (auto n : x.shape()) {
          start.push_back(pick(2) ? 0 : pick(static_cast<int>(n)));
          limit.push_back(pick(2) ? n : start.back() + 1 + pick(static_cast<int>(n - start.back())));
          stride.push_back(pick(4) ? 1 : 2);
        }
        values.push_back(slice(x, start, limit, stride));
        break;
      }
      case 15: {  // often back to the shape of another value
        Dims lo, hi;
        auto* y = &any();
        for (int tries = 0; tries < 20 && y->ndim() != x.ndim(); ++tries) y = &any();
        for (std::int64_t d = 0; d < x.ndim(); ++d) {
          auto more = y->ndim() == x.ndim() ? y->shape(d) - x.shape(d) : pick(4) - 1;
          lo.push_back(pick(3) ? pick(static_cast<int>(std::abs(more)) + 1) * (more < 0 ? -1 : 1) : pick(2));
          hi.push_back(std::max(more - lo.back(), 1 - x.shape(d) - lo.back()));
        }
        values.push_back(pad(x, lo, hi, pick(2), pick(8) ? Dims{} : Dims(lo.size(), 1)));
        break;
      }
      case 16:
        if (auto* y = like(x, true); y && x.ndim() > 0)
          values.push_back(concatenate(pick(3) ? Arrays{x, *y} : Arrays{*y, x, x}, pick(static_cast<int>(x.ndim()))));
        break;
      case 18: {  // a window at a constant place, clamped
        Arrays starts;
        auto sizes = x.shape();
        for (auto& n : sizes) {
          starts.push_back(constant(pick(static_cast<int>(n) + 1), i32));
          n = 1 + pick(static_cast<int>(n));
        }
        values.push_back(dynamic_slice(x, starts, sizes));
        break;
      }
      case 19: {
        auto* u = &any();
        for (int tries = 0; tries < 20 && (u->ndim() != x.ndim() || u->dtype() != x.dtype()); ++tries) u = &any();
        Arrays starts;
        bool fits = u->ndim() == x.ndim() && u->dtype() == x.dtype();
        for (std::int64_t d = 0; d < x.ndim() && fits; ++d) {
          fits = u->shape(d) <= x.shape(d);
          starts.push_back(constant(pick(static_cast<int>(x.shape(d))), i32));
        }
        if (fits) values.push_back(dynamic_update_slice(x, *u, starts));
        break;
      }
      case 17:
        if (x.ndim() > 0) values.push_back(roll(x, 1 + pick(5), pick(static_cast<int>(x.ndim()))));
        break;
    }
  }
};
Arrays random_program(unsigned seed, const Arrays& in, bool windows = false) {
  Maker m{std::mt19937(seed), in, windows};
  for (int k = 0; k < 60; ++k) m.step();
  Arrays out;
  for (std::size_t k = in.size(); k < m.values.size(); ++k)
    if (m.pick(5) == 0 || k + 1 == m.values.size()) out.push_back(m.values[k]);
  return out;
}
TEST(Fuse, RandomPrograms) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Arrays in{numbers({3, 4, 20}, seed),      numbers({4, 20}, seed + 1),        numbers({20}, seed + 2),
              numbers({3, 4}, seed + 3, f64), numbers({12, 20}, seed + 4, bf16), numbers({3, 4, 20}, seed + 5)};
    SCOPED_TRACE(seed);
    agrees([&](const Arrays& a) { return random_program(seed, a); }, in);
    if (::testing::Test::HasFailure()) return;
  }
}
TEST(Fuse, RandomWindows) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    Arrays in{numbers({6, 20}, seed),     numbers({6, 20}, seed + 1),
              numbers({4, 20}, seed + 2), numbers({6, 18}, seed + 3),
              numbers({20}, seed + 4),    numbers({2, 6, 20}, seed + 5, seed % 2 ? f64 : f32)};
    SCOPED_TRACE(seed);
    agrees([&](const Arrays& a) { return random_program(seed, a, true); }, in);
    if (::testing::Test::HasFailure()) return;
  }
}
/// (const, carry, carry, x) -> (carry, carry, ys...).
Arrays random_body(unsigned seed, const Arrays& in) {
  Maker m{std::mt19937(seed), in, seed % 2 == 0};
  for (int k = 0; k < 25; ++k) m.step();
  Arrays out;
  for (std::size_t c : {1u, 2u}) {
    Arrays fit;
    for (auto& v : m.values)
      if (v.type() == in[c].type()) fit.push_back(v);
    out.push_back(fit[static_cast<std::size_t>(m.pick(static_cast<int>(fit.size())))]);
  }
  for (auto& v : m.values)
    if (m.pick(6) == 0) out.push_back(v);
  return out;
}
TEST(Fuse, RandomLoops) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::int64_t length = 1 + seed % 4;
    bool reverse = seed % 2;
    Arrays in{numbers({20}, seed), numbers({4, 20}, seed + 1), numbers({4, 20}, seed + 2),
              numbers({length, 4, 20}, seed + 3)};
    auto types = types_of(in);
    types[3].shape.erase(0);
    auto body = stage([&](const Arrays& a) { return random_body(seed, a); }, types).program;
    auto read = [&](Arrays all) {  // of every third seed all results, else every second one
      Arrays r;
      for (std::size_t k = 0; k < all.size(); ++k)
        if (seed % 3 == 0 || (seed + k) % 2) r.push_back(all[k]);
      return r;
    };
    auto f = [&](const Arrays& a) {
      auto r = call(ops::Scan{body, 1, 2, length, reverse}, {a[0], a[1] * 0.5, a[2], a[3]});
      r.push_back(r[0] + r[1]);
      return read(std::move(r));
    };
    auto carry = Arrays{in[1] * 0.5, in[2]};
    std::vector<Arrays> ys(body->out.size() - 2, Arrays(static_cast<std::size_t>(length)));
    for (std::int64_t k = 0; k < length; ++k) {
      auto t = reverse ? length - 1 - k : k;
      auto r = interpret(*body, {in[0], carry[0], carry[1], index_in_dim(in[3], 0, t)});
      carry = {r[0], r[1]};
      for (std::size_t j = 0; j < ys.size(); ++j) ys[j][static_cast<std::size_t>(t)] = r[2 + j];
    }
    auto want = carry;
    for (auto& y : ys) want.push_back(stack(y));
    want.push_back(carry[0] + carry[1]);
    want = read(std::move(want));
    auto p = stage(f, types_of(in)).program;
    same_bits(executable(p)->run(in), want, executable(p)->explain());
    Mask all(in.size(), true);
    same_bits(executable(p, all)->run(compile_tests::copies(in), all), want, executable(p, all)->explain());
    if (::testing::Test::HasFailure()) return;
  }
}
}  // namespace
}  // namespace bora::fuse_test
