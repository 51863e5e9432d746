// text.h -- words in texts.
#pragma once
#include <gtest/gtest.h>
#include <string_view>

namespace bora::test {
inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
#define EXPECT_HAS(text, part) \
  EXPECT_TRUE(::bora::test::has(text, part)) << "text: " << (text) << "\nshould contain: " << (part)
}  // namespace bora::test
