// A NaN comes out of a function of one number, and of its derivative, with the same bits eager, compiled and batched.
#include <gtest/gtest.h>
#include <limits>
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"

namespace nan_bits_test {
namespace {
using namespace bora;
struct Function {
  const char* name;
  Array (*f)(const Array&);
};
// All elementwise functions of one number but silu, gelu and the derivative of tan, in which a NaN meets another one
// (docs/numerics.md).
const Function kFunctions[] = {
    {"exp", exp},           {"exp2", exp2},       {"expm1", expm1},         {"log", log},         {"log2", log2},
    {"log10", log10},       {"log1p", log1p},     {"sin", sin},             {"cos", cos},         {"tan", tan},
    {"arcsin", arcsin},     {"arccos", arccos},   {"arctan", arctan},       {"sinh", sinh},       {"cosh", cosh},
    {"tanh", tanh},         {"arcsinh", arcsinh}, {"arccosh", arccosh},     {"arctanh", arctanh}, {"sqrt", sqrt},
    {"rsqrt", rsqrt},       {"cbrt", cbrt},       {"square", square},       {"abs", abs},         {"sign", sign},
    {"negative", negative}, {"floor", floor},     {"ceil", ceil},           {"rint", rint},       {"erf", erf},
    {"erfc", erfc},         {"erf_inv", erf_inv}, {"reciprocal", reciprocal}};

TEST(NanBits, AreTheSameEagerCompiledAndBatched) {
  for (auto [dtype, whole] : {std::pair{f32, i32}, {f64, i64}})
    for (std::int64_t n : {1, 3, 9, 64})
      for (auto& [name, f] : kFunctions) {
        auto x = full({n}, std::numeric_limits<double>::quiet_NaN(), dtype);
        x = where(arange(n) % 2 == 0, x, -x);
        auto value = [f = f](const Array& v) { return f(v); };
        auto slope = [value](const Array& v) { return vjp(value, v).second(ones_like(v)); };
        auto bits = [whole = whole](const Array& v) { return bitcast(v, whole); };
        auto same = [&](const auto& g, const char* what) {
          auto eager = bits(g(x));
          EXPECT_TRUE(array_equal(eager, bits(jit(g)(x)))) << what << name << " " << n;
          EXPECT_TRUE(array_equal(eager, bits(vmap(g)(x)))) << what << name << " " << n;
          EXPECT_TRUE(array_equal(eager, bits(jit(vmap(g))(x)))) << what << name << " " << n;
        };
        same(value, "");
        if (f != static_cast<Array (*)(const Array&)>(tan)) same(slope, "the derivative of ");
      }
}
}  // namespace
}  // namespace nan_bits_test
