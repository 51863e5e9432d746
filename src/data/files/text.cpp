#include "bora/data/text.h"
#include <algorithm>
#include <cmath>
#include <optional>
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
    auto format = format_of(file.path);
    bool records = format == Format::jsonl || format == Format::csv;
    check<ConfigError>(!records, "data: ", file.path, " has records, whose punctuation would be learnt with the text; ",
                       "give it as a source (data.sources=[{path: ", path, "}]), or another name");
    check<ConfigError>(!format, "data: ", file.path, " is no text; give it as a source (data.sources=[{path: ", path,
                       "}])");
    s.files.push_back(file.path);
    s.sizes.push_back(file.bytes);
    s.bytes += file.bytes;
  }
  return s;
}

/// Any bytes of the files, one file after another.
class Bytes {
 public:
  explicit Bytes(const ListedFiles& source) : source_(source) {
    for (auto size : source.sizes) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + size);
  }
  std::string read(std::int64_t begin, std::int64_t end) {
    std::string all;
    while (begin < end) {
      auto f = std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin();
      if (f != opened_) file_.emplace(File::open(source_.files[static_cast<std::size_t>(f)])), opened_ = f;
      auto n = std::min(end, ends_[static_cast<std::size_t>(f)]) - begin;
      auto at = all.size();
      all.resize(at + static_cast<std::size_t>(n));
      check<IoError>(file_->read(begin - this->begin(f), all.data() + at, n),
                     source_.files[static_cast<std::size_t>(f)], " became shorter while it was read");
      begin += n;
    }
    return all;
  }
  std::int64_t begin(std::int64_t file) const { return file == 0 ? 0 : ends_[static_cast<std::size_t>(file - 1)]; }
  /// Whether a file begins here.
  bool between_files(std::int64_t at) const { return std::binary_search(ends_.begin(), ends_.end(), at); }

 private:
  const ListedFiles& source_;
  std::vector<std::int64_t> ends_ = {};
  std::ptrdiff_t opened_ = -1;
  std::optional<File> file_ = {};
};

