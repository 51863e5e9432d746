#include "file_calls.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>
#include <mutex>

namespace bora::faults {
namespace {
struct Watched {
  std::mutex mutex;
  bool on = false;
  Watch w;
  int calls = 0;
  std::vector<FileCall> log;
};
Watched& all() {
  static auto* w = new Watched;  // calls go on after main
  return *w;
}
thread_local bool inside = false;

std::string link_of(int fd) {
  char path[4096];
  auto name = "/proc/self/fd/" + std::to_string(fd);
  auto n = ::syscall(SYS_readlinkat, AT_FDCWD, name.c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}
std::string absolute(int folder, const char* path) {
  if (path[0] == '/') return path;
  char here[4096] = "";
  std::string base = folder == AT_FDCWD ? (::syscall(SYS_getcwd, here, sizeof here) > 0 ? here : "") : link_of(folder);
  return base + "/" + path;
}
bool is_below(const std::string& path) {
  auto& below = all().w.below;
  return path == below || path.starts_with(below + "/");
}
/// Calls f, the function itself, for a path that is watched: counts it, and lets it fail or ends the process. `call`
/// describes it, once it has succeeded.
template <class T, class F, class D> T through(const std::string& path, const F& f, const D& call) {
  auto& a = all();
  if (!is_below(path)) return f();
  std::lock_guard lock(a.mutex);
  if (!a.on) return f();
  auto n = ++a.calls;
  if (n == a.w.ends) ::syscall(SYS_kill, ::getpid(), SIGKILL);
  if (n == a.w.fails) {
    errno = a.w.error;
    return static_cast<T>(-1);
  }
  T r = f();
  auto reason = errno;
  if (r >= 0 && a.w.records) a.log.push_back(call(r));
  errno = reason;
  return r;
}
/// Whether this thread's call is one of the program that is watched.
struct Inside {
  bool mine = !inside && all().on;
  Inside() {
    if (mine) inside = true;
  }
  ~Inside() {
    if (mine) inside = false;
  }
};
template <class F> F* real(F*, const char* name) { return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name)); }
std::string bytes_of(const void* data, ssize_t n) {
  return {static_cast<const char*>(data), static_cast<std::size_t>(n)};
}
}  // namespace

void watch(const Watch& w) {
  auto& a = all();
  std::lock_guard lock(a.mutex);
  a.w = w, a.calls = 0, a.log.clear(), a.on = true;
}
void watch_nothing() { all().on = false; }
int watched() { return all().calls; }
std::vector<FileCall> recorded() { return all().log; }
void mark(int value) {
  auto& a = all();
  std::lock_guard lock(a.mutex);
  a.log.push_back({.what = What::mark, .value = value});
}
}  // namespace bora::faults

using namespace bora::faults;
/// A function of the C library with its path and description.
#define WATCHED(type, name, parameters, arguments, where, described)                    \
  extern "C" type name parameters {                                                     \
    static auto* const next = real(&::name, #name);                                     \
    Inside in;                                                                          \
    if (!in.mine) return next arguments;                                                \
    auto path = where;                                                                  \
    return through<type>(path, [&] { return next arguments; },                          \
                         [&]([[maybe_unused]] auto r) -> FileCall { return described; }); \
  }
#define OPENED(flags) \
  {.what = What::open, .path = path, .makes = ((flags) & O_CREAT) != 0, .cuts = ((flags) & O_TRUNC) != 0}
namespace {
int open_watched(int folder, const char* name, int flags, unsigned mode) {
  Inside in;
  auto call = [&] { return static_cast<int>(::syscall(SYS_openat, folder, name, flags, mode)); };
  if (!in.mine) return call();
  auto path = absolute(folder, name);
  return through<int>(path, call, [&](int) -> FileCall { return OPENED(flags); });
}
unsigned mode_of(va_list rest, int flags) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0; }
}  // namespace
#define OPENS(name, parameters, folder)                       \
  extern "C" int name parameters {                            \
    va_list rest;                                             \
    va_start(rest, flags);                                    \
    auto mode = mode_of(rest, flags);                         \
    va_end(rest);                                             \
    return open_watched(folder, path, flags, mode);           \
  }
OPENS(open, (const char* path, int flags, ...), AT_FDCWD)
OPENS(open64, (const char* path, int flags, ...), AT_FDCWD)
OPENS(openat, (int folder, const char* path, int flags, ...), folder)
OPENS(openat64, (int folder, const char* path, int flags, ...), folder)

