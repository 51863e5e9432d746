#include "data/store/cache_folder.h"
#include <sys/file.h>
#include <algorithm>
#include <filesystem>
#include "base/api/file.h"
#include "base/api/json.h"
#include "base/api/paths.h"
#include "base/api/reason.h"
#include "base/api/sha256.h"
#include "base/api/threads.h"
#include "json/api/value.h"

namespace fs = std::filesystem;
namespace bora::data {
namespace {
constexpr std::string_view kForm = "documents 2";
constexpr std::string_view kMark = ".mark";  // see group_at
constexpr auto kSign = std::chrono::seconds(5), kSilence = std::chrono::seconds(60);
std::string five(std::size_t n) {
  auto text = std::to_string(n);
  return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
}
/// Null if there is no such file, or it is no JSON.
json::Value json_of(const std::string& file) {
  return is_there(file) ? json::parse_or_null(read_file(file)) : json::Value();
}
/// The origin of a folder's documents, as its plan.json has it.
struct Plan {
  std::string form = {}, identity = {}, source = {};
  std::vector<std::int64_t> modified = {};
};
Plan plan_of(const std::string& folder) {
  Plan p;
  auto j = json_of(folder + "/plan.json");
  if (!j.is_object()) return p;
  auto text = [&](const char* key) {
    auto found = j.find(key);
    return found && found->is_text() ? found->text() : std::string();
  };
  p.form = text("form"), p.identity = text("identity"), p.source = text("source");
  if (auto times = j.find("modified"); times && times->is_list())
    for (auto& t : times->list()) p.modified.push_back(t.is_integer() ? t.integer() : 0);
  return p;
}
std::vector<fs::path> entries(const std::string& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    all.push_back(it->path());
  check<IoError>(!error, "cannot read the folder ", folder, ": ", error.message());
  std::sort(all.begin(), all.end());
  return all;
}
/// The lock stays. A mark of the last hour may be that of a job which begins at this moment.
bool may_go(const fs::path& file) {
  std::error_code error;
  if (file.extension() != kMark) return file.filename() != "lock";
  auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written > std::chrono::hours(1);
}
void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  check<IoError>(!error, "cannot remove ", file.string(), ": ", error.message());
}
}  // namespace

std::string hash_of(std::string_view text) { return sha256(text).substr(0, 16); }
std::string count_text(const std::vector<SourceFile>& files) {
  std::int64_t bytes = 0;
  for (auto& f : files) bytes += f.bytes;
  return std::to_string(files.size()) + (files.size() == 1 ? " file, " : " files, ") + std::to_string(bytes) + " bytes";
}

bool Lock::take() {
  auto path = folder_ + "/lock";
  int fd = open_retried(path.c_str(), O_RDWR | O_CREAT);
  if (fd < 0 && errno == EACCES) fd = open_retried(path.c_str(), O_RDONLY);  // another user's
  check<IoError>(fd >= 0, "cannot open ", path, ": ", std::strerror(errno));
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    fd_ = fd;
    live();
    return true;
  }
  auto reason = errno;
  ::close(fd);
  check<IoError>(reason == EWOULDBLOCK || reason == EINTR, "cannot lock ", path, ": ", std::strerror(reason));
  return false;
}
/// Writes host and process into the file, again and again: its time says when this process ran last.
void Lock::live() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  auto name = "process " + std::to_string(::getpid()) + " on " + host + "\n";
  auto sign = [fd = fd_, name] {
    // Of another user's file neither can be done; the folder shows the work then.
    if (::pwrite(fd, name.data(), name.size(), 0) > 0) (void)!::ftruncate(fd, static_cast<::off_t>(name.size()));
  };
  sign();
  alive_ = start_thread("the lock of a cache", [this, sign] {
    std::unique_lock lock(ending_);
    while (!ended_.wait_for(lock, kSign, [&] { return ends_; })) sign();
  });
}
Lock::~Lock() {
  if (alive_.joinable()) {
    std::unique_lock lock(ending_);
    ends_ = true;
    lock.unlock();
    ended_.notify_all();
    alive_.join();
  }
  if (fd_ >= 0) ::close(fd_);
}
void Holder::check() {
  std::string now;
  for (auto& path : {folder_ + "/lock", folder_}) {  // opened: a client of NFS asks for what is new
    struct ::stat s {};
    int fd = open_retried(path.c_str(), O_RDONLY);
    if (fd >= 0 && ::fstat(fd, &s) == 0)
      now += std::to_string(s.st_ino) + " " + std::to_string(s.st_mtim.tv_sec) + "." +
             std::to_string(s.st_mtim.tv_nsec) + " ";
    if (fd >= 0) ::close(fd);
  }
  if (now != std::exchange(seen_, now)) since_ = Clock::now();
  if (Clock::now() - since_ < kSilence) return;
  auto name = is_there(folder_ + "/lock") ? read_file(folder_ + "/lock") : std::string();
  name = name.empty() ? "the process that makes it" : name.substr(0, name.find('\n'));
  fail<IoError>("data: ", folder_, " is locked, and ", name, " has shown no sign of life for ",
                std::chrono::seconds(kSilence).count(),
                " s: it was stopped, or is lost with its host. Let it go on, or end it, or choose another data.cache");
}

