// testing.h -- values to try things on, and comparison bit for bit.
#pragma once
#include <gtest/gtest.h>
#include <cstring>
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/manipulation.h"
#include "support/numbers.h"

namespace bora::compile_tests {
/// Numbers in [-2, 2) that depend on the seed.
inline Array numbers(const Shape& s, std::uint64_t seed, Dtype d = f32) {
  return test::values(s, -2, 2, seed).astype(d);
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
inline Arrays copies(const Arrays& in) {
  Arrays r;
  for (auto& a : in) r.push_back(from_bytes(a.type(), a.bytes()));
  return r;
}
namespace donated {
/// The same, also where f's inputs are given up. Says what became of f.
inline ExecutableInfo agrees(const FlatFn& f, const Arrays& in) {
  Mask all(in.size(), true);
  auto e = executable(stage(f, types_of(in)).program), donated = executable(stage(f, types_of(in)).program, all);
  auto want = f(in);
  same_bits(e->run(in), want, e->explain());
  same_bits(donated->run(copies(in), all), want, donated->explain());
  return e->info();
}
}  // namespace donated
}  // namespace bora::compile_tests
