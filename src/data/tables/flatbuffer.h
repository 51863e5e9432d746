// flatbuffer.h -- a table of FlatBuffers, in which Arrow writes what its messages hold. Every offset is checked against
// the bytes present.
#pragma once
#include <cstring>
#include "data/tables/column.h"

namespace bora::data::tables {
class Flat {
 public:
  /// The root of a buffer.
  explicit Flat(std::string_view bytes) : Flat(bytes, number<std::uint32_t>(bytes, 0)) {}
  /// A number of the table, or `otherwise`.
  template <class T> T get(int field, T otherwise) const {
    auto at = place(field);
    return at == 0 ? otherwise : number<T>(bytes_, at);
  }
  bool has(int field) const { return place(field) != 0; }
  /// A table that it refers to. Throws Problem if there is none.
  Flat table(int field) const { return {bytes_, target(field)}; }
  std::string text(int field) const {
    if (!has(field)) return "";
    auto [at, n] = list(field, 1);
    return std::string(bytes_.substr(at, n));
  }
  std::size_t count(int field) const { return has(field) ? list(field, 1).second : 0; }
  /// Element i of a list of tables.
  Flat table(int field, std::size_t i) const {
    auto [at, n] = list(field, 4);
    expect(i < n, "a list is too short");
    return {bytes_, at + 4 * i + number<std::uint32_t>(bytes_, at + 4 * i)};
  }
  /// The i-th number of T in a list of structs of `size` bytes, `offset` bytes inside of it.
  template <class T> T in_list(int field, std::size_t i, std::size_t size, std::size_t offset) const {
    auto [at, n] = list(field, size);
    expect(i < n, "a list is too short");
    return number<T>(bytes_, at + size * i + offset);
  }

 private:
  Flat(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {
    auto back = number<std::int32_t>(bytes, at);
    auto v = static_cast<std::int64_t>(at) - back;
    expect(v >= 0 && v < static_cast<std::int64_t>(bytes.size()), "a table lies outside of its message");
    fields_ = static_cast<std::size_t>(v);
    auto size = number<std::uint16_t>(bytes, fields_);
    expect(size >= 4 && size <= bytes.size() - fields_, "a table lies outside of its message");
    size_ = size;
  }
  template <class T> static T number(std::string_view bytes, std::size_t at) {
    expect(at <= bytes.size() && sizeof(T) <= bytes.size() - at, "a message ends too early");
    T x;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    return x;
  }
  /// Where a field is; 0 if it is not there.
  std::size_t place(int field) const {
    auto slot = 4 + 2 * static_cast<std::size_t>(field);
    if (slot + 2 > size_) return 0;
    auto offset = number<std::uint16_t>(bytes_, fields_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }
  std::size_t target(int field) const {
    auto at = place(field);
    expect(at != 0, "a message lacks a part");
    return at + number<std::uint32_t>(bytes_, at);
  }
  /// Begin and number of the elements, which take `size` bytes each.
  std::pair<std::size_t, std::size_t> list(int field, std::size_t size) const {
    auto at = target(field);
    std::size_t n = number<std::uint32_t>(bytes_, at);
    expect(n <= (bytes_.size() - at - 4) / size, "a list ends behind its message");
    return {at + 4, n};
  }
  std::string_view bytes_;
  std::size_t at_, fields_ = 0, size_ = 0;  // fields_: of the list of places, size_: its bytes
};
}  // namespace bora::data::tables
