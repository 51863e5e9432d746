// decode.cpp -- the numbers of a tensor's blocks, with the operations and their order of ggml's dequantize_row_*
// (ggml-quants.c): each number is rounded as there, so that the bits are the same.
#include <bit>
#include <cstring>
#include "bora/base/dtype.h"
#include "gguf/api/gguf.h"

namespace bora::gguf {
namespace {
using Byte = unsigned char;
float half(const Byte* p) {
  float16 x;
  std::memcpy(&x.bits, p, 2);
  return x;
}
/// f16 d, 32 x i8: d q.
void q8_0(const Byte* b, float* out) {
  auto d = half(b);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(b[2 + i])) * d;
}
/// f16 d, 16 bytes: the low halves are numbers 0 .. 15, the high ones 16 .. 31; d (q - 8).
void q4_0(const Byte* b, float* out) {
  auto d = half(b);
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>((b[2 + i] & 15) - 8) * d;
    out[i + 16] = static_cast<float>((b[2 + i] >> 4) - 8) * d;
  }
}
/// f16 d, f16 m, 12 bytes with eight scales s and minima n of 6 bits, 128 bytes of halves: (d s) q - (m n), eight times
/// 32 numbers.
void q4_k(const Byte* b, float* out) {
  auto d = half(b), m = half(b + 2);
  auto* packed = b + 4;
  auto* q = b + 16;
  for (int part = 0; part < 8; ++part) {
    int scale = packed[part] & 63, least = packed[part + 4] & 63;
    if (part >= 4) {
      scale = (packed[part + 4] & 15) | (packed[part - 4] >> 6 << 4);
      least = packed[part + 4] >> 4 | (packed[part] >> 6 << 4);
    }
    auto step = d * static_cast<float>(scale), low = m * static_cast<float>(least);
    auto* from = q + part / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      auto four = part % 2 == 0 ? from[i] & 15 : from[i] >> 4;
      out[part * 32 + i] = step * static_cast<float>(four) - low;
    }
  }
}
/// 128 bytes of the low four bits, 64 of the high two, 16 scales i8, f16 d: d s (q - 32).
void q6_k(const Byte* b, float* out) {
  auto* scales = b + 192;
  auto d = half(b + 208);
  for (int half_block = 0; half_block < 2; ++half_block) {
    auto *low = b + half_block * 64, *high = b + 128 + half_block * 32;
    for (int quarter = 0; quarter < 4; ++quarter)
      for (int i = 0; i < 32; ++i) {
        auto byte = low[quarter % 2 * 32 + i];
        auto four = quarter < 2 ? byte & 15 : byte >> 4;
        auto q = (four | (high[i] >> (2 * quarter) & 3) << 4) - 32;
        auto scale = static_cast<std::int8_t>(scales[half_block * 8 + quarter * 2 + i / 16]);
        out[half_block * 128 + quarter * 32 + i] = d * static_cast<float>(scale) * static_cast<float>(q);
      }
  }
}
}  // namespace

void decode(const Tensor& t, std::int64_t begin, std::int64_t end, float* out) {
  auto& blocks = blocks_of(t.encoding);
  auto* from = t.data + begin * blocks.bytes;
  if (t.encoding == Encoding::f32) return void(std::memcpy(out, from, static_cast<std::size_t>((end - begin) * 4)));
  for (auto i = begin; i < end; ++i, from += blocks.bytes, out += blocks.numbers) switch (t.encoding) {
      case Encoding::f32: break;
      case Encoding::f16: *out = half(from); break;
      case Encoding::bf16: {
        bfloat16 x;
        std::memcpy(&x.bits, from, 2);
        *out = x;
        break;
      }
      case Encoding::q8_0: q8_0(from, out); break;
      case Encoding::q4_0: q4_0(from, out); break;
      case Encoding::q4_k: q4_k(from, out); break;
      case Encoding::q6_k: q6_k(from, out); break;
    }
}
void decode_integers(const Tensor& t, std::int64_t begin, std::int64_t end, std::int16_t* q, float* scales) {
  bool eight = t.encoding == Encoding::q8_0;
  check<ValueError>(eight || t.encoding == Encoding::q4_0, "gguf: ", t.name, " has no integers with one scale");
  auto size = blocks_of(t.encoding).bytes;
  auto* from = t.data + begin * size;
  for (auto i = begin; i < end; ++i, from += size, q += 32) {
    *scales++ = half(from);
    for (int k = 0; k < 16; ++k) {
      q[k] = static_cast<std::int16_t>(eight ? static_cast<std::int8_t>(from[2 + k]) : (from[2 + k] & 15) - 8);
      q[k + 16] = static_cast<std::int16_t>(eight ? static_cast<std::int8_t>(from[18 + k]) : (from[2 + k] >> 4) - 8);
    }
  }
}
}  // namespace bora::gguf
