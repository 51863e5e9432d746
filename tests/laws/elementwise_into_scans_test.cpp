// Elementwise work on stacked results gives the same bits behind a scan and in its body, whatever lies between, whether
// the operands' memory may be overwritten or not; and in the body it needs less memory.
#include <random>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"
#include "compile/testing.h"
#include "laws/laws.h"

namespace bora::laws::elementwise_into_scans_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;
constexpr std::int64_t kRows = 64, kColumns = 1024;  // a slice of f32: 256 KiB
constexpr std::size_t kSlice = kRows * kColumns * 4;

/// A scan with three stacked results, and random work behind it, as of an optimizer.
class Work {
 public:
  explicit Work(std::uint64_t seed) : random_(seed), length_(static_cast<std::int64_t>(1 + below(4))) {
    reverse_ = below(2) == 1;
    carries_ = below(2);
  }
  /// A scalar, a row, a number for each iteration, the scan's constant and carry, what it runs over, others like it.
  Types in() const {
    return {{{}, f32}, {{kColumns}, f32}, {{length_}, f32}, slice_type(), slice_type(),
            stacked(), stacked(), stacked(), stacked()};
  }
  Arrays operator()(const Arrays& a) {
    auto types = Types{a[3].type(), a[4].type(), slice_type(), slice_type()};
    auto step = [&](const Array& c, const Array& h, const Array& x, const Array& w) {
      auto g = tanh(h * c + x);
      return Arrays{g, g * w, h - x * c, g * x};
    };
    Arrays y;
    if (carries_) {
      auto body = stage([&](const Arrays& b) { return step(b[0], b[1], b[2], b[3]); }, types).program;
      y = call(ops::Scan{body, 1, 1, length_, reverse_}, {a[3], a[4], a[5], a[6]});
    } else {
      auto body = stage([&](const Arrays& b) {
                    auto all = step(b[0], b[1], b[2], b[3]);
                    return Arrays(all.begin() + 1, all.end());
                  }, types).program;
      y = call(ops::Scan{body, 2, 0, length_, reverse_}, {a[3], a[4], a[5], a[6]});
      y.insert(y.begin(), a[4]);
    }
    Arrays out;
    if (below(2)) out.push_back(y[0]);
    for (std::size_t k = 1; k < y.size(); ++k) update(a, y, k, out);
    if (below(6) == 0) out.push_back(y[1 + below(3)]);
    if (out.empty()) out.push_back(y[1]);
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  Type stacked() const { return {{length_, kRows, kColumns}, f32}; }
  static Type slice_type() { return {{kRows, kColumns}, f32}; }
  /// An operand of the work: some are there before the scan, some come from such, some from the scan.
  Array operand(const Arrays& a, const Arrays& y) {
    auto &old = a[5 + below(4)], &shape = a[5];
    switch (below(11)) {
      case 0: return broadcast_to(a[0], shape.shape());
      case 1: return broadcast_to(a[1], shape.shape());
      case 2: return broadcast_to(reshape(a[2], {length_, 1, 1}), shape.shape());
      case 3: return old * (a[0] * 0.5 + 1.0);                                  // computed behind the scan
      case 4: return broadcast_to(reshape(exp(a[2]), {length_, 1, 1}), shape.shape());
      case 5: return y[1 + below(3)];
      case 10: return broadcast_to(reshape(sort(a[2]) * 2.0, {length_, 1, 1}), shape.shape());
      case 9: return old * sqrt(mean(square(old), {1, 2}, {.keepdims = true}));  // a layer's own size
      case 6: return broadcast_to(sum(y[1 + below(3)]), shape.shape());       // of all iterations
      case 7: return flip(old, 0);                                              // of other iterations
      default: return old;
    }
  }
  Array next(const Arrays& a, const Arrays& y, const Array& x) {
    switch (below(10)) {
      case 8: return x / sqrt(mean(square(x), {1, 2}, {.keepdims = true}) + 1e-3);  // of a layer
      case 9: return reshape(reshape(x, {length_, kColumns, kRows}) * 0.5, x.shape());
      case 0: return x * operand(a, y);
      case 1: return operand(a, y) - x;
      case 2: return accumulate(operand(a, y), x);
      case 3: return tanh(x);
      case 4: return x.astype(f64).astype(f32);
      case 5: return where(x < operand(a, y), x, operand(a, y));
      case 6: return x / (abs(operand(a, y)) + 1.0);
      default: return x + operand(a, y) * 2.0;
    }
  }
  void update(const Arrays& a, const Arrays& y, std::size_t k, Arrays& out) {
    auto x = y[k];
    for (auto n = below(3); n > 0; --n) {
      x = next(a, y, x);
      if (below(4) == 0) out.push_back(x);
    }
    switch (below(7)) {
      case 0: out.push_back(sum(square(x), {1, 2})); break;
      case 1: out.push_back(amax(x, {2})); break;
      case 2: out.push_back(sum(x, {1}) * 2.0); break;
      case 5: out.push_back(reshape(x, {length_ * kRows, kColumns}) + a[1]); break;  // across iterations
      case 3: out.push_back(sum(square(x), {0})); break;
      case 4: {  // Adam's form: three old values, three new ones
        auto m = a[6] * 0.9 + x * (a[0] * 0.1), v = a[7] * 0.99 + square(x) * 0.01;
        out.insert(out.end(), {m, v, a[8] - m / (sqrt(abs(v)) + 1e-3), sqrt(sum(sum(square(x), {1, 2})))});
        break;
      }
      default: out.push_back(next(a, y, x)); break;
    }
  }
  std::mt19937_64 random_;
  std::int64_t length_;
  std::size_t carries_;
  bool reverse_;
};
Arrays inputs(const Types& types, std::uint64_t seed) {
  Arrays r;
  for (auto& t : types) r.push_back(numbers(t.shape, seed * 31 + r.size()));
  return r;
}

TEST(Absorb, GivesTheBitsOfWorkBehindTheScan) {
  const std::uint64_t seeds = effort() == Effort::full ? 300 : 30;
  std::size_t moved = 0, stayed = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    auto types = Work(seed).in();
    auto p = stage([&](const Arrays& a) { return Work(seed)(a); }, types).program;
    auto plain = std::make_shared<Program>(*p);
    plain->compile.fuse = false;
    auto want = executable(plain)->run(inputs(types, seed));
    same_bits(interpret(*p, inputs(types, seed)), want, "eager, seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Mask all(types.size(), true), some;
    for (std::size_t i = 0; i < types.size(); ++i) some.push_back(random() % 2);
    for (auto& donated : {Mask(types.size()), all, some}) {
      auto e = executable(p, donated);
      auto about = "seed " + std::to_string(seed) + "\n" + e->explain();
      same_bits(e->run(inputs(types, seed), donated), want, about);
      same_bits(e->run(inputs(types, seed), donated), want, "again, " + about);
    }
    // Operands that may not be overwritten keep their values.
    auto kept = inputs(types, seed);
    auto e = executable(p);
    (void)e->run(kept);
    same_bits(kept, inputs(types, seed), "operands, seed " + std::to_string(seed) + "\n" + e->explain());
    auto flat = flatten(p);
    ++(exec::elementwise_into_scans(flat)->code.size() < flat->code.size() ? moved : stayed);
  }
  EXPECT_GT(moved, seeds / 4);
  EXPECT_GT(stayed, seeds / 10);
}

/// A value behind a scan that others read twice, again and again, is looked at once.
TEST(Absorb, LongChainsAreFollowedOnce) {
  auto slice = Type{{kRows, kColumns}, f32}, all = Type{{2, kRows, kColumns}, f32};
  auto body = stage([](const Arrays& b) { return Arrays{b[0] + 1.0}; }, {slice}).program;
  auto f = [&](const Arrays& a) {
    auto y = call(ops::Scan{body, 0, 0, 2, false}, {a[0]})[0];
    auto number = a[1] * 0.5, old = a[0] * 0.5;  // neither comes from the scan
    for (int n = 0; n < 100; ++n) {
      number = number * number;
      old = old * old;
    }
    return Arrays{y * number + old};
  };
  Arrays in{numbers(all.shape, 1), numbers({}, 2)};
  auto p = stage(f, types_of(in)).program;
  auto flat = flatten(p);
  EXPECT_LT(exec::elementwise_into_scans(flat)->code.size(), flat->code.size());
  same_bits(executable(p)->run(in), interpret(*p, in));
}

/// Training of stacked layers: the gradients of all of them are never in memory at once, not even where parts of a
/// batch are added up; and the new state takes the memory of the old one.
TEST(Absorb, GradientsOfLayersAreUsedOneByOne) {
  constexpr std::int64_t layers = 6, n = 256;
  auto loss = [](const Array& w, const Array& x) {
    auto layer = [](const Array& h, const Array& l) { return std::pair{tanh(matmul(h, l)), none}; };
    return sum(square(scan(layer, x, w).first));
  };
  for (bool parts : {false, true}) {
    auto gradient = [&](const Array& w, const Array& x) {
      if (!parts) return grad(loss)(w, x);
      auto add = [&](const Array& total, const Array& part) { return std::pair{total + grad(loss)(w, part), none}; };
      return scan(add, zeros_like(w), reshape(x, {2, x.shape()[0] / 2, n})).first;
    };
    auto optimizer = optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.1});
    auto w = numbers({layers, n, n}, 1) * 0.1;
    auto state = optimizer.init(w);
    auto step = [&](const Array& w, const decltype(state)& s, const Array& x) {
      auto g = gradient(w, x);
      auto [updates, next] = optimizer.update(g, s, w);
      return std::tuple{optim::apply_updates(w, updates), next, optim::global_norm(g)};
    };
    auto x = numbers({8, n}, 2);
    auto want = step(w, state, x);
    auto leaves = tree::leaves(std::tuple{w, state, x});
    auto p = stage([&](const Arrays& a) {
               auto at = std::tuple{w, state, x};
               std::size_t k = 0;
               at = tree::map([&](const Array&) { return a[k++]; }, at);
               return tree::leaves(step(std::get<0>(at), std::get<1>(at), std::get<2>(at)));
             }, types_of(leaves)).program;
    Mask donated(leaves.size(), true);
    donated.back() = false;
    auto e = executable(p, donated);
    Arrays in;
    for (auto& a : leaves) in.push_back(from_bytes(a.type(), a.bytes()));
    same_bits(e->run(std::move(in), donated), tree::leaves(want), e->explain());
    auto stacked = static_cast<std::size_t>(layers * n * n * 4), sum = parts ? stacked : 0;
    EXPECT_LT(e->info().slab_bytes, sum + stacked / 2) << e->explain();
    EXPECT_GE(e->info().donated_bytes, 3 * stacked) << e->explain();
  }
}
}  // namespace
}  // namespace bora::laws::elementwise_into_scans_test
