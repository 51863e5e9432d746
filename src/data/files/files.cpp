// The files of a corpus: found by name, and told apart by what they hold.
#include <fnmatch.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "data/api/records.h"
#include "bora/data/data.h"

namespace fs = std::filesystem;
namespace bora::data {
namespace {
constexpr std::size_t kMostAlternatives = 10'000;

bool index_of_fortune(std::string_view name) { return name.ends_with(".dat") || name.ends_with(".u8"); }
/// Files of procfs and sysfs have size 0, or that of all memory, and change.
void check_file_system(const std::string& folder) {
  struct ::statfs system {};
  bool made_up =
      ::statfs(folder.c_str(), &system) == 0 && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
  check<ConfigError>(!made_up, "data: ", folder, " holds what the kernel says of itself, not text");
}
/// The status of the file that a name leads to. One that cannot be seen, or is gone, is an error: it is not left out in
/// silence.
fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  auto status = fs::status(path, error);
  check<ConfigError>(status.type() != fs::file_type::none, "data: cannot read ", path.string(), ": ", error.message());
  bool dangles = !fs::exists(status) && fs::is_symlink(fs::symlink_status(path, error));
  check<ConfigError>(!dangles, "data: ", path.string(), " is a link to a file that is not there; mend or remove it");
  return status;
}
/// Files below a folder and its subfolders. Links to files count; links to folders are not followed.
void list_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error, no_status;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    auto& path = it->path();
    if (path.filename().string().starts_with(".")) continue;
    if (fs::is_directory(it->symlink_status(no_status))) {
      list_folder(path, files);
    } else if (!index_of_fortune(path.extension().string())) {
      if (fs::is_regular_file(status_of(path))) files.push_back(path.string());
    }
  }
  check<ConfigError>(!error, "data: cannot read the folder ", folder.string(), ": ", error.message());
}

/// The texts that a pattern with {a,b} stands for. Braces without a comma, or without an end, are themselves.
void expand(const std::string& pattern, std::vector<std::string>& out) {
  for (std::size_t open = 0; open < pattern.size(); ++open) {
    if (pattern[open] == '\\') ++open;
    else if (pattern[open] == '{') {
      std::vector<std::size_t> cuts = {open};  // the brace, commas, the brace
      int depth = 0;
      for (auto i = open; i < pattern.size(); ++i) {
        auto c = pattern[i];
        if (c == '\\') ++i;
        else if (c == '{') ++depth;
        else if (c == ',' && depth == 1) cuts.push_back(i);
        else if (c == '}' && --depth == 0) {
          cuts.push_back(i);
          break;
        }
      }
      if (depth != 0 || cuts.size() < 3) continue;
      for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
        expand(pattern.substr(0, open) + pattern.substr(cuts[k] + 1, cuts[k + 1] - cuts[k] - 1) +
                   pattern.substr(cuts.back() + 1),
               out);
      return;
    }
  }
  check<ConfigError>(out.size() < kMostAlternatives, "data: ", pattern, " is one of more than ", kMostAlternatives,
                     " alternatives in braces; name a folder");
  out.push_back(pattern);
}

/// Files that match a pattern of * ? [..] and **, component by component.
class Glob {
 public:
  Glob(const std::string& pattern, std::vector<std::string>& files)
      : files_(files), indices_(index_of_fortune(pattern)) {
    for (std::size_t at = 0; at < pattern.size();) {
      auto end = std::min(pattern.find('/', at), pattern.size());
      auto part = pattern.substr(at, end - at);
      if (!part.empty() && !(part == "**" && !parts_.empty() && parts_.back() == part)) parts_.push_back(part);
      at = end + 1;
    }
    match(pattern.starts_with('/') ? "/" : "", 0);
  }
  static bool special(std::string_view s) { return s.find_first_of("*?[\\") != s.npos; }

