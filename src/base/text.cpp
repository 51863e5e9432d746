#include "bora/base/text.h"
#include <cstdio>

namespace bora {
std::string bytes_text(std::int64_t n) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto x = static_cast<double>(n);
  int unit = 0;
  while (x >= (unit < 2 ? 1024 : 10240) && unit < 4) x /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", x, units[unit]);
  return text;
}
}  // namespace bora
