// Loops that are refused, and integers at the edge of what the machine can do.
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <type_traits>
#include "bora/base/error.h"
#include "loop_build.h"
#include "support/throws.h"

namespace bora::kernels::test::loop_edge_test {
namespace {
TEST(Loop, IllFormedLoopsSayWhy) {
  auto says = [](const Loop& l, const std::string& words) { bora::test::says([&] { compile(l); }, words); };
  Builder mixed;
  const int x = mixed.load(f32, true), y = mixed.load(f64, true);
  mixed.store(mixed.op("lt", {x, x}), true);
  mixed.store(mixed.op("exp", {y}), true);
  says(mixed.loop, "64-bit lanes; cast before");
  Builder row;
  const int v = row.load(f32, true);
  row.store(row.operand(f32, false), v);
  says(row.loop, "one value per column");
  Builder type;
  type.load(i32, true);
  Instr i{.kind = K::op, .dtype = f32, .op = find_op("exp")};
  i.in[0] = 0;
  type.add(i);
  says(type.loop, "exp: takes floats");
  Builder order;
  Instr forward{.kind = K::cast, .dtype = f32};
  forward.in[0] = 3;
  order.add(forward);
  says(order.loop, "not made before");
  EXPECT_THROW(find_op("no_such"), ValueError);
  EXPECT_NE(print(mixed.loop).find("= exp %"), std::string::npos) << print(mixed.loop);
}
TEST(Loop, IntegerDivisionNeverTraps) {
  const std::int32_t a[] = {7, INT32_MIN, -7, 5}, b[] = {0, -1, 2, -3};
  std::int32_t q[4], r[4];
  apply("div", i32, {a, b}, q, 4);
  apply("rem", i32, {a, b}, r, 4);
  EXPECT_EQ(std::vector<std::int32_t>(q, q + 4), (std::vector<std::int32_t>{-1, INT32_MIN, -3, -1}));
  EXPECT_EQ(std::vector<std::int32_t>(r, r + 4), (std::vector<std::int32_t>{0, 0, -1, 2}));
  const std::uint8_t c[] = {200, 7, 3, 2}, d[] = {100, 0, 5, 9};
  std::uint8_t s[4], m[4], p[4];
  apply("add", u8, {c, d}, s, 4);
  apply("div", u8, {c, d}, m, 4);
  apply("pow", u8, {c, d}, p, 4);
  EXPECT_EQ(s[0], 44);
  EXPECT_EQ(m[1], 255);
  EXPECT_EQ(p[2], 243);
  EXPECT_EQ(p[3], 0);
  const std::int64_t e[] = {INT64_MIN, 3, 2, -1}, f[] = {-1, 4, -1, -3};
  std::int64_t t[4], u[4];
  apply("div", i64, {e, f}, t, 4);
  apply("pow", i64, {e, f}, u, 4);
  EXPECT_EQ(t[0], INT64_MIN);
  EXPECT_EQ(u[1], 81);
  EXPECT_EQ(u[2], 0);
  EXPECT_EQ(u[3], -1);
  const std::int32_t g[] = {-8, -8, -8, 1}, h[] = {1, 31, 40, 33};
  std::int32_t sh[4];
  apply("shr_arithmetic", i32, {g, h}, sh, 4);
  EXPECT_EQ(std::vector<std::int32_t>(sh, sh + 4), (std::vector<std::int32_t>{-4, -1, -1, 0}));
  apply("shr_logical", i32, {g, h}, sh, 4);
  EXPECT_EQ(std::vector<std::int32_t>(sh, sh + 4), (std::vector<std::int32_t>{0x7ffffffc, 1, 0, 0}));
  apply("shl", i32, {g, h}, sh, 4);
  EXPECT_EQ(std::vector<std::int32_t>(sh, sh + 4), (std::vector<std::int32_t>{-16, 0, 0, 0}));
}
/// Every pair of numbers near powers of 2, multiples and the ends, and random ones, as C divides them.
template <class T> void divisions(Dtype d) {
  std::mt19937_64 g(3);
  std::vector<T> near{0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}, x, y;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k)
    for (std::uint64_t away : {-1, 0, 1})
      for (std::uint64_t sign : {1, -1}) near.push_back(static_cast<T>(sign * ((std::uint64_t{1} << k) + away)));
  for (T a : near)
    for (T b : near) x.push_back(a), y.push_back(b);
  for (int i = 0; i < 300000; ++i) {
    const auto p = g() >> g() % 64, q = g() >> g() % 64;
    x.push_back(static_cast<T>(i % 2 ? p : p * q + static_cast<std::uint64_t>(i % 3 - 1)));
    y.push_back(static_cast<T>(q));
  }
  std::vector<T> quotient(x.size()), rest(x.size());
  for (Isa which : {Isa::v3, Isa::v4}) {
    if (which > isa()) continue;
    const auto n = static_cast<std::int64_t>(x.size());
    apply("div", d, {x.data(), y.data()}, quotient.data(), n, which);
    apply("rem", d, {x.data(), y.data()}, rest.data(), n, which);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool wraps = std::is_signed_v<T> && y[i] == static_cast<T>(-1), none = y[i] == 0;
      const T q = none ? static_cast<T>(-1) : wraps ? static_cast<T>(0 - std::make_unsigned_t<T>(x[i]))
                                                    : static_cast<T>(x[i] / y[i]);
      const T r = none || wraps ? T{0} : static_cast<T>(x[i] % y[i]);
      ASSERT_TRUE(quotient[i] == q && rest[i] == r) << +x[i] << " by " << +y[i] << ": " << +quotient[i] << " and "
                                                    << +rest[i] << ", not " << +q << " and " << +r;
    }
  }
}
TEST(Loop, IntegersDivideAsInC) {
  divisions<std::int32_t>(i32);
  divisions<std::uint32_t>(u32);
  divisions<std::uint8_t>(u8);
  divisions<std::int64_t>(i64);
}
}  // namespace
}  // namespace bora::kernels::test::loop_edge_test
