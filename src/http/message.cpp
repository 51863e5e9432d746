#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include "http/api/events.h"
#include "http/text.h"

namespace bora::http {
namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
}  // namespace
bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}
std::string_view trimmed(std::string_view s) {
  auto from = s.find_first_not_of(" \t");
  return from == s.npos ? std::string_view() : s.substr(from, s.find_last_not_of(" \t") + 1 - from);
}
std::string_view Request::header(std::string_view name) const {
  auto found = std::ranges::find_if(headers, [&](const auto& h) { return same_word(h.first, name); });
  return found == headers.end() ? std::string_view() : found->second;
}
std::ptrdiff_t count(const Headers& headers, std::string_view name) {
  return std::ranges::count_if(headers, [&](const auto& h) { return same_word(h.first, name); });
}
std::string_view reason_of(int status) {
  constexpr std::pair<int, std::string_view> reasons[] = {{200, "OK"},
                                                          {201, "Created"},
                                                          {202, "Accepted"},
                                                          {204, "No Content"},
                                                          {301, "Moved Permanently"},
                                                          {302, "Found"},
                                                          {303, "See Other"},
                                                          {304, "Not Modified"},
                                                          {307, "Temporary Redirect"},
                                                          {308, "Permanent Redirect"},
                                                          {400, "Bad Request"},
                                                          {401, "Unauthorized"},
                                                          {403, "Forbidden"},
                                                          {404, "Not Found"},
                                                          {405, "Method Not Allowed"},
                                                          {406, "Not Acceptable"},
                                                          {408, "Request Timeout"},
                                                          {409, "Conflict"},
                                                          {411, "Length Required"},
                                                          {413, "Content Too Large"},
                                                          {414, "URI Too Long"},
                                                          {415, "Unsupported Media Type"},
                                                          {417, "Expectation Failed"},
                                                          {421, "Misdirected Request"},
                                                          {422, "Unprocessable Content"},
                                                          {429, "Too Many Requests"},
                                                          {431, "Request Header Fields Too Large"},
                                                          {500, "Internal Server Error"},
                                                          {501, "Not Implemented"},
                                                          {502, "Bad Gateway"},
                                                          {503, "Service Unavailable"},
                                                          {504, "Gateway Timeout"},
                                                          {505, "HTTP Version Not Supported"}};
  auto* found = std::ranges::find(reasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(reasons) ? std::string_view() : found->second;
}
std::string date() {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::time_t now = std::time(nullptr);
  std::tm t{};
  ::gmtime_r(&now, &t);
  std::array<char, 64> text{};  // strftime's names depend on the locale
  int n = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                        days[static_cast<std::size_t>(t.tm_wday)], t.tm_mday,
                        months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return {text.data(), static_cast<std::size_t>(n)};
}

Headers event_stream() {
  return {{"Content-Type", "text/event-stream; charset=utf-8"},
          {"Cache-Control", "no-cache"},
          {"X-Accel-Buffering", "no"}};  // nginx would keep events back
}
std::string event(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 8);
  for (;;) {
    auto end = data.find_first_of("\r\n");
    out.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == data.npos) break;
    data.remove_prefix(end + (data.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return out += "\n";
}
}  // namespace bora::http
