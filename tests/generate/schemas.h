// schemas.h -- random JSON schemas, random values that fit them, and a validator that knows nothing of automata.
#pragma once
#include <codecvt>
#include <locale>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace bora::test {
using Schema = nlohmann::ordered_json;  // members in their order
struct Dice {
  std::mt19937 bits;
  explicit Dice(unsigned seed) : bits(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
};
/// Patterns without anchors in the middle, and strings in which they are found.
inline const std::vector<std::pair<std::string, std::vector<std::string>>>& patterns() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"^[A-Z]{2}-\\d+$", {"AB-1", "ZZ-0099"}},
      {"^(ab|c)*d?$", {"", "abc", "ccabd", "d"}},
      {"x.y", {"x y", "aaxbyaa", "\"x\\y"}},
      {"^[^a-z\"]+$", {"A", "\\\\", "0 1"}},
      {"^(?:\\w+[ -]){1,3}[^ -]$", {"a b", "ab_9 c-d 語"}},
      {"^a|b$", {"abc", "cb", "b"}}};
  return all;
}
inline std::string random_text(Dice& d, std::int64_t length) {
  static const std::vector<std::string> parts{"a", "b", "Z", "7", " ", "\"", "\\", "/", "\n", "\t", "é", "ж", "語", "😀",
                                              "{", "}", "[", ":", ",", "u", "\x7f"};
  std::string text;
  for (std::int64_t i = 0; i < length; ++i) text += parts[static_cast<std::size_t>(d.below(std::ssize(parts)))];
  return text;
}
inline Schema random_value(Dice& d, int depth) {
  switch (d.below(depth > 0 ? 8 : 6)) {
    case 0: return nullptr;
    case 1: return d.one_in(2);
    case 2: return d.from(-1000, 1000);
    case 3: return static_cast<double>(d.from(-1000, 1000)) / 8;
    case 6: {
      auto list = Schema::array();
      for (auto n = d.below(4); n > 0; --n) list.push_back(random_value(d, depth - 1));
      return list;
    }
    case 7: {
      auto object = Schema::object();
      for (auto n = d.below(4); n > 0; --n) object[random_text(d, d.below(4))] = random_value(d, depth - 1);
      return object;
    }
    default: return random_text(d, d.below(6));
  }
}
inline Schema random_schema(Dice& d, int depth) {
  Schema s = Schema::object();
  if (d.one_in(9)) s["description"] = "multipleOf";
  switch (d.below(depth > 0 ? 16 : 9)) {
    case 0: return d.one_in(4) ? Schema(true) : s;
    case 1: s["type"] = "boolean"; return s;
    case 2: s["type"] = "null"; return s;
    case 3:
      for (auto n = d.from(1, 4); n > 0; --n) s["enum"].push_back(random_value(d, 2));
      return s;
    case 4: s["const"] = random_value(d, 2); return s;
    case 5: {
      s["type"] = "integer";
      auto low = d.from(-2000, 2000);
      if (d.one_in(2)) s[d.one_in(2) ? "minimum" : "exclusiveMinimum"] = low;
      if (d.one_in(2)) s[d.one_in(2) ? "maximum" : "exclusiveMaximum"] = low + d.from(2, 3000);
      return s;
    }
    case 6: {
      s["type"] = "number";
      auto low = static_cast<double>(d.from(-2000, 2000)) / 16;
      if (d.one_in(2)) s[d.one_in(2) ? "minimum" : "exclusiveMinimum"] = low;
      if (d.one_in(2)) s[d.one_in(2) ? "maximum" : "exclusiveMaximum"] = low + static_cast<double>(d.from(1, 99)) / 4;
      return s;
    }
    case 7: {
      s["type"] = "string";
      auto low = d.below(5);
      if (d.one_in(3)) s["pattern"] = patterns()[static_cast<std::size_t>(d.below(std::ssize(patterns())))].first;
      else {
        if (d.one_in(2)) s["minLength"] = low;
        if (d.one_in(2)) s["maxLength"] = low + d.below(40);
      }
      return s;
    }
    case 8: s["type"] = Schema::array({"string", "null", "integer"}); return s;
    case 9:
    case 10: {
      s["type"] = "array";
      if (d.one_in(3))
        for (auto n = d.below(3); n >= 0; --n) s["prefixItems"].push_back(random_schema(d, depth - 1));
      if (d.one_in(2)) s["items"] = random_schema(d, depth - 1);
      auto most = s.contains("prefixItems") && !s.contains("items") ? std::ssize(s["prefixItems"]) : 4;
      auto low = d.below(most + 1);
      if (d.one_in(2)) s["minItems"] = low;
      if (d.one_in(2)) s["maxItems"] = low + d.below(3);
      return s;
    }
    case 11:
      for (auto n = d.from(1, 3); n > 0; --n) s["anyOf"].push_back(random_schema(d, depth - 1));
      return s;
    case 12:
      s["oneOf"] = {{{"type", "string"}}, {{"type", "array"}, {"items", random_schema(d, depth - 1)}}, {{"const", 5}}};
      return s;
    default: {
      s["type"] = "object";
      for (auto n = d.below(5); n > 0; --n) {
        auto name = random_text(d, d.from(1, 3));
        s["properties"][name] = random_schema(d, depth - 1);
        if (d.one_in(2)) s["required"].push_back(name);
      }
      if (s.contains("required")) {
        std::vector<std::string> names = s["required"];
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        s["required"] = names;
      }
      if (d.one_in(3)) s["additionalProperties"] = d.one_in(2) ? Schema(d.one_in(2)) : random_schema(d, depth - 1);
      return s;
    }
  }
}
inline std::int64_t length_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}
/// As JSON Schema has it, without order.
inline bool fits(const Schema& s, const nlohmann::json& v, const Schema& all) {
  if (s.is_boolean()) return s;
  auto has = [&](const char* name) { return s.contains(name); };
  auto plain = [](const Schema& x) { return nlohmann::json::parse(x.dump()); };
  if (has("$ref")) return fits(all.at(Schema::json_pointer(s["$ref"].get<std::string>().substr(1))), v, all);
  if (has("const") && plain(s["const"]) != v) return false;
  if (has("enum") && std::none_of(s["enum"].begin(), s["enum"].end(), [&](auto& x) { return plain(x) == v; }))
    return false;
  for (auto name : {"anyOf", "oneOf", "allOf"})
    if (has(name)) {
      auto n = std::count_if(s[name].begin(), s[name].end(), [&](auto& part) { return fits(part, v, all); });
      if (name == std::string("oneOf") ? n != 1 : name == std::string("anyOf") ? n == 0 : n != std::ssize(s[name]))
        return false;
    }
  if (has("type")) {
    auto is = [&](const std::string& type) {
      if (type == "integer") return v.is_number_integer();
      if (type == "number") return v.is_number();
      return type == (v.is_number() ? "number" : v.type_name());
    };
    auto types = s["type"].is_array() ? s["type"] : Schema::array({s["type"]});
    if (std::none_of(types.begin(), types.end(), is)) return false;
  }
  if (v.is_number()) {
    auto x = v.get<double>();
    if (has("minimum") && !(x >= s["minimum"].get<double>())) return false;
    if (has("maximum") && !(x <= s["maximum"].get<double>())) return false;
    if (has("exclusiveMinimum") && !(x > s["exclusiveMinimum"].get<double>())) return false;
    if (has("exclusiveMaximum") && !(x < s["exclusiveMaximum"].get<double>())) return false;
  }
  if (v.is_string()) {
    auto text = v.get<std::string>();
    if (has("minLength") && length_of(text) < s["minLength"]) return false;
    if (has("maxLength") && length_of(text) > s["maxLength"]) return false;
    if (has("pattern")) {
      std::wstring_convert<std::codecvt_utf8<wchar_t>> wide;
      if (!std::regex_search(wide.from_bytes(text), std::wregex(wide.from_bytes(s["pattern"].get<std::string>()))))
        return false;
    }
  }
  if (v.is_array()) {
    auto n = std::ssize(v), first = has("prefixItems") ? std::ssize(s["prefixItems"]) : 0;
    if (has("minItems") && n < s["minItems"]) return false;
    if (has("maxItems") && n > s["maxItems"]) return false;
    for (std::int64_t i = 0; i < n; ++i) {
      auto k = static_cast<std::size_t>(i);
      if (i < first ? !fits(s["prefixItems"][k], v[k], all) : has("items") && !fits(s["items"], v[k], all))
        return false;
    }
  }
  if (v.is_object()) {
    if (has("required"))
      for (auto& name : s["required"])
        if (!v.contains(name.get<std::string>())) return false;
    for (auto& [name, x] : v.items())
      if (has("properties") && s["properties"].contains(name)) {
        if (!fits(s["properties"][name], x, all)) return false;
      } else if (has("additionalProperties") && !fits(s["additionalProperties"], x, all)) return false;
  }
  return true;
}
/// A value that fits, as this project's grammar has it: nothing beside what the schema says. none: there may be none.
inline std::optional<Schema> value_of(const Schema& s, Dice& d, const Schema& all, int depth = 12) {
  if (depth == 0) return {};
  if (s.is_boolean()) return s.get<bool>() ? std::optional(random_value(d, 2)) : std::nullopt;
  auto has = [&](const char* name) { return s.contains(name); };
  auto one = [&](const Schema& list) { return list[static_cast<std::size_t>(d.below(std::ssize(list)))]; };
  if (has("$ref"))
    return value_of(all.at(Schema::json_pointer(s["$ref"].get<std::string>().substr(1))), d, all, depth - 1);
  if (has("const")) return s["const"];
  if (has("enum")) return one(s["enum"]);
  for (auto name : {"anyOf", "oneOf", "allOf"})
    if (has(name)) return value_of(one(s[name]), d, all, depth - 1);
  if (!has("type")) return random_value(d, 2);
  auto type = (s["type"].is_array() ? one(s["type"]) : s["type"]).get<std::string>();
  if (type == "null") return Schema(nullptr);
  if (type == "boolean") return Schema(d.one_in(2));
  if (type == "integer" || type == "number") {
    for (int i = 0; i < 200; ++i) {
      Schema x = d.from(-4000, 4000);
      if (type == "number" && d.one_in(2)) x = static_cast<double>(d.from(-4000, 4000)) / 32;
      for (auto bound : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
        if (has(bound) && d.one_in(3)) x = s[bound];
      if (type == "integer" ? fits(s, nlohmann::json::parse(x.dump()), all) : fits(s, x.get<double>(), all)) return x;
    }
    return {};
  }
  if (type == "string") {
    if (has("pattern"))
      for (auto& [pattern, texts] : patterns())
        if (s["pattern"] == pattern) return texts[static_cast<std::size_t>(d.below(std::ssize(texts)))];
    auto least = has("minLength") ? s["minLength"].get<std::int64_t>() : 0;
    return random_text(d, d.from(least, has("maxLength") ? s["maxLength"].get<std::int64_t>() : least + 6));
  }
  if (type == "array") {
    auto list = Schema::array();
    auto first = has("prefixItems") ? std::ssize(s["prefixItems"]) : 0;
    auto least = has("minItems") ? s["minItems"].get<std::int64_t>() : 0, most = least + 3;
    if (has("prefixItems") && !has("items")) most = std::min(most, first);
    if (has("maxItems")) most = std::min(most, s["maxItems"].get<std::int64_t>());
    for (auto n = d.from(least, std::max(least, most)), i = std::int64_t{0}; i < n; ++i) {
      auto item = i < first ? s["prefixItems"][static_cast<std::size_t>(i)] : has("items") ? s["items"] : Schema(true);
      auto v = value_of(item, d, all, depth - 1);
      if (!v) return {};
      list.push_back(*v);
    }
    return list;
  }
  auto object = Schema::object();
  auto must = [&](const std::string& name) {
    return has("required") && std::find(s["required"].begin(), s["required"].end(), name) != s["required"].end();
  };
  if (has("properties"))
    for (auto& [name, schema] : s["properties"].items()) {
      if (!must(name) && d.one_in(2)) continue;
      auto v = value_of(schema, d, all, depth - 1);
      if (!v && must(name)) return {};
      if (v) object[name] = *v;
    }
  auto open = has("additionalProperties") ? s["additionalProperties"] != false : !has("properties");
  for (auto n = open ? d.below(3) : 0; n > 0; --n) {
    auto name = random_text(d, d.below(4));
    if (has("properties") && s["properties"].contains(name)) continue;
    auto v = value_of(has("additionalProperties") ? s["additionalProperties"] : Schema(true), d, all, depth - 1);
    if (v) object[name] = *v;
  }
  return object;
}
}  // namespace bora::test
