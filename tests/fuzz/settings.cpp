// Settings: a YAML text, then, each after a zero byte, items key=value. Settings that are accepted are the same when
// they are written and read again.
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/train/settings.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string text(reinterpret_cast<const char*>(data), n);
  auto line = one_line(text);
  if (line.size() > 2003 || line.find('\n') != line.npos || first_not_utf8(line) != line.npos) std::abort();
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == 0) parts.emplace_back();
    else parts.back() += c;
  }
  std::vector<std::string> items(parts.begin() + 1, parts.end());
  try {
    auto s = parse_settings(parts[0], "fuzz.yaml", items);
    if (first_not_utf8(s.data + s.out + s.trace + s.mesh + s.layout + s.policy + s.model.checkpoint) != text.npos)
      return 0;
    auto again = to_yaml(parse_settings(to_yaml(s), "again.yaml"));
    if (again != to_yaml(s)) std::abort();
  } catch (const ConfigError&) {}
  return 0;
}
