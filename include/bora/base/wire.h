// wire.h -- how the numbers of a sum travel between ranks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace bora {
/// f32: as they are. bf16: rounded to it, half the bytes. int8, int4: blocks of integers with a scale each, about a
/// quarter and an eighth of the bytes.
enum class Codec : std::uint8_t { f32, bf16, int8, int4 };
/// As settings, messages and traces write them. A switch without default: the compiler asks for a new value's word.
constexpr std::string_view word(Codec codec) {
  switch (codec) {
    case Codec::f32: return "f32";
    case Codec::bf16: return "bf16";
    case Codec::int8: return "int8";
    case Codec::int4: return "int4";
  }
  return "?";
}
/// How an f32 sum travels. Every rank's numbers are rounded once, summed in f32 in rank order, and the sum
/// is rounded once: every rank gets the same bits. int8 and int4: each block of `block` numbers, counted from the first
/// one of the array (of a rank's part, for reduce_scatter), has the scale s = max |x| / 127 as bf16 rounded up; a
/// number is off by at most s / 2 each time, with int4 (base/int4.h) 19.5 s. Numbers below 2^-126 are zero. A block
/// with a NaN is NaN; in one with an infinity, infinite numbers stay and all others are NaN. int8 and int4 do not round
/// the sums of a reduce_scatter.
struct Wire {
  Codec codec = Codec::f32;
  std::uint16_t block = 64;  // numbers that share a scale (int8 and int4): a multiple of 64, up to 4096

  struct Blocks {
    std::uint16_t block = 64;
  };
  static constexpr Wire bf16() { return {Codec::bf16}; }
  static constexpr Wire int8(Blocks b = {64}) { return {Codec::int8, b.block}; }
  static constexpr Wire int4(Blocks b = {64}) { return {Codec::int4, b.block}; }
  constexpr bool exact() const { return codec == Codec::f32; }
  constexpr bool blocks() const { return codec == Codec::int8 || codec == Codec::int4; }
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
