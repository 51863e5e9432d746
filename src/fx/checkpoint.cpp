#include "bora/fx/checkpoint.h"

namespace bora::remat {
namespace {
constexpr std::string_view kPolicies[] = {"nothing", "dots", "dots_no_batch", "everything"};
}
std::string to_string(const Policy& p) {
  if (p.keep != Saveable::names) return std::string(kPolicies[static_cast<std::size_t>(p.keep)]);
  std::string s = "names(";
  for (std::size_t i = 0; i < p.names.size(); ++i) s += (i ? ", " : "") + p.names[i];
  return s + ")";
}
Policy parse(std::string_view text) {
  if (text == "full") return nothing;  // T5X's words
  if (text == "minimal") return dots_no_batch;
  for (std::size_t i = 0; i < std::size(kPolicies); ++i)
    if (text == kPolicies[i]) return {static_cast<Saveable>(i)};
  check<ConfigError>(text.starts_with("names(") && text.ends_with(")"), "checkpoint policy: '", text,
                     "' is none of nothing, dots, dots_no_batch, everything, names(a, b)");
  Policy p{Saveable::names};
  std::string name;
  for (char c : text.substr(6)) {
    if (c != ',' && c != ')') {
      if (c != ' ') name += c;
      continue;
    }
    if (!name.empty()) p.names.push_back(name);
    name.clear();
  }
  return p;
}
}  // namespace bora::remat
