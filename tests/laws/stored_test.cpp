// Dtypes that are stored only: JAX's numbers, every primitive on them, what they promote to, and what survives files.
#include <unistd.h>
#include <filesystem>
#include <numeric>
#include "bora/base/parallel.h"
#include "bora/ops/contractions.h"
#include "laws/golden.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::laws::stored_test {
namespace {
const std::vector<Dtype> kStored = [] {
  std::vector<Dtype> r;
  for (std::size_t k = 0; k < kDtypes; ++k)
    if (auto d = static_cast<Dtype>(k); is_stored_only(d)) r.push_back(d);
  return r;
}();
/// Files hold u64 as two rows of u32: the upper and the lower halves.
Array joined(const Array& halves) {
  auto h = halves.astype(u64);
  return (view(h, 0) << 32) | view(h, 1);
}
Array halves(const Array& x) { return stack({(x >> 32).astype(u32), x.astype(u32)}); }

using Function = Array (*)(const Array& a, const Array& b);
const std::map<std::string, Function>& functions() {
#define BORA_OF(...) [](const Array& a, [[maybe_unused]] const Array& b) -> Array { return __VA_ARGS__; }
  static const std::map<std::string, Function> m{
      {"add", BORA_OF(a + b)},
      {"sub", BORA_OF(a - b)},
      {"mul", BORA_OF(a * b)},
      {"div", BORA_OF(a / b)},
      {"max", BORA_OF(maximum(a, b))},
      {"min", BORA_OF(minimum(a, b))},
      {"eq", BORA_OF(a == b)},
      {"lt", BORA_OF(a < b)},
      {"ge", BORA_OF(a >= b)},
      {"remainder", BORA_OF(remainder(a, b))},
      {"floor_divide", BORA_OF(floor_divide(a, b))},
      {"and", BORA_OF(a & b)},
      {"or", BORA_OF(a | b)},
      {"xor", BORA_OF(a ^ b)},
      {"shl", BORA_OF(a << b)},
      {"shr", BORA_OF(a >> b)},
      {"neg", BORA_OF(-a)},
      {"abs", BORA_OF(abs(a))},
      {"sign", BORA_OF(sign(a))},
      {"square", BORA_OF(square(a))},
      {"exp", BORA_OF(exp(a))},
      {"log", BORA_OF(log(a))},
      {"sqrt", BORA_OF(sqrt(a))},
      {"tanh", BORA_OF(tanh(a))},
      {"sin", BORA_OF(sin(a))},
      {"floor", BORA_OF(floor(a))},
      {"sum", BORA_OF(sum(a, none, {.dtype = a.dtype()}))},
      {"prod", BORA_OF(prod(a, none, {.dtype = a.dtype()}))},
      {"amax", BORA_OF(amax(a))},
      {"amin", BORA_OF(amin(a))},
      {"argmax", BORA_OF(argmax(a))},
      {"sort", BORA_OF(sort(a))},
      {"argsort", BORA_OF(argsort(a))},
      {"cumsum", BORA_OF(cumsum(a, 0).astype(a.dtype()))},
      {"flip", BORA_OF(flip(a))},
      {"matmul", BORA_OF(matmul(a, b))},
  };
#undef BORA_OF
  return m;
}
/// Equal numbers; fractions may differ by one unit in the last place if both sides round a function's value.
void same_numbers(const Array& got, const Array& want, bool rounds, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  auto x = numbers_of(got), y = numbers_of(want);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    auto unit = std::ldexp(std::max(std::abs(y[i]), info(got.dtype()).least), -info(got.dtype()).fraction);
    EXPECT_TRUE(rounds && std::abs(x[i] - y[i]) <= unit) << what << '[' << i << "]: " << x[i] << ", JAX " << y[i];
  }
}

TEST(Stored, JaxNumbersInAnyProgram) {
  GoldenCases cases;
  read_golden("stored.txt", cases);
  ASSERT_GT(cases.size(), 180u);
  for (auto& c : cases) {
    auto& name = c.first;  // clang 14 captures no structured bindings
    auto& golden = c.second;
    auto slash = name.find('/');
    auto d = parse_dtype(name.substr(0, slash));
    auto rest = name.substr(slash + 1);
    Arrays in;
    for (auto& x : golden.in) in.push_back(d == u64 && x.dtype() == u32 ? joined(x) : x);
    auto to = rest.starts_with("as_") ? std::optional(parse_dtype(rest.substr(3))) : none;
    if (rest.starts_with("from_")) to = d;
    ASSERT_TRUE(to || functions().contains(rest)) << name;
    auto f = [&](const Arrays& a) { return to ? a[0].astype(*to) : functions().at(rest)(a[0], a.back()); };
    bool rounds = is_float(d) && !to && rest != "add" && rest != "sub" && rest != "mul" && rest != "div";
    auto check = [&](const Array& y, const std::string& how) {
      same_numbers(y.dtype() == u64 ? halves(y) : y, golden.out[0], rounds, name + how);
    };
    check(f(in), "");
    check(jit(f)(in), " in a compiled program");
    Arrays rows;
    for (auto& x : in) rows.push_back(stack({x, x, x}));
    check(view(vmap(f)(rows), 1), " under vmap");
  }
}

