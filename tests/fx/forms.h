// forms.h -- shared by the tests of this folder.
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include "bora/array/array.h"

namespace bora::forms_tests {
inline void close(const Array& a, const Array& b, float tolerance = 1e-6F) {
  ASSERT_EQ(a.type(), b.type());
  auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << "element " << i;
}
}  // namespace bora::forms_tests
