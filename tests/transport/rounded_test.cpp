// Training's rounding by array operations has the codec's bits: error feedback keeps what was really lost.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/train/compression.h"
#include "schedule/codec.h"

namespace rounded_test {
using namespace bora;

TEST(RoundedTerms, HaveTheBitsOfTheCodec) {
  for (auto wire : {Wire::bf16(), Wire::f16(), Wire::int8(), Wire::int4(), Wire::int8({128}), Wire::int4({256})})
    for (std::int64_t n : {1, 63, 64, 65, 500, 4097})
      for (double scale : {1.0, 1e-3, 1e20, 1e-30, 1e-37}) {
        auto x = random::normal(random::key(n), {2, n}) * scale;
        x = where(random::uniform(random::key(7), {2, n}) < 0.1, 0.0, x);
        auto rounded = [wire](const Array& x) { return training::rounded_terms(x, wire); };
        auto got = rounded(x).to_vector<float>(), jitted = jit(rounded)(x).to_vector<float>(),
             in = x.to_vector<float>();
        for (std::int64_t row = 0; row < 2; ++row) {
          std::vector<std::byte> bytes(static_cast<std::size_t>(transport::encoded_bytes(wire, n)));
          std::vector<float> want(static_cast<std::size_t>(n));
          transport::encode(wire, in.data() + row * n, n, bytes.data());
          transport::decode(wire, bytes.data(), n, want.data());
          for (std::int64_t i = 0; i < n; ++i) {
            auto at = static_cast<std::size_t>(row * n + i);
            ASSERT_EQ(got[at], want[static_cast<std::size_t>(i)]) << word(wire) << " " << n << " " << scale << " " << i;
            ASSERT_EQ(jitted[at], got[at]);
          }
        }
      }
}
}  // namespace rounded_test