 private:
  static std::string join(const std::string& folder, const std::string& name) {
    return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
  }
  void match(const std::string& folder, std::size_t i) {
    if (i == parts_.size()) return;
    auto& part = parts_[i];
    bool last = i + 1 == parts_.size();
    if (!special(part)) {
      auto path = join(folder, part);
      if (!last) match(path, i + 1);
      else add(path);
      return;
    }
    bool any_depth = part == "**";
    if (any_depth && last) return below(folder);
    if (any_depth) match(folder, i + 1);
    std::error_code error, no_status;
    auto is_folder = [&](const fs::file_status& status, const std::string& path) {
      check<ConfigError>(status.type() != fs::file_type::none, "data: cannot read ", path, ": ", no_status.message());
      return fs::is_directory(status);
    };
    fs::directory_iterator it(folder.empty() ? "." : folder, error);
    if (!error) check_file_system(folder.empty() ? "." : folder);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      auto name = it->path().filename().string();
      auto path = join(folder, name);
      if (any_depth) {  // links are not followed: they could lead in a circle
        if (!name.starts_with(".") && is_folder(it->symlink_status(no_status), path)) match(path, i);
      } else if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) {
        if (last) add(path);
        else if (is_folder(it->status(no_status), path)) match(path, i + 1);
      }
    }
    bool missing = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    check<ConfigError>(!error || missing, "data: cannot read the folder ", folder, ": ", error.message());
  }
  void below(const std::string& folder) {
    std::error_code error;
    auto status = fs::status(folder.empty() ? "." : folder, error);
    check<ConfigError>(status.type() != fs::file_type::none, "data: cannot read ", folder, ": ", error.message());
    if (!fs::is_directory(status)) return;
    check_file_system(folder.empty() ? "." : folder);
    auto first = files_.size();
    list_folder(folder.empty() ? "." : folder, files_);
    if (folder.empty())
      for (auto i = first; i < files_.size(); ++i) files_[i] = files_[i].substr(2);  // without "./"
  }
  void add(const std::string& path) {
    if (fs::is_regular_file(status_of(path)) && (indices_ || !index_of_fortune(path))) files_.push_back(path);
  }
  std::vector<std::string>& files_;
  std::vector<std::string> parts_ = {};
  bool indices_;  // the pattern names .dat or .u8
};
/// Whether the components of a pattern match those of a file's path.
bool matches(fs::path::iterator part, fs::path::iterator end, fs::path::iterator name, fs::path::iterator last) {
  if (part == end || name == last) return part == end && name == last;
  if (*part != "**")
    return ::fnmatch(part->c_str(), name->c_str(), FNM_PERIOD) == 0 && matches(++part, end, ++name, last);
  if (std::next(part) == end) return true;
  return matches(std::next(part), end, name, last) || matches(part, end, std::next(name), last);
}
std::vector<std::string> alternatives_of(const std::string& pattern) {
  std::vector<std::string> all;
  std::error_code none;
  if (fs::exists(pattern, none)) all = {pattern};  // a name may hold any character
  else expand(pattern, all);
  return all;
}
/// A file, the files of a folder, or those that match; at least one.
void find(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  auto status = fs::status(path, error);
  auto first = files.size();
  if (!fs::exists(status) && Glob::special(path)) {
    Glob(path, files);
    check<ConfigError>(files.size() > first, "data: no file matches ", path);
    return;
  }
  check<ConfigError>(status.type() != fs::file_type::none, "data: cannot read ", path, ": ", error.message());
  check<ConfigError>(fs::exists(status), "data: no file or folder at ", path);
  if (!fs::is_directory(status)) return files.push_back(path);
  check_file_system(path);
  list_folder(path, files);
  check<ConfigError>(files.size() > first, "data: no text files in the folder ", path);
}

/// Calls piece(bytes, n) for each of the file's bytes in [begin, end), in order.
template <class F>
void read_pieces(const File& f, const SourceFile& file, std::int64_t begin, std::int64_t end, const F& piece) {
  std::vector<char> buffer(
      static_cast<std::size_t>(std::min<std::int64_t>(1 << 20, std::max<std::int64_t>(0, end - begin))));
  while (begin < end) {
    auto n = std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), end - begin);
    check<IoError>(f.read(begin, buffer.data(), n), file.path, ": it became shorter; it had ", file.bytes, " bytes");
    piece(buffer.data(), static_cast<std::size_t>(n));
    begin += n;
  }
}
}  // namespace

