// duration.h -- a length of time as settings and options write it: 90 or 90s, 5m, 2h, 1d.
#pragma once
#include <string>

namespace bora::config {
/// Seconds. A number without a unit counts seconds; a unit is s, m (minutes), h or d, and parts may follow each other:
/// 1h30m.
struct Duration {
  double seconds = 0;
  constexpr Duration() = default;
  constexpr explicit Duration(double s) : seconds(s) {}
  /// Throws ConfigError for another form, a negative number, or more than 100,000 days.
  static Duration parse(const std::string&);
  /// In the largest unit of which it is a whole number: 90s, 5m, 2h; parse reads it back.
  friend std::string to_string(Duration);
  friend constexpr bool operator==(Duration, Duration) = default;
};
}  // namespace bora::config
