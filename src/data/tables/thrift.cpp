#include "data/tables/thrift.h"

namespace bora::data::tables {
std::uint64_t take_varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) throw Problem{"it ends in the middle of a number", true};
    auto c = static_cast<std::uint8_t>(bytes[at++]);
    x |= static_cast<std::uint64_t>(c & 127) << shift;
    if (c < 128) return x;
  }
  broken("a number has more than 64 bits");
}
std::uint8_t Thrift::byte() {
  if (at_ >= bytes_.size()) throw Problem{"it ends in the middle of a struct", true};
  return static_cast<std::uint8_t>(bytes_[at_++]);
}
std::uint64_t Thrift::varint() { return take_varint(bytes_, at_); }
std::int64_t Thrift::zigzag() { return from_zigzag(varint()); }
std::string_view Thrift::text() {
  auto n = varint();
  if (n > bytes_.size() - at_) throw Problem{"it ends in the middle of a text", true};
  auto s = bytes_.substr(at_, n);
  at_ += n;
  return s;
}
std::pair<std::size_t, int> Thrift::list_head() {
  auto head = byte();
  auto n = head >> 4 == 15 ? varint() : static_cast<std::uint64_t>(head >> 4);
  // Every element has a byte or more.
  if (n > bytes_.size() - at_) throw Problem{"it ends in the middle of a list", true};
  return {n, head & 15};
}
void Thrift::skip(int type) {
  switch (type) {
    case 1:
    case 2: return;  // a field that is true or false
    case 3: byte(); return;
    case 4:
    case 5:
    case 6: varint(); return;
    case 7:
      for (int i = 0; i < 8; ++i) byte();
      return;
    case 8: text(); return;
    case 9:
    case 10: {
      deeper();
      auto [n, of] = list_head();
      for (std::size_t i = 0; i < n; ++i) of < 3 ? void(byte()) : skip(of);
      --depth_;
      return;
    }
    case 11: {
      deeper();
      auto n = varint();
      if (n > bytes_.size() - at_) throw Problem{"it ends in the middle of a map", true};
      auto types = n > 0 ? byte() : 0;
      for (std::uint64_t i = 0; i < n; ++i)
        for (auto of : {types >> 4, types & 15}) of < 3 ? void(byte()) : skip(of);
      --depth_;
      return;
    }
    case 12: structure([](int, int) { return false; }); return;
    default: broken("a field has an unknown type");
  }
}
}  // namespace bora::data::tables
