// cereal.h -- cereal's portable archives, read from bytes that may be damaged; and types with cereal's functions
// (serialize, or save and load) as static values of trees. Include it where such a type is defined: then it is part of
// jit's key by its bytes, and save_tree and load_tree keep it.
#pragma once
#include <cereal/archives/portable_binary.hpp>
#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>
#include "bora/tree/children.h"

namespace bora::io {
/// Reads what a cereal::PortableBinaryOutputArchive has written, in either order of bytes. A length must fit the bytes
/// that remain before memory is taken for it. Throws CheckpointError.
class BoundedArchive : public cereal::InputArchive<BoundedArchive, cereal::AllowEmptyClassElision> {
 public:
  explicit BoundedArchive(std::string_view bytes) : InputArchive(this), bytes_(bytes) {
    std::uint8_t little = 0;
    read(&little, 1);
    check<CheckpointError>(little <= 1, "it begins with ", int{little}, ", not with an order of bytes");
    swap_ = (little == 1) != (std::endian::native == std::endian::little);
  }
  /// n numbers of `size` bytes.
  void read(void* to, std::size_t n, std::size_t size = 1) {
    check<CheckpointError>(n <= bytes_.size() / size, "it ends in the middle of a value");
    if (n > 0) std::memcpy(to, bytes_.data(), n * size);
    bytes_.remove_prefix(n * size);
    if (swap_ && size > 1)
      for (auto* p = static_cast<char*>(to); n > 0; --n, p += size) std::reverse(p, p + size);
  }
  std::uint64_t length() {
    std::uint64_t n = 0;
    read(&n, 1, sizeof n);
    check<CheckpointError>(n <= bytes_.size(), "it lists ", n, " things in ", bytes_.size(), " bytes");
    return n;
  }
  void end() const { check<CheckpointError>(bytes_.empty(), bytes_.size(), " bytes are left over at its end"); }

 private:
  std::string_view bytes_;
  bool swap_ = false;
};
// What cereal calls to read a number, bytes, a length, a named value.
template <class T> requires std::is_arithmetic_v<T> void load(BoundedArchive& a, T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t byte = 0;
    a.read(&byte, 1);
    check<CheckpointError>(byte <= 1, "a boolean in it is ", int{byte});
    x = byte == 1;
  } else a.read(&x, 1, sizeof x);
}
template <class T> void load(BoundedArchive& a, cereal::BinaryData<T>& x) {
  constexpr auto size = sizeof(std::remove_pointer_t<std::remove_reference_t<T>>);
  a.read(x.data, static_cast<std::size_t>(x.size) / size, size);
}
template <class T> void load(BoundedArchive& a, cereal::SizeTag<T>& x) { x.size = a.length(); }
template <class T> void load(BoundedArchive& a, cereal::NameValuePair<T>& x) { a(x.value); }

// A value as an archive, and back.
template <class T> std::string archive_of(const T& x) {
  std::ostringstream out;
  {
    cereal::PortableBinaryOutputArchive archive(out, cereal::PortableBinaryOutputArchive::Options::LittleEndian());
    archive(x);
  }
  return std::move(out).str();
}
template <class T> void read_archive(T& x, std::string_view bytes) {
  BoundedArchive archive(bytes);
  archive(x);
  archive.end();
}
}  // namespace bora::io
CEREAL_REGISTER_ARCHIVE(bora::io::BoundedArchive)  // for cereal's polymorphic types
namespace cereal::traits::detail {                 // for types with save_minimal and load_minimal
template <> struct get_output_from_input<bora::io::BoundedArchive> { using type = PortableBinaryOutputArchive; };
}  // namespace cereal::traits::detail

namespace bora {
/// A class that both archives take. Aggregates, classes that list their members and containers are seen by reflection.
template <class T> concept CerealType = std::is_class_v<T> && !std::is_aggregate_v<T> && !fields::Listed<T> &&
    !tree::IsLeaf<T> && !tree::Container<T> && !std::is_same_v<T, std::string> &&
    cereal::traits::is_output_serializable<T, cereal::PortableBinaryOutputArchive>::value &&
    cereal::traits::is_input_serializable<T, io::BoundedArchive>::value;
template <CerealType T> inline constexpr bool is_static<T> = true;
template <CerealType T> struct tree::StaticBytes<T> {
  static std::string write(const T& x) { return io::archive_of(x); }
  static void read(T& x, const std::string& bytes) { io::read_archive(x, bytes); }
};
}  // namespace bora
