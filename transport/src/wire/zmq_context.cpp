#include "wire/zmq_context.h"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include <zmq.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string>
#include "base/api/threads.h"

namespace bora::transport {
namespace {
constexpr auto kRemedy = "; allow this process more open files (ulimit -n), threads (ulimit -u, a container's pids "
                         "limit) or memory (ulimit -v)";
/// The start of one context on a thread of its own.
struct Attempt {
  Attempt() { ::sem_init(&over, 0, 0); }
  std::atomic<::pthread_t> thread{};
  std::atomic<bool> aborted{false};
  std::string problem = {};
  ::sem_t over;
};
std::atomic<Attempt*> attempt{nullptr};  // one at a time
struct ::sigaction before {};            // what SIGABRT does otherwise

/// Keeps the attempt's thread for ever, and no other.
void on_abort(int signal, ::siginfo_t* info, void* context) {
  auto* a = attempt.load();
  if (a && ::pthread_equal(a->thread, ::pthread_self())) {
    a->aborted = true;
    ::sem_post(&a->over);
    for (;;) ::pause();
  }
  if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
}
struct Watching {
  explicit Watching(Attempt& a) {
    attempt = &a;
    struct ::sigaction ours {};
    ours.sa_sigaction = on_abort;
    ours.sa_flags = SA_SIGINFO;
    ::sigaction(SIGABRT, &ours, &before);
  }
  ~Watching() {
    ::sigaction(SIGABRT, &before, nullptr);
    attempt = nullptr;
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};
/// The first socket of a context starts ZeroMQ's threads.
void start(Attempt& a, void* context) {
  a.thread = ::pthread_self();
  try {
    if (auto* socket = ::zmq_socket(context, ZMQ_PAIR)) ::zmq_close(socket);
    else a.problem = ::zmq_strerror(::zmq_errno());
  } catch (const std::exception& e) { a.problem = e.what(); }
  ::sem_post(&a.over);
}
}  // namespace

std::shared_ptr<zmq::context_t> begin_zmq() {
  static std::mutex one;
  std::lock_guard lock(one);
  std::shared_ptr<zmq::context_t> context;
  try {
    context = std::make_shared<zmq::context_t>(1);  // one I/O thread
  } catch (const zmq::error_t& e) { fail<TransportError>("cannot begin with ZeroMQ: ", e.what(), kRemedy); }
  check_threads(3, "ZeroMQ");  // its two and the one that starts them: libzmq would say why in a line of its own
  auto a = std::make_unique<Attempt>();
  Watching watching(*a);
  auto thread = start_thread("ZeroMQ", [&a = *a, handle = context->handle()] { start(a, handle); });
  while (::sem_wait(&a->over) != 0) {}  // signals interrupt it
  if (a->aborted) {  // its thread may hold locks of the context
    thread.detach();
    [[maybe_unused]] auto* kept = a.release();
    new auto(std::move(context));
    fail<TransportError>("cannot begin with ZeroMQ, because of what is said above", kRemedy);
  }
  thread.join();
  check<TransportError>(a->problem.empty(), "cannot begin with ZeroMQ: ", a->problem, kRemedy);
  return context;
}
}  // namespace bora::transport
