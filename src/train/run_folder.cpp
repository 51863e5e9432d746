#include "run_folder.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include "bora/base/file.h"

namespace fs = std::filesystem;
namespace bora {
namespace {
constexpr std::string_view kMark = "# Written by bora: the settings of the run in this folder.\n";

bool is_there(const fs::path& path) {  // a dangling link counts
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
/// Does a fresh dump of the text's settings hold all of its lines, and few others? Those are settings newer than the
/// text.
bool is_dump(const std::string& text) {
  try {
    auto mine = lines_of(text), dump = lines_of(to_yaml(parse_settings(text, "config.yaml")));
    auto at = dump.begin();
    for (auto& line : mine) {
      at = std::find(at, dump.end(), line);
      if (at++ == dump.end()) return false;
    }
    return mine.size() * 4 >= dump.size() * 3;
  } catch (const ConfigError&) { return false; }
}
/// "lr: 0.1 -> 0.2" for each setting that differs.
std::vector<std::string> changes(const Settings& before, const Settings& now) {
  auto a = lines_of(to_yaml(before)), b = lines_of(to_yaml(now));
  std::vector<std::string> found;
  std::string group;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    auto colon = b[i].find(':');
    if (b[i].ends_with(":")) group = b[i].substr(0, colon) + ".";
    else if (b[i][0] != ' ') group.clear();
    auto name = b[i].substr(b[i].find_first_not_of(' '), colon - b[i].find_first_not_of(' '));
    if (a[i] != b[i])
      found.push_back("changed: " + group + name + ":" + a[i].substr(colon + 1) + " ->" + b[i].substr(colon + 1));
  }
  return found;
}
std::string numbered(const std::string& path) {
  auto p = fs::path(path);
  for (int n = 1;; ++n) {
    auto next = p.parent_path() / (p.stem().string() + "." + std::to_string(n) + p.extension().string());
    if (!is_there(next)) return next;
  }
}
}  // namespace

RunFolder::RunFolder(const std::string& path) : path_(path) {
  check_run_folder(path);
  while (!take()) {}
}
bool RunFolder::take() {
  std::error_code error;
  fs::create_directories(path_, error);
  check<ConfigError>(!error, "out: cannot make the folder ", path_, ": ", error.message());
  bool writable = ::access(path_.c_str(), W_OK | X_OK) == 0;
  if (writable) fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check<ConfigError>(fd_ >= 0, "out: cannot write into ", path_, ": ", std::strerror(errno));
  bool locked = ::flock(fd_, LOCK_EX | LOCK_NB) == 0, theirs = !locked && errno == EWOULDBLOCK;
  if (!locked && !theirs) {
    // A file system without any locks gives no protection, but can be trained on.
    file_ = ::open((path_ + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    theirs = file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  if (!theirs && there()) return true;
  ::close(fd_);
  if (file_ >= 0) ::close(file_);
  fd_ = file_ = -1;
  check<ConfigError>(!theirs, "out: another run is writing into ", path_,
                     "; wait until it has ended, or choose another out");
  return false;
}
RunFolder::~RunFolder() {
  if (file_ >= 0) ::unlink((path_ + "/.lock").c_str()), ::close(file_);
  ::close(fd_);
}
bool RunFolder::there() const {
  struct ::stat mine {
  }, found{};
  return ::fstat(fd_, &mine) == 0 && ::stat(path_.c_str(), &found) == 0 && mine.st_dev == found.st_dev &&
         mine.st_ino == found.st_ino;
}

void check_run_folder(const std::string& path) {
  auto file = path + "/config.yaml";
  if (!is_there(file)) return;
  struct ::stat s {};
  bool plain = ::lstat(file.c_str(), &s) == 0 && S_ISREG(s.st_mode);
  auto text = plain ? read_file<ConfigError>(file) : std::string();
  check<ConfigError>(plain && (text.starts_with(kMark) || is_dump(text)), "out: ", file,
                     " is not of a run: Bora did not write it and would overwrite it; choose another out, or give that "
                     "file another name");
}
std::vector<std::string> write_config(const std::string& path, const Settings& s) {
  auto file = path + "/config.yaml", text = std::string(kMark) + to_yaml(s);
  std::vector<std::string> said;
  if (is_there(file)) {
    auto before = read_file(file);
    if (before == text) return said;
    if (before != to_yaml(s)) {  // else an earlier version wrote it
      try {
        said = changes(parse_settings(before, file), s);
      } catch (const ConfigError&) {}  // of another version: kept all the same
      auto kept = numbered(file);
      write_file(kept, before);
      said.push_back("the settings before are kept in " + kept);
    }
  }
  write_file(file, text);
  return said;
}
std::string put_aside(const std::string& path) {
  struct ::stat s {};
  if (::lstat(path.c_str(), &s) != 0 || (S_ISREG(s.st_mode) && s.st_size == 0)) return {};
  auto kept = numbered(path);
  rename_folder(path, kept);
  return kept;
}
std::string free_path(const std::string& path) {
  auto found = path;
  for (int n = 2; is_there(found); ++n) found = path + "." + std::to_string(n);
  return found;
}
}  // namespace bora
