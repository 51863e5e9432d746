// fail_nth.cpp -- for LD_PRELOAD: lets the n-th call of one function of the C library fail, and counts all of them.
// FAULT_CALL: its name; FAULT_NTH: the call that fails; FAULT_LENGTH: how many fail from there on (1); FAULT_ERRNO: the
// error, 0: it moves one byte of those that it is given (read, pread, write, pwrite, send, recv, sendfile);
// FAULT_COUNTS: a file of Counts, to which calls are added.
// FAULT_SIGNAL: instead the process gets this signal at its n-th call of any of them. Of the process with BORA_RANK =
// FAULT_RANK; counted from the one that names a path with FAULT_FROM in it, or from the first; once: who makes the file
// FAULT_ONCE gets it.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include "fail_nth.h"

namespace {
using namespace bora::faults;
struct Wanted {
  int call = -1, number = 0, length = 1, error = 0, signal = 0;
  const char *from = "", *once = "";
  std::atomic<bool> counting{false};
  std::atomic<int> calls{0};
  Counts own = {}, *counts = &own;
  Wanted() {
    auto text = [](const char* name) { return std::getenv(name) ? std::getenv(name) : ""; };
    for (int i = 0; i < kCalls; ++i)
      if (std::strcmp(kNames[i], text("FAULT_CALL")) == 0) call = i;
    number = std::atoi(text("FAULT_NTH"));
    length = std::max(1, std::atoi(text("FAULT_LENGTH")));
    error = std::atoi(text("FAULT_ERRNO"));
    from = text("FAULT_FROM"), once = text("FAULT_ONCE");
    if (std::strcmp(text("FAULT_RANK"), text("BORA_RANK")) == 0) signal = std::atoi(text("FAULT_SIGNAL"));
    counting = *from == 0;
    auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, text("FAULT_COUNTS"), O_RDWR, 0));
    if (fd < 0) return;
    auto p = ::syscall(SYS_mmap, nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p > 0) counts = reinterpret_cast<Counts*>(p);
    ::syscall(SYS_close, fd);
  }
};
Wanted& wanted() {
  static Wanted w;
  return w;
}
void get_signal(Wanted& w) {
  if (!w.counting || w.calls.fetch_add(1) + 1 != w.number) return;
  auto fd = ::syscall(SYS_openat, AT_FDCWD, w.once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  ::syscall(SYS_close, fd);
  ::syscall(SYS_kill, ::getpid(), w.signal);
}
/// Counts the call; true if it is to fail, with errno set.
bool fails(Call c, const char* path = nullptr) {
  auto& w = wanted();
  if (w.signal != 0) {
    if (path && *w.from != 0 && std::strstr(path, w.from)) w.counting = true;
    get_signal(w);
    return false;
  }
  auto n = w.counts->of[static_cast<int>(c)].fetch_add(1) + 1;
  if (w.call != static_cast<int>(c) || n < w.number || n >= w.number + w.length) return false;
  errno = w.error;
  return true;
}
/// Whether the system may move a part of what is asked: of a file, pipe or stream, not of a message or an event.
bool divides(int fd) {
  struct ::stat s {};
  if (::syscall(SYS_newfstatat, fd, "", &s, AT_EMPTY_PATH) != 0) return false;
  int type = 0;
  socklen_t size = sizeof type;
  bool stream = S_ISSOCK(s.st_mode) && ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
  return S_ISREG(s.st_mode) || S_ISFIFO(s.st_mode) || stream;
}
template <class F> F* real(F*, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
}  // namespace

/// A connection that was reset is closed both ways: after one error no call finds it in order again.
void reset(int fd) {
  auto error = errno;
  if (error == ECONNRESET) ::shutdown(fd, SHUT_RDWR);
  errno = error;
}

/// A function that fails with -1 and errno.
#define FAULTY(type, name, parameters, arguments)           \
  extern "C" type name parameters {                         \
    static auto* const next = real(&::name, #name);         \
    return fails(Call::name) ? type(-1) : next arguments;   \
  }
/// One that moves n bytes.
#define FAULTY_MOVE(name, call, n, parameters, arguments)              \
  extern "C" ssize_t name parameters {                                 \
    static auto* const next = real(&::name, #name);                    \
    if (fails(Call::call)) {                                           \
      if (wanted().error != 0) return reset(a), -1;                    \
      if (divides(a)) n = std::min<size_t>(n, 1);                      \
    }                                                                  \
    return next arguments;                                             \
  }
#define FAULTY_MESSAGE(name, parameters, arguments)         \
  extern "C" ssize_t name parameters {                      \
    static auto* const next = real(&::name, #name);         \
    if (!fails(Call::name)) return next arguments;          \
    return reset(a), ssize_t(-1);                           \
  }
#define FAULTY_AS(type, name, call, parameters, arguments)  \
  extern "C" type name parameters {                         \
    static auto* const next = real(&::name, #name);         \
    return fails(Call::call) ? type(-1) : next arguments;   \
  }
FAULTY(int, socket, (int a, int b, int c) noexcept, (a, b, c))
FAULTY(int, bind, (int a, const sockaddr* b, socklen_t c) noexcept, (a, b, c))
FAULTY(int, listen, (int a, int b) noexcept, (a, b))
FAULTY(int, accept4, (int a, sockaddr* b, socklen_t* c, int d), (a, b, c, d))
FAULTY(int, connect, (int a, const sockaddr* b, socklen_t c), (a, b, c))
FAULTY_MOVE(send, send, c, (int a, const void* b, size_t c, int d), (a, b, c, d))
FAULTY_MESSAGE(sendmsg, (int a, const msghdr* b, int c), (a, b, c))
FAULTY_MOVE(recv, recv, c, (int a, void* b, size_t c, int d), (a, b, c, d))
FAULTY_MESSAGE(recvmsg, (int a, msghdr* b, int c), (a, b, c))
FAULTY_MESSAGE(readv, (int a, const iovec* b, int c), (a, b, c))
FAULTY(int, setsockopt, (int a, int b, int c, const void* d, socklen_t e) noexcept, (a, b, c, d, e))
FAULTY(int, epoll_create1, (int a) noexcept, (a))
FAULTY(int, epoll_ctl, (int a, int b, int c, epoll_event* d) noexcept, (a, b, c, d))
FAULTY(int, epoll_wait, (int a, epoll_event* b, int c, int d), (a, b, c, d))
FAULTY(int, eventfd, (unsigned a, int b) noexcept, (a, b))
FAULTY(int, poll, (pollfd* a, nfds_t b, int c), (a, b, c))
FAULTY(int, memfd_create, (const char* a, unsigned b) noexcept, (a, b))
FAULTY(int, ftruncate, (int a, off_t b) noexcept, (a, b))
FAULTY_AS(int, ftruncate64, ftruncate, (int a, off64_t b) noexcept, (a, b))
FAULTY_MOVE(read, read, c, (int a, void* b, size_t c), (a, b, c))
FAULTY_MOVE(pread, pread, c, (int a, void* b, size_t c, off_t d), (a, b, c, d))
FAULTY_MOVE(pread64, pread, c, (int a, void* b, size_t c, off64_t d), (a, b, c, d))
FAULTY_MOVE(write, write, c, (int a, const void* b, size_t c), (a, b, c))
FAULTY(ssize_t, writev, (int a, const iovec* b, int c), (a, b, c))
FAULTY_MOVE(pwrite, pwrite, c, (int a, const void* b, size_t c, off_t d), (a, b, c, d))
FAULTY_MOVE(pwrite64, pwrite, c, (int a, const void* b, size_t c, off64_t d), (a, b, c, d))
FAULTY(int, fsync, (int a), (a))
FAULTY(int, flock, (int a, int b) noexcept, (a, b))
FAULTY(int, pipe2, (int* a, int b) noexcept, (a, b))
FAULTY(pid_t, fork, () noexcept, ())
FAULTY(int, signalfd, (int a, const sigset_t* b, int c) noexcept, (a, b, c))
FAULTY(int, rename, (const char* a, const char* b) noexcept, (a, b))
extern "C" int mkdir(const char* a, mode_t b) noexcept {
  static auto* const next = real(&::mkdir, "mkdir");
  return fails(Call::mkdir, a) ? -1 : next(a, b);
}
FAULTY(int, stat, (const char* a, struct stat* b) noexcept, (a, b))
FAULTY_AS(int, stat64, stat, (const char* a, struct stat64* b) noexcept, (a, b))
FAULTY(int, lstat, (const char* a, struct stat* b) noexcept, (a, b))
FAULTY_AS(int, lstat64, lstat, (const char* a, struct stat64* b) noexcept, (a, b))
FAULTY(int, fstat, (int a, struct stat* b) noexcept, (a, b))
FAULTY_AS(int, fstat64, fstat, (int a, struct stat64* b) noexcept, (a, b))
FAULTY(int, unlink, (const char* a) noexcept, (a))
FAULTY(int, unlinkat, (int a, const char* b, int c) noexcept, (a, b, c))
FAULTY(int, remove, (const char* a) noexcept, (a))
FAULTY(int, renameat2, (int a, const char* b, int c, const char* d, unsigned e) noexcept, (a, b, c, d, e))
FAULTY(int, dup2, (int a, int b) noexcept, (a, b))
FAULTY(int, socketpair, (int a, int b, int c, int* d) noexcept, (a, b, c, d))
FAULTY(int, execvp, (const char* a, char* const* b) noexcept, (a, b))
FAULTY(ssize_t, getrandom, (void* a, size_t b, unsigned c), (a, b, c))
FAULTY_MOVE(sendfile, sendfile, d, (int a, int b, off_t* c, size_t d) noexcept, (a, b, c, d))
FAULTY_MOVE(sendfile64, sendfile, d, (int a, int b, off64_t* c, size_t d) noexcept, (a, b, c, d))
FAULTY(int, sched_setaffinity, (pid_t a, size_t b, const cpu_set_t* c) noexcept, (a, b, c))
FAULTY(int, getifaddrs, (ifaddrs** a) noexcept, (a))
FAULTY(ssize_t, process_vm_readv,
       (pid_t a, const iovec* b, unsigned long c, const iovec* d, unsigned long e, unsigned long f) noexcept,
       (a, b, c, d, e, f))
extern "C" void* mmap(void* a, size_t b, int c, int d, int e, off_t f) noexcept {
  static auto* const next = real(&::mmap, "mmap");
  return fails(Call::mmap) ? MAP_FAILED : next(a, b, c, d, e, f);
}
extern "C" void* mmap64(void* a, size_t b, int c, int d, int e, off64_t f) noexcept { return ::mmap(a, b, c, d, e, f); }
extern "C" int open(const char* a, int b, ...) {
  va_list rest;
  va_start(rest, b);
  auto mode = va_arg(rest, unsigned);
  va_end(rest);
  static auto* const next = real(&::open, "open");
  return fails(Call::open, a) ? -1 : next(a, b, mode);
}
extern "C" int open64(const char* a, int b, ...) {
  va_list rest;
  va_start(rest, b);
  auto mode = va_arg(rest, unsigned);
  va_end(rest);
  return ::open(a, b, mode);
}
extern "C" int openat(int a, const char* b, int c, ...) {
  va_list rest;
  va_start(rest, c);
  auto mode = va_arg(rest, unsigned);
  va_end(rest);
  static auto* const next = real(&::openat, "openat");
  return fails(Call::openat) ? -1 : next(a, b, c, mode);
}
extern "C" DIR* opendir(const char* a) {
  static auto* const next = real(&::opendir, "opendir");
  return fails(Call::opendir) ? nullptr : next(a);
}
extern "C" dirent* readdir(DIR* a) {
  static auto* const next = real(&::readdir, "readdir");
  return fails(Call::readdir) ? nullptr : next(a);
}
extern "C" dirent64* readdir64(DIR* a) {
  static auto* const next = real(&::readdir64, "readdir64");
  return fails(Call::readdir) ? nullptr : next(a);
}
extern "C" int pthread_create(pthread_t* a, const pthread_attr_t* b, void* (*c)(void*), void* d) noexcept {
  static auto* const next = real(&::pthread_create, "pthread_create");
  return fails(Call::pthread_create) ? EAGAIN : next(a, b, c, d);
}
extern "C" int getaddrinfo(const char* a, const char* b, const addrinfo* c, addrinfo** d) {
  static auto* const next = real(&::getaddrinfo, "getaddrinfo");
  return fails(Call::getaddrinfo) ? EAI_AGAIN : next(a, b, c, d);
}
