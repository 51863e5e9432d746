#include "bora/config/duration.h"
#include <charconv>
#include <cmath>
#include <string_view>
#include "bora/base/error.h"

namespace bora::config {
namespace {
constexpr double kLongest = 100000.0 * 86400;
struct Unit {
  char letter;
  double seconds;
};
constexpr Unit units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
}  // namespace

Duration Duration::parse(const std::string& text) {
  auto wrong = [&] {
    fail<ConfigError>("must be a length of time such as 90, 90s, 5m, 2h, 1d or 1h30m, got '", text, "'");
  };
  std::string_view rest = text;
  double sum = 0;
  auto last = -1;  // place in `units`: they come in order, each once
  if (rest.empty()) wrong();
  while (!rest.empty()) {
    double number = 0;
    auto r = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (r.ec != std::errc() || !std::isfinite(number) || number < 0) wrong();
    rest.remove_prefix(static_cast<std::size_t>(r.ptr - rest.data()));
    auto at = 3;
    if (rest.empty()) {
      if (last >= 0) wrong();
    } else {
      for (at = 0; at < 4 && units[at].letter != rest[0]; ++at) {}
      if (at == 4 || at <= last) wrong();
      rest.remove_prefix(1);
    }
    last = at;
    sum += number * units[at].seconds;
  }
  if (sum > kLongest) wrong();
  return Duration(sum);
}
std::string to_string(Duration d) {
  char text[64];
  auto print = [&](double x) { return std::string(text, std::to_chars(text, text + sizeof text, x).ptr); };
  for (auto& unit : units)
    if (d.seconds > 0 && std::fmod(d.seconds, unit.seconds) == 0) return print(d.seconds / unit.seconds) + unit.letter;
  return print(d.seconds) + "s";
}
}  // namespace bora::config
