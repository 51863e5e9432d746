#include "app/serving.h"
#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>
#include "base/api/reason.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "http/api/events.h"
#include "http/api/guard.h"
#include "serve/api/refused.h"

namespace bora::app {
namespace {
class HttpReply final : public serve::Reply {
 public:
  HttpReply(http::Reply reply, http::Headers cors) : reply_(std::move(reply)), cors_(std::move(cors)) {}
  void send(int status, serve::Headers headers, std::string body) override {
    headers.insert(headers.end(), cors_.begin(), cors_.end());
    reply_.send({status, std::move(headers), std::move(body)});
  }
  void begin() override {
    auto headers = http::event_stream();
    headers.insert(headers.end(), cors_.begin(), cors_.end());
    reply_.begin(200, std::move(headers));
  }
  void event(std::string data) override { reply_.write(http::event(data)); }
  void end() override { reply_.end(); }
  void on_gone(std::function<void()> f) override { reply_.on_gone(std::move(f)); }

 private:
  http::Reply reply_;
  http::Headers cors_;
};
http::Response refused(int status, const std::string& why, http::Headers headers = {}) {
  headers.emplace_back("Content-Type", "application/json");
  if (status == 503) headers.emplace_back("Retry-After", "1");
  return {status, std::move(headers), serve::error_body(status, why)};
}
}  // namespace

bool HttpFlags::loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }
void HttpFlags::check() const {
  using bora::check;
  check<ConfigError>(loopback() || !key_file.empty(), "--host ", host, ": others reach this address; give --key-file, ",
                     "a file of mode 0600 with the keys of those who may ask, one a line");
  check<ConfigError>(certificate.empty() == certificate_key.empty(), "--tls-cert and --tls-key belong together");
  for (auto [flag, value] :
       {std::pair{"--body-bytes", body}, {"--header-bytes", header}, {"--connections", connections}})
    check<ConfigError>(value >= 1, flag, ": must be 1 or more, got ", value);
  for (auto [flag, value] : {std::pair{"--header-time", header_time}, {"--reader-time", reader_time}})
    check<ConfigError>(value.seconds >= 0.001, flag, ": must be 0.001s or more, got ", to_string(value));
}
std::unique_ptr<http::Server> open_server(const HttpFlags& flags, serve::Service& service) {
  auto keys = flags.key_file.empty() ? std::vector<std::string>() : http::read_keys(flags.key_file);
  auto guard = std::make_shared<const http::Guard>(http::GuardOptions{.keys = std::move(keys),
                                                                      .open = {"/", "/health"},
                                                                      .loopback = flags.loopback(),
                                                                      .hosts = flags.names,
                                                                      .origins = flags.origins});
  http::ServerOptions options{.host = flags.host,
                              .port = static_cast<int>(flags.port),
                              .certificate = flags.certificate,
                              .key = flags.certificate_key};
  options.limits.body = flags.body;
  options.limits.header = flags.header;
  options.limits.connections = flags.connections;
  options.limits.headers = milliseconds(flags.header_time);
  options.limits.reader = milliseconds(flags.reader_time);
  options.admit = [guard](const http::Request& r) -> std::optional<http::Response> {
    if (auto asked = guard->preflight(r)) return asked;
    auto no = guard->refusal(r);
    if (!no) return {};
    auto headers = guard->cors(r);
    headers.insert(headers.end(), no->headers.begin(), no->headers.end());
    return refused(no->status, no->why, std::move(headers));
  };
  options.errors = [](int status, const std::string& why) { return refused(status, why); };
  return std::make_unique<http::Server>(options, [guard, &service](const http::Request& r, http::Reply reply) {
    service.answer({r.method, r.target, r.body}, std::make_shared<HttpReply>(std::move(reply), guard->cors(r)));
  });
}
void say_served(const std::string& name, const HttpFlags& flags, const http::Server& server) {
  auto scheme = flags.certificate.empty() ? "http" : "https";
  auto host = flags.host.find(':') == flags.host.npos ? flags.host : "[" + flags.host + "]";
  std::printf("%s is served at %s://%s:%d/v1\n", one_line(name).c_str(), scheme, host.c_str(), server.port());
  std::fflush(stdout);
}

namespace {
std::atomic<int> signal_pipe{-1};  // the end that the handler writes to
void on_signal(int) {
  auto before = errno;
  if (int fd = signal_pipe; fd >= 0 && ::write(fd, "s", 1) < 0) {}  // a full pipe has enough of them
  errno = before;
}
}  // namespace
struct OnSignals::State {
  int ends[2] = {-1, -1};
  std::thread thread = {};
};
OnSignals::OnSignals(std::function<void(int)> f) : state_(std::make_unique<State>()) {
  auto& s = *state_;
  check<IoError>(::pipe2(s.ends, O_CLOEXEC) == 0, "no pipe for signals can be made: ", system_reason);
  signal_pipe = s.ends[1];
  struct ::sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  s.thread = std::thread([&s, f = std::move(f)] {
    char c = 0;
    for (int times = 1;;) {
      auto n = ::read(s.ends[0], &c, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || c != 's') return;
      f(times++);
    }
  });
}
OnSignals::~OnSignals() {
  auto& s = *state_;
  std::signal(SIGTERM, SIG_IGN);  // one that comes late, as a launcher's to its second rank, finds all done
  std::signal(SIGINT, SIG_IGN);
  if (::write(s.ends[1], "e", 1) < 0) {}
  s.thread.join();
  signal_pipe = -1;
  ::close(s.ends[0]);
  ::close(s.ends[1]);
}
}  // namespace bora::app
