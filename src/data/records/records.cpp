// The records of a file, one after another. A block of bytes is in memory, and the record that is read.
#include "data/api/records.h"
#include <algorithm>
#include <cstring>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "data/files/lines.h"
#include "data/records/csv.h"
#include "data/records/state.h"
#include "data/tables/table.h"

namespace bora::data {
namespace {
bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }
void drop_carriage(std::string& line) {
  if (line.ends_with('\r')) line.pop_back();
}
/// Takes the end of a text's last line away.
void drop_line_end(std::string& text) {
  if (text.ends_with('\n')) text.pop_back(), drop_carriage(text);
}

/// Of a file of text.
struct TextState final : RecordReader::State {
  TextState(const SourceFile& file, Format format, Position from, const Limits& l) : bytes(file), limits(l) {
    limits.block = std::min(limits.block, std::max<std::int64_t>(4096, file.bytes));
    auto made = std::make_shared<Layout>(Layout{file.path, format});
    layout = made;
    fill(3);
    bool wide = ahead().starts_with("\xff\xfe") || ahead().starts_with("\xfe\xff");
    check<ConfigError>(!wide, "data: ", file.path,
                       " begins as UTF-16 does; write it as UTF-8 (iconv -f utf-16 -t utf-8)");
    if (ahead().starts_with("\xef\xbb\xbf")) take(3);
    if (format == Format::csv) made->header = header();
    behind = {offset, line};
    if (from.offset <= offset) return;
    skip(from.offset - offset - 1);
    if (!fill()) skip(1);
    inside = ahead()[0] != '\n';
    take(1);
    behind = from;
    line = from.line;
  }

  /// Reads on if fewer than n bytes are in the buffer; false if there is none.
  bool fill(std::size_t n = 1) {
    if (end - at >= n) return true;
    std::memmove(buffer.data(), buffer.data() + at, end - at);
    end -= at;
    at = 0;
    auto block = std::max(n, static_cast<std::size_t>(limits.block));
    if (buffer.size() < end + block) buffer.resize(end + block);
    end += bytes.read(buffer.data() + end, block);
    return end > 0;
  }
  std::string_view ahead() const { return std::string_view(buffer).substr(at, end - at); }
  void take(std::size_t n) {
    at += n;
    offset += static_cast<std::int64_t>(n);
  }
  void skip(std::int64_t n) {
    auto here = std::min(n, static_cast<std::int64_t>(end - at));
    take(static_cast<std::size_t>(here));
    if (n > here) bytes.skip(n - here);
    offset += n - here;
  }
  /// Adds to a record what fits its limit; false if not all does.
  bool add(std::string& record, std::string_view piece) const {
    auto most = static_cast<std::size_t>(limits.record), room = most - record.size();
    if (record.size() + piece.size() > 1 << 20) record.reserve(most);  // growing step by step would hold it twice
    record += piece.substr(0, room);
    return piece.size() <= room;
  }
  template <class... Parts> [[noreturn]] void malformed(std::int64_t at_line, const Parts&... parts) {
    behind = {offset, line};
    fail<ConfigError>(layout->path, ":", at_line, ": ", parts...);
  }
  [[noreturn]] void too_long(std::int64_t at_line) {
    malformed(at_line, "the record is longer than ", bytes_text(limits.record), ", the most that one may have");
  }