/// A sample's operands in these stored dtypes.
Arrays as_stored(const Arrays& in, Dtype fraction, Dtype integer) {
  Arrays r;
  for (auto& x : in) {
    auto d = x.dtype();
    r.push_back(is_float(d) ? x.astype(fraction) : d == i64 || d == u32 ? x.astype(integer) : x);
  }
  return r;
}
TEST(Stored, EveryPrimitiveComputesOrSaysWhyNot) {
  int computed = 0;
  for (auto& entry : registry())
    for (auto& sample : entry.samples()) {
      auto& p = *sample.primitive;
      if (p.traits.holds || p.traits.collective || p.traits.effect || p.traits.opaque) continue;
      for (auto d : kStored) {
        auto in = is_float(d) ? as_stored(sample.in, d, i8) : as_stored(sample.in, f16, d);
        if (std::none_of(in.begin(), in.end(), [](auto& x) { return is_stored_only(x.dtype()); })) continue;
        auto f = [&](const Arrays& a) { return call(sample.primitive, a); };
        Arrays y;
        try {
          y = f(in);
        } catch (const Error& e) {
          EXPECT_EQ(std::string(e.what()).find("internal"), std::string::npos) << entry.name << ": " << e.what();
          continue;
        }
        ++computed;
        Types types;
        for (auto& x : in) types.push_back(x.type());
        auto promised = p.infer(types);
        ASSERT_EQ(y.size(), promised.size()) << entry.name;
        for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i].type(), promised[i]) << entry.name;
        close(jit(f)(in), y, 0, entry.name + " in a compiled program");
      }
    }
  EXPECT_GT(computed, 300);
}
TEST(Stored, GradientsOfF16) {
  auto x = rnd({5}, 1), w = rnd({5}, 2);
  auto f = [](const Array& a, const Array& b) { return sum(tanh(a * b) * exp(-square(a))); };
  auto [gx, gw] = grad<0, 1>(f)(x.astype(f16), w.astype(f16));
  auto [hx, hw] = grad<0, 1>(f)(x.astype(f16).astype(f32), w.astype(f16).astype(f32));
  EXPECT_EQ(gx.dtype(), f16);
  EXPECT_LE(worst(gx.astype(f32), hx), 4e-3);
  EXPECT_LE(worst(gw.astype(f32), hw), 4e-3);
}
TEST(Stored, BitsDoNotDependOnThreads) {
  auto x = rnd({40000}, 5).astype(f16);
  auto f = [](const Array& a) { return cumsum(a * 3 - 1, 0).astype(i16) + (a * 100).astype(i16); };
  auto one = [&] {
    ThreadScope t(1);
    return f(x);
  }();
  close({f(x)}, {one}, 0, "threads");
  close({jit(f)(x)}, {one}, 0, "compiled");
}
TEST(Stored, PromotesAsJaxDoes) {
  struct Row {
    Dtype a, b, both;
  };
  for (auto [a, b, both] : std::vector<Row>{{boolean, i8, i8}, {i8, u8, i16},   {i8, i16, i16},  {u8, u16, u16},
                                            {u8, i16, i16},    {u16, i16, i32}, {u16, u32, u32}, {u32, i32, i64},
                                            {u16, i8, i32},    {u32, i8, i64},  {u32, u64, u64}, {u64, i64, f32},
                                            {u64, i8, f32},    {i64, f16, f16}, {u64, bf16, bf16}, {f16, bf16, f32},
                                            {f16, f32, f32},   {f16, f64, f64}, {f16, complex64, complex64},
                                            {i16, complex128, complex128}, {boolean, f8_e4m3fn, f8_e4m3fn},
                                            {i32, f8_e4m3fn, f8_e4m3fn}, {u64, f8_e4m3fn, f8_e4m3fn}}) {
    EXPECT_EQ(promote(a, b), both) << a << ' ' << b;
    EXPECT_EQ(promote(b, a), both) << b << ' ' << a;
    EXPECT_EQ((zeros({2}, a) + zeros({2}, b)).dtype(), both) << a << ' ' << b;
  }
  for (auto other : {bf16, f16, f32, f64, complex64}) {
    EXPECT_MESSAGE(DtypeError, promote(f8_e4m3fn, other), "no common dtype");
    EXPECT_MESSAGE(DtypeError, promote(other, f8_e4m3fn), "no common dtype");
  }
  EXPECT_EQ((zeros({2}, i8) + 1).dtype(), i8);
  EXPECT_EQ((zeros({2}, f8_e4m3fn) * 2.5).dtype(), f8_e4m3fn);
  EXPECT_EQ((zeros({2}, f16) * 2.5).dtype(), f16);
  EXPECT_EQ((zeros({2}, u64) * 2.5).dtype(), f32);
}
TEST(Stored, NumbersAtTheEdge) {
  EXPECT_EQ(array(18446744073709551615ull, u64).item<std::uint64_t>(), 18446744073709551615ull);
  EXPECT_THROW((void)array(-1, u64), ValueError);
  EXPECT_THROW((void)array(18446744073709551615ull, i64), ValueError);
  EXPECT_THROW((void)array(128, i8), ValueError);
  EXPECT_THROW((void)(zeros({2}, u16) + 65536), ValueError);
  EXPECT_EQ(asarray(std::vector<std::int16_t>{-7, 9}).dtype(), i16);
  EXPECT_EQ(asarray(std::vector<std::uint64_t>{1ull << 63}).item<std::uint64_t>(), 1ull << 63);
  EXPECT_EQ(to_string(asarray(std::vector<std::int8_t>{-7, 9})).substr(0, 7), "[-7,  9");
  EXPECT_EQ(array(65504., f16).item<float>(), 65504.F);
  EXPECT_EQ(array(65520., f16).item<float>(), HUGE_VALF);
  EXPECT_EQ(parse_dtype("float16"), f16);
}
/// The bits as the format is written down (Micikevicius et al. 2022), and the nearest number of every float between.
TEST(Stored, BitsOfEightBitFloats) {
  std::vector<std::uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), 0);
  auto x = bitcast(asarray(codes), f8_e4m3fn);
  auto numbers = x.astype(f32).to_vector<float>();
  for (int code = 0; code < 256; ++code) {
    auto exponent = code >> 3 & 15, fraction = code & 7;
    auto size = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    auto y = numbers[static_cast<std::size_t>(code)];
    EXPECT_EQ(std::signbit(y), code >= 128) << code;
    EXPECT_TRUE((code & 127) == 127 ? std::isnan(y) : std::abs(y) == size) << code << ' ' << y;
  }
  EXPECT_EQ(bitcast(x.astype(f32).astype(f8_e4m3fn), u8).to_vector<int>(), bitcast(x, u8).to_vector<int>());
  EXPECT_EQ(array(464., f8_e4m3fn).item<float>(), 448);
  EXPECT_TRUE(std::isnan(array(465., f8_e4m3fn).item<float>()));
  EXPECT_TRUE(std::isnan(array(-HUGE_VAL, f8_e4m3fn).item<float>()));
  EXPECT_EQ(amax(bitcast(asarray(std::vector<std::uint8_t>{0xfe, 0xfd}), f8_e4m3fn)).item<float>(), -416);
}
TEST(Stored, IndicesAndKeysOfTheirDtypes) {
  auto table = reshape(arange(20).astype(u16), {5, 4});
  auto rows = asarray(std::vector<std::int8_t>{4, 0, -1});
  EXPECT_EQ(take(table, rows, 0).dtype(), u16);
  EXPECT_EQ(take(table, rows.astype(i32), 0).to_vector<int>(), take(table, rows, 0).to_vector<int>());
  EXPECT_EQ(random::bits(random::key(3), {4}, u16).dtype(), u16);
  auto wide = random::bits(random::key(3), {4}, u64), narrow = random::bits(random::key(3), {4}, i64);
  EXPECT_EQ(bitcast(wide, i64).to_vector<std::int64_t>(), narrow.to_vector<std::int64_t>());
  auto u = random::uniform(random::key(1), {1000}, f16).astype(f32);
  EXPECT_GE(amin(u).item<float>(), 0.F);
  EXPECT_LT(amax(u).item<float>(), 1.F);
  EXPECT_NEAR(mean(random::normal(random::key(1), {4000}, f16).astype(f32)).item<float>(), 0, 0.05);
  auto r = random::randint(random::key(2), {500}, -5, 300, i8).astype(i32);
  EXPECT_LE(amax(r).item<int>(), 127);
  EXPECT_GE(amin(r).item<int>(), -5);
}
TEST(Stored, FilesKeepThem) {
  test::TempFolder temp;
  std::filesystem::path folder = temp.path();
  for (auto d : kStored) {
    auto x = (values({3, 5}, 0, 120, 4)).astype(d);
    save_npy(folder / "x.npy", x);
    close({load_npy(folder / "x.npy", {.dtype = d})}, {x}, 0, "npy");
    save_safetensors(folder / "x.safetensors", {{"x", x}});
    close({Safetensors::open(folder / "x.safetensors").read("x")}, {x}, 0, "safetensors");
  }
  auto small = asarray(std::vector<std::int8_t>{-3, 5});
  save_safetensors(folder / "y.safetensors", {{"", small}});
}
}  // namespace
}  // namespace bora::laws::stored_test
