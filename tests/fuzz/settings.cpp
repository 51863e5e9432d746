// Settings: a YAML text, then, each after a zero byte, items key=value. Settings that are accepted are the same when
// they are written and read again.
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "config/sample.h"

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
    auto s = sample::read_all(parts[0], items);
    auto text = [](const sample::All& all) { return config::to_yaml(config::write(all)); };
    std::string all = s.trace.path;
    for (auto& word : s.words) all += word;
    if (first_not_utf8(all) != all.npos) return 0;
    if (text(sample::read_all(text(s))) != text(s)) std::abort();
  } catch (const ConfigError&) {}
  return 0;
}
