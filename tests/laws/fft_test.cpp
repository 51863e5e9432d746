// Discrete Fourier transforms: NumPy's numbers, the definition at every length, inverses, and what is refused.
#include <cmath>
#include <numbers>
#include "bora/base/parallel.h"
#include "bora/ops/contractions.h"
#include "laws/complex_table.h"

namespace bora::laws::fft_test {
namespace {
using fft::Norm;
/// Every function of one axis, as the cases of the golden file call them.
Cases cases() {
  Cases c;
  using One = Array (*)(const Array&, const fft::Options&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{
           {"fft", fft::fft}, {"ifft", fft::ifft}, {"rfft", fft::rfft}, {"irfft", fft::irfft}, {"hfft", fft::hfft},
           {"ihfft", fft::ihfft}}) {
    auto g = f;
    auto with = [&](const std::string& rest, const fft::Options& o) {
      c["fft::" + name + rest] = [g, o](const Arrays& in) -> Arrays { return {g(in[0], o)}; };
    };
    with("", {});
    with("/backward", {.n = 5, .axis = 1});
    with("/ortho", {.n = 5, .axis = 1, .norm = Norm::ortho});
    with("/forward", {.n = 5, .axis = 1, .norm = Norm::forward});
    with("/short", {.n = 3});
    with("/one", {.n = 1, .axis = 0});
  }
  using Plane = Array (*)(const Array&, const fft::PlaneOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Plane>>{
           {"fft2", fft::fft2}, {"ifft2", fft::ifft2}, {"rfft2", fft::rfft2}, {"irfft2", fft::irfft2}}) {
    auto g = f;
    c["fft::" + name] = [g](const Arrays& in) -> Arrays { return {g(in[0], {})}; };
    c["fft::" + name + "/axes"] = [g](const Arrays& in) -> Arrays {
      return {g(in[0], {.s = Dims{3, 5}, .axes = {2, 0}, .norm = Norm::ortho})};
    };
  }
  using Many = Array (*)(const Array&, const fft::ManyOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Many>>{
           {"fftn", fft::fftn}, {"ifftn", fft::ifftn}, {"rfftn", fft::rfftn}, {"irfftn", fft::irfftn}}) {
    auto g = f;
    c["fft::" + name] = [g](const Arrays& in) -> Arrays { return {g(in[0], {})}; };
    c["fft::" + name + "/axes"] = [g](const Arrays& in) -> Arrays {
      return {g(in[0], {.s = Dims{3, 5}, .axes = Dims{2, 0}, .norm = Norm::ortho})};
    };
  }
  c["fft::fftshift"] = [](const Arrays& in) -> Arrays { return {fft::fftshift(in[0])}; };
  c["fft::fftshift/axes"] = [](const Arrays& in) -> Arrays { return {fft::fftshift(in[0], {1})}; };
  c["fft::ifftshift"] = [](const Arrays& in) -> Arrays { return {fft::ifftshift(in[0])}; };
  c["fft::ifftshift/axes"] = [](const Arrays& in) -> Arrays { return {fft::ifftshift(in[0], {1})}; };
  for (std::int64_t n : {1, 4, 5}) {
    c["fft::fftfreq/" + std::to_string(n)] = [n](const Arrays&) -> Arrays { return {fft::fftfreq(n, 0.5, f64)}; };
    c["fft::rfftfreq/" + std::to_string(n)] = [n](const Arrays&) -> Arrays { return {fft::rfftfreq(n, 0.5, f64)}; };
  }
  return c;
}
TEST(Fft, NumbersAreNumPys) {
  auto known = cases();
  std::set<std::string> seen;
  for (auto& [name, g] : golden()) {
    if (!name.starts_with("fft")) continue;
    SCOPED_TRACE(name);
    ASSERT_TRUE(known.count(name)) << name << " is in the file only";
    seen.insert(name);
    try {
      auto& f = known[name];
      auto got = f(g.in);
      close(got, g.out, 1e-13, name);
      if (g.in.empty()) continue;
      close(jit([&](const Arrays& in) { return f(in); })(g.in), got, 0, name + ", staged");
      auto x = g.in[0];
      auto single = f({x.astype(is_complex(x.dtype()) ? complex64 : f32)})[0];
      close({single.astype(is_complex(single.dtype()) ? complex128 : f64)}, g.out, 2e-6, name + " in complex64");
      auto loss = [&](const Array& a) { return sum(abs(f({a})[0] * f({a})[0])); };
      auto d = grad(loss)(x);
      auto v = is_complex(x.dtype()) ? some(x.shape(), 8) : rnd(x.shape(), 8);
      auto slope = (loss(x + 1e-6 * v) - loss(x - 1e-6 * v)).item<double>() / 2e-6;
      EXPECT_NEAR(inner({d}, {v}), slope, 1e-6 * std::max(1., std::abs(slope))) << name << ", its derivative";
    } catch (const std::exception& e) { ADD_FAILURE() << name << ": " << e.what(); }
  }
  for (auto& [name, f] : known) EXPECT_TRUE(seen.count(name)) << name << " is in the table only";
}
/// The definition, as a product of x with the matrix of all roots.
Array by_definition(const Array& x) {
  auto n = x.shape(-1);
  std::vector<C> roots;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t k = 0; k < n; ++k)
      roots.push_back(std::polar(1., -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n)));
  return matmul(x, asarray(roots, Shape{n, n}));
}
TEST(Fft, EveryLengthIsTheDefinition) {
  for (std::int64_t n = 1; n <= 130; ++n) {
    auto x = some({3, n}, static_cast<int>(n));
    auto size = std::sqrt(static_cast<double>(n));
    close({fft::fft(x) / size}, {by_definition(x) / size}, 1e-13, "length " + std::to_string(n));
    close({fft::ifft(fft::fft(x))}, {x}, 1e-14, "inverse of length " + std::to_string(n));
    auto r = real(x);
    close({fft::irfft(fft::rfft(r), {.n = n})}, {r}, 1e-14, "real of length " + std::to_string(n));
    close({fft::rfft(r)}, {slice_in_dim(fft::fft(r), 1, 0, n / 2 + 1)}, 1e-12, "half of length " + std::to_string(n));
  }
}
/// Long ones, of every way to compute them: one row, many rows, along another axis, primes, squares of primes.
TEST(Fft, LongLengths) {
  for (std::int64_t n :
       {256, 257, 360, 509, 512, 529, 1021, 1024, 1331, 2187, 3125, 4096, 4097, 5040, 6561, 8192, 10007}) {
    auto x = some({n}, 3);
    auto many = some({9, n}, 4);
    auto y = fft::fft(x);
    auto what = "length " + std::to_string(n);
    auto size = std::sqrt(static_cast<double>(n));
    close({fft::ifft(y)}, {x}, 1e-14, what + ", there and back");
    auto batch = concatenate({reshape(x, {1, n}), many});
    close({index_in_dim(fft::fft(batch), 0, 0) / size}, {y / size}, 1e-14, what + ", many rows");
    auto by_columns = transpose(fft::fft(transpose(many), {.axis = 0}));
    close({by_columns / size}, {fft::fft(many) / size}, 1e-14, what + ", by columns");
    // one frequency
    auto wave = exp(kI * (2 * std::numbers::pi * 5 / static_cast<double>(n)) * arange(n, f64));
    close({fft::fft(wave) / static_cast<double>(n)}, {(arange(n) == 5).astype(complex128)}, 1e-13, what + ", a wave");
    auto narrow = fft::fft(x.astype(complex64)).astype(complex128);
    close({narrow / size}, {y / size}, 2e-6, what + ", complex64");
  }
}
TEST(Fft, EmptyAndRefused) {
  EXPECT_EQ(fft::fft(zeros({0, 4})).type(), (Type{{0, 4}, complex64}));
  EXPECT_EQ(fft::rfft(zeros({0, 5}, f64)).type(), (Type{{0, 3}, complex128}));
  EXPECT_EQ(fft::fft(array({1, 2, 3})).dtype(), complex64);
  EXPECT_EQ(fft::irfft(array({1., 2.})).type(), (Type{{2}, f32}));
  EXPECT_THROW((void)fft::fft(zeros({2, 0})), ValueError);
  EXPECT_THROW((void)fft::fft(zeros({4}), {.n = 0}), ValueError);
  EXPECT_THROW((void)fft::irfft(zeros({1})), ValueError);
  EXPECT_THROW((void)fft::fft(zeros({4}), {.axis = 1}), IndexError);
  EXPECT_THROW((void)fft::fft(array(1.)), ShapeError);
  EXPECT_THROW((void)fft::rfft(some({4}, 1)), DtypeError);
  EXPECT_THROW((void)fft::fft2(zeros({4})), IndexError);
  EXPECT_THROW((void)fft::fftn(zeros({4, 4}), {.axes = Dims{0, 0}}), ValueError);
  EXPECT_THROW((void)fft::fftn(zeros({4, 4}), {.s = Dims{2}, .axes = Dims{0, 1}}), ValueError);
  EXPECT_THROW((void)fft::fftfreq(0), ValueError);
  auto nan = array({1., std::nan(""), 2.}, f64);
  EXPECT_TRUE(all(isnan(fft::fft(nan))).item<bool>());
}
/// Bits do not depend on threads.
TEST(Fft, ThreadsChangeNothing) {
  auto before = thread_count();
  for (auto& shape : {Shape{1 << 16}, Shape{64, 512}, Shape{300, 7}, Shape{10007}}) {
    auto x = some(shape, 5);
    set_thread_count(1);
    auto one = fft::fft(x);
    set_thread_count(2);
    close({fft::fft(x)}, {one}, 0, "threads");
  }
  set_thread_count(before);
}
}  // namespace
}  // namespace bora::laws::fft_test
