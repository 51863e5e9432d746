#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "compile/api/program.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "ops/reference.h"

namespace bora::dot_test {
namespace {
using namespace reference;
Dims others(std::int64_t n, const Dims& a, const Dims& b) {
  Dims r;
  for (std::int64_t d = 0; d < n; ++d)
    if (!std::count(a.begin(), a.end(), d) && !std::count(b.begin(), b.end(), d)) r.push_back(d);
  return r;
}
Table product(const Array& a, const Array& b, const DotDims& d) {
  Table x(a), y(b);
  auto fa = others(a.ndim(), d.batch_a, d.contract_a), fb = others(b.ndim(), d.batch_b, d.contract_b);
  Shape out, inner;
  for (auto i : d.batch_a) out.push_back(a.shape(i));
  for (auto i : fa) out.push_back(a.shape(i));
  for (auto i : fb) out.push_back(b.shape(i));
  for (auto i : d.contract_a) inner.push_back(a.shape(i));
  return Table(out, [&](const Index& o) {
    double total = 0;
    each(inner, [&](std::int64_t, const Index& k) {
      Index i(static_cast<std::size_t>(a.ndim())), j(static_cast<std::size_t>(b.ndim()));
      std::size_t at = 0;
      auto put = [](Index& to, std::int64_t dim, std::int64_t v) { to[static_cast<std::size_t>(dim)] = v; };
      for (std::size_t n = 0; n < d.batch_a.size(); ++n, ++at) put(i, d.batch_a[n], o[at]), put(j, d.batch_b[n], o[at]);
      for (auto f : fa) put(i, f, o[at++]);
      for (auto f : fb) put(j, f, o[at++]);
      for (std::size_t n = 0; n < k.size(); ++n) put(i, d.contract_a[n], k[n]), put(j, d.contract_b[n], k[n]);
      total += x(i) * y(j);
    });
    return total;
  });
}
void check_dot(const Shape& a, const Shape& b, const DotDims& d, Dtype dtype = f32) {
  SCOPED_TRACE(to_string(a) + " " + to_string(b));
  auto x = numbers(a, dtype), y = numbers(b, dtype, 3);
  expect_equal(dot_general(x, y, d), product(x, y, d), dtype == bf16 ? 0x1p-8 : 1e-6);
}
TEST(DotGeneral, EveryLayout) {
  for (auto dtype : {f32, f64, bf16, i32}) {
    check_dot({5, 7}, {7, 3}, {{}, {}, {1}, {0}}, dtype);
    check_dot({7, 5}, {7, 3}, {{}, {}, {0}, {0}}, dtype);
    check_dot({5, 7}, {3, 7}, {{}, {}, {1}, {1}}, dtype);
    check_dot({7, 5}, {3, 7}, {{}, {}, {0}, {1}}, dtype);
    check_dot({2, 5, 7}, {2, 7, 3}, {{0}, {0}, {2}, {1}}, dtype);
    check_dot({2, 5, 3, 4}, {2, 6, 3, 4}, {{0, 2}, {0, 2}, {3}, {3}}, dtype);  // attention scores: b s h d, b t h d
    check_dot({2, 3, 5, 6}, {2, 6, 3, 4}, {{0, 1}, {0, 2}, {3}, {1}}, dtype);  // attention values
    check_dot({2, 5, 3, 4}, {3, 4, 6}, {{}, {}, {2, 3}, {0, 1}}, dtype);       // output projection
    check_dot({2, 5, 8}, {3, 8, 4}, {{}, {}, {2}, {1}}, dtype);                // h e d weights: packed
    check_dot({3, 2, 2, 4}, {2, 4, 3, 2}, {{1}, {0}, {0, 3}, {2, 1}}, dtype);  // nothing in order
    check_dot({2, 3, 4}, {4, 2, 3}, {{}, {}, {2, 0}, {0, 1}}, dtype);
    check_dot({6}, {6}, {{}, {}, {0}, {0}}, dtype);
    check_dot({3}, {4}, {}, dtype);
    check_dot({4, 6}, {6}, {{}, {}, {1}, {0}}, dtype);
    check_dot({6}, {6, 4}, {{}, {}, {0}, {0}}, dtype);
    check_dot({1, 6}, {6, 1}, {{}, {}, {1}, {0}}, dtype);
    check_dot({5, 3}, {5, 3}, {{0}, {0}, {1}, {1}}, dtype);
  }
}
TEST(DotGeneral, Empty) {
  check_dot({2, 0}, {0, 3}, {{}, {}, {1}, {0}});
  check_dot({0, 4}, {4, 3}, {{}, {}, {1}, {0}});
  check_dot({0, 4, 2}, {0, 2, 3}, {{0}, {0}, {2}, {1}});
  check_dot({3, 0, 2}, {3, 2, 0}, {{0}, {0}, {2}, {1}});
}
TEST(DotGeneral, Larger) {
  check_dot({65, 130}, {130, 47}, {{}, {}, {1}, {0}});
  check_dot({130, 65}, {47, 130}, {{}, {}, {0}, {1}});
  check_dot({2, 33, 4, 16}, {2, 29, 4, 16}, {{0, 2}, {0, 2}, {3}, {3}});
}
TEST(DotGeneral, PromotesAndSaysWhatIsWrong) {
  EXPECT_EQ(dot_general(numbers({2}, bf16), numbers({2}, f32), {{}, {}, {0}, {0}}).dtype(), f32);
  auto flags = array({{true, false}, {true, true}});
  EXPECT_EQ(matmul(flags, flags).dtype(), boolean);
  expect_values(dot(flags, flags), {1, 0, 1, 1});
  expect_values(matmul(flags, array({1, 1})), {1, 2});
  says<ShapeError>([] { (void)dot_general(numbers({2, 3}), numbers({2, 4}), {{0}, {0}, {1}, {1}}); },
                   "contracted sizes differ: [2, 3] over [1] and [2, 4] over [1]");
  EXPECT_THROW((void)dot_general(numbers({2, 3}), numbers({3, 3}), {{0}, {0}, {1}, {1}}), ShapeError);
  EXPECT_THROW((void)dot_general(numbers({2, 3}), numbers({3}), {{}, {}, {1, 1}, {0, 0}}), IndexError);
  EXPECT_THROW((void)dot_general(numbers({2, 3}), numbers({3}), {{}, {}, {2}, {0}}), IndexError);
  EXPECT_THROW((void)dot_general(numbers({2, 3}), numbers({3}), {{}, {}, {1}, {}}), ShapeError);
}
TEST(DotGeneral, GradientsNeedNoTransposeWhereTheyCan) {
  // For a row-major product both gradients come out in place: no transpose primitive runs. Counted by an interpreter of
  // our own.
  struct Counter final : Interpreter {
    std::vector<std::string> names;
    Counter() : Interpreter(current()) {}
    Arrays process(const PrimitivePtr& p, const Arrays& in) override {
      names.emplace_back(p->name());
      Within w(parent);
      return call(p, in);
    }
  } counter;
  auto a = numbers({3, 4}), b = numbers({4, 5});
  auto p = primitive(ops::DotGeneral{{}, {}, {1}, {0}});
  auto out = call(p, {a, b});
  Arrays g;
  {
    Within w(&counter);
    g = p->vjp({{a, b}, out, {numbers({3, 5})}, {true, true}});
  }
  EXPECT_EQ(counter.names, (std::vector<std::string>{"dot_general", "dot_general"}));
  expect_equal(g[0], product(numbers({3, 5}), b, {{}, {}, {1}, {1}}), 1e-12);
  expect_equal(g[1], product(a, numbers({3, 5}), {{}, {}, {0}, {0}}), 1e-12);
}
TEST(DotGeneral, CountsItsWork) {
  auto c = primitive(ops::DotGeneral{{}, {}, {1}, {0}})->cost({{{8, 16}, f32}, {{16, 4}, f32}}, {{{8, 4}, f32}});
  EXPECT_EQ(c.flops, 2.0 * 8 * 16 * 4);
  EXPECT_EQ(c.bytes, 4.0 * (8 * 16 + 16 * 4 + 8 * 4));
}

Table matrices(const Array& a, const Array& b) {
  Table x(a), y(b);
  Shape s = a.shape();
  s[s.size() - 1] = b.shape(-1);
  return Table(s, [&](const Index& o) {
    double t = 0;
    for (std::int64_t k = 0; k < a.shape(-1); ++k) {
      Index i = o, j = o;
      i.back() = k;
      j[j.size() - 2] = k;
      t += x(i) * y(j);
    }
    return t;
  });
}
TEST(Matmul, NumpysRules) {
  auto a = numbers({2, 3, 4}), b = numbers({2, 4, 5}, f64, 1);
  expect_equal(matmul(a, b), matrices(a, b), 1e-12);
  auto wide = [](const Array& x, Shape s) { return broadcast_to(x, s); };
  expect_equal(matmul(numbers({3, 4}), b), matrices(wide(numbers({3, 4}), {2, 3, 4}), b), 1e-12);
  expect_equal(matmul(a, numbers({4, 5})), matrices(a, wide(numbers({4, 5}), {2, 4, 5})), 1e-12);
  auto c = numbers({3, 1, 2, 4}), d = numbers({2, 4, 3});
  expect_equal(matmul(c, d), matrices(wide(c, {3, 2, 2, 4}), wide(d, {3, 2, 4, 3})), 1e-12);
  EXPECT_EQ(matmul(numbers({4}), b).shape(), (Shape{2, 5}));
  EXPECT_EQ(matmul(a, numbers({4})).shape(), (Shape{2, 3}));
  EXPECT_EQ(matmul(numbers({4}), numbers({4})).shape(), Shape{});
  expect_equal(matmul(numbers({4}), b), product(b, numbers({4}), {{}, {}, {1}, {0}}), 1e-12);
  // An error proposes what would fit.
  auto advice = [](const Shape& x, const Shape& y) {
    auto text = bora::test::error_of<ShapeError>([&] { (void)matmul(numbers(x), numbers(y)); });
    auto by_dot = bora::test::error_of<ShapeError>([&] { (void)dot(numbers(x), numbers(y)); });
    EXPECT_TRUE(text.starts_with("matmul: inner sizes differ: ")) << text;
    EXPECT_EQ(text.substr(text.find(';')), by_dot.substr(by_dot.find(';')));
    return text.substr(text.find(';') + 2);
  };
  EXPECT_EQ(advice({4, 8}, {7, 3}), "they must be equal");
  EXPECT_EQ(advice({4, 8}, {7, 8}), "did you mean transpose(b)?");
  EXPECT_EQ(advice({8, 4}, {8, 7}), "did you mean transpose(a)?");
  EXPECT_EQ(advice({8, 4}, {7, 8}), "did you mean b times a?");
  EXPECT_EQ(advice({2, 4, 8}, {2, 7, 8}), "did you mean swapaxes(b, -1, -2)?");
  EXPECT_EQ(advice({8, 4}, {8}), "did you mean transpose(a)?");
  EXPECT_EQ(advice({8, 4}, {7}), "they must be equal");
  EXPECT_EQ(advice({4}, {8, 4}), "did you mean transpose(b)?");
  EXPECT_EQ(advice({4}, {8}), "they must be equal");
  EXPECT_THROW((void)matmul(numbers({}), numbers({2})), ShapeError);
  EXPECT_THROW((void)matmul(numbers({2, 3, 4}), numbers({3, 4, 5})), ShapeError);
}
TEST(Products, DotOuterTensordot) {
  expect_equal(dot(numbers({2, 3}), numbers({4, 3, 5})),
               product(numbers({2, 3}), numbers({4, 3, 5}), {{}, {}, {1}, {1}}), 1e-12);
  EXPECT_EQ(dot(numbers({}), numbers({3})).shape(), Shape{3});
  expect_equal(outer(numbers({2, 2}), numbers({3})), product(ravel(numbers({2, 2})), numbers({3}), {}), 1e-12);
  expect_equal(tensordot(numbers({2, 3, 4}), numbers({3, 4, 5})),
               product(numbers({2, 3, 4}), numbers({3, 4, 5}), {{}, {}, {1, 2}, {0, 1}}), 1e-12);
  EXPECT_EQ(tensordot(numbers({2}), numbers({3}), 0).shape(), (Shape{2, 3}));
  EXPECT_THROW((void)tensordot(numbers({2, 3}), numbers({4, 3}), 1), ShapeError);
  EXPECT_THROW((void)tensordot(numbers({2}), numbers({3}), 2), ValueError);
}
}  // namespace
}  // namespace bora::dot_test
