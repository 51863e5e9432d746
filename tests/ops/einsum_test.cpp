#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "ops/reference.h"

namespace bora::einsum_test {
namespace {
using namespace reference;
/// einsum over single letters, by counting through all of them.
Table reference(const std::string& in, const std::string& out, const Arrays& operands) {
  std::vector<std::string> terms{""};
  for (char c : in) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  std::string letters = out;
  for (auto& t : terms)
    for (char c : t)
      if (letters.find(c) == letters.npos) letters += c;
  Shape sizes(Dims(letters.size(), 1));
  std::vector<Table> tables;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    tables.emplace_back(operands[k]);
    for (std::size_t d = 0; d < terms[k].size(); ++d)
      sizes[letters.find(terms[k][d])] = operands[k].shape(static_cast<std::int64_t>(d));
  }
  Table r(Shape(Dims(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(out.size()))),
          [](const Index&) { return 0.0; });
  auto strides = strides_of(r.shape);
  each(sizes, [&](std::int64_t, const Index& i) {
    double p = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      Index j;
      for (char c : terms[k]) j.push_back(i[letters.find(c)]);
      p *= tables[k](j);
    }
    std::int64_t at = 0;
    for (std::size_t d = 0; d < out.size(); ++d) at += i[d] * strides[d];
    r.v[static_cast<std::size_t>(at)] += p;
  });
  return r;
}
Array num(const Shape& s, int seed = 0) { return numbers(s, f64, seed); }
void check_letters(const std::string& in, const std::string& out, const Arrays& operands) {
  SCOPED_TRACE(in + "->" + out);
  expect_equal(einsum_flat(in + "->" + out, operands), reference(in, out, operands), 1e-12);
}
TEST(Einsum, Letters) {
  check_letters("ij,jk", "ik", {num({2, 3}), num({3, 4}, 1)});
  check_letters("ij,jk", "ki", {num({2, 3}), num({3, 4}, 1)});
  check_letters("bij,bjk", "bik", {num({2, 3, 4}), num({2, 4, 5}, 1)});
  check_letters("bqhd,bkhd", "bhqk", {num({2, 3, 2, 4}), num({2, 5, 2, 4}, 1)});
  check_letters("bhqk,bkhd", "bqhd", {num({2, 2, 3, 5}), num({2, 5, 2, 4}, 1)});
  check_letters("bse,ehd", "bshd", {num({2, 3, 4}), num({4, 2, 5}, 1)});
  check_letters("ij", "ji", {num({2, 3})});
  check_letters("ij", "", {num({2, 3})});
  check_letters("ij", "j", {num({2, 3})});
  check_letters("ii", "i", {num({3, 3})});
  check_letters("ii", "", {num({3, 3})});
  check_letters("iij", "ij", {num({3, 3, 2})});
  check_letters("iji", "ji", {num({3, 2, 3})});
  check_letters("iii", "i", {num({2, 2, 2})});
  check_letters("i,j", "ij", {num({2}), num({3}, 1)});
  check_letters("i,i", "i", {num({4}), num({4}, 1)});
  check_letters("i,i", "", {num({4}), num({4}, 1)});
  check_letters("ij,k", "i", {num({2, 3}), num({4}, 1)});
  check_letters(",i", "i", {num({}), num({3}, 1)});
  check_letters("ij,jk,kl", "il", {num({2, 3}), num({3, 4}, 1), num({4, 2}, 2)});
  check_letters("ab,bc,ac,c", "b", {num({2, 3}), num({3, 4}, 1), num({2, 4}, 2), num({4}, 3)});
  check_letters("i,i,i", "", {num({3}), num({3}, 1), num({3}, 2)});
  check_letters("ij,jk", "ik", {num({2, 0}), num({0, 4})});
  check_letters("ii", "i", {num({0, 0})});
}
TEST(Einsum, WordsMeanTheSame) {
  auto q = num({2, 3, 4}), k = num({2, 5, 4}, 1);
  auto want = reference("bid,bjd", "bij", {q, k});
  expect_equal(einsum("b i d, b j d -> b i j", q, k), want, 1e-12);
  expect_equal(einsum("batch query dim, batch key dim -> batch query key", q, k), want, 1e-12);
  expect_equal(einsum("bid , bjd -> bij", q, k), want, 1e-12);
  expect_equal(einsum("row -> row", num({3})), Table(num({3})));
}
TEST(Einsum, ImplicitOutput) {
  expect_equal(einsum("ij,jk", num({2, 3}), num({3, 4})), reference("ij,jk", "ik", {num({2, 3}), num({3, 4})}), 1e-12);
  expect_equal(einsum("ba", num({2, 3})), reference("ba", "ab", {num({2, 3})}));
  expect_equal(einsum("ii", num({3, 3})), reference("ii", "", {num({3, 3})}));
  expect_equal(einsum("...j,jk", num({2, 2, 3}), num({3, 4})),
               reference("abj,jk", "abk", {num({2, 2, 3}), num({3, 4})}), 1e-12);
}
TEST(Einsum, Dots) {
  auto a = num({2, 3, 4}), b = num({4, 5}, 1);
  expect_equal(einsum("...ij,jk->...ik", a, b), reference("bij,jk", "bik", {a, b}), 1e-12);
  expect_equal(einsum("... i j, j k -> ... i k", a, b), reference("bij,jk", "bik", {a, b}), 1e-12);
  expect_equal(einsum("...i,...i->...", num({2, 3}), num({2, 3}, 1)),
               reference("ai,ai", "a", {num({2, 3}), num({2, 3}, 1)}), 1e-12);
  expect_equal(
      einsum("...i,...i->...", num({2, 1, 3}), num({4, 3}, 1)),
      reference("abi,abi", "ab", {broadcast_to(num({2, 1, 3}), {2, 4, 3}), broadcast_to(num({4, 3}, 1), {2, 4, 3})}),
      1e-12);
  expect_equal(einsum("...->...", num({2, 3})), Table(num({2, 3})));
}
TEST(Einsum, Dtypes) {
  EXPECT_EQ(einsum("ij,jk->ik", numbers({2, 3}, bf16), numbers({3, 2}, bf16)).dtype(), bf16);
  EXPECT_EQ(einsum("ij,jk->ik", numbers({2, 3}, bf16), numbers({3, 2}, f32)).dtype(), f32);
  auto bytes = array({200, 100}, u8);
  EXPECT_EQ(einsum("i->", bytes).dtype(), u8) << "summed or multiplied, the dtype is that of the operands";
  expect_values(einsum("i->", bytes), {44});
  EXPECT_EQ(einsum("i,i->", bytes, bytes).dtype(), u8);
  EXPECT_EQ(einsum("i,j->", bytes, bytes).dtype(), u8);
  EXPECT_EQ(einsum("i,i->", array({true, true}), array({true, true})).dtype(), boolean);
  expect_values(einsum("ij->i", array({{true, true}, {false, false}})), {1, 0});
}
TEST(Einsum, DimensionsOfSizeOneStretch) {
  auto wide = [](const Array& x, const Shape& s) { return broadcast_to(x, s); };
  auto a = num({2, 1}), b = num({3, 4}, 1), c = num({1, 4}, 2), d = num({4, 1}, 3);
  expect_equal(einsum("ij,jk->ik", a, b), reference("ij,jk", "ik", {wide(a, {2, 3}), b}), 1e-12);
  expect_equal(einsum("ij,jk->ik", b, d), reference("ij,jk", "ik", {b, wide(d, {4, 1})}), 1e-12);
  expect_equal(einsum("ij,ij->", a, c), reference("ij,ij", "", {wide(a, {2, 4}), wide(c, {2, 4})}), 1e-12);
  expect_equal(einsum("ij,ij->ji", a, c), reference("ij,ij", "ji", {wide(a, {2, 4}), wide(c, {2, 4})}), 1e-12);
  expect_equal(einsum("ij,jk,kj->i", a, b, d), reference("ij,jk,kj", "i", {wide(a, {2, 3}), b, wide(d, {4, 3})}),
               1e-12);
}
TEST(Einsum, Errors) {
  auto a = num({2, 3});
  says<ShapeError>([&] { (void)einsum("ij,jk->ik", a, num({4, 2})); },
                   "'j' has 3 elements in operand 1 and 4 in operand 2");
  says<ShapeError>([&] { (void)einsum("ijk->i", a); }, "does not name the 2 dimensions of operand 1");
  says<ValueError>([&] { (void)einsum("ij->ik", a); }, "'k' of the output is in no operand");
  EXPECT_THROW((void)einsum("ij->ii", a), ValueError);
  EXPECT_THROW((void)einsum("ij,jk->ik", a), ValueError);
  EXPECT_THROW((void)einsum("...j->j", a), ValueError);
  EXPECT_THROW((void)einsum("ii->i", a), ShapeError);
  EXPECT_THROW((void)einsum("ii->i", num({1, 3})), ShapeError);
}
}  // namespace
}  // namespace bora::einsum_test