SourceFile file_at(const std::string& path) {
  std::string problem;
  int fd = open_file(path, problem);
  check<ConfigError>(fd >= 0, "data: cannot read ", path, ": ", problem);
  struct ::stat s {};
  bool known = ::fstat(fd, &s) == 0;
  problem = std::strerror(errno);
  ::close(fd);
  check<ConfigError>(known, "data: cannot read ", path, ": ", problem);
  return {path, s.st_size, s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec};
}
std::vector<SourceFile> find_files(const std::string& pattern) {
  std::vector<std::string> paths;
  auto alternatives = alternatives_of(pattern);
  for (auto& path : alternatives) find(path, paths);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<SourceFile> files;
  std::int64_t bytes = 0;
  for (auto& path : paths) {
    files.push_back(file_at(path));
    bytes += files.back().bytes;
  }
  check<ConfigError>(bytes > 0, "data: ", pattern, " is empty");
  return files;
}

bool would_read(const std::string& pattern, const std::string& folder, const std::vector<std::string>& names) {
  std::error_code error;
  auto whole = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path), error); };
  auto below = whole(folder);
  for (auto& path : alternatives_of(pattern)) {
    auto from = whole(path);
    if (fs::is_directory(from, error)) {
      if (std::mismatch(from.begin(), from.end(), below.begin(), below.end()).first == from.end()) return true;
    } else if (Glob::special(path)) {
      for (auto& name : names)
        if (auto file = below / name; matches(from.begin(), from.end(), file.begin(), file.end())) return true;
    }
  }
  return false;
}

std::vector<SourceFile> list_files(const std::string& pattern) {
  auto files = find_files(pattern);
  for (auto& file : files) {
    auto ends = [&](auto... words) { return (std::string_view(file.path).ends_with(words) || ...); };
    for (std::string packed : {".gz", ".zst"})
      for (std::string table : {".parquet", ".pq", ".arrow", ".feather", ".npy", ".bin"})
        check<ConfigError>(!ends(table + packed), "data: ", file.path, " is no text; unpack it, and give it as it was");
    check<ConfigError>(!ends(".bz2", ".xz", ".lz4", ".lzma", ".zip", ".7z", ".tar", ".tgz", ".tar.gz", ".tar.zst"),
                       "data: ", file.path,
                       " is an archive, or compressed by other programs than gzip and zstd: "
                       "unpack it");
  }
  return files;
}

std::uint64_t sample_hash(const SourceFile& file) {
  auto f = File::open(file.path);
  std::uint64_t hash = 0;
  // Each word changes the hash by a bijection: files of one size that differ in one sampled word differ in the hash.
  auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  auto sample = [&](std::int64_t begin, std::int64_t n) {
    begin = std::max<std::int64_t>(begin, 0);
    read_pieces(f, file, begin, std::min(begin + n, file.bytes), [&](const char* bytes, std::size_t count) {
      for (std::size_t i = 0; i < count; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + i, std::min<std::size_t>(8, count - i));
        add(word);
      }
    });
  };
  constexpr std::int64_t edge = 64 << 10, piece = 4 << 10, pieces = 16;
  add(static_cast<std::uint64_t>(file.bytes));
  sample(0, edge);
  for (std::int64_t i = 1; i <= pieces && file.bytes > edge; ++i)
    sample((file.bytes - piece) / (pieces + 1) * i, piece);
  sample(file.bytes - edge, edge);
  add(0);
  return hash;
}

std::uint32_t whole_crc(const SourceFile& file) {
  std::uint32_t crc = 0;
  read_pieces(File::open(file.path), file, 0, file.bytes,
              [&](const char* bytes, std::size_t n) { crc = crc32c(bytes, n, crc); });
  return crc;
}
}  // namespace bora::data
