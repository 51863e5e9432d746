// Eager and staged products have the same bits, whatever transposes a pass reads through, for any number of threads.
#include <cstring>
#include <random>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "bora/ops/contractions.h"
#include "laws/laws.h"

namespace bora::laws::product_bits_test {
namespace {
using Random = std::mt19937;
int pick(Random& r, int from, int to) { return from + static_cast<int>(r() % static_cast<unsigned>(to - from + 1)); }
std::vector<int> shuffled(Random& r, int n) {
  std::vector<int> v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  for (int i = n; i > 1; --i) std::swap(v[static_cast<std::size_t>(i - 1)], v[r() % static_cast<unsigned>(i)]);
  return v;
}
bool same_bits(const Arrays& a, const Arrays& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto x = a[i].concrete(), y = b[i].concrete();
    if (x.type() != y.type() || std::memcmp(x.bytes(), y.bytes(), x.nbytes()) != 0) return false;
  }
  return a.size() == b.size();
}
/// A random equation on random arrays that are transposed first. Sizes are small, with some that fill tiles.
struct Case {
  std::string equation;
  Arrays in;
  std::vector<Dims> before;  // a transpose of each operand
  Array operator()(const Arrays& a) const {
    Arrays x;
    for (std::size_t i = 0; i < a.size(); ++i) x.push_back(transpose(a[i], before[i]));
    return einsum_flat(equation, x);
  }
};
std::optional<Case> random_case(unsigned seed) {
  Random r(seed);
  Case c;
  int labels = pick(r, 2, 6);
  std::vector<std::int64_t> size;
  double work = 1;
  for (int l = 0; l < labels; ++l) {
    size.push_back(std::array{1, 2, 3, 5, 7, 16, 40}[static_cast<std::size_t>(pick(r, 0, 6))]);
    work *= static_cast<double>(size.back());
  }
  if (work > 1e6) return none;
  std::string used;
  auto dtype = std::array{f32, f32, f32, f64, bf16}[static_cast<std::size_t>(pick(r, 0, 4))];
  for (int o = pick(r, 2, 3); o > 0; --o) {
    auto order = shuffled(r, labels);
    order.resize(static_cast<std::size_t>(pick(r, 1, std::min(labels, 4))));
    c.equation += c.equation.empty() ? "" : ",";
    Shape logical;
    for (int l : order) {
      c.equation += static_cast<char>('a' + l);
      logical.push_back(size[static_cast<std::size_t>(l)]);
    }
    used += c.equation;
    Dims perm;
    for (int d : shuffled(r, static_cast<int>(order.size()))) perm.push_back(d);
    Shape given = logical;
    for (std::size_t d = 0; d < perm.size(); ++d) given[static_cast<std::size_t>(perm[d])] = logical[d];
    c.before.push_back(perm);
    c.in.push_back(rnd(given, static_cast<int>(seed) + 7 * o).astype(dtype));
  }
  c.equation += "->";
  for (int l : shuffled(r, labels))
    if (pick(r, 0, 1) && used.find(static_cast<char>('a' + l)) != std::string::npos)
      c.equation += static_cast<char>('a' + l);
  return c;
}
void holds(const Case& c, const std::string& what) {
  auto loss = [&](const Arrays& a) { return sum(square(c(a))); };
  auto second = [&](const Arrays& a) {
    Array s = array(0.F);
    for (auto& g : grad(loss)(a)) s = s + sum(square(g));
    return s;
  };
  auto y = c(c.in);
  auto g = grad(loss)(c.in), h = grad(second)(c.in);
  EXPECT_TRUE(same_bits({y}, {jit(c)(c.in)})) << what << ": forward";
  EXPECT_TRUE(same_bits(g, jit(grad(loss))(c.in))) << what << ": jit of the gradient";
  EXPECT_TRUE(same_bits(g, grad(jit(loss))(c.in))) << what << ": gradient of a jit";
  EXPECT_TRUE(same_bits(h, jit(grad(second))(c.in))) << what << ": jit of the second derivative";
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits({y}, {c(c.in)}) && same_bits(g, jit(grad(loss))(c.in)))
        << what << ": " << threads << " threads";
    set_thread_count(0);
  }
}
TEST(ProductBits, EagerAndStagedEinsumsAreEqual) {
  std::size_t tried = 0;
  for (unsigned seed = 1; tried < 12 * combinations() / 4; ++seed)
    if (auto c = random_case(seed)) {
      ++tried;
      holds(*c, "seed " + std::to_string(seed) + ", " + c->equation);
    }
}
TEST(ProductBits, TheCasesThatDiffered) {
  auto random = [](const Shape& s, int seed) { return rnd(s, seed).astype(f32); };
  holds(
      {"bij,jkb,k->ib", {random({5, 7, 16}, 1), random({16, 40, 5}, 2), random({40}, 3)}, {{0, 1, 2}, {0, 1, 2}, {0}}},
      "reported");
  holds({"e,eda,dfca->dcf",
         {random({1}, 1), random({16, 7, 1}, 2), random({40, 5, 7, 16}, 3)},
         {{0}, {2, 0, 1}, {3, 0, 1, 2}}},
        "e");
  holds({"bdac,acdb,a->d", {random({3, 40, 7, 40}, 1), random({3, 7, 40, 40}, 2), random({7}, 3)},
         {{1, 0, 2, 3}, {1, 2, 0, 3}, {0}}}, "d");
}
/// The product reads an operand as it lies before a transpose, where the order of memory is another one.
TEST(ProductBits, AnAbsorbedTransposeChangesNoBit) {
  for (auto dtype : {f32, f64, bf16})
    for (std::int64_t n : {3, 24, 70}) {
      auto a = rnd({2, 5, 33}, 1).astype(dtype), b = rnd({33, 5, n}, 2).astype(dtype),
           w = rnd({2, 2 * n}, 3).astype(dtype);
      auto f = [](const Arrays& x) {
        auto both = dot_general(x[0], transpose(x[1]), {{}, {}, {1, 2}, {1, 2}});
        return matmul(transpose(both), x[2]);
      };
      Arrays in{a, b, w};
      EXPECT_TRUE(same_bits({f(in)}, {jit(f)(in)})) << n << " " << dtype_name(dtype);
    }
}
}  // namespace
}  // namespace bora::laws::product_bits_test
