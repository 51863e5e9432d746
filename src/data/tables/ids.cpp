// Files of ids: .bin of nanoGPT (numbers alone) and of llm.c (behind a header), .npy of NumPy.
#include <algorithm>
#include <bit>
#include <cstring>
#include "base/api/file.h"
#include "base/api/npy_header.h"
#include "bora/base/error.h"
#include "data/tables/table.h"

namespace bora::data::tables {
namespace {
constexpr std::int64_t kBlock = 256 << 10;  // bytes of a reading

struct IdState final : RecordReader::State {
  IdState(const SourceFile& listed, Position from, const Limits& l, const Selection& s)
      : file(File::open(listed.path)), limits(l), end_id(s.end) {
    layout = std::make_shared<Layout>(Layout{listed.path, Format::ids, {"input_ids"}});
    if (listed.path.ends_with(".npy")) npy(listed);
    else bin(listed, s.wide);
    at = std::max(from.offset, begin);
    check<IoError>(at <= end && (at - begin) % width == 0, listed.path,
                   ": it ends before the place at which reading is to go on; it has changed");
    behind = {at, from.line};
  }
  void bin(const SourceFile& f, bool wide) {
    width = wide ? 4 : 2;
    end = f.bytes;
    std::int32_t head[256] = {};
    constexpr std::int32_t gpt2 = 20240520, llama3 = 20240801;  // llm.c's marks, of ids of two and four bytes
    bool marked = f.bytes >= 4 && read(0, head, std::min<std::int64_t>(f.bytes, sizeof head)) &&
                  (head[0] == gpt2 || head[0] == llama3);
    if (marked) {
      check<ConfigError>(head[1] == (head[0] == gpt2 ? 1 : 7), f.path, ": its header is of version ", head[1],
                         ", which is not known");
      check<IoError>(f.bytes >= static_cast<std::int64_t>(sizeof head), f.path, ": its header of ", sizeof head,
                     " bytes is incomplete");
      width = head[0] == gpt2 ? 2 : 4;
      begin = sizeof head;
      // The count has 32 bits; of larger files their sizes tell.
      auto ids = (end - begin) / width;
      check<IoError>((end - begin) % width == 0 &&
                         static_cast<std::uint32_t>(ids) == static_cast<std::uint32_t>(head[2]),
                     f.path, ": its header says ", static_cast<std::uint32_t>(head[2]), " ids of ", width,
                     " bytes, and ", end - begin, " bytes follow; the file is incomplete");
      return;
    }
    check<IoError>(end % width == 0, f.path, ": its ", end, " bytes are no whole number of ids of ", width, " bytes",
                   wide ? "" : "; are they of four (width: u32)?");
    if (wide) return;
    // Ids of four bytes have zeros in every second place of two.
    std::uint16_t some[512] = {};
    auto n = std::min<std::int64_t>(end, sizeof some) / 4 * 4;
    if (n < 32 || !read(0, some, n)) return;
    bool odd = false, even = false;
    for (std::int64_t i = 0; i < n / 2; ++i) (i % 2 != 0 ? odd : even) |= some[i] != 0;
    check<ConfigError>(odd || !even, f.path, ": every second id is 0, as if ids had four bytes; set width: u32");
  }
  void npy(const SourceFile& f) {
    std::string bytes(static_cast<std::size_t>(std::min<std::int64_t>(f.bytes, 64 << 10)), '\0');
    check<IoError>(read(0, bytes.data(), f.bytes < (64 << 10) ? f.bytes : 64 << 10), f.path,
                   ": it became shorter while it was read");
    auto h = read_npy_header(bytes, f.path);
    bool little = h.descr.size() == 3 && (h.descr[0] == '<' || h.descr[0] == '|');
    bool integers = little && (h.descr[1] == 'u' || h.descr[1] == 'i') &&
                    std::string_view("1248").find(h.descr[2]) != std::string_view::npos;
    check<ConfigError>(integers, f.path, ": its numbers are of type ", h.descr,
                       "; ids are integers (<u2, <u4, <i4, ..)");
    auto dims = h.shape.size();
    check<ConfigError>(dims == 1 || (dims == 2 && !h.fortran), f.path, ": it has ", dims, " dimensions",
                       h.fortran ? " in Fortran's order" : "", "; ids are a line, or a row for each document");
    sign = h.descr[1] == 'i';
    width = h.descr[2] - '0';
    begin = static_cast<std::int64_t>(h.bytes);
    auto room = (f.bytes - begin) / width, n = h.shape[0];
    row = dims == 2 ? h.shape[1] : 0;
    bool fits = n <= room && (dims == 1 || n == 0 || h.shape[1] <= room / n);
    check<IoError>(fits, f.path, " ends before its numbers");
    end = begin + n * (dims == 2 ? row : 1) * width;
  }
  bool read(std::int64_t from, void* out, std::int64_t n) const { return file.read(from, out, n); }
  /// The next id; -1 if it is none.
  std::int64_t take() {
    if (at < held || at - held >= static_cast<std::int64_t>(block.size())) {
      block.resize(static_cast<std::size_t>(std::min(kBlock, end - at)));
      check<IoError>(read(at, block.data(), static_cast<std::int64_t>(block.size())), layout->path,
                     ": it became shorter while it was read");
      held = at;
    }
    std::uint64_t x = 0;
    std::memcpy(&x, block.data() + (at - held), static_cast<std::size_t>(width));
    at += width;
    bool below = sign && (x >> (8 * width - 1) & 1) != 0;
    return below || x > INT32_MAX ? -1 : static_cast<std::int64_t>(x);
  }
  bool next(Raw& raw) override {
    if (at >= end) return false;
    raw.bytes.clear();
    raw.line = behind.line;
    auto most = static_cast<std::size_t>(limits.document) / 4 * 4;
    auto stop = row > 0 ? at + (row - (at - begin) / width % row) * width : end;
    std::int64_t bad = -1;
    for (bool more = true; more && at < stop && raw.bytes.size() < most;) {
      auto place = at;
      auto id = take();
      if (id < 0 && bad < 0) bad = (place - begin) / width;
      auto narrow = static_cast<std::int32_t>(id);
      raw.bytes.append(reinterpret_cast<const char*>(&narrow), 4);
      more = !end_id || id != *end_id;
    }
    behind = {at, behind.line + 1};
    check<ConfigError>(bad < 0, layout->path, ":", raw.line, ": number ", bad + 1, " is no id of a token");
    return true;
  }
  File file;
  Limits limits;
  std::optional<std::int32_t> end_id;
  int width = 2;       // bytes of an id
  bool sign = false;
  std::int64_t begin = 0, end = 0, at = 0;  // bytes of the file: of the ids, and of the next one
  std::int64_t row = 0;                     // ids of a document; 0: as end_id says
  std::vector<char> block = {};
  std::int64_t held = 0;                    // where the block begins
};
}  // namespace

std::unique_ptr<RecordReader::State> id_records(const SourceFile& file, Position from, const Limits& limits,
                                                const Selection& s) {
  return std::make_unique<IdState>(file, from, limits, s);
}
}  // namespace bora::data::tables
