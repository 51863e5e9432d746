#include "train/api/run_folder.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include "base/api/file.h"
#include "base/api/paths.h"

namespace fs = std::filesystem;
namespace bora {
namespace {
bool is_taken(const std::string& path) {  // a dangling link counts
  struct ::stat s {};
  if (::lstat(path.c_str(), &s) == 0) return true;
  check<IoError>(errno == ENOENT || errno == ENOTDIR, "cannot look for ", path, ": ", std::strerror(errno));
  return false;
}
std::string new_id() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}
/// The lines of .owner: a RunFolder, its job, and the folder's inode, since the whole may be a copy.
struct Owner {
  std::string id = {}, job = {}, folder = {};
  explicit Owner(const std::string& file) {
    std::ifstream in(file);
    std::getline(in, id), std::getline(in, job), std::getline(in, folder);
  }
};
std::string inode_of(int fd) {
  struct ::stat s {};
  return ::fstat(fd, &s) == 0 ? std::to_string(s.st_ino) : "";
}
bool lives_here(const std::string& job) { return !job.empty() && process_id(job.substr(0, job.find(' '))) == job; }
}  // namespace
std::string process_id(const std::string& number) {
  std::ostringstream text;
  text << std::ifstream("/proc/" + number + "/stat").rdbuf();
  auto stat = text.str();
  auto name = stat.rfind(')');  // which may have spaces and brackets
  if (name == std::string::npos) return {};
  std::istringstream fields(stat.substr(name + 1));
  std::string state, begun, boot;
  fields >> state;
  for (int i = 4; i <= 22; ++i) fields >> begun;  // the field with this number
  if (!fields || state == "Z" || state == "X") return {};
  std::error_code none;
  auto numbers = fs::read_symlink("/proc/self/ns/pid", none).string();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return stat.substr(0, stat.find(' ')) + " " + begun + " " + numbers + " " + boot;
}
std::string numbered(const std::string& path) {
  auto p = fs::path(path);
  for (int n = 1;; ++n) {
    auto next = (p.parent_path() / (p.stem().string() + "." + std::to_string(n) + p.extension().string())).string();
    if (!is_taken(next)) return next;
  }
}

RunFolder::RunFolder(const std::string& path, bool takes_over, const std::string& job, const std::string& setting)
    : path_(path), id_(new_id()), job_(job), setting_(setting) {
  for (int attempt = 1; !take(takes_over); ++attempt)
    check<ConfigError>(attempt < 100, setting, ": ", path, " is removed or replaced again and again; choose another ",
                       setting);
}
bool RunFolder::take(bool over) {
  try {
    make_folders(path_);
  } catch (const fs::filesystem_error& e) {
    fail<ConfigError>(setting_, ": cannot make the folder ", path_, ": ", e.code().message());
  }
  bool writable = ::access(path_.c_str(), W_OK | X_OK) == 0;
  if (writable) fd_ = open_retried(path_.c_str(), O_RDONLY | O_DIRECTORY);
  check<ConfigError>(fd_ >= 0, setting_, ": cannot write into ", path_, ": ", std::strerror(errno));
  bool locked = ::flock(fd_, LOCK_EX | LOCK_NB) == 0, theirs = !locked && errno == EWOULDBLOCK;
  if (!locked && !theirs) {
    // A file system without any locks gives no protection, but can be trained on.
    file_ = open_retried((path_ + "/.lock").c_str(), O_RDWR | O_CREAT);
    theirs = file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  // The process that has it may be ending: one of this job, which goes on after a loss.
  for (int i = 0; theirs && i < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    theirs = ::flock(file_ >= 0 ? file_ : fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  locked_ = !theirs;
  auto file = path_ + "/.owner", inode = inode_of(fd_);
  Owner before(file);
  bool said = is_taken(file);
  over = over && (!said || before.job == job_);  // without the file the lost one had not come to write it
  theirs = theirs || (before.job != job_ && before.folder == inode && lives_here(before.job));
  if ((!theirs || over) && there()) {
    if (over || said || !job_.empty()) write_file(file, owner_ = id_ + "\n" + job_ + "\n" + inode + "\n");
    return true;
  }
  ::close(fd_);
  if (file_ >= 0) ::close(file_);
  fd_ = file_ = -1;
  check<ConfigError>(!theirs, setting_, ": another run is writing into ", path_,
                     "; wait until it has ended, or choose another ", setting_);
  return false;
}
bool RunFolder::mine() const {
  auto owner = path_ + "/.owner";
  if (!is_taken(owner)) return owner_.empty() || !there();  // of a folder that was moved or removed: another error
  if (read_file(owner) != owner_) return false;
  // We took over while the lost rank still held the lock; lock the folder as soon as that process ends.
  if (!locked_) locked_ = ::flock(file_ >= 0 ? file_ : fd_, LOCK_EX | LOCK_NB) == 0;
  return true;
}
void RunFolder::give_up() {
  if (!owner_.empty() && mine()) ::unlink((path_ + "/.owner").c_str());
}
RunFolder::~RunFolder() {
  if (file_ >= 0) ::unlink((path_ + "/.lock").c_str()), ::close(file_);
  ::close(fd_);
}
bool RunFolder::there() const {
  struct ::stat mine {
  }, found{};
  if (::stat(path_.c_str(), &found) != 0) return errno != ENOENT && errno != ENOTDIR;  // a disk's error may pass
  return ::fstat(fd_, &mine) != 0 || (mine.st_dev == found.st_dev && mine.st_ino == found.st_ino);
}

std::string put_aside(const std::string& path) {
  struct ::stat s {};
  if (!is_taken(path) || (::lstat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && s.st_size == 0)) return {};
  auto kept = numbered(path);
  rename_folder(path, kept);
  return kept;
}
std::string free_path(const std::string& path) {
  auto found = path;
  for (int n = 2; is_taken(found); ++n) found = path + "." + std::to_string(n);
  return found;
}
}  // namespace bora