Folder::Folder(const Making& making, std::string path)
    : making_(making), files_(making.recipe.files), path_(std::move(path)), units_(units_of(files_)) {}
std::string Folder::chunk(std::size_t unit, std::size_t number) const {
  return path_ + "/" + five(unit) + "-" + five(number) + ".docs";
}
std::string Folder::sums(std::size_t unit) const { return path_ + "/" + five(unit) + ".sums"; }
std::string Folder::sums_text(std::size_t unit, const Sums& known) const {
  std::string text;
  auto begin = units_[unit].begin;
  for (auto f = begin; f < units_[unit].end; ++f) {
    auto sum = known.empty() ? std::nullopt : known[f - begin];
    text += std::to_string(sum ? *sum : whole_crc(files_[f])) + "\n";
  }
  return text;
}
bool Folder::is_ready() const {
  auto plan = plan_of(path_);
  bool fits = plan.form == kForm && plan.identity == making_.identity && plan.modified.size() == files_.size();
  bool now = fits && std::equal(files_.begin(), files_.end(), plan.modified.begin(),
                                [](auto& file, auto time) { return file.modified == time; });
  const Crew silent;  // what is wrong is said by whoever mends it
  if (now && is_complete(silent)) return true;
  if (!is_there(path_) || ::access(path_.c_str(), W_OK) == 0) return false;
  auto why = system_reason();
  check<IoError>(fits && same_bytes(plan.modified, silent) && is_complete(silent), "data: ", path_,
                 fits ? " is not complete, or was made of other bytes" : " was made by another version",
                 ", and cannot be made here: ", why, "; choose another data.cache");
  return true;
}
bool Folder::prepare(const Crew& crew) const {
  for (auto& file : entries(path_))
    if ((file.extension() == ".new" || file.extension() == kMark) && may_go(file)) remove_file(file);
  auto plan = plan_of(path_);
  bool fits = plan.form == kForm && plan.identity == making_.identity && plan.modified.size() == files_.size();
  if (!fits) {
    if (is_there(chunk(0, 0)))
      crew.say("data: " + path_ + "/plan.json is missing, damaged or of another version; all documents are made anew");
    else say_changes(crew);
    clear();
  } else if (!same_bytes(plan.modified, crew)) clear();
  write_plan();
  if (is_complete(crew)) return true;
  remove_file(path_ + "/done.json");
  return false;
}
bool Folder::is_complete(const Crew& crew) const {
  auto file = path_ + "/done.json";
  if (!is_there(file)) return false;
  auto done = json_of(file);
  bool good = done.is_list() && done.list().size() == units_.size();
  for (std::size_t u = 0; good && u < units_.size(); ++u) {
    auto [at, n] = behind(u, crew);
    if (!at.done && !is_there(chunk(u, n))) crew.say("data: " + chunk(u, n) + " is gone; it is made anew");
    if (!at.done) return false;
    good = done.list()[u].is_natural() && done.list()[u].natural() == n;
  }
  if (!good) crew.say("data: " + file + " is damaged; it is made anew");
  return good;
}
std::pair<Cursor, std::size_t> Folder::behind(std::size_t unit, const Crew& crew) const {
  Cursor at;
  std::size_t n = 0;
  for (; !at.done && is_there(chunk(unit, n)); ++n) try {
      Chunk there(chunk(unit, n));
      auto& h = there.header();
      check<IoError>(h.fields == making_.recipe.fields &&
                         (h.last != 0 || h.file < units_[unit].end - units_[unit].begin),
                     chunk(unit, n), ": is a chunk of other files or tasks");
      at = {h.file, {static_cast<std::int64_t>(h.offset), static_cast<std::int64_t>(h.line)}, h.last != 0};
    } catch (const IoError& e) {
      crew.say("data: " + std::string(e.text()) + "; it is made anew");
      break;
    }
  return {at, n};
}
void Folder::write_sums(std::size_t unit, const Sums& known, const Crew& crew) const {
  if (is_there(sums(unit))) return;
  auto text = sums_text(unit, known);
  for (auto f = units_[unit].begin; f < units_[unit].end; ++f) {
    auto now = file_at(files_[f].path);
    if (now.bytes == files_[f].bytes && now.modified == files_[f].modified) continue;
    crew.say("data: " + now.path + " changed while it was read; the next run makes its documents anew");
    return;
  }
  write_file(sums(unit), text);
}
void Folder::write_done(const std::vector<std::size_t>& chunks) const {
  JsonWriter w;
  w.list();
  for (auto n : chunks) w.add(n);
  write_file(path_ + "/done.json", w.end().take());
}
std::vector<std::size_t> Folder::chunks() const {
  auto done = json_of(path_ + "/done.json");
  bool good = done.is_list() && done.list().size() == units_.size();
  std::vector<std::size_t> all;
  for (std::size_t u = 0; good && u < units_.size(); ++u) {
    good = done.list()[u].is_natural();
    if (good) all.push_back(done.list()[u].natural());
  }
  check<IoError>(good, path_, "/done.json: is damaged; remove it");
  return all;
}
void Folder::clear() const {
  for (auto& file : entries(path_))
    if (may_go(file)) remove_file(file);
}
void Folder::write_plan() const {
  JsonWriter w(JsonWriter::Style::spaced);
  w.object()("form", kForm)("identity", making_.identity)("source", making_.name)("files").list();
  for (auto& f : files_) w.add(fs::path(f.path).filename().string());
  w.end()("bytes").list();
  for (auto& f : files_) w.add(f.bytes);
  w.end()("modified").list();
  for (auto& f : files_) w.add(f.modified);
  auto file = path_ + "/plan.json", text = w.end().end().take();
  if (!is_there(file) || read_file(file) != text) write_file(file, text);
}
/// Files whose times have changed must have the bytes that the sums tell of. A unit without sums is still to be made.
bool Folder::same_bytes(const std::vector<std::int64_t>& times, const Crew& crew) const {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    bool touched = false;
    for (auto f = units_[u].begin; f < units_[u].end; ++f) touched = touched || times[f] != files_[f].modified;
    if (!touched || (is_there(sums(u)) && read_file(sums(u)) == sums_text(u))) continue;
    crew.say("data: files of " + making_.name + " have changed since " + path_ + " was made; it is made anew");
    return false;
  }
  return true;
}
/// If a folder beside this one was made from the same source in another state.
void Folder::say_changes(const Crew& crew) const {
  for (auto& other : entries(fs::path(path_).parent_path().string())) {
    if (other == path_) continue;
    auto plan = plan_of(other.string());
    if (plan.source != making_.name) continue;
    if (plan.form != kForm)
      crew.say("data: " + other.string() + " was made by another version; the documents of " + making_.name +
               " are made anew in " + path_);
    else if (plan.identity == making_.identity)
      crew.say("data: " + making_.name + " has changed since " + other.string() + " was made, and has now " +
               count_text(files_) + "; its documents are made anew in " + path_);
    else
      crew.say("data: tokenizer or task of " + making_.name + " differ from those of " + other.string() +
               "; its documents are made anew in " + path_);
    return;
  }
}
}  // namespace bora::data
