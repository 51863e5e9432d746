// Values of which only a part is read: computed in that part, with the bits of the whole.
#include <gtest/gtest.h>
#include <random>
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/product.h"
#include "compile/testing.h"

namespace bora::push_slices_test {
namespace {
using compile_tests::agrees;
using compile_tests::numbers;

/// A value that is made of movements and elementwise operations, then parts of it.
struct Maker {
  std::mt19937 random;
  Arrays values;
  Array indices;
  std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  Array one() { return values[values.size() - 1 - static_cast<std::size_t>(pick(std::min<std::int64_t>(4, count())))]; }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }

  Array part(const Array& x) {
    Dims start, limit, stride;
    for (auto n : x.shape()) {
      start.push_back(pick(2) ? 0 : pick(n));
      limit.push_back(pick(2) ? n : start.back() + 1 + pick(n - start.back()));
      stride.push_back(pick(3) ? 1 : 1 + pick(3));
    }
    return slice(x, start, limit, stride);
  }
  Array some(const Array& x) {
    auto axis = pick(x.ndim());
    auto n = static_cast<int>(x.shape(axis));  // some indices lie outside, and some count from the end
    auto at = remainder(slice_in_dim(indices, 0, 0, 1 + pick(4)), n + 2) - (n + 1) / 2;
    return take(x, at, axis, pick(2) ? IndexMode::fill : IndexMode::clamp);
  }
  Array moved(const Array& x) {
    auto n = x.ndim();
    auto axis = pick(n);
    Dims lo, hi, perm;
    for (std::int64_t d = 0; d < n; ++d) {
      lo.push_back(pick(3) ? 0 : pick(3));
      hi.push_back(pick(3) ? 0 : pick(3));
      perm.push_back(d);
    }
    std::shuffle(perm.begin(), perm.end(), random);
    auto longer = x.shape().dims();
    longer.insert(longer.begin(), 2);
    switch (pick(7)) {
      case 0: return transpose(x, perm);
      case 1: return flip(x, {axis});
      case 2: return pad(x, lo, hi, 0.25);
      case 3: return concatenate({x, one_like(x, axis), x}, axis);
      case 4: return n < 4 ? broadcast_to(x, longer) : x;
      case 5: return roll(x, 1 + pick(3), axis);
      default: {
        auto last = x.shape().dims();
        if (n < 2) return x;
        last.pop_back();
        last.back() = -1;
        return reshape(x, last);
      }
    }
  }
  /// A part of x along the axis, of any length.
  Array one_like(const Array& x, std::int64_t axis) { return slice_in_dim(x, axis, 0, 1 + pick(x.shape(axis))); }
  void step() {
    auto x = one();
    switch (pick(8)) {
      case 0: values.push_back(sin(x)); break;
      case 1: values.push_back(x * 0.5 + 0.25); break;
      case 2: values.push_back(where(x > 0.0, x, exp(x))); break;
      case 3: values.push_back(sum(x, -1, {.keepdims = true}) + x); break;
      case 4: values.push_back(part(x)); break;
      case 5: values.push_back(some(x)); break;
      default: values.push_back(x.size() < 20000 ? moved(x) : part(x));
    }
  }
};
TEST(Narrow, RandomParts) {
  auto f = [](unsigned seed, const Arrays& in) {
    Maker m{std::mt19937(seed), {in[0], in[1]}, in[2]};
    for (int k = 0; k < 14; ++k) m.step();
    Arrays out;
    for (auto k = 1 + m.pick(3); k > 0; --k) {
      auto x = m.one();
      out.push_back(m.pick(2) ? m.part(x) : m.some(x));
    }
    return out;
  };
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Arrays in{numbers({5, 12}, seed, seed % 3 ? f32 : f64), numbers({2, 3, 8}, seed + 1, seed % 5 ? f32 : bf16),
              (numbers({4}, seed + 2) * 50.0).astype(i32)};
    agrees([&](const Arrays& a) { return f(seed, a); }, in);
    if (::testing::Test::HasFailure()) return;
  }
}
/// Memory of temporaries says how much is computed: a part of the value, not the value.
TEST(Narrow, PartsAreComputedAlone) {
  Arrays in{numbers({1000, 64}, 1), numbers({64}, 2), asarray(std::vector<std::int32_t>{3, 999, -1, 2000})};
  auto temporaries = [&](const FlatFn& f) { return agrees(f, in)->info().slab_bytes; };
  auto rows = [](const Arrays& a) { return exp(sort(a[0] * a[1] + 1.0)); };
  auto scaled = [](const Arrays& a) { return exp(a[0] * a[1]); };
  std::size_t little = 64 * 1024;
  EXPECT_GT(temporaries([&](auto& a) { return Arrays{slice_in_dim(rows(a), 0, 3, 7)}; }), little) << "sort needs all";
  EXPECT_LT(temporaries([&](auto& a) { return Arrays{sort(slice_in_dim(scaled(a), 0, 3, 7))}; }), little);
  EXPECT_LT(temporaries([&](auto& a) { return Arrays{sort(slice_in_dim(transpose(scaled(a)), 1, 3, 7))}; }), little);
  EXPECT_LT(temporaries([&](auto& a) { return Arrays{sort(slice_in_dim(flip(scaled(a), {0}), 0, 3, 90, 9))}; }),
            little);
  EXPECT_LT(temporaries([&](auto& a) { return Arrays{sort(take(scaled(a), a[2]))}; }), little);
  EXPECT_LT(temporaries([&](auto& a) { return Arrays{sort(take(scaled(a), a[2], 0, IndexMode::clamp))}; }), little);
  EXPECT_LT(temporaries([&](auto& a) {
              auto both = concatenate({scaled(a), sort(a[0])}, 0);
              return Arrays{sort(slice_in_dim(both, 0, 10, 20))};
            }),
            little)
      << "the other half is not computed at all";
}
}  // namespace
}  // namespace bora::push_slices_test
