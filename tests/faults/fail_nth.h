// fail_nth.h -- what fail_nth.cpp can let fail.
#pragma once
#include <atomic>

namespace bora::faults {
enum class Call {
  socket, bind, listen, accept4, connect, send, sendmsg, recv, recvmsg, readv, setsockopt, epoll_create1, epoll_ctl,
  epoll_wait, eventfd, poll, memfd_create, ftruncate, read, pread, write, writev, fsync, rename, mkdir,
  sched_setaffinity, getifaddrs, process_vm_readv, mmap, open, openat, pthread_create, getaddrinfo, pwrite,
  flock, pipe2, fork, signalfd, stat, lstat, fstat, opendir, readdir, unlink, unlinkat, remove, renameat2, sendfile,
  getrandom, dup2, socketpair, execvp, count
};
inline constexpr int kCalls = static_cast<int>(Call::count);
inline constexpr const char* kNames[kCalls] = {
    "socket", "bind", "listen", "accept4", "connect", "send", "sendmsg", "recv", "recvmsg", "readv", "setsockopt",
    "epoll_create1", "epoll_ctl", "epoll_wait", "eventfd", "poll", "memfd_create", "ftruncate", "read", "pread",
    "write", "writev", "fsync", "rename", "mkdir", "sched_setaffinity", "getifaddrs", "process_vm_readv", "mmap",
    "open", "openat", "pthread_create", "getaddrinfo", "pwrite", "flock", "pipe2", "fork", "signalfd", "stat", "lstat", "fstat", "opendir",
    "readdir", "unlink", "unlinkat", "remove", "renameat2", "sendfile", "getrandom", "dup2", "socketpair", "execvp"};
struct Counts {
  std::atomic<int> of[kCalls] = {};
};
}  // namespace bora::faults