/// Ends of the documents of one file. If `entries` is set and the file has lines of '%': its entries, ended by these
/// lines. Else sections of at least `section` bytes, ended by the next blank line or line of '%' if one comes soon,
/// else by a line's end, else by a blank. long_line: a line is so long that blanks ended a section, or would have.
std::vector<std::int64_t> document_ends(const std::string& path, std::int64_t size, std::int64_t section,
                                        bool entries, bool& long_line) {
  auto file = File::open(path);
  std::vector<std::int64_t> marks, sections;
  std::vector<char> buffer(1 << 18);
  LineScan lines;
  std::int64_t cut = 0, most = 4 * section;  // the ends of the last section, and of the next without an end of a line
  bool far = false;                          // a section came there
  char last = '\n';                          // of the block before
  for (std::int64_t base = 0; base < size;) {
    auto n = std::min<std::int64_t>(size - base, static_cast<std::int64_t>(buffer.size()));
    check<IoError>(file.read(base, buffer.data(), n), path, " became shorter while it was read");
    for (std::int64_t i = 0; i < n; ++i) {
      auto c = buffer[static_cast<std::size_t>(i)];
      auto end = base + i + 1;
      if (end > most && c != '\n' && between_words(i > 0 ? buffer[static_cast<std::size_t>(i - 1)] : last, c)) {
        sections.push_back(end - 1);
        cut = end - 1;
        most = cut + 4 * section;
      }
      auto line = lines.feed(c);
      auto length = end - cut;
      bool newline = line != LineScan::Line::inside, mark = line == LineScan::Line::mark;
      bool blank = mark || line == LineScan::Line::blank;
      if (mark) marks.push_back(end);
      if ((blank && length >= section) || (newline && length >= 2 * section)) {
        sections.push_back(end);
        cut = end;
        most = cut + 4 * section;
      } else if (end >= most) far = true;
    }
    base += n;
    last = buffer[static_cast<std::size_t>(n - 1)];
  }
  bool by_marks = entries && !marks.empty();
  long_line = long_line || (far && !by_marks);
  auto& ends = by_marks ? marks : sections;
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
Split split_at_documents(const ListedFiles& source, std::int64_t section, bool entries, bool& long_line,
                         const F& hold) {
  Split s;
  std::int64_t base = 0;
  for (std::size_t f = 0; f < source.files.size(); base += source.sizes[f++]) {
    if (source.sizes[f] == 0) continue;
    for (auto end : document_ends(source.files[f], source.sizes[f], section, entries, long_line))
      s.add(base + end, hold(s, base + end));
  }
  return s;
}
/// Holds out about `target` bytes in blocks at equal distances, each with room for a window, without regard to lines:
/// they are cut between words where a blank is near, which matters more than their size, else between characters.
class Blocks {
 public:
  Blocks(const ListedFiles& source, std::int64_t target, std::int64_t window)
      : bytes_(source), total_(source.bytes), target_(target), window_(window) {}
  Split split() {
    if (target_ == 0) return parts({});
    auto smaller = std::min(target_, total_ - target_);
    auto most = std::clamp<std::int64_t>(smaller / std::max<std::int64_t>(window_, 1), 1, 64);
    auto fitting = [&](std::int64_t blocks, std::int64_t reach, auto may_cut) {
      auto s = cut_at(blocks, false, reach, may_cut);
      if (!s || !fits(*s)) s = cut_at(blocks, true, reach, may_cut);
      return s && fits(*s) ? s : std::nullopt;
    };
    for (auto blocks = most; blocks > 0; blocks /= 2)
      if (auto s = fitting(blocks, std::min(smaller / blocks / 7, kMostRead), between_words)) return *s;
    if (auto s = fitting(1, kLongestWord, between_words)) return *s;
    auto last = total_ - target_;  // a cut for one held-out part at the end
    auto cut_once = [&](auto may_cut) {
      return near(last, std::max(window_, last - kLongestWord), std::min(total_ - window_, last + kLongestWord),
                  may_cut);
    };
    if (auto at = cut_once(between_words); at > 0) return parts({at, total_});
    auto between_characters = [](char, char after) { return begins_character(after); };
    for (auto blocks = most; blocks > 0; blocks /= 2)
      if (auto s = fitting(blocks, 4, between_characters)) return *s;
    if (auto at = cut_once(between_characters); at > 0) return parts({at, total_});
    // A few bytes are short of two windows, as in a text of two long characters; or bytes are no UTF-8.
    if (auto at = near(last, last - 4, last + 4, between_characters); at > 0) return parts({at, total_});
    return total_ > 4 ? parts({last, total_}) : parts({});
  }

 private:
  static constexpr std::int64_t kLongestWord = 1024, kMostRead = 256 << 10;
  bool fits(const Split& s) const { return s.held >= window_ && total_ - s.held >= window_; }
  /// The nearest place to `at` from first to last at which may_cut(the byte before, the byte behind) holds, or a file
  /// ends; -1 if there is none. Of two equally near ones the later.
  template <class F> std::int64_t near(std::int64_t at, std::int64_t first, std::int64_t last, const F& may_cut) {
    first = std::max<std::int64_t>(first, 1), last = std::min(last, total_ - 1);
    if (first > last) return -1;
    auto text = bytes_.read(first - 1, last + 1);
    std::int64_t best = -1;
    for (auto p = first; p <= last; ++p) {
      auto i = static_cast<std::size_t>(p - first);
      bool cuts = bytes_.between_files(p) || may_cut(text[i], text[i + 1]);
      if (cuts && (best < 0 || std::abs(p - at) <= std::abs(best - at))) best = p;
    }
    return best;
  }
  /// less: held-out blocks are rather too short than too long. Nothing, if there is no cut within `reach` of a place.
  template <class F>
  std::optional<Split> cut_at(std::int64_t blocks, bool less, std::int64_t reach, const F& may_cut) {
    std::vector<std::int64_t> ends;
    auto part = [&](std::int64_t of, std::int64_t i) { return of * i / blocks; };
    for (std::int64_t i = 0; i < blocks; ++i) {
      auto begin = part(total_, i), size = part(total_, i + 1) - begin;
      auto held = part(target_, i + 1) - part(target_, i), at = begin + (size - held) / 2;
      auto first = near(at, at - reach, at + reach, may_cut);
      auto end = first + held;
      auto second = first < 0 ? -1 : near(end, less ? end - reach : end, less ? end : end + reach, may_cut);
      if (second <= first || first <= (ends.empty() ? 0 : ends.back())) return {};
      ends.insert(ends.end(), {first, second});
    }
    return parts(ends);
  }
  /// The text in parts with these ends, of which every second one is held out.
  Split parts(const std::vector<std::int64_t>& ends) const {
    Split s;
    for (std::size_t i = 0; i < ends.size(); ++i) s.add(ends[i], i % 2 == 1);
    if (s.end() < total_) s.add(total_, false);
    return s;
  }
  Bytes bytes_;
  std::int64_t total_, target_, window_;
};
/// Holds out about `hold_out` of the text, with a window in each part: every 1/hold_out-th document if that comes near
/// with four or more; if documents are few or uneven, ever smaller sections; if nothing in the text helps, blocks.
/// long_line: a line was too long for a section, where earlier versions cut anywhere.
Split split_of(const ListedFiles& source, double hold_out, std::int64_t window, bool& long_line) {
  auto total = source.bytes;
  auto least_section = std::clamp<std::int64_t>(total / 64, 256, std::max<std::int64_t>(4096, total / 1'000'000));
  bool any = false;
  if (hold_out == 0) return split_at_documents(source, least_section, true, any, [](auto&, auto) { return false; });
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
  auto s = split_at_documents(source, section, true, long_line, by_count);
  if (near(s) && std::count_if(s.documents.begin(), s.documents.end(), [](auto& d) { return d.held; }) >= 4) return s;
  section = std::min(section, std::max(window, target / 16));
  for (; section >= std::max<std::int64_t>(16, total / 4'000'000); section /= 4) {
    s = split_at_documents(source, section, false, long_line, by_bytes);
    if (near(s)) return s;
  }
  long_line = true;
  return Blocks(source, target, window).split();
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
  bool recut = false;
  auto split = split_of(source, hold_out, window, recut);
  Bytes whole(source);
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
      pieces[last].back().bytes = bytes[last] - pieces[last].back().start;
      at = end;
    }
  }
  for (auto& of_stream : pieces)
    for (auto& p : of_stream) {
      auto end = whole.begin(p.file) + p.offset + p.bytes;
      p.line = whole.read(end - 1, end) == "\n";
    }
  auto files = std::make_shared<const std::vector<std::string>>(std::move(source.files));
  return {Stream(files, std::move(pieces[0]), bytes[0]), Stream(files, std::move(pieces[1]), bytes[1]),
          count[0] + count[1], count[1], recut};
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
