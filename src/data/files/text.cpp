#include "bora/data/text.h"
#include <algorithm>
#include <cmath>
#include "base/api/file.h"
#include "data/api/records.h"
#include "data/files/lines.h"

namespace bora::data {
namespace {
struct ListedFiles {
  std::vector<std::string> files;
  std::vector<std::int64_t> sizes;
  std::int64_t bytes = 0;
};
/// The text is read in place, at any byte: what is compressed would be trained on as it is stored.
ListedFiles list_source(const std::string& path) {
  ListedFiles s;
  for (auto& file : list_files(path)) {
    bool packed = file.path.ends_with(".gz") || file.path.ends_with(".zst");
    check<ConfigError>(!packed, "data: ", file.path, " is compressed, and a text in windows is read in place; give it ",
                       "as a source, which is decompressed (data.sources=[{path: ", path, "}]), or unpack it");
    bool records = file.path.ends_with(".jsonl") || file.path.ends_with(".csv");
    check<ConfigError>(!records, "data: ", file.path, " has records, whose punctuation would be learnt with the text; ",
                       "give it as a source (data.sources=[{path: ", path, "}]), or another name");
    s.files.push_back(file.path);
    s.sizes.push_back(file.bytes);
    s.bytes += file.bytes;
  }
  return s;
}

/// Ends of the documents of one file. If `entries` is set and the file has lines of '%': its entries, ended by these
/// lines. Else sections of at least `section` bytes, ended by the next blank line or line of '%' if one comes soon,
/// else by a line's end, else anywhere.
std::vector<std::int64_t> document_ends(const std::string& path, std::int64_t size, std::int64_t section,
                                        bool entries) {
  auto file = File::open(path);
  std::vector<std::int64_t> marks, sections;
  std::vector<char> buffer(1 << 18);
  LineScan lines;
  std::int64_t cut = 0;  // end of the last section
  for (std::int64_t base = 0; base < size;) {
    auto n = std::min<std::int64_t>(size - base, static_cast<std::int64_t>(buffer.size()));
    check<IoError>(file.read(base, buffer.data(), n), path, " became shorter while it was read");
    for (std::int64_t i = 0; i < n; ++i) {
      auto line = lines.feed(buffer[static_cast<std::size_t>(i)]);
      auto end = base + i + 1, length = end - cut;
      bool newline = line != LineScan::Line::inside, mark = line == LineScan::Line::mark;
      bool blank = mark || line == LineScan::Line::blank;
      if (mark) marks.push_back(end);
      if ((blank && length >= section) || (newline && length >= 2 * section) || length >= 4 * section) {
        sections.push_back(end);
        cut = end;
      }
    }
    base += n;
  }
  auto& ends = entries && !marks.empty() ? marks : sections;
  if (ends.empty() || ends.back() != size) ends.push_back(size);
  return std::move(ends);
}

/// A partition of the whole text, by position, into training and held-out documents.
struct Split {
  struct Document {
    std::int64_t end;
    bool held;
  };
  std::vector<Document> documents = {};
  std::int64_t held = 0;  // bytes
  void add(std::int64_t end, bool hold) {
    if (hold) held += end - this->end();
    documents.push_back({end, hold});
  }
  std::int64_t end() const { return documents.empty() ? 0 : documents.back().end; }
};
/// Documents as the text has them; hold(split so far, end of the next document) decides whether one is held out.
template <class F>
Split split_at_documents(const ListedFiles& source, std::int64_t section, bool entries, const F& hold) {
  Split s;
  std::int64_t base = 0;
  for (std::size_t f = 0; f < source.files.size(); base += source.sizes[f++]) {
    if (source.sizes[f] == 0) continue;
    for (auto end : document_ends(source.files[f], source.sizes[f], section, entries))
      s.add(base + end, hold(s, base + end));
  }
  return s;
}
/// Holds out `target` bytes in blocks at equal distances, each at least a window, without regard to lines.
Split split_into_blocks(std::int64_t total, std::int64_t target, std::int64_t window) {
  Split s;
  auto blocks = std::clamp<std::int64_t>(std::min(target, total - target) / std::max<std::int64_t>(window, 1), 1, 64);
  auto part = [&](std::int64_t of, std::int64_t i) { return of * i / blocks; };
  for (std::int64_t i = 0; i < blocks; ++i) {
    auto begin = part(total, i), size = part(total, i + 1) - begin, held = part(target, i + 1) - part(target, i);
    auto at = begin + (size - held) / 2;
    s.add(at, false);
    s.add(at + held, true);
  }
  s.add(total, false);
  return s;
}
/// Holds out about `hold_out` of the text, with a window in each part: every 1/hold_out-th document if that comes near
/// with four or more; if documents are few or uneven, ever smaller sections; if nothing in the text helps, blocks.
Split split_of(const ListedFiles& source, double hold_out, std::int64_t window) {
  auto total = source.bytes;
  auto least_section = std::clamp<std::int64_t>(total / 64, 256, std::max<std::int64_t>(4096, total / 1'000'000));
  if (hold_out == 0) return split_at_documents(source, least_section, true, [](auto&, auto) { return false; });
  auto target = std::clamp<std::int64_t>(std::llround(hold_out * static_cast<double>(total)), window, total - window);
  auto share = static_cast<double>(target) / static_cast<double>(total);
  auto near = [&](const Split& s) {
    return std::abs(s.held - target) <= std::min(target, total - target) / 3 && s.held >= window &&
           total - s.held >= window;
  };
  auto by_count = [&](const Split& s, std::int64_t) {
    auto held = [&](std::size_t i) { return std::floor(static_cast<double>(i) * hold_out + 0.5); };
    return held(s.documents.size() + 1) > held(s.documents.size());
  };
  auto by_bytes = [&](const Split& s, std::int64_t end) {
    return share * static_cast<double>(end) - static_cast<double>(s.held) >= 0.5 * static_cast<double>(end - s.end());
  };
  auto section = least_section;
  auto s = split_at_documents(source, section, true, by_count);
  if (near(s) && std::count_if(s.documents.begin(), s.documents.end(), [](auto& d) { return d.held; }) >= 4) return s;
  section = std::min(section, std::max(window, target / 16));
  for (; section >= std::max<std::int64_t>(16, total / 4'000'000); section /= 4) {
    s = split_at_documents(source, section, false, by_bytes);
    if (near(s)) return s;
  }
  return split_into_blocks(total, target, window);
}
void check_size(const ListedFiles& s, const std::string& path, double hold_out, std::int64_t window) {
  check<ConfigError>(hold_out > 0 || s.bytes >= window, "data: ", path, " has ", s.bytes,
                     " bytes; a window has ", window, " (model.positions + 1)");
  check<ConfigError>(hold_out == 0 || s.bytes >= 2 * window, "data: ", path, " has ", s.bytes,
                     " bytes; the text to train on and the text held out (hold_out=", hold_out, ") need a window of ",
                     window, " bytes each (model.positions + 1)");
}
}  // namespace

void check_text(const std::string& path, double hold_out, std::int64_t window) {
  check_size(list_source(path), path, hold_out, window);
}

Text open_text(const std::string& path, double hold_out, std::int64_t window) {
  auto source = list_source(path);
  check_size(source, path, hold_out, window);
  auto split = split_of(source, hold_out, window);
  std::vector<Stream::Piece> pieces[2];
  std::int64_t bytes[2] = {0, 0}, count[2] = {0, 0};
  std::int64_t at = 0, file_begin = 0;
  std::size_t file = 0;
  int last = -1;  // the stream of the bytes before, if they were in this file
  for (auto& document : split.documents) {
    ++count[document.held];
    while (at < document.end) {
      for (; at == file_begin + source.sizes[file]; last = -1) file_begin += source.sizes[file++];
      auto end = std::min(document.end, file_begin + source.sizes[file]);
      if (last != document.held)
        pieces[document.held].push_back({bytes[document.held], static_cast<std::int64_t>(file), at - file_begin});
      last = document.held;
      bytes[last] += end - at;
      at = end;
    }
  }
  auto files = std::make_shared<const std::vector<std::string>>(std::move(source.files));
  return {Stream(files, std::move(pieces[0]), bytes[0]), Stream(files, std::move(pieces[1]), bytes[1]),
          count[0] + count[1], count[1]};
}

void Stream::read(std::int64_t begin, std::int64_t n, std::uint8_t* out) const {
  check<ValueError>(n == 0 || bytes_ > 0, "read: the stream is empty");
  while (n > 0) {
    begin %= bytes_;
    auto next = std::upper_bound(pieces_->begin(), pieces_->end(), begin,
                                 [](std::int64_t b, const Piece& p) { return b < p.start; });
    auto& piece = *(next - 1);
    auto end = next == pieces_->end() ? bytes_ : next->start;
    auto take = std::min(n, end - begin);
    auto& path = (*files_)[static_cast<std::size_t>(piece.file)];
    check<IoError>(File::open(path).read(piece.offset + begin - piece.start, out, take), path,
                   " is shorter than it was when this run began");
    begin += take;
    n -= take;
    out += take;
  }
}
}  // namespace bora::data
