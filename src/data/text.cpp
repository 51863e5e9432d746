#include "bora/data/text.h"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include "bora/base/error.h"

namespace fs = std::filesystem;
namespace bora::data {
namespace {
class File {
 public:
  explicit File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    check<IoError>(fd_ >= 0, "cannot read ", path, ": ", std::strerror(errno));
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  /// Up to n bytes; fewer only at the end of the file.
  std::int64_t read(std::int64_t offset, std::int64_t n, void* out) const {
    std::int64_t done = 0;
    while (done < n) {
      auto got = ::pread(fd_, static_cast<char*>(out) + done, static_cast<std::size_t>(n - done), offset + done);
      if (got < 0 && errno == EINTR) continue;
      check<IoError>(got >= 0, "cannot read ", path_, ": ", std::strerror(errno));
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  std::string path_;
  int fd_;
};

struct Source {
  std::vector<std::string> files;
  std::vector<std::int64_t> sizes;
  std::int64_t bytes = 0;
};
Source list_source(const std::string& path) {
  Source s;
  std::error_code error;
  auto status = fs::status(path, error);
  check<ConfigError>(fs::exists(status), "data: no file or folder at ", path);
  if (fs::is_directory(status)) {
    for (auto it = fs::recursive_directory_iterator(path, error); !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      auto name = it->path().filename().string();
      auto extension = it->path().extension();
      if (name.starts_with(".")) {
        if (it->is_directory()) it.disable_recursion_pending();
      } else if (it->is_regular_file() && extension != ".dat" && extension != ".u8") {
        s.files.push_back(it->path().string());
      }
    }
    check<ConfigError>(!error, "data: cannot read the folder ", path, ": ", error.message());
    std::sort(s.files.begin(), s.files.end());
    check<ConfigError>(!s.files.empty(), "data: no text files in the folder ", path);
  } else {
    s.files.push_back(path);
  }
  for (auto& file : s.files) {
    check<ConfigError>(::access(file.c_str(), R_OK) == 0, "data: cannot read ", file, ": ", std::strerror(errno));
    s.sizes.push_back(static_cast<std::int64_t>(fs::file_size(file, error)));
    check<ConfigError>(!error, "data: cannot read ", file, ": ", error.message());
    s.bytes += s.sizes.back();
  }
  check<ConfigError>(s.bytes > 0, "data: ", path, " is empty");
  return s;
}

/// Where the documents of one file end. `section`: bytes after which a file without '%' lines is cut, at the next blank line if one comes
/// soon, else at a line's end, else anywhere.
std::vector<std::int64_t> document_ends(const std::string& path, std::int64_t size, std::int64_t section) {
  File file(path);
  std::vector<std::int64_t> entries, sections;
  std::vector<char> buffer(1 << 18);
  std::int64_t line = 0, cut = 0;          // beginning of this line, end of the last section
  char first = 0;                          // of this line
  for (std::int64_t base = 0; base < size;) {
    auto n = file.read(base, std::min<std::int64_t>(size - base, static_cast<std::int64_t>(buffer.size())), buffer.data());
    check<IoError>(n > 0, path, " became shorter while it was read");
    for (std::int64_t i = 0; i < n; ++i) {
      auto at = base + i;
      char c = buffer[static_cast<std::size_t>(i)];
      if (at == line) first = c;
      auto length = at + 1 - cut;
      bool newline = c == '\n', blank = newline && (at == line || (at == line + 1 && first == '\r'));
      if (newline && (at == line + 1 || at == line + 2) && first == '%') entries.push_back(at + 1);
      if ((blank && length >= section) || (newline && length >= 2 * section) || length >= 4 * section) {
        sections.push_back(at + 1);
        cut = at + 1;
      }
      if (newline) line = at + 1;
    }
    base += n;
  }
  auto& ends = entries.empty() ? sections : entries;
  if (ends.empty() || ends.back() != size) ends.push_back(size);
  return std::move(ends);
}
}  // namespace

std::int64_t source_bytes(const std::string& path) { return list_source(path).bytes; }

Text open_text(const std::string& path, double hold_out) {
  auto source = list_source(path);
  auto files = std::make_shared<const std::vector<std::string>>(source.files);
  auto section = std::clamp<std::int64_t>(source.bytes / 64, 256, std::max<std::int64_t>(4096, source.bytes / 1'000'000));
  std::vector<Stream::Piece> pieces[2];
  std::int64_t bytes[2] = {0, 0}, count[2] = {0, 0}, index = 0;
  int last = -1;                           // the stream that got the document before, if it was in this file
  for (std::size_t f = 0; f < source.files.size(); ++f, last = -1) {
    std::int64_t begin = 0;
    if (source.sizes[f] == 0) continue;
    for (auto end : document_ends(source.files[f], source.sizes[f], section)) {
      auto held = [&](std::int64_t i) { return std::floor(static_cast<double>(i) * hold_out + 0.5); };
      int to = held(index + 1) > held(index);
      ++index;
      if (to != last) pieces[to].push_back({bytes[to], static_cast<std::int64_t>(f), begin});
      bytes[to] += end - begin;
      ++count[to];
      begin = end;
      last = to;
    }
  }
  return {Stream(files, std::move(pieces[0]), bytes[0]), Stream(files, std::move(pieces[1]), bytes[1]), index, count[1]};
}

void Stream::read(std::int64_t begin, std::int64_t n, std::uint8_t* out) const {
  check<ValueError>(n == 0 || bytes_ > 0, "read: the stream is empty");
  while (n > 0) {
    begin %= bytes_;
    auto next = std::upper_bound(pieces_->begin(), pieces_->end(), begin, [](std::int64_t b, const Piece& p) { return b < p.start; });
    auto& piece = *(next - 1);
    auto end = next == pieces_->end() ? bytes_ : next->start;
    auto take = std::min(n, end - begin);
    auto& path = (*files_)[static_cast<std::size_t>(piece.file)];
    auto got = File(path).read(piece.offset + begin - piece.start, take, out);
    check<IoError>(got == take, path, " is shorter than it was when this run began");
    begin += take;
    n -= take;
    out += take;
  }
}
}  // namespace bora::data
