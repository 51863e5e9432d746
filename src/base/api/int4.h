// int4.h -- the sixteen numbers that four bits stand for in blocks of Codec::int4.
#pragma once
#include <array>
#include <cstdint>

namespace bora {
/// 127 times NormalFloat4 (Dettmers et al. 2023, QLoRA, appendix E), as integers: a block's numbers are rounded as for
/// int8 first, to integers times s = max |x| / 127, and then to the nearest of these, so they are close together where
/// numbers are many. Gradients in a block differ much in size, and optimizers divide by that size: a small one must not
/// become zero because a large one is beside it. A number is off by at most 19.5 s, a small one by at most 6.5 s.
constexpr std::array<std::int8_t, 16> kInt4Levels{-127, -88, -67, -50, -36, -23, -12, 0,
                                                  10,   20,  31,  43,  56,  71,  92,  127};
/// The least integer whose nearest level is level `code`, 1 to 15: of two as near, that of smaller magnitude.
constexpr int int4_threshold(int code) {
  auto at = [](int i) { return static_cast<int>(kInt4Levels[static_cast<std::size_t>(i)]); };
  auto twice = at(code - 1) + at(code);
  for (int q = at(code - 1);; ++q)
    if (2 * q > twice || (2 * q == twice && q < 0)) return q;
}
}  // namespace bora
