// guard.h -- who may ask a server: keys, and web pages that ask it behind their reader's back.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "http/api/server.h"

namespace bora::http {
/// The keys of a file, one a line; blank lines and those that begin with # are left out. Throws IoError for a file that
/// others than its owner may open, that somebody else owns, or that has no key; naming the line, for a key that
/// cannot stand in a header.
std::vector<std::string> read_keys(const std::string& path);
struct GuardOptions {
  std::vector<std::string> keys = {};     // none: no key is wanted
  std::vector<std::string> open = {};     // paths that want no key
  bool loopback = true;                   // the server listens on loopback only: Host and Origin are checked
  std::vector<std::string> hosts = {};    // names that this machine is asked by, beside localhost and its addresses
  std::vector<std::string> origins = {};  // "https://page.example": pages elsewhere that may ask ("*": all)
};
/// Asked before each request (ServerOptions::admit), whose body does not matter.
class Guard {
 public:
  /// Throws ValueError for an origin that is no "scheme://host[:port]".
  explicit Guard(GuardOptions);
  struct Refusal {
    int status = 0;  // 401: no key, or a wrong one; 403: Host or Origin; 400: two of what may come once
    std::string why = {};
    Headers headers = {};
  };
  /// Why this request is not answered. On loopback the Host must be localhost or an address of the loopback interface:
  /// a page can give its own name that address (DNS rebinding). An Origin must be this server's own or a named one.
  std::optional<Refusal> refusal(const Request&) const;
  /// The answer to a browser's question whether a page may ask (OPTIONS with Access-Control-Request-Method), for named
  /// origins; none for other requests. It wants no key.
  std::optional<Response> preflight(const Request&) const;
  /// Headers without which a page of a named origin cannot read an answer to this request; none for others.
  Headers cors(const Request&) const;

 private:
  bool named(std::string_view origin) const;
  bool knows(std::string_view token) const;
  std::vector<std::string> digests_;  // of keys: as long as each other, so that comparing takes the same time
  GuardOptions options_;
};
}  // namespace bora::http
