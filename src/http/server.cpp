#include "http/api/server.h"
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include "base/api/threads.h"
#include "bora/base/error.h"
#include "http/session.h"

namespace bora::http {
namespace {
using std::chrono::milliseconds;
void check_limits(const Limits& l) {
  for (auto& [name, value] : {std::pair{"body", l.body},
                              {"header", l.header},
                              {"connections", l.connections},
                              {"unread", l.unread},
                              {"headers", l.headers.count()},
                              {"reader", l.reader.count()},
                              {"idle", l.idle.count()},
                              {"silence", l.silence.count()},
                              {"body_time", l.body_time.count()},
                              {"bodies", l.bodies}})
    check<ValueError>(value > 0, "http: the limit ", name, " is ", value, "; it must be at least 1");
  check<ValueError>(l.header <= 1 << 30 && l.reader.count() <= 1 << 30,
                    "http: the limit header or reader is above 2^30");
}
}  // namespace

struct Server::State {
  std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  Hub hub;
  Door door;
  std::atomic<std::int64_t> connections = 0;
  std::mutex mutex;
  std::condition_variable empty;
  bool stopped = false;  // under the mutex
  std::thread thread;

  State(const ServerOptions& o, Handler h)
      : hub{o, std::move(h), std::make_shared<const Errors>(o.errors), loop},
        door(*loop, o, [this](std::unique_ptr<Wire> wire) { arrived(std::move(wire)); }) {
    hub.changed = [this] { count(); };
    // Often enough for the shortest of the times.
    auto& l = o.limits;
    auto tick = std::min({l.headers, l.reader, l.idle, l.silence, l.body_time}) / 8;
    loop->every(std::clamp(tick, milliseconds(5), milliseconds(250)), [this] {
      auto now = Session::Clock::now();
      each([&](Session& s) { s.tick(now); });
    });
    door.open();
    start();
  }
  void start() {
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread = start_thread("the HTTP server", [this] {
        pthread_setname_np(pthread_self(), "bora-http");
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), hub.options.nice);
        loop->run();
      });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void each(const std::function<void(Session&)>& f) {
    std::vector<std::shared_ptr<Session>> all(hub.sessions.begin(), hub.sessions.end());  // f may close some
    for (auto& s : all) f(*s);
  }
  void count() {
    connections = static_cast<std::int64_t>(hub.sessions.size());
    if (!hub.sessions.empty()) return;
    std::unique_lock lock(mutex);
    empty.notify_all();
  }
  void arrived(std::unique_ptr<Wire> wire) {
    auto limit = static_cast<std::size_t>(hub.options.limits.connections);
    if (hub.sessions.size() >= limit) make_room();
    bool full = hub.sessions.size() >= limit;
    if (hub.draining || hub.sessions.size() >= limit + 32) return wire->close();
    auto session = std::make_shared<Session>(hub, std::move(wire));
    hub.sessions.insert(session);
    count();
    full ? session->start_and_refuse() : session->start();
  }
  // Connections without a request, which cost an attacker nothing, must not keep others out: the oldest one goes.
  void make_room() {
    std::shared_ptr<Session> oldest;
    for (auto& s : hub.sessions)
      if (s->may_go() && (!oldest || s->since() < oldest->since())) oldest = s;
    if (oldest) oldest->close();
  }
  void stop(milliseconds drain) {
    check<ValueError>(std::this_thread::get_id() != thread.get_id(),
                      "http: a handler cannot stop its server, which would wait for itself; stop it on another thread");
    std::unique_lock lock(mutex);
    if (!stopped)
      loop->post([this] {
        door.close();
        hub.draining = true;
        each([](Session& s) { s.drain(); });
        std::unique_lock held(mutex);
        stopped = true;
        empty.notify_all();
      });
    auto none = [this] { return stopped && connections == 0; };
    empty.wait_for(lock, drain, none);
    loop->post([this] { each([](Session& s) { s.close(); }); });
    empty.wait(lock, none);
  }
};
Server::Server(const ServerOptions& o, Handler h) {
  check_limits(o.limits);
  check<ValueError>(static_cast<bool>(h), "http: a server needs a handler");
  state_ = std::make_unique<State>(o, std::move(h));
}
Server::~Server() {
  state_->stop(milliseconds(0));
  state_->loop->end();
  state_->thread.join();
}
int Server::port() const { return state_->door.port(); }
std::int64_t Server::connections() const { return state_->connections; }
void Server::stop(milliseconds drain) { state_->stop(drain); }
}  // namespace bora::http
