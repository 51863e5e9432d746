// pages.h -- the pages of a column in a row group: their headers, one after another, and their bytes, unpacked.
#pragma once
#include "data/tables/encodings.h"

struct ZSTD_DCtx_s;
namespace bora::data::tables {
struct PageHeader {
  enum Kind : std::int32_t { data, index, dictionary, data2 };
  std::int32_t kind = -1, unpacked = -1, stored = -1;  // bytes
  std::int32_t values = -1, encoding = -1;
  std::int32_t rows = -1, nulls = -1;  // -1 where the page does not say
  std::int32_t def_encoding = static_cast<int>(Encoding::rle), rep_encoding = static_cast<int>(Encoding::rle);
  std::int32_t def_bytes = 0, rep_bytes = 0;  // of data2
  bool packed = true;                         // of data2: whether its values are
  std::int32_t crc = 0;
  bool has_crc = false;
};
/// A page's bytes. Those of levels are empty where there are none.
struct Page {
  std::string_view rep = {}, def = {}, values = {};
  std::shared_ptr<const void> memory = {};
};
/// Throws IoError "PATH: column C, page N of row group G: ..", N and G from 1 on.
class Pages {
 public:
  Pages(const File&, const std::string& path, const Leaf&, const Piece&, std::size_t group);
  /// The header of the page that is next, or null at the end.
  const PageHeader* ahead();
  void skip();
  Page take();
  [[noreturn]] void failed(const std::string& problem) const;

 private:
  bool parse(std::string_view bytes);
  void unpack(Codec codec, std::string_view from, char* out, std::size_t n);
  /// Room for a page; it is free again once nothing else holds it.
  std::shared_ptr<char[]> room(std::size_t bytes);
  const File& file_;
  std::string path_;
  const Leaf& leaf_;
  Piece piece_;
  std::size_t group_, page_ = 0;    // page_: the one whose header was read last, from 1 on
  std::int64_t at_, end_;           // of the header that is next
  std::int64_t header_bytes_ = 0;   // 0: it is not read
  PageHeader header_ = {};
  std::string window_ = {};         // bytes of the file from window_at_ on
  std::int64_t window_at_ = 0;
  std::shared_ptr<ZSTD_DCtx_s> zstd_ = {};  // made at the first page that needs it
  struct Room {
    std::shared_ptr<char[]> bytes = {};
    std::size_t size = 0;
  };
  std::vector<Room> rooms_ = {};  // of earlier pages: fresh memory costs a third of what unpacking into it does
};
}  // namespace bora::data::tables
