#include "http/api/guard.h"
#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include "base/api/file.h"
#include "base/api/sha256.h"
#include "bora/base/error.h"
#include "http/text.h"

namespace bora::http {
namespace {
// What a key may have of a header's letters: RFC 6750 allows a few less.
bool stands_in_header(std::string_view key) {
  return std::ranges::all_of(key, [](unsigned char c) { return c > ' ' && c < 127; });
}
/// The name or address in "name:port", "[::1]:port".
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    auto end = authority.find(']');
    return end == authority.npos ? std::string_view() : authority.substr(1, end - 1);
  }
  return authority.substr(0, authority.find(':'));
}
bool is_loopback(std::string_view host) {
  std::string name(host);
  ::in_addr v4{};
  ::in6_addr v6{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return same_word(host, "localhost") || same_word(host, "localhost.");
}
/// "host:port" of an origin, if it is one; else "".
std::string_view authority_of(std::string_view origin) {
  auto at = origin.find("://");
  if (at == origin.npos || at == 0) return {};
  auto rest = origin.substr(at + 3);
  return rest.find_first_of("/?#@ ") == rest.npos ? rest : std::string_view();
}
}  // namespace

std::vector<std::string> read_keys(const std::string& path) {
  struct ::stat s {};
  auto text = read_file(path);
  check<IoError>(::stat(path.c_str(), &s) == 0, "cannot read ", path);
  check<IoError>((s.st_mode & 077) == 0, "the key file ", path,
                 " may be opened by others than its owner; chmod 600 it");
  check<IoError>(s.st_uid == ::geteuid() || s.st_uid == 0, "the key file ", path, " is somebody else's (user ",
                 s.st_uid, "), who can change it; copy it");
  std::vector<std::string> keys;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto end = std::min(text.find('\n', at), text.size());
    auto line = trimmed(std::string_view(text).substr(at, end - at));
    if (line.ends_with('\r')) line = trimmed(line.substr(0, line.size() - 1));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    check<IoError>(stands_in_header(line), "line ", number, " of the key file ", path,
                   " has a blank or another character that a key cannot have; one key a line, in ASCII");
    keys.emplace_back(line);
  }
  check<IoError>(!keys.empty(), "the key file ", path, " has no key; one a line");
  return keys;
}

Guard::Guard(GuardOptions o) : options_(std::move(o)) {
  for (auto& origin : options_.origins)
    check<ValueError>(origin == "*" || !authority_of(origin).empty(), "'", origin,
                      "' is no origin; write scheme://host or scheme://host:port, without a path");
  for (auto& key : options_.keys) digests_.push_back(sha256(key));
  options_.keys.clear();
}
bool Guard::named(std::string_view origin) const {
  return std::ranges::any_of(options_.origins, [&](auto& o) { return o == "*" || same_word(o, origin); });
}
// Digests are compared to their last letter, and with every key: the time says nothing of a key.
bool Guard::knows(std::string_view token) const {
  auto digest = sha256(token);
  int equal = 0;
  for (auto& d : digests_) equal |= static_cast<int>(CRYPTO_memcmp(d.data(), digest.data(), d.size()) == 0);
  return equal != 0;
}
std::optional<Guard::Refusal> Guard::refusal(const Request& r) const {
  auto origin = r.header("Origin"), host = r.header("Host");
  for (auto once : {"Origin", "Authorization", "Host"})
    if (count(r.headers, once) > 1) return Refusal{400, std::string("there are two ") + once + " headers", {}};
  if (options_.loopback) {
    auto name = host_of(host);
    if (!is_loopback(name) && std::ranges::none_of(options_.hosts, [&](auto& h) { return same_word(h, name); }))
      return Refusal{403,
                     "this server is asked as localhost or by an address of loopback, not as '" +
                         std::string(name.substr(0, 100)) + "'",
                     {}};
    auto own = authority_of(origin);
    if (!origin.empty() && !named(origin) && (own.empty() || !same_word(own, host)))
      return Refusal{403, "pages of '" + std::string(origin.substr(0, 100)) + "' may not ask this server", {}};
  }
  if (digests_.empty() || std::ranges::count(options_.open, r.target) > 0) return {};
  auto given = trimmed(r.header("Authorization"));
  auto blank = given.find(' ');
  if (blank != given.npos && same_word(given.substr(0, blank), "Bearer") && knows(trimmed(given.substr(blank))))
    return {};
  return Refusal{401,
                 given.empty() ? "a key is needed: Authorization: Bearer KEY" : "this key is not known",
                 {{"WWW-Authenticate", "Bearer"}}};
}
Headers Guard::cors(const Request& r) const {
  auto origin = r.header("Origin");
  if (origin.empty() || !named(origin)) return {};
  return {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
}
std::optional<Response> Guard::preflight(const Request& r) const {
  if (r.method != "OPTIONS" || r.header("Access-Control-Request-Method").empty()) return {};
  auto headers = cors(r);
  if (headers.empty()) return {};
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  headers.emplace_back("Access-Control-Allow-Headers", "authorization, content-type");
  headers.emplace_back("Access-Control-Max-Age", "600");
  return Response{204, std::move(headers), {}};
}
}  // namespace bora::http
