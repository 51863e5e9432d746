#include "app/page_server.h"
#include <sys/random.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <mutex>
#include "base/api/reason.h"
#include "base/api/sha256.h"
#include "bora/base/error.h"
#include "http/api/guard.h"

namespace bora::app {
namespace {
constexpr http::Limits kLimits{.body = 1,
                               .header = 4 << 10,
                               .connections = 16,
                               .headers = std::chrono::milliseconds(2000),
                               .reader = std::chrono::milliseconds(2000),
                               .idle = std::chrono::milliseconds(2000),
                               .body_time = std::chrono::milliseconds(2000),
                               .keep_alive = false};
/// 128 bits as hexadecimal digits.
std::string random_token() {
  unsigned char bytes[16];
  check<IoError>(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "page: no random bytes: ", system_reason);
  std::string r;
  for (auto b : bytes) r += "0123456789abcdef"[b >> 4], r += "0123456789abcdef"[b & 15];
  return r;
}
std::string own_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}
/// The value of a name in "a=1&b=2" or "a=1; b=2"; none: it has none.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name, char between) {
  while (!text.empty()) {
    auto end = std::min(text.find(between), text.size());
    auto one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
  }
  return std::nullopt;
}
/// What every answer has: it is kept by nobody, is of the type that it says, and no page elsewhere gets it.
http::Headers guarded(const char* type) {
  return {{"Content-Type", type},
          {"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}};
}
http::Response words(int status, const std::string& text, http::Headers more = {}) {
  auto headers = guarded("text/plain; charset=utf-8");
  headers.insert(headers.end(), more.begin(), more.end());
  return {status, std::move(headers), text + "\n"};
}

class PageServer {
 public:
  explicit PageServer(training::PageSettings s) : settings_(std::move(s)) {}
  ~PageServer() { server_.reset(); }  // before what its thread uses
  std::vector<std::string> show(const track::PageSource& source) {
    if (!source.html) {
      server_.reset();
      set({});
      return {};
    }
    set(std::make_shared<const track::PageSource>(source));
    if (server_) return {};
    return {open()};
  }

 private:
  using Source = std::shared_ptr<const track::PageSource>;
  void set(Source s) {
    std::unique_lock lock(mutex_);
    source_ = std::move(s);
  }
  Source source() {
    std::unique_lock lock(mutex_);
    return source_;
  }
  /// Returns the line that says where it is. The token stays the same if it is opened once more.
  std::string open() {
    auto place = settings_.place();
    bool own = settings_.token_file.empty();
    if (own && token_.empty()) token_ = random_token();
    auto keys = own ? std::vector<std::string>{token_} : http::read_keys(settings_.token_file);
    // The runs of a machine are one place for a browser, which keeps cookies by their names.
    cookie_ = "bora_" + cookie_of(keys[0]).substr(0, 12);
    for (std::size_t i = 0, n = keys.size(); i < n; ++i) keys.push_back(cookie_of(keys[i]));
    places_ = std::make_unique<http::Guard>(http::GuardOptions{.loopback = true, .hosts = hosts_of(place)});
    keys_ = std::make_unique<http::Guard>(http::GuardOptions{.keys = keys, .open = {"/health"}, .loopback = false});
    http::ServerOptions o{.host = place.host, .port = place.port, .limits = kLimits, .nice = 10};
    o.admit = [this](const http::Request& r) { return refused(r); };
    o.errors = [](int status, const std::string& why) { return words(status, why); };
    server_ = std::make_unique<http::Server>(o, [this](const http::Request& r, http::Reply reply) {
      reply.send(answer(r));
    });
    bool any = place.host == "0.0.0.0" || place.host == "::";
    auto host = any ? own_name() : place.host;
    if (host.find(':') != host.npos) host = "[" + host + "]";
    return "page: http://" + host + ":" + std::to_string(server_->port()) + "/?token=" +
           (own ? token_ : "TOKEN (it is in " + settings_.token_file + ")");
  }
  /// What a cookie has in place of a token, which may have signs that a cookie cannot have.
  static std::string cookie_of(std::string_view token) { return sha256("a cookie of " + std::string(token)); }
  /// Names beside those of loopback under which a browser finds this machine on purpose. A page elsewhere may give its
  /// own name this machine's address (DNS rebinding): that name is none of them.
  static std::vector<std::string> hosts_of(const training::PageSettings::Place& place) {
    if (place.loopback) return {};
    std::vector<std::string> all{place.host, own_name()};
    all.push_back(all[1].substr(0, all[1].find('.')));
    return all;
  }
  std::optional<http::Response> refused(const http::Request& r) const {
    auto place = places_->refusal(r);
    bool literal = !settings_.place().loopback && r.header("Origin").empty() && is_address(r.header("Host"));
    if (place && !(place->status == 403 && literal)) return words(place->status, place->why, place->headers);
    if (r.method != "GET") return words(405, "this page is only read: GET and HEAD", {{"Allow", "GET, HEAD"}});
    auto length = r.header("Content-Length");
    if (!r.header("Transfer-Encoding").empty() || (!length.empty() && length != "0"))
      return words(413, "a request has no body here");
    auto no = keys_->refusal(with_key(r));
    if (no) return words(no->status, "the token is needed: open the address that the run has printed", no->headers);
    return std::nullopt;
  }
  /// "10.0.0.5:7000", "[::1]:7000": no name, so nobody else can have given it.
  static bool is_address(std::string_view host) {
    if (host.starts_with('[')) return true;
    auto name = host.substr(0, host.find(':'));
    return !name.empty() && std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  }
  /// The request with the token of its address or its cookie as a key in its header, if it has none there.
  http::Request with_key(http::Request r) const {
    if (!r.header("Authorization").empty()) return r;
    auto key = r.target == "/" ? value_of(r.query, "token", '&') : std::nullopt;
    if (!key) key = value_of(r.header("Cookie"), cookie_, ';');
    if (key) r.headers.emplace_back("Authorization", "Bearer " + std::string(*key));
    return r;
  }
  http::Response answer(const http::Request& r) {
    auto shown = source();
    if (!shown) return words(503, "the run has moved to another machine or ended", {{"Retry-After", "1"}});
    auto json = [](std::optional<std::string> text, const char* what) {
      if (!text) return words(400, std::string(what) + " is not what an earlier answer said");
      return http::Response{200, guarded("application/json"), std::move(*text)};
    };
    if (r.target == "/") return page(*shown, r);
    if (r.target == "/data") return json(shown->data(value_of(r.query, "since", '&').value_or("")), "since");
    if (r.target == "/log") return json(shown->log(value_of(r.query, "from", '&').value_or("")), "from");
    if (r.target == "/health") return words(200, "ok");
    if (r.target == "/metrics")
      return {200, guarded("text/plain; version=0.0.4; charset=utf-8"), shown->metrics()};
    return words(404, "there are /, /data, /log, /metrics and /health");
  }
  http::Response page(const track::PageSource& shown, const http::Request& r) const {
    auto headers = guarded("text/html; charset=utf-8");
    headers.back().second = shown.policy();
    auto token = value_of(r.query, "token", '&');
    if (token && r.header("Authorization").empty())  // else nobody has looked at it
      headers.emplace_back("Set-Cookie", cookie_ + "=" + cookie_of(*token) + "; HttpOnly; SameSite=Strict; Path=/");
    return {200, std::move(headers), shown.html()};
  }

  const training::PageSettings settings_;
  std::string token_ = {}, cookie_ = {};
  std::unique_ptr<const http::Guard> places_ = {}, keys_ = {};
  std::mutex mutex_;  // of source_
  Source source_ = {};
  std::unique_ptr<http::Server> server_ = {};
};
}  // namespace

track::ServePage page_server(const training::PageSettings& s) {
  return [server = std::make_shared<PageServer>(s)](const track::PageSource& source) { return server->show(source); };
}
}  // namespace bora::app
