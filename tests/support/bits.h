// bits.h -- numbers that must be the same to the bit.
#pragma once
#include <gtest/gtest.h>
#include <cstring>
#include <vector>

namespace bora::test {
inline ::testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " numbers";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0)
      return ::testing::AssertionFailure() << "number " << i << " is " << a[i] << " and " << b[i];
  return ::testing::AssertionSuccess();
}
}  // namespace bora::test
