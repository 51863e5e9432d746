// encodings.h -- the encodings of Parquet's values and levels (the page Encodings of its format), read a few values at
// a time: however many values a page says that it has, only those that are asked for take memory.
#pragma once
#include <cstdint>
#include "data/tables/parquet_footer.h"

namespace bora::data::tables {
enum class Encoding : std::uint8_t {
  plain = 0, plain_dictionary = 2, rle = 3, delta_binary = 5, delta_length = 6, delta_bytes = 7, dictionary = 8
};
/// Runs of one value, and numbers of `width` bits side by side.
class Hybrid {
 public:
  Hybrid() = default;
  Hybrid(std::string_view bytes, int width) : bytes_(bytes), width_(width) {
    expect(width >= 0 && width <= 32, "its numbers have more than 32 bits");
  }
  void read(std::uint32_t* out, std::size_t n);
  /// Whether no number is left but those that fill the last run up: some writers fill it up to 32.
  bool used_up() const { return width_ == 0 || (left_ < 64 && bytes_.size() - at_ < 8); }

 private:
  void next_run();
  std::string_view bytes_ = {};
  std::size_t at_ = 0;
  int width_ = 0;
  std::uint64_t left_ = 0, bit_ = 0;  // of the run; bit_: of a packed one
  std::uint32_t value_ = 0;
  bool packed_ = false;
};
/// Integers as differences in blocks.
class Deltas {
 public:
  Deltas() = default;
  explicit Deltas(std::string_view bytes);
  void read(std::int64_t* out, std::size_t n);
  std::uint64_t count() const { return count_; }
  bool used_up() const { return given_ == count_; }
  /// Bytes up to the end of the block that has the last value; once all were read.
  std::size_t end() const { return at_; }

 private:
  void next_block();
  std::string_view bytes_ = {};
  std::size_t at_ = 0;
  std::uint64_t count_ = 0, given_ = 0, block_ = 0, minis_ = 0;
  std::int64_t value_ = 0, least_ = 0;
  std::uint64_t mini_ = 0, in_mini_ = 0, bit_ = 0;  // the next number: of the block's parts, in it, and its place there
  std::string_view widths_ = {};
};
/// Some values of a column.
struct Values {
  std::vector<std::string_view> texts = {};
  std::vector<std::uint64_t> numbers = {};
  std::vector<std::shared_ptr<const void>> memory = {};  // of texts that no page has as they are
};
/// The values of a dictionary page.
using Dictionary = Values;
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Adds the next n values. Throws Problem.
  virtual void read(std::size_t n, Values& out) = 0;
  /// Whether no whole value is left.
  virtual bool used_up() const = 0;
};
/// Null for an encoding that is not known, or not for such values. dictionary: of the row group, or null; it must
/// outlive the decoder, as the bytes must.
std::unique_ptr<Decoder> decoder_of(std::int64_t encoding, const Leaf&, std::string_view bytes, std::size_t values,
                                    const Dictionary* dictionary);
}  // namespace bora::data::tables
