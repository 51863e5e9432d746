#include "bora/shard/link_speed.h"
#include <initializer_list>
#include <optional>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora {
namespace {
/// "2.5G" with {'G', 1e9}, ..: a number above 0 times its unit; nothing if the text is another one.
std::optional<double> with_unit(const std::string& text,
                                std::initializer_list<std::pair<std::string_view, double>> units) {
  for (auto& [unit, factor] : units) {
    if (text.size() <= unit.size() || !text.ends_with(unit)) continue;
    auto x = parse_as<double>(text.substr(0, text.size() - unit.size()));
    if (x && *x > 0 && *x < 1e6) return *x * factor;
  }
  return std::nullopt;
}
}  // namespace

MeshLinks read_link(const std::string& text, std::string_view key) {
  auto comma = text.find(',');
  auto rate = with_unit(text.substr(0, comma), {{"G", 1e9}, {"M", 1e6}});
  auto latency = comma == text.npos ? std::optional(100e-6)
                                    : with_unit(text.substr(comma + 1), {{"us", 1e-6}, {"ms", 1e-3}});
  check<ConfigError>(rate && latency, key, ": '", text,
                     "' is no link; expected the rate of an Ethernet port and, if it is known, the time of a message: "
                     "1G, 10G, 25G, 100M or 1G,50us");
  return {.bytes_per_s = *rate / 8 * (*rate >= 10e9 ? 0.85 : 0.90), .latency_s = *latency};
}
}  // namespace bora
