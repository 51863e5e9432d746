#include "data/tables/encodings.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include "data/tables/thrift.h"

namespace bora::data::tables {
namespace {
constexpr std::size_t kMostExpanded = std::size_t{1} << 28;  // bytes of texts that share their beginnings, at once

/// `width` bits from a place in bits; what lies behind the bytes is 0.
std::uint64_t bits_at(std::string_view bytes, std::uint64_t bit, int width) {
  if (width == 0) return 0;
  auto byte = static_cast<std::size_t>(bit / 8);
  auto shift = static_cast<int>(bit % 8);
  std::uint64_t low = 0, high = 0;
  if (byte + 8 <= bytes.size()) std::memcpy(&low, bytes.data() + byte, 8);
  else std::memcpy(&low, bytes.data() + byte, bytes.size() - byte);
  if (shift + width > 64 && byte + 8 < bytes.size()) high = static_cast<std::uint8_t>(bytes[byte + 8]);
  auto x = low >> shift;
  if (shift + width > 64) x |= high << (64 - shift);
  return width == 64 ? x : x & ((std::uint64_t{1} << width) - 1);
}
}  // namespace

void Hybrid::next_run() {
  auto head = take_varint(bytes_, at_);
  packed_ = (head & 1) != 0;
  left_ = head >> 1;
  if (packed_) {
    auto width = static_cast<std::uint64_t>(width_);
    expect(left_ <= bytes_.size() && left_ * width <= bytes_.size() - at_, "a run ends behind its bytes");
    bit_ = 8 * at_;
    at_ += left_ * width;
    left_ *= 8;
  } else {
    auto n = static_cast<std::size_t>(width_ + 7) / 8;
    expect(n <= bytes_.size() - at_, "a run ends behind its bytes");
    value_ = 0;
    std::memcpy(&value_, bytes_.data() + at_, n);
    at_ += n;
  }
}
void Hybrid::read(std::uint32_t* out, std::size_t n) {
  if (width_ == 0) return void(std::fill(out, out + n, 0));  // some writers leave the runs out
  while (n > 0) {
    if (left_ == 0) {
      next_run();
      continue;
    }
    auto take = static_cast<std::size_t>(std::min<std::uint64_t>(n, left_));
    if (packed_) {
      auto width = static_cast<std::uint64_t>(width_);
      for (std::size_t i = 0; i < take; ++i, bit_ += width)
        out[i] = static_cast<std::uint32_t>(bits_at(bytes_, bit_, width_));
    } else std::fill(out, out + take, value_);
    out += take, n -= take, left_ -= take;
  }
}
Deltas::Deltas(std::string_view bytes) : bytes_(bytes) {
  block_ = take_varint(bytes_, at_);
  minis_ = take_varint(bytes_, at_);
  count_ = take_varint(bytes_, at_);
  value_ = from_zigzag(take_varint(bytes_, at_));
  bool fits = block_ > 0 && block_ % 128 == 0 && block_ <= 1 << 20 && minis_ > 0 && block_ % minis_ == 0 &&
              (block_ / minis_) % 32 == 0;
  expect(fits, "its differences are in blocks of no size");
  mini_ = minis_;
}
void Deltas::next_block() {
  least_ = from_zigzag(take_varint(bytes_, at_));
  expect(minis_ <= bytes_.size() - at_, "a block of differences ends behind its bytes");
  widths_ = bytes_.substr(at_, minis_);
  at_ += minis_;
  mini_ = 0;
}
void Deltas::read(std::int64_t* out, std::size_t n) {
  expect(n <= count_ - given_, "it has fewer differences than values");
  auto in_part = block_ / minis_;
  for (std::size_t i = 0; i < n; ++i, ++given_) {
    if (given_ > 0) {
      if (mini_ == minis_) next_block();
      auto width = static_cast<std::uint8_t>(widths_[mini_]);
      if (in_mini_ == 0) {  // bytes of the whole part are there, also of one with fewer numbers
        bool fits = width <= 64 && in_part * width / 8 <= bytes_.size() - at_;
        expect(fits, "a block of differences ends behind its bytes");
        bit_ = 8 * at_;
        at_ += in_part * width / 8;
      }
      auto x = bits_at(bytes_, bit_, width);
      bit_ += width;
      value_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(value_) + static_cast<std::uint64_t>(least_) + x);
      if (++in_mini_ == in_part) in_mini_ = 0, ++mini_;
    }
    out[i] = value_;
  }
}

