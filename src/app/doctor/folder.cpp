#include "folder.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>
#include "base/api/file.h"
#include "bora/base/text.h"
#include "bora/transport/transport.h"

namespace bora::app::doctor {
namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr double kWriteSeconds = 0.5;       // of the trial
constexpr std::int64_t kMostWritten = std::int64_t{64} << 20, kPiece = 4 << 20;
constexpr double kDiskNote = 100, kDiskProblem = 10;             // MB/s
constexpr double kSyncNote = 50, kSyncProblem = 1000;            // ms
constexpr double kLateNote = 1, kLateProblem = 10;               // s until another host sees a new name
constexpr std::int64_t kLittle = std::int64_t{1} << 30;          // free bytes

double elapsed(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
bool has_option(const Mount& m, const std::string& option) {
  return ("," + m.options + ",").find("," + option + ",") != std::string::npos;
}
/// "\040" is a blank.
std::string plain(const std::string& word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (word[i] == '\\' && i + 3 < word.size()) {
      text += static_cast<char>(std::strtol(word.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else text += word[i];
  return text;
}
/// The folder itself, or the nearest one above it that exists.
fs::path nearest(const std::string& out) {
  std::error_code error;
  auto path = fs::absolute(out, error).lexically_normal();
  while (!fs::is_directory(path, error) && path.has_relative_path()) path = path.parent_path();
  return fs::weakly_canonical(path, error);
}
/// Bytes of the newest checkpoint of a run; 0: there is none.
std::int64_t newest_bytes(const std::string& out) {
  std::int64_t newest = -1, bytes = 0;
  std::error_code error;
  fs::path folder;
  for (auto it = fs::directory_iterator(out + "/checkpoints", error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    auto name = it->path().filename().string();
    auto step = name.starts_with("step-") ? parse_as<std::int64_t>(name.substr(5)).value_or(-1) : -1;
    if (step > newest) newest = step, folder = it->path();
  }
  if (newest < 0) return 0;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    auto n = it->file_size(error);
    bytes += error ? 0 : static_cast<std::int64_t>(n);
  }
  return bytes;
}
void look_at_space(const fs::path& folder, const std::string& out, Findings& to) {
  struct ::statvfs s {};
  if (::statvfs(folder.c_str(), &s) != 0) return;
  auto free = static_cast<std::int64_t>(s.f_bavail) * static_cast<std::int64_t>(s.f_frsize), needs = newest_bytes(out);
  auto text = bytes_text(free) + " are free" + (needs > 0 ? ", a checkpoint has " + bytes_text(needs) : "");
  const std::string repair = "df -h " + folder.string() + ", and remove what is not needed; or choose another out";
  if (s.f_files > 0 && s.f_favail == 0) to.problem("space", "no new file can be made: no inode is free", repair);
  else if (free < std::max(needs, kPiece)) to.problem("space", text + ": the next save fails", repair);
  else if (free < std::max(3 * needs, kLittle)) to.note("space", text, repair);
  else to.ok("space", text);
}

/// A folder of its own below another one, gone with this object.
class Trial {
 public:
  explicit Trial(const fs::path& folder) : path_((folder / ".bora-doctor-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) problem_ = std::strerror(errno), path_.clear();
  }
  ~Trial() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string path_, problem_ = {};
};
void try_writes(const std::string& folder, HostReport& to) {
  std::int64_t written = 0;
  double seconds = 0;
  std::vector<double> syncs;
  try {
    const std::string bytes(kPiece, 'b');
    auto file = File::create(folder + "/written");
    ::unlink((folder + "/written").c_str());  // a doctor that is killed leaves no bytes
    auto begin = Clock::now();
    for (; written < kMostWritten && elapsed(begin) < kWriteSeconds; written += kPiece)
      file.write(bytes.data(), kPiece);
    file.sync();
    seconds = elapsed(begin);
    for (int i = 0; i < 7 && elapsed(begin) < 2 + seconds; ++i) {
      auto before = Clock::now();
      file.write_at(0, bytes.data(), 4096);
      file.sync();
      syncs.push_back(1e3 * elapsed(before));
    }
    file.close();
  } catch (const IoError& e) {
    return to.problem("writes", e.text(), "df -h and quota -s; or choose another out");
  }
  std::sort(syncs.begin(), syncs.end());
  auto rate = to.measured[kWrites] = 1e-6 * static_cast<double>(written) / seconds;
  auto text = digits(rate) + " MB/s with a sync at the end";
  const std::string faster = "choose another out, on a faster disk";
  if (rate < kDiskProblem) to.problem("writes", text, faster);
  else if (rate < kDiskNote) to.note("writes", text, faster);
  else to.ok("writes", text);
  if (syncs.empty()) return;
  auto sync = to.measured[kSyncs] = syncs[syncs.size() / 2];
  text = "one takes " + digits(sync) + " ms";
  if (sync > kSyncProblem) to.problem("syncs", text, faster);
  else if (sync > kSyncNote) to.note("syncs", text, faster);
  else to.ok("syncs", text);
}
void try_names(const std::string& folder, Findings& to) {
  auto a = folder + "/a", b = folder + "/b";
  std::error_code error;
  fs::create_directory(a, error), fs::create_directory(b, error);
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0)
    to.ok("names", "folders exchange their names at once");
  else
    to.note("names", "folders cannot exchange their names (" + std::string(std::strerror(errno)) +
                         "): a step that is saved again takes its place in two moves",
            "a local disk for out, if hosts need not share it");
  std::ofstream(folder + "/first") << "b";
  fs::create_hard_link(folder + "/first", folder + "/second", error);
  if (error)
    to.note("links", "a file has one name only (" + error.message() + "): the best checkpoint is a copy",
            "room for one more checkpoint");
  int one = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
      two = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool first = ::flock(one, LOCK_EX | LOCK_NB) == 0;
  auto reason = errno;
  bool second = first && ::flock(two, LOCK_EX | LOCK_NB) == 0;
  if (!first) {  // as a run does: where folders have no locks, a file
    int file = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    first = file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0) ::close(file);
  }
  if (!first)
    to.problem("locks", "nothing can be locked (" + std::string(std::strerror(reason)) +
                            "): two runs may write into one folder",
               "mount it with locks: without nolock, or with flock (Lustre); start rpc.statd (NFS 3)");
  else if (second) to.problem("locks", "a lock keeps nobody out", "choose another out");
  else to.ok("locks", "they keep a second run out");
  for (int fd : {one, two})
    if (fd >= 0) ::close(fd);
}
bool lists(const std::string& folder, const std::string& name) {
  auto* d = ::opendir(folder.c_str());  // a name that was looked up in vain is kept for a while; a list is read anew
  bool found = false;
  for (auto* e = d ? ::readdir(d) : nullptr; e && !found; e = ::readdir(d)) found = name == e->d_name;
  if (d) ::closedir(d);
  return found;
}
}  // namespace

std::optional<Mount> mount_of(const std::string& path, const std::string& root) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  std::optional<Mount> found;
  for (std::string line; std::getline(mounts, line);) {
    auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string word, point, options, type, source, more;
    before >> word >> word >> word >> word >> point >> options;
    after >> type >> source >> more;
    point = plain(point);
    bool holds = point == "/" || path == point || path.starts_with(point + "/");
    if (holds && (!found || point.size() >= found->point.size()))
      found = Mount{point, type, plain(source), options + "," + more};
  }
  return found;
}
void look_at_mount(const Mount& m, Findings& to) {
  auto again = [&](const std::string& options) { return "sudo mount -o remount," + options + " " + m.point; };
  auto text = m.type + " at " + m.point;
  auto before = to.all.size();
  bool nfs = m.type.starts_with("nfs");
  auto anew = "sudo umount " + m.point + " && sudo mount -t " + m.type + " -o hard " + m.source + " " + m.point;
  if (has_option(m, "ro")) to.problem("folder", text + " is mounted read-only", again("rw"));
  if (m.type == "tmpfs" || m.type == "ramfs")
    to.note("folder", text + " is memory: checkpoints are gone with this machine or container", "an out on a disk");
  if (m.type == "overlay" || m.type == "aufs")
    to.note("folder", text + " is the container's own: checkpoints are gone with it",
            "docker run -v FOLDER:FOLDER, and an out there");
  if (nfs && (has_option(m, "soft") || has_option(m, "softerr")))
    to.problem("folder", text + " is mounted soft: a server that is slow for a while makes saves fail", anew);
  if (nfs && (has_option(m, "nolock") || has_option(m, "local_lock=all") || has_option(m, "local_lock=flock")))
    to.problem("folder", text + " has locks of this host alone: runs of two hosts may write into one folder", anew);
  if (has_option(m, "nobarrier") || has_option(m, "barrier=0"))
    to.problem("folder", text + " has no barriers: a loss of power may damage what was synced",
               again(m.type == "xfs" ? "barrier" : "barrier=1"));
  if (has_option(m, "sync")) to.note("folder", text + " waits for the disk at each write (sync)", again("async"));
  if (has_option(m, "noac")) to.note("folder", text + " asks the server at each look (noac)", anew);
  if (m.type == "cifs" || m.type == "9p" || m.type == "vboxsf" || m.type.starts_with("fuse"))
    to.note("folder", text + " may lack syncs and locks that programs rely on", "a local disk, NFS or Lustre for out");
  if (to.all.size() == before) to.ok("folder", text);
}
void look_at_folder(const std::string& out, HostReport& to) {
  auto folder = nearest(out);
  auto mount = mount_of(folder.string());
  if (mount) {
    look_at_mount(*mount, to);
    to.facts["folder"] = mount->type;
  } else {
    to.ok("folder", "its mount is not among those of /proc/self/mountinfo, as in a chroot");
  }
  look_at_space(folder, out, to);
  Trial trial(folder);
  bool read_only = mount && has_option(*mount, "ro");
  if (!trial.problem().empty()) {
    if (!read_only)
      to.problem("folder", "nothing can be written into " + folder.string() + ": " + trial.problem(),
                 "sudo chown $USER " + folder.string() + "; or choose another out");
    return;
  }
  try_writes(trial.path(), to);
  try_names(trial.path(), to);
}
void look_at_shared_folder(transport::Context& context, const std::string& out, const std::vector<std::string>& hosts,
                           HostReport& to) {
  const auto folder = nearest(out).string();
  const bool first = context.rank() == 0;
  lists(folder, "");  // what this host keeps of it is of before
  context.exchange("", "doctor: look at the folder");
  std::optional<Trial> trial;
  int lock = -1;
  std::string name;
  if (first) {
    trial.emplace(folder);
    if (trial->problem().empty()) name = fs::path(trial->path()).filename().string();
    lock = name.empty() ? -1 : ::open((trial->path() + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0) ::close(std::exchange(lock, -1));
    if (!name.empty()) sync_folder(folder);
  }
  const auto said = context.exchange(name + (lock >= 0 ? "+" : "-"), "doctor: the name of a folder").front();
  name = said.substr(0, said.size() - 1);
  const bool locked = said.ends_with("+");
  if (!first && !name.empty()) {
    auto begin = Clock::now();
    while (!lists(folder, name) && elapsed(begin) < kLateProblem)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    auto late = elapsed(begin);
    auto text = "what " + hosts[0] + " makes in " + folder + " is seen here after " + digits(late) + " s";
    const std::string sooner = "mount it with actimeo=1 on all hosts, if starts and restarts are to be quick";
    if (late >= kLateProblem)
      to.problem("shared", "what " + hosts[0] + " makes in " + folder + " is not seen here after " +
                               digits(kLateProblem) + " s: hosts do not share it, or see new names late",
                 "mount one folder of all hosts there (NFS, Lustre), and give it as out");
    else if (late > kLateNote) to.note("shared", text, sooner);
    else to.ok("shared", text);
    int file = late < kLateProblem && locked ? ::open((folder + "/" + name + "/lock").c_str(), O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
      if (::flock(file, LOCK_EX | LOCK_NB) == 0)
        to.problem("locks", "a lock that " + hosts[0] + " holds keeps this host not out: two jobs may write one run",
                   "mount it without nolock and local_lock, with flock on Lustre, on all hosts");
      else to.ok("locks", "a lock of " + hosts[0] + " is seen here");
      ::close(file);
    }
  }
  context.exchange("", "doctor: the folder was seen");
  if (lock >= 0) ::close(lock);
}
}  // namespace bora::app::doctor
