#include "bora/fx/checkpoint.h"

namespace bora::remat {
namespace {
constexpr std::string_view kPolicies[] = {"nothing", "dots", "dots_no_batch", "everything"};
constexpr std::string_view kNames = "names(", kBut = "everything_except(";
}
std::string to_string(const Policy& p) {
  bool but = p.keep == Saveable::everything && !p.names.empty();
  if (p.keep != Saveable::names && !but) return std::string(kPolicies[static_cast<std::size_t>(p.keep)]);
  std::string s(but ? kBut : kNames);
  for (std::size_t i = 0; i < p.names.size(); ++i) s += (i ? ", " : "") + p.names[i];
  return s + ")";
}
Policy parse(std::string_view text) {
  if (text == "full") return nothing;  // T5X's words
  if (text == "minimal") return dots_no_batch;
  for (std::size_t i = 0; i < std::size(kPolicies); ++i)
    if (text == kPolicies[i]) return {static_cast<Saveable>(i)};
  bool but = text.starts_with(kBut);
  check<ConfigError>((but || text.starts_with(kNames)) && text.ends_with(")"), "checkpoint policy: '", text,
                     "' is none of nothing, dots, dots_no_batch, everything, names(a, b), everything_except(a, b)");
  Policy p{but ? Saveable::everything : Saveable::names};
  std::string name;
  for (char c : text.substr(but ? kBut.size() : kNames.size())) {
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
