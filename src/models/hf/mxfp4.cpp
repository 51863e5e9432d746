#include "models/hf/mxfp4.h"
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "bora/shard/shard.h"

namespace bora::models {
namespace {
using I = std::int64_t;
constexpr I kBytes = 16, kInputs = 32;  // of a block
constexpr int kZero = 127, kMost = 252;  // exponents: of 2^0; the largest with which 6 is finite
constexpr float kNumbers[] = {0, .5F, 1, 1.5F, 2, 3, 4, 6, -0.F, -.5F, -1, -1.5F, -2, -3, -4, -6};
std::string named(const std::string& name, std::string_view end) { return name + std::string(end); }
}  // namespace

Type mxfp4_type(const Safetensors& files, const std::string& name) {
  auto q = named(name, kMxfp4Blocks), s = named(name, kMxfp4Scales);
  check<CheckpointError>(files.has(s), files.where(q), ": there is no ", s, " beside it");
  auto blocks = files.type(q), scales = files.type(s);
  check<CheckpointError>(blocks.dtype == u8 && blocks.ndim() == 4 && blocks.shape[3] == kBytes, files.where(q),
                         ": it is ", blocks, ", but blocks of 4-bit numbers are u8 [experts, outputs, groups, 16]");
  Type wanted{Shape{blocks.shape[0], blocks.shape[1], blocks.shape[2]}, u8};
  check<CheckpointError>(scales == wanted, files.where(s), ": it is ", scales, ", ", wanted, " is wanted");
  return {Shape{blocks.shape[0], blocks.shape[2] * kInputs, blocks.shape[1]}, bf16};
}
Array mxfp4_numbers(const Safetensors& files, const std::string& name) {
  auto type = mxfp4_type(files, name);
  auto outputs = type.shape[2], groups = type.shape[1] / kInputs;
  auto blocks = local_block(files.read(named(name, kMxfp4Blocks))).block,
       scales = local_block(files.read(named(name, kMxfp4Scales))).block;
  auto* q = static_cast<const std::uint8_t*>(blocks.bytes());
  auto* s = static_cast<const std::uint8_t*>(scales.bytes());
  auto n = type.shape[0] * groups, top = n * outputs > 0 ? std::int64_t{*std::max_element(s, s + n * outputs)} : 0;
  check<CheckpointError>(top <= kMost, files.where(named(name, kMxfp4Scales)), ": a scale of 2^", top - kZero,
                         " makes numbers that are not finite");
  auto out = new_buffer(type);
  auto* y = static_cast<bfloat16*>(out.data);
  parallel_for(n, 1, [&](I first, I end) {
    for (I u = first; u < end; ++u) {
      auto expert = u / groups, group = u % groups;
      auto* to = y + u * kInputs * outputs;  // the rows of the group's inputs
      for (I o = 0; o < outputs; ++o) {
        auto block = (expert * outputs + o) * groups + group;
        auto scale = std::ldexp(1.F, s[block] - kZero);
        for (I b = 0; b < kBytes; ++b) {
          auto byte = q[block * kBytes + b];
          to[2 * b * outputs + o] = bfloat16(scale * kNumbers[byte & 15]);
          to[(2 * b + 1) * outputs + o] = bfloat16(scale * kNumbers[byte >> 4]);
        }
      }
    }
  });
  return out.done();
}
}  // namespace bora::models
