#include <charconv>
#include <cstdlib>
#include "bora/transport/transport.h"

namespace bora::transport {
namespace {
template <class T> T number(const char* name, const char* text) {
  T x{};
  std::string_view s(text);
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  check<ConfigError>(error == std::errc{} && end == s.data() + s.size(), name, ": expected a number, got '", s, "'");
  return x;
}
}  // namespace

Config config_from_environment() {
  Config c;
  const char *rank = std::getenv("BORA_RANK"), *size = std::getenv("BORA_SIZE"), *root = std::getenv("BORA_ROOT");
  if (const char* job = std::getenv("BORA_JOB")) c.job = job;
  if (const char* s = std::getenv("BORA_JOIN_TIMEOUT")) c.join_timeout_s = number<double>("BORA_JOIN_TIMEOUT", s);
  if (const char* i = std::getenv("BORA_INTERFACE")) c.interface_name = i;
  if (const char* name = std::getenv("BORA_CARRIER")) c.carrier = name;
  check<ConfigError>(c.join_timeout_s > 0, "BORA_JOIN_TIMEOUT: must be above 0, got ", c.join_timeout_s);
  check<ConfigError>((rank != nullptr) == (size != nullptr), "BORA_RANK and BORA_SIZE must be set together; only ",
                     rank ? "BORA_RANK" : "BORA_SIZE", " is");
  if (!rank) return c;
  c.rank = number<int>("BORA_RANK", rank);
  c.size = number<int>("BORA_SIZE", size);
  check<ConfigError>(c.size >= 1, "BORA_SIZE: must be at least 1, got ", c.size);
  check<ConfigError>(c.rank >= 0 && c.rank < c.size, "BORA_RANK: must be from 0 to BORA_SIZE - 1 = ", c.size - 1,
                     ", got ", c.rank);
  if (root) c.root = root;
  check<ConfigError>(root || c.size == 1, "BORA_ROOT is not set: with BORA_SIZE=", c.size,
                     " it must be the host:port of rank 0");
  return c;
}
}  // namespace bora::transport
