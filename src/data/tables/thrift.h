// thrift.h -- the compact protocol of Apache Thrift, in which Parquet writes what it says of itself. Bytes are not
// trusted: whatever they hold, reading ends with values or a Problem, and takes no more memory than they do.
#pragma once
#include "data/tables/column.h"

namespace bora::data::tables {
class Thrift {
 public:
  explicit Thrift(std::string_view bytes) : bytes_(bytes) {}
  std::size_t at() const { return at_; }
  /// Calls field(number, type) for each field of a struct. It takes the value and returns true, or leaves it there to
  /// be passed over: fields that later versions have add nothing that is needed.
  template <class F> void structure(const F& field) {
    deeper();
    for (std::int64_t number = 0;;) {
      auto head = byte();
      if (head == 0) break;
      number = head >> 4 != 0 ? number + (head >> 4) : zigzag();
      expect(number >= 0 && number < 1 << 15, "a field has no number");
      if (!field(static_cast<int>(number), head & 15)) skip(head & 15);
    }
    --depth_;
  }
  /// Each takes a value if it has the type.
  template <class T> bool take(int type, T& out)
    requires std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>
  {
    if (type < 3 || type > 6) return false;
    auto x = type == 3 ? static_cast<std::int8_t>(byte()) : zigzag();
    expect(x == static_cast<T>(x), "a number is too large");
    out = static_cast<T>(x);
    return true;
  }
  bool take(int type, bool& out) {
    if (type != 1 && type != 2) return false;
    out = type == 1;
    return true;
  }
  bool take(int type, std::string& out) {
    if (type != 8) return false;
    out = text();
    return true;
  }
  template <class F> bool take_structure(int type, const F& field) {
    if (type != 12) return false;
    structure(field);
    return true;
  }
  /// element(type of elements, their number) for each of a list.
  template <class F> bool take_list(int type, const F& element) {
    if (type != 9) return false;
    auto [n, of] = list_head();
    for (std::size_t i = 0; i < n; ++i) element(of);
    return true;
  }
  void skip(int type);

 private:
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  std::string_view text();
  std::pair<std::size_t, int> list_head();
  void deeper() { expect(++depth_ < 48, "its structs are too deep"); }
  std::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};
/// A number in groups of seven bits, as thrift and Parquet's encodings have it.
std::uint64_t take_varint(std::string_view bytes, std::size_t& at);
inline std::int64_t from_zigzag(std::uint64_t x) {
  return static_cast<std::int64_t>(x >> 1) ^ -static_cast<std::int64_t>(x & 1);
}
}  // namespace bora::data::tables