#define WRITTEN(at) {.what = What::write, .path = path, .offset = (at), .bytes = bytes_of(b, r)}
WATCHED(ssize_t, write, (int a, const void* b, size_t c), (a, b, c), link_of(a),
        WRITTEN(::syscall(SYS_lseek, a, 0, SEEK_CUR) - r))
WATCHED(ssize_t, pwrite, (int a, const void* b, size_t c, off_t d), (a, b, c, d), link_of(a), WRITTEN(d))
WATCHED(ssize_t, pwrite64, (int a, const void* b, size_t c, off64_t d), (a, b, c, d), link_of(a), WRITTEN(d))
#define RESIZED(size, more) {.what = What::resize, .path = path, .offset = (size), .grows = (more)}
WATCHED(int, ftruncate, (int a, off_t b) noexcept, (a, b), link_of(a), RESIZED(b, false))
WATCHED(int, ftruncate64, (int a, off64_t b) noexcept, (a, b), link_of(a), RESIZED(b, false))
WATCHED(int, fallocate, (int a, int b, off_t c, off_t d), (a, b, c, d), link_of(a), RESIZED(b == 0 ? c + d : 0, true))
WATCHED(int, fallocate64, (int a, int b, off64_t c, off64_t d), (a, b, c, d), link_of(a),
        RESIZED(b == 0 ? c + d : 0, true))
#define SYNCED {.what = What::sync, .path = path}
WATCHED(int, fsync, (int a), (a), link_of(a), SYNCED)
WATCHED(int, fdatasync, (int a), (a), link_of(a), SYNCED)
#define OTHER {.what = What::other, .path = path}
WATCHED(int, sync_file_range, (int a, off64_t b, off64_t c, unsigned d), (a, b, c, d), link_of(a), OTHER)
#define REMOVED {.what = What::remove, .path = path}
WATCHED(int, unlink, (const char* a) noexcept, (a), absolute(AT_FDCWD, a), REMOVED)
WATCHED(int, unlinkat, (int a, const char* b, int c) noexcept, (a, b, c), absolute(a, b), REMOVED)
WATCHED(int, remove, (const char* a) noexcept, (a), absolute(AT_FDCWD, a), REMOVED)
WATCHED(int, rmdir, (const char* a) noexcept, (a), absolute(AT_FDCWD, a), REMOVED)
#define MADE {.what = What::make_folder, .path = path}
WATCHED(int, mkdir, (const char* a, mode_t b) noexcept, (a, b), absolute(AT_FDCWD, a), MADE)
#define LINKED {.what = What::link, .path = path, .to = absolute(AT_FDCWD, b)}
WATCHED(int, link, (const char* a, const char* b) noexcept, (a, b), absolute(AT_FDCWD, a), LINKED)

extern "C" int rename(const char* a, const char* b) noexcept {
  static auto* const next = real(&::rename, "rename");
  Inside in;
  if (!in.mine) return next(a, b);
  auto path = absolute(AT_FDCWD, a);
  return through<int>(
      path,
      [&] {
        auto r = next(a, b);
        return r == 0 && all().w.loses_answers ? (errno = ENOENT, -1) : r;
      },
      [&](int) -> FileCall { return {.what = What::rename, .path = path, .to = absolute(AT_FDCWD, b)}; });
}
extern "C" int renameat2(int a, const char* b, int c, const char* d, unsigned e) noexcept {
  static auto* const next = real(&::renameat2, "renameat2");
  Inside in;
  if (!in.mine) return next(a, b, c, d, e);
  auto path = absolute(a, b);
  bool refused = all().w.no_exchange && (e & RENAME_EXCHANGE) != 0;
  return through<int>(
      path, [&] { return refused ? (errno = EINVAL, -1) : next(a, b, c, d, e); },
      [&](int) -> FileCall {
        return {.what = e & RENAME_EXCHANGE ? What::exchange : What::rename, .path = path, .to = absolute(c, d)};
      });
}
extern "C" int close(int a) {
  static auto* const next = real(&::close, "close");
  Inside in;
  if (!in.mine) return next(a);
  auto path = link_of(a);
  bool closed = false;
  auto r = through<int>(path, [&] { return closed = true, next(a); },
                        [&](int) -> FileCall { return {.what = What::close, .path = path}; });
  if (!closed) {  // one that fails has closed it too
    auto reason = errno;
    next(a);
    errno = reason;
  }
  return r;
}
