// flat_line.h -- a line of metrics.jsonl in the form in which jsonl.cpp writes it.
#pragma once
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

namespace bora::track {
/// Calls f(name, number) for the members of an object in the form of this file; null is NaN. False: it is no such line.
template <class F> bool flat(std::string_view line, const F& f) {
  auto take = [&](std::string_view what) {
    bool there = line.starts_with(what);
    if (there) line.remove_prefix(what.size());
    return there;
  };
  if (!take("{")) return false;
  do {
    auto end = line.find_first_of("\"\\", 1);
    if (end == line.npos || line[0] != '"') return false;
    auto name = line.substr(1, end - 1);
    line.remove_prefix(end);
    if (!take("\": ")) return false;
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!take("null")) {
      auto digit = line.substr(line.starts_with("-") ? 1 : 0, 1);
      auto [next, error] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (error != std::errc() || digit < "0" || digit > "9") return false;
      line.remove_prefix(static_cast<std::size_t>(next - line.data()));
    }
    f(name, value);
  } while (take(", "));
  return line == "}";
}
}  // namespace bora::track
