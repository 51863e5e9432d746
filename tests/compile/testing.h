// testing.h -- values to try things on, and comparison bit for bit.
#pragma once
#include <gtest/gtest.h>
#include <cstring>
#include "bora/compile/executable.h"
#include "bora/compile/program.h"
#include "bora/ops/shape.h"

namespace bora::testing {
/// Numbers in (-2, 2) that depend on the seed.
inline Array numbers(const Shape& s, std::uint64_t seed, Dtype d = f32) {
  std::vector<double> v(static_cast<std::size_t>(volume(s)));
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
  for (auto& e : v) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    e = static_cast<double>(x >> 11) / static_cast<double>(std::uint64_t{1} << 53) * 4 - 2;
  }
  return from_bytes({s, f64}, v.data()).astype(d);
}
inline void same_bits(const Arrays& got, const Arrays& want, const std::string& about = {}) {
  ASSERT_EQ(got.size(), want.size()) << about;
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].type(), want[k].type()) << "output " << k << "\n" << about;
    auto *a = static_cast<const unsigned char*>(got[k].bytes()),
         *b = static_cast<const unsigned char*>(want[k].bytes());
    auto size = dtype_size(got[k].dtype());
    for (std::int64_t i = 0; i < got[k].size(); ++i)
      ASSERT_EQ(std::memcmp(a + static_cast<std::size_t>(i) * size, b + static_cast<std::size_t>(i) * size, size), 0)
          << "output " << k << " " << got[k].type() << " differs at element " << i << "\n"
          << about;
  }
}
/// f compiled, once it gives the bits of f.
inline ExecutablePtr agrees(const FlatFn& f, const Arrays& in) {
  auto e = executable(stage(f, types_of(in)).program);
  same_bits(e->run(in), f(in), e->explain());
  return e;
}
}  // namespace bora::testing
