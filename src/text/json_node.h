// json_node.h -- members of a JSON document, each with its place in error messages.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "json/api/value.h"
#include "text/unicode.h"

namespace bora::text {
constexpr std::size_t kMostTokens = std::size_t{1} << 26;
constexpr std::size_t kMostSteps = 32;  // of a normalizer, a pre-tokenizer or a decoder
/// A value and its place.
struct Node {
  const json::Value& j;
  std::string place;
  const char* join = ".";  // between its place and that of its members

  template <class... Parts> [[noreturn]] void wrong(const Parts&... parts) const {
    fail<IoError>(place, ": ", parts...);
  }
  template <class... Parts> void need(bool ok, const Parts&... parts) const {
    if (!ok) wrong(parts...);
  }
  /// The member; nothing if it is absent or null.
  std::optional<Node> find(const char* key) const {
    need(j.is_object(), "expected an object, got ", j.type_name());
    auto found = j.find(key);
    if (!found || found->is_null()) return {};
    return Node{*found, place + join + key};
  }
  Node at(const char* key) const {
    auto found = find(key);
    need(found.has_value(), "'", key, "' is missing");
    return *found;
  }
  Node item(std::size_t i) const { return {j.list()[i], place + "[" + std::to_string(i) + "]"}; }
  const std::string& text() const {
    need(j.is_text(), "expected text, got ", j.type_name());
    return j.text();
  }
  std::size_t items() const {
    need(j.is_list(), "expected a list, got ", j.type_name());
    return j.list().size();
  }
  bool flag(const char* key, bool absent = false) const {
    auto found = find(key);
    if (!found) return absent;
    found->need(found->j.is_boolean(), "expected true or false, got ", found->j.type_name());
    return found->j.boolean();
  }
  std::int32_t id() const {
    need(j.is_natural() && j.natural() < kMostTokens, "expected an id, got ", one_line(j.dump()));
    return static_cast<std::int32_t>(j.natural());
  }
  /// Refuses members that this reader does not know: they could change the result.
  void only(std::initializer_list<std::string_view> known) const {
    need(j.is_object(), "expected an object, got ", j.type_name());
    for (auto& [key, value] : j.members())
      need(std::find(known.begin(), known.end(), key) != known.end(), "'", key, "' is not supported");
  }
  const std::string& type() const { return at("type").text(); }
  [[noreturn]] void unknown_type(std::string_view supported) const {
    wrong("type '", type(), "' is not supported; supported: ", supported);
  }
  /// A number of at most `most`.
  std::int64_t count(const char* key, std::int64_t most, std::int64_t absent = 0) const {
    auto found = find(key);
    if (!found) return absent;
    found->need(found->j.is_natural() && found->j.natural() <= static_cast<std::uint64_t>(most),
                "expected a number up to ", most, ", got ", one_line(found->j.dump()));
    return found->j.integer();
  }
  /// One character, as UTF-8.
  const std::string& character(const char* key) const {
    auto node = at(key);
    auto& c = node.text();
    node.need(!c.empty() && c.size() == character_size(c[0]), "expected one character, got '", c, "'");
    return c;
  }
};
}  // namespace bora::text
