// wire.h -- how the numbers of a sum travel between ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include "bora/base/dtype.h"

namespace bora {
/// f32: as they are. bf16, f16: rounded to it, half the bytes; f16 has an error of an eighth, but sums above 65504 are
/// infinite. int8, int4: blocks of integers with a scale each, about a quarter and an eighth of the bytes.
enum class Codec : std::uint8_t { f32, bf16, int8, int4, f16 };
/// A row for a codec; the transport has its kernels, train/levels.h its operations on Arrays.
struct CodecInfo {
  std::string_view word;  // in settings, messages and traces
  bool blocks;            // of integers with a scale
  Dtype dtype;            // without blocks: numbers are rounded to it
};
inline constexpr CodecInfo codec_table[] = {
    {"f32", false, f32}, {"bf16", false, bf16}, {"int8", true, f32}, {"int4", true, f32}, {"f16", false, f16}};
inline constexpr std::size_t kCodecs = std::size(codec_table);  // the number of codecs
/// A codec that there is not, as a damaged message may have it, has the word "?".
constexpr CodecInfo info(Codec codec) {
  auto k = static_cast<std::size_t>(codec);
  return k < kCodecs ? codec_table[k] : CodecInfo{"?", false, f32};
}
constexpr std::string_view word(Codec codec) { return info(codec).word; }
/// How an f32 sum travels. Every rank's numbers are rounded once, summed in f32 in rank order, and the sum
/// is rounded once: every rank gets the same bits. int8 and int4: each block of `block` numbers, counted from the first
/// one of the array (of a rank's part, for reduce_scatter), has the scale s = max |x| / 127 as bf16 rounded up; a
/// number is off by at most s / 2 each time, with int4 (base/api/int4.h) 19.5 s. Numbers below 2^-126 are zero. A block
/// with a NaN is NaN; in one with an infinity, infinite numbers stay and all others are NaN. int8 and int4 do not round
/// the sums of a reduce_scatter.
struct Wire {
  Codec codec = Codec::f32;  // of the numbers on the way
  std::uint16_t block = 64;  // numbers that share a scale (int8 and int4): a multiple of 64, up to 4096

  struct Blocks {
    std::uint16_t block = 64;
  };
  static constexpr Wire bf16() { return {Codec::bf16}; }
  static constexpr Wire f16() { return {Codec::f16}; }
  static constexpr Wire int8(Blocks b = {64}) { return {Codec::int8, b.block}; }
  static constexpr Wire int4(Blocks b = {64}) { return {Codec::int4, b.block}; }
  constexpr bool exact() const { return codec == Codec::f32; }
  constexpr bool blocks() const { return info(codec).blocks; }
  /// Blocks of other codecs are not compared: they have none.
  friend constexpr bool operator==(const Wire& a, const Wire& b) {
    return a.codec == b.codec && (!a.blocks() || a.block == b.block);
  }
};
/// Whether int8 and int4 take blocks of so many numbers.
constexpr bool valid_block(std::int64_t block) { return block >= 64 && block <= 4096 && block % 64 == 0; }
/// "int8/64": with its block.
inline std::string word(const Wire& w) {
  auto name = std::string(word(w.codec));
  return w.blocks() ? name + "/" + std::to_string(w.block) : name;
}
}  // namespace bora