namespace {
/// Room for n more numbers.
std::uint64_t* grow(std::vector<std::uint64_t>& v, std::size_t n) {
  v.resize(v.size() + n);
  return v.data() + (v.size() - n);
}
/// A number as Column has it.
template <class T> std::uint64_t widened(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<std::uint64_t>(static_cast<double>(x));
  else return static_cast<std::uint64_t>(x);
}
template <class T> struct PlainNumbers final : Decoder {
  explicit PlainNumbers(std::string_view b) : bytes(b) {}
  void read(std::size_t n, Values& out) override {
    expect(n <= bytes.size() / sizeof(T), "it ends before its last value");
    auto to = grow(out.numbers, n);
    for (std::size_t i = 0; i < n; ++i) {
      T x;
      std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof x);
      to[i] = widened(x);
    }
    bytes.remove_prefix(n * sizeof(T));
  }
  bool used_up() const override { return bytes.size() < sizeof(T); }
  std::string_view bytes;
};
struct PlainBits final : Decoder {
  explicit PlainBits(std::string_view b) : bytes(b) {}
  void read(std::size_t n, Values& out) override {
    expect(n <= 8 * bytes.size() - at, "it ends before its last value");
    auto to = grow(out.numbers, n);
    for (std::size_t i = 0; i < n; ++i, ++at) to[i] = static_cast<std::uint8_t>(bytes[at / 8]) >> at % 8 & 1;
  }
  bool used_up() const override { return 8 * bytes.size() - at < 8; }
  std::string_view bytes;
  std::size_t at = 0;
};
struct PlainTexts final : Decoder {
  explicit PlainTexts(std::string_view b) : bytes(b) {}
  void read(std::size_t n, Values& out) override {
    expect(n <= bytes.size() / 4, "it ends before its last value");
    out.texts.reserve(out.texts.size() + n);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t size = 0;
      expect(bytes.size() >= 4, "it ends before its last value");
      std::memcpy(&size, bytes.data(), 4);
      expect(size <= bytes.size() - 4, "a text ends behind its page");
      out.texts.push_back(bytes.substr(4, size));
      bytes.remove_prefix(4 + size);
    }
  }
  bool used_up() const override { return bytes.size() < 4; }
  std::string_view bytes;
};
struct RunBits final : Decoder {
  explicit RunBits(std::string_view bytes) : runs(bytes, 1) {}
  void read(std::size_t n, Values& out) override {
    room.resize(n);
    runs.read(room.data(), n);
    out.numbers.insert(out.numbers.end(), room.begin(), room.end());
  }
  bool used_up() const override { return runs.used_up(); }
  Hybrid runs;
  std::vector<std::uint32_t> room = {};
};
struct Looked final : Decoder {
  Looked(std::string_view bytes, const Dictionary& d) : dictionary(d) {
    if (bytes.empty()) return;  // of a page that has nulls alone
    indices = Hybrid(bytes.substr(1), static_cast<std::uint8_t>(bytes[0]));
    there = true;
  }
  void read(std::size_t n, Values& out) override {
    expect(there || n == 0, "it ends before its last value");
    room.resize(n);
    indices.read(room.data(), n);
    auto look = [&](auto& from, auto& to) {
      to.reserve(to.size() + n);
      for (auto i : room) {
        expect(i < from.size(), "a value is not in the dictionary");
        to.push_back(from[i]);
      }
    };
    if (dictionary.texts.empty()) look(dictionary.numbers, out.numbers);
    else look(dictionary.texts, out.texts);
  }
  bool used_up() const override { return indices.used_up(); }
  const Dictionary& dictionary;
  Hybrid indices = {};
  std::vector<std::uint32_t> room = {};
  bool there = false;
};
struct DeltaNumbers final : Decoder {
  DeltaNumbers(std::string_view bytes, const Leaf& leaf)
      : deltas(bytes), narrow(leaf.physical == Physical::int32), natural(leaf.natural) {}
  void read(std::size_t n, Values& out) override {
    room.resize(n);
    deltas.read(room.data(), n);
    // Differences of 32-bit numbers wrap around at 32 bits.
    for (auto x : room) {
      if (narrow && natural) x = static_cast<std::uint32_t>(x);
      else if (narrow) x = static_cast<std::int32_t>(x);
      out.numbers.push_back(widened(x));
    }
  }
  bool used_up() const override { return deltas.used_up(); }
  Deltas deltas;
  bool narrow, natural;
  std::vector<std::int64_t> room = {};
};
/// What lies behind the differences that begin with `bytes`: only reading them tells their end.
std::string_view behind_deltas(std::string_view bytes, std::size_t values) {
  Deltas all(bytes);
  expect(all.count() <= values, "it has more lengths than values");
  std::int64_t some[1024];
  for (auto left = all.count(); left > 0;) {
    auto n = std::min<std::uint64_t>(left, std::size(some));
    all.read(some, n);
    left -= n;
  }
  return bytes.substr(all.end());
}
/// Lengths, and behind them the bytes of all texts.
struct DeltaTexts final : Decoder {
  DeltaTexts(std::string_view bytes, std::size_t values) {
    texts = behind_deltas(bytes, values);
    lengths = Deltas(bytes);
  }
  void read(std::size_t n, Values& out) override {
    room.resize(n);
    lengths.read(room.data(), n);
    for (auto size : room) {
      expect(size >= 0 && static_cast<std::size_t>(size) <= texts.size(), "a text ends behind its page");
      out.texts.push_back(texts.substr(0, static_cast<std::size_t>(size)));
      texts.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  bool used_up() const override { return lengths.used_up(); }
  Deltas lengths = {};
  std::string_view texts = {};
  std::vector<std::int64_t> room = {};
};
/// How many bytes each text shares with the one before it, and the rest of them.
struct SharedTexts final : Decoder {
  SharedTexts(std::string_view bytes, std::size_t values) {
    shared = Deltas(bytes);
    rest = std::make_unique<DeltaTexts>(behind_deltas(bytes, values), values);
  }
  void read(std::size_t n, Values& out) override {
    room.resize(n);
    shared.read(room.data(), n);
    Values ends;
    rest->read(n, ends);
    auto all = std::make_shared<std::string>();
    std::vector<std::size_t> sizes;
    std::size_t before = 0;  // where the last text begins in `all`; the very first one is in `last`
    for (std::size_t i = 0; i < n; ++i) {
      auto from = i == 0 ? std::string_view(last) : std::string_view(*all).substr(before);
      auto common = static_cast<std::uint64_t>(room[i]);
      expect(common <= from.size(), "a text shares more than there is with the one before it");
      auto size = common + ends.texts[i].size();
      expect(all->size() + size <= kMostExpanded, "its texts share so much that they are too long together");
      before = all->size();
      if (i == 0) all->append(from.substr(0, common));
      else all->resize(before + common), std::memcpy(all->data() + before, all->data() + before - from.size(), common);
      all->append(ends.texts[i]);
      sizes.push_back(size);
    }
    if (n == 0) return;
    last = all->substr(before);
    std::size_t at = 0;
    for (auto size : sizes) out.texts.push_back(std::string_view(*all).substr(at, size)), at += size;
    out.memory.push_back(std::move(all));
  }
  bool used_up() const override { return shared.used_up() && rest->used_up(); }
  Deltas shared = {};
  std::unique_ptr<DeltaTexts> rest = {};
  std::vector<std::int64_t> room = {};
  std::string last = {};
};
std::unique_ptr<Decoder> plain(const Leaf& leaf, std::string_view bytes) {
  switch (leaf.physical) {
    case Physical::boolean: return std::make_unique<PlainBits>(bytes);
    case Physical::int32:
      if (leaf.natural) return std::make_unique<PlainNumbers<std::uint32_t>>(bytes);
      return std::make_unique<PlainNumbers<std::int32_t>>(bytes);
    case Physical::int64: return std::make_unique<PlainNumbers<std::int64_t>>(bytes);
    case Physical::float32: return std::make_unique<PlainNumbers<float>>(bytes);
    case Physical::float64: return std::make_unique<PlainNumbers<double>>(bytes);
    case Physical::bytes: return std::make_unique<PlainTexts>(bytes);
    default: return nullptr;
  }
}
}  // namespace

std::unique_ptr<Decoder> decoder_of(std::int64_t encoding, const Leaf& leaf, std::string_view bytes,
                                    std::size_t values, const Dictionary* dictionary) {
  bool integers = leaf.physical == Physical::int32 || leaf.physical == Physical::int64;
  bool texts = leaf.physical == Physical::bytes;
  switch (static_cast<Encoding>(encoding)) {
    case Encoding::plain: return plain(leaf, bytes);
    case Encoding::plain_dictionary:
    case Encoding::dictionary:
      expect(dictionary != nullptr, "it needs a dictionary, and none was before it");
      return std::make_unique<Looked>(bytes, *dictionary);
    case Encoding::rle: {
      if (leaf.physical != Physical::boolean) return nullptr;
      std::uint32_t n = 0;
      expect(bytes.size() >= 4, "it ends before its first value");
      std::memcpy(&n, bytes.data(), 4);
      return std::make_unique<RunBits>(bytes.substr(4, n));
    }
    case Encoding::delta_binary:
      if (!integers) return nullptr;
      return std::make_unique<DeltaNumbers>(bytes, leaf);
    case Encoding::delta_length: return texts ? std::make_unique<DeltaTexts>(bytes, values) : nullptr;
    case Encoding::delta_bytes: return texts ? std::make_unique<SharedTexts>(bytes, values) : nullptr;
    default: return nullptr;
  }
}
}  // namespace bora::data::tables
