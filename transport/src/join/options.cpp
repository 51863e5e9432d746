#include "join/options.h"
#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>
#include "bora/base/fields.h"
#include "bora/base/text.h"

namespace bora::transport {
namespace {
// Decided by the launcher or by the program, and never to be seen in an environment: the secret.
constexpr std::string_view kNoOptions[] = {"rank",  "size",   "root",         "root_socket",
                                           "build", "secret", "root_may_lag", "launcher"};
constexpr std::string_view kSeconds = "_s";

/// Calls f(name, field, whether it is a time) for every option.
template <class F> void each_option(Config& c, const F& f) {
  fields::for_each(c, [&](std::string_view name, auto& field) {
    if (std::find(std::begin(kNoOptions), std::end(kNoOptions), name) != std::end(kNoOptions)) return;
    bool time = name.ends_with(kSeconds);
    f(name.substr(0, name.size() - (time ? kSeconds.size() : 0)), field, time);
  });
}
void read(const Option& o, std::string& field) { field = o.text; }
template <class T> void read(const Option& o, T& field) {
  auto value = parse_as<T>(o.text);
  constexpr auto expected = std::is_same_v<T, bool> ? "true or false" : "a number";
  check<ConfigError>(value.has_value(), o.place, ": expected ", expected, ", got '", o.text, "'");
  field = *value;
}
}  // namespace

Config with_options(Config c, const std::vector<Option>& options) {
  for (auto& o : options) {
    bool known = false;
    std::string names;
    each_option(c, [&](std::string_view name, auto& field, bool time) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      if (name != o.name) return;
      known = true;
      read(o, field);
      if constexpr (std::is_same_v<decltype(field), double&>)
        check<ConfigError>(!time || field > 0, o.place, ": must be above 0, got ", field);
    });
    check<ConfigError>(known, o.place, ": the transport has no option '", o.name, "'; there are ", names);
  }
  return c;
}
std::vector<Option> options_from(const Environment& variable) {
  Config config;
  std::vector<Option> given;
  each_option(config, [&](std::string_view name, auto&, bool) {
    std::string upper = "BORA_";
    for (char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (auto text = variable(upper.c_str()); text && *text) given.push_back({std::string(name), text, upper});
  });
  return given;
}
}  // namespace bora::transport