  /// A line; false at the end.
  bool json_line(Raw& raw) {
    do {
      if (!fill()) return false;
      raw.bytes.clear();
      raw.line = line;
      bool fits = true, ended = false;
      while (!ended && fill()) {
        auto piece = ahead();
        auto feed = piece.find('\n');
        ended = feed != piece.npos;
        piece = piece.substr(0, feed);
        fits = add(raw.bytes, piece) && fits;
        take(piece.size() + ended);
      }
      line += ended;
      if (!fits) too_long(raw.line);
      drop_carriage(raw.bytes);
    } while (blank(raw.bytes));
    return true;
  }
  /// A row; false at the end.
  bool row(Raw& raw) {
    do {
      if (!fill()) return false;
      raw.bytes.clear();
      raw.line = line;
      CsvScan scan;
      bool fits = true;
      while (!scan.ended() && fill()) {
        // One byte more than there is room for: a record that is too long ends alike however its blocks are cut.
        auto room = static_cast<std::size_t>(limits.record) - raw.bytes.size() + 1;
        auto n = scan.take(ahead().substr(0, fits ? room : ahead().npos));
        fits = add(raw.bytes, ahead().substr(0, n - scan.ended())) && fits;
        if (!fits) scan.give_up();
        take(n);
      }
      line += scan.lines();
      auto quote = raw.line + scan.quote();
      if (!fits) too_long(raw.line);
      if (scan.open()) malformed(raw.line, "the quote of line ", quote, " is not closed");
      if (scan.malformed())
        malformed(raw.line, "the quoted field of line ", quote,
                  " is followed by other text; a quote inside it is doubled");
      drop_carriage(raw.bytes);
    } while (raw.bytes.empty());
    return true;
  }
  /// A document; false at the end.
  bool document(Raw& raw) {
    auto most = static_cast<std::size_t>(limits.document);
    auto& text = raw.bytes;
    do {
      text.clear();
      raw.line = line;
      LineScan scan(inside);
      std::size_t last_line = 0, last_blank = 0;  // their ends
      bool mark = false;
      while (!mark && fill()) {
        if (text.size() == most) {
          put_back(text, last_blank > most / 2  ? last_blank
                         : last_line > most / 2 ? last_line
                                                : last_cut(text, most / 2));
          break;
        }
        auto piece = ahead().substr(0, most - text.size());
        std::size_t n = 0;
        while (n < piece.size() && !mark) {
          auto kind = scan.feed(piece[n++]);
          mark = kind == LineScan::Line::mark;
          if (mark || kind == LineScan::Line::inside) continue;
          last_line = text.size() + n;
          if (kind == LineScan::Line::blank) last_blank = last_line;
        }
        text += piece.substr(0, n);
        take(n);
      }
      inside = !mark && !text.ends_with('\n');
      if (mark) text.resize(last_line);
      line += std::count(text.begin(), text.end(), '\n') + mark;
      if (text.empty() && !mark) return false;
      if (mark) drop_line_end(text);
    } while (text.empty());
    return true;
  }
  /// Leaves what follows the first n bytes of a document to the next one.
  void put_back(std::string& text, std::size_t n) {
    auto rest = text.size() - n, left = end - at;
    if (at < rest) {  // makes room before what is in the buffer
      if (buffer.size() < rest + left) buffer.resize(rest + left);
      std::memmove(buffer.data() + rest, buffer.data() + at, left);
      at = rest;
      end = rest + left;
    }
    at -= rest;
    std::memcpy(buffer.data() + at, text.data() + n, rest);
    offset -= static_cast<std::int64_t>(rest);
    text.resize(n);
  }
  std::vector<std::string> header() {
    Raw raw;
    std::vector<std::string> names;
    if (!row(raw)) return names;
    for (auto field : csv_fields(raw.bytes)) {
      auto name = csv_text(field);
      if (std::find(names.begin(), names.end(), name) != names.end())
        malformed(raw.line, "the header has the field '", name, "' twice");
      names.push_back(std::move(name));
    }
    return names;
  }

  bool next(Raw& raw) override {
    auto format = layout->format;
    if (!(format == Format::csv ? row(raw) : format == Format::jsonl ? json_line(raw) : document(raw))) return false;
    behind = {offset, line};
    return true;
  }
  std::optional<std::uint32_t> stored_crc() const override { return bytes.stored_crc(); }

  ByteReader bytes;
  Limits limits;
  std::string buffer;
  std::size_t at = 0, end = 0;        // of the buffer: what is read and not taken
  std::int64_t offset = 0, line = 1;  // of `at`
  bool inside = false;                // of a line: the last document of text was cut there
};
}  // namespace

std::optional<Format> format_of(std::string_view path) {
  if (path.ends_with(".parquet") || path.ends_with(".pq")) return Format::parquet;
  if (path.ends_with(".arrow") || path.ends_with(".feather")) return Format::arrow;  // version 2 of Feather is Arrow
  if (path.ends_with(".bin") || path.ends_with(".npy")) return Format::ids;
  for (std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  if (path.ends_with(".jsonl")) return Format::jsonl;
  if (path.ends_with(".csv")) return Format::csv;
  return {};
}
RecordReader::RecordReader(const SourceFile& file, Format format, Position from, Limits limits,
                           const Selection& selection) {
  if (format == Format::parquet || format == Format::arrow)
    state_ = tables::table_records(file, format, from, limits, selection);
  else if (format == Format::ids) state_ = tables::id_records(file, from, limits, selection);
  else state_ = std::make_unique<TextState>(file, format, from, limits);
}
RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
bool RecordReader::next(Raw& raw) { return state_->next(raw); }
Position RecordReader::position() const { return state_->behind; }
std::shared_ptr<const Layout> RecordReader::layout() const { return state_->layout; }
std::optional<std::uint32_t> RecordReader::stored_crc() const { return state_->stored_crc(); }
}  // namespace bora::data
