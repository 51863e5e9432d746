#include "generate/grammar/schema.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include "bora/base/error.h"
#include "generate/grammar/numbers.h"
#include "generate/grammar/pattern.h"

namespace bora::generate::grammar {
namespace {
using json::Value;
constexpr int kMostCompared = 100'000;
constexpr std::int64_t kMostCopies = 20'000;  // of items, of characters

/// Formats that are patterns. Days and hours are within their ranges; the 31st of any month is one.
constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$)"},
    {"time", R"(^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$)"},
    {"date-time", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d)"
                  R"((\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$)"},
    {"uuid", R"(^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$)"},
    {"ipv4", R"(^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$)"},
};
std::int64_t count(const Value& schema, std::string_view name, const std::string& place, std::int64_t otherwise) {
  auto v = schema.find(name);
  if (!v) return otherwise;
  bool fits = v->is_natural() && v->natural() <= static_cast<std::uint64_t>(kMostCopies);
  bora::check<ValueError>(fits, place, ".", std::string(name), ": must be a whole number from 0 to ", kMostCopies,
                          ", got ", v->dump().substr(0, 60));
  return v->integer();
}
std::string in(const std::string& place, std::string_view name) { return place + "." + std::string(name); }
std::string in(const std::string& place, std::string_view name, std::size_t i) {
  return in(place, name) + "[" + std::to_string(i) + "]";
}
std::string fixed(const Value& number) {
  if (number.is_integer()) return number.dump();
  char text[400];
  auto end = std::to_chars(text, text + sizeof text, number.number(), std::chars_format::fixed).ptr;
  return {text, end};
}
/// The bound that integers have: none of them is excluded.
std::string whole_bound(const Value& v, bool excluded, bool low) {
  if (v.is_integer() && !excluded) return v.dump();
  auto x = v.number(), r = low ? std::ceil(x) : std::floor(x);
  if (excluded && r == x) r += low ? 1 : -1;
  return std::to_string(static_cast<std::int64_t>(r));
}
}  // namespace

std::int32_t Schema::rule() {
  auto r = rule_of(document_, "schema", kDepth);
  a_.finish(r);
  return r;
}
std::int32_t Schema::any_object() {
  auto r = object_of(any(kDepth - 1));
  a_.finish(r);
  return r;
}
/// No white space, or one space.
void Schema::gap(std::int32_t from, std::int32_t to) {
  a_.skip(from, to);
  a_.text(from, " ", to);
}
std::int32_t Schema::rule_of(const Value& schema, const std::string& place, int depth) {
  auto [known, is_new] = rules_.emplace(std::pair{&schema, depth}, 0);
  if (!is_new) return known->second;
  auto r = known->second = a_.rule();
  auto [first, last] = a_.rule_at(r);
  add(schema, place, depth, first, last);
  return r;
}
std::int32_t Schema::string() {
  if (string_ >= 0) return string_;
  string_ = a_.rule();
  auto [first, last] = a_.rule_at(string_);
  auto inside = a_.state();
  a_.text(first, "\"", inside);
  a_.character(inside, all_characters(), inside, true);
  a_.text(inside, "\"", last);
  return string_;
}
std::int32_t Schema::object_of(std::int32_t member) {
  auto r = a_.rule();
  auto [first, last] = a_.rule_at(r);
  auto open = a_.state(), name = a_.state(), colon = a_.state(), value = a_.state(), behind = a_.state(),
       comma = a_.state();
  a_.text(first, "{", open);
  a_.text(open, "}", last);
  a_.skip(open, name);
  a_.call(name, string(), colon);
  auto point = a_.state();
  a_.text(colon, ":", point);
  gap(point, value);
  a_.call(value, member, behind);
  a_.text(behind, ",", comma);
  gap(comma, name);
  a_.text(behind, "}", last);
  return r;
}
std::int32_t Schema::any(int depth) {
  auto [known, is_new] = any_.emplace(depth, 0);
  if (!is_new) return known->second;
  auto r = known->second = a_.rule();
  auto [first, last] = a_.rule_at(r);
  for (auto word : {"true", "false", "null"}) a_.text(first, word, last);
  a_.call(first, string(), last);
  add_number(false, Value(), "", first, last);
  if (depth == 0) return r;
  auto inner = any(depth - 1);
  a_.call(first, object_of(inner), last);
  auto open = a_.state(), item = a_.state(), behind = a_.state(), comma = a_.state();
  a_.text(first, "[", open);
  a_.text(open, "]", last);
  a_.skip(open, item);
  a_.call(item, inner, behind);
  a_.text(behind, ",", comma);
  gap(comma, item);
  a_.text(behind, "]", last);
  return r;
}
std::pair<const Value*, std::string> Schema::target(const Value& reference, const std::string& place) const {
  bora::check<ValueError>(reference.is_text() && reference.text().starts_with("#"), place,
                          ".$ref: must be a place in this document, such as #/$defs/name, got ",
                          reference.dump().substr(0, 100));
  auto& path = reference.text();
  auto missing = [&] { fail<ValueError>(place, ".$ref: there is no ", json::quoted(path.substr(0, 100))); };
  const Value* at = &document_;
  std::string where = "schema";
  for (std::size_t i = 1; i < path.size();) {
    if (path[i] != '/') missing();
    auto end = std::min(path.find('/', i + 1), path.size());
    std::string name;
    for (++i; i < end; ++i)
      if (path[i] != '~') name += path[i];
      else name += ++i < end && path[i] == '1' ? '/' : '~';
    if (at->is_list()) {
      std::size_t k = 0;
      auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), k);
      if (error != std::errc() || last != name.data() + name.size() || k >= at->list().size()) missing();
      at = &at->list()[k];
    } else {
      auto inner = at->find(name);
      if (!inner) missing();
      at = inner;
    }
    where += "." + name;
  }
  return {at, where};
}
const Value& Schema::followed(const Value& schema) const {
  auto at = &schema;
  for (int i = 0; i < kDepth; ++i) {
    auto reference = at->find("$ref");
    if (!reference) break;
    at = target(*reference, "schema").first;
  }
  return *at;
}
bool Schema::apart(const Value& first, const Value& second, int depth) const {
  if (depth == 0 || ++compared_ > kMostCompared) return false;
  auto &a = followed(first), &b = followed(second);
  auto values = [](const Value& s) {
    auto all = s.find("enum"), one = s.find("const");
    return all && all->is_list() ? all->list() : one ? Value::List{*one} : Value::List{};
  };
  for (auto* pair : {"anyOf", "oneOf", "allOf"})
    for (auto [x, y] : {std::pair{&a, &b}, {&b, &a}})
      if (auto parts = x->find(pair); parts && parts->is_list())
        return std::ranges::all_of(parts->list(), [&, y = y](auto& part) { return apart(part, *y, depth - 1); });
  auto some = values(a), others = values(b);
  if (!some.empty() && !others.empty())
    return std::ranges::none_of(some, [&](auto& x) { return std::ranges::find(others, x) != others.end(); });
  auto types = [&](const Value& s, const Value::List& of) {
    if (!s.is_object()) return std::vector<std::string>();
    auto all = types_of(s, "schema");
    if (!of.empty() && all.empty())
      for (auto type : {"object", "array", "string", "number", "boolean", "null"})
        if (std::ranges::any_of(of, [&](auto& v) { return is_of(v, type); })) all.emplace_back(type);
    std::ranges::replace(all, "integer", "number");
    return all;
  };
  auto of_a = types(a, some), of_b = types(b, others);
  if (of_a.empty() || of_b.empty()) return false;  // all types
  std::vector<std::string> both;
  for (auto& type : of_a)
    if (std::ranges::find(of_b, type) != of_b.end()) both.push_back(type);
  if (both.empty()) return true;
  if (both != std::vector<std::string>{"object"}) return false;
  // Objects are apart if a member is that both must have.
  auto must = [](const Value& s, const std::string& name) {
    auto names = s.find("required");
    return names && names->is_list() && std::ranges::find(names->list(), Value(name)) != names->list().end();
  };
  auto members = a.find("properties"), theirs = b.find("properties");
  return members && theirs && std::ranges::any_of(members->members(), [&](auto& m) {
    auto same = theirs->find(m.first);
    return same && must(a, m.first) && must(b, m.first) && apart(m.second, *same, depth - 1);
  });
}
void Schema::add(const Value& schema, const std::string& place, int depth, std::int32_t from, std::int32_t to) {
  if (schema.is_boolean()) {
    if (schema.boolean()) a_.call(from, any(kDepth), to);
    return;
  }
  check_keywords(schema, place);
  auto types = types_of(schema, place);
  if (auto reference = schema.find("$ref")) {
    auto [at, where] = target(*reference, place);
    if (depth > 0) a_.call(from, rule_of(*at, where, depth - 1), to);
    return;
  }
  for (auto name : {"anyOf", "oneOf", "allOf"}) {
    auto parts = schema.find(name);
    if (!parts) continue;
    bora::check<ValueError>(parts->is_list() && !parts->list().empty(), in(place, name),
                            ": must be an array of schemas");
    auto& all = parts->list();
    bora::check<ValueError>(name != std::string_view("allOf") || all.size() == 1, in(place, name),
                            ": of more than one schema it is not supported");
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < i && name == std::string_view("oneOf"); ++k)
        bora::check<ValueError>(apart(all[k], all[i], kDepth), in(place, name), ": a value may fit both ", k, " and ",
                                i, ", which is not supported; anyOf takes such schemas");
      add(all[i], in(place, name, i), depth, from, to);
    }
    return;
  }
  auto one = schema.find("const"), some = schema.find("enum");
  if (one || some) {
    bora::check<ValueError>(one || (some->is_list() && !some->list().empty()), place,
                            ".enum: must be an array of values");
    for (auto& v : one ? Value::List{*one} : some->list())
      if (types.empty() || std::ranges::any_of(types, [&](auto& type) { return is_of(v, type); }))
        a_.text(from, v.dump(), to);
    return;
  }
  if (types.empty()) a_.call(from, any(kDepth), to);
  for (auto& type : types) add_type(type, schema, place, depth, from, to);
}
void Schema::add_type(std::string_view type, const Value& schema, const std::string& place, int depth,
                      std::int32_t from, std::int32_t to) {
  if (type == "object") return add_object(schema, place, depth, from, to);
  if (type == "array") return add_array(schema, place, depth, from, to);
  if (type == "string") return add_string(schema, place, from, to);
  if (type == "null") return a_.text(from, "null", to);
  if (type != "boolean") return add_number(type == "integer", schema, place, from, to);
  for (auto word : {"true", "false"}) a_.text(from, word, to);
}
void Schema::add_array(const Value& schema, const std::string& place, int depth, std::int32_t from, std::int32_t to) {
  auto prefix = schema.find("prefixItems"), items = schema.find("items");
  bora::check<ValueError>(!prefix || prefix->is_list(), place, ".prefixItems: must be an array of schemas");
  static const Value::List none;
  auto& first = prefix ? prefix->list() : none;
  auto begins = std::ssize(first), least = count(schema, "minItems", place, 0),
       most = count(schema, "maxItems", place, -1);
  std::int32_t other = -1;
  if (items ? !(items->is_boolean() && !items->boolean()) : !prefix)
    other = items ? rule_of(*items, in(place, "items"), depth) : any(kDepth);
  else most = most < 0 ? begins : std::min(most, begins);
  bora::check<ValueError>(most < 0 || least <= most, place, ".minItems: ", least, " items are more than ", most,
                          ", which it may have");
  auto all = most < 0 ? std::max({begins, least, std::int64_t{1}}) : most;
  auto behind = a_.state();
  a_.text(from, "[", behind);
  for (std::int64_t i = 0; i <= all; ++i) {  // behind i items
    if (i >= least) a_.text(behind, "]", to);
    bool last = i == all;
    if (last && most >= 0) break;
    auto item = behind, next = last ? behind : a_.state();
    if (i > 0) {
      auto comma = a_.state();
      a_.text(behind, ",", comma);
      gap(comma, item = a_.state());
    }
    auto k = static_cast<std::size_t>(i);
    if (i < begins) add(first[k], in(place, "prefixItems", k), depth, item, next);
    else a_.call(item, other, next);
    behind = next;
  }
}
void Schema::add_string(const Value& schema, const std::string& place, std::int32_t from, std::int32_t to) {
  auto pattern = schema.find("pattern"), format = schema.find("format");
  auto least = count(schema, "minLength", place, 0), most = count(schema, "maxLength", place, -1);
  bool lengths = least > 0 || most >= 0;
  bora::check<ValueError>((pattern != nullptr) + (format != nullptr) + lengths < 2, place,
                          ": of pattern, format, and minLength with maxLength only one is supported in a schema");
  if (!pattern && !format && !lengths) return a_.call(from, string(), to);
  auto begin = a_.state(), end = a_.state();
  a_.text(from, "\"", begin);
  a_.text(end, "\"", to);
  if (pattern) {
    bora::check<ValueError>(pattern->is_text(), place, ".pattern: must be a string");
    return add_pattern(a_, begin, pattern->text(), end, in(place, "pattern"));
  }
  if (format) {
    auto known = std::ranges::find_if(kFormats, [&](auto& f) { return *format == Value(f.first); });
    bora::check<ValueError>(known != std::end(kFormats), place, ".format: ", format->dump().substr(0, 60),
                            " is not supported; date, time, date-time, uuid and ipv4 are");
    return add_pattern(a_, begin, known->second, end, in(place, "format"));
  }
  bora::check<ValueError>(most < 0 || least <= most, place, ".minLength: ", least, " is above maxLength, ", most);
  std::vector<std::int32_t> before, within;
  auto character = [&](std::int32_t at, std::int32_t next) { a_.character(at, all_characters(), next, true); };
  auto at = begin;
  for (std::int64_t i = 0;; ++i) {
    (i < least ? before : within).push_back(at);
    if (i >= least) a_.skip(at, end);
    if (i >= least && most < 0) {
      character(at, at);
      break;
    }
    if (i == most) break;
    auto next = a_.state();
    character(at, next);
    at = next;
  }
  a_.same_from_afar(before, longest_);
  a_.same_from_afar(within, longest_);
}
void Schema::add_number(bool whole, const Value& schema, const std::string& place, std::int32_t from,
                        std::int32_t to) {
  Between between{.whole = whole};
  for (bool low : {true, false})
    for (bool excluded : {false, true}) {
      std::string name = low ? excluded ? "exclusiveMinimum" : "minimum" : excluded ? "exclusiveMaximum" : "maximum";
      auto v = schema.find(name);
      if (!v) continue;
      bool fits = v->is_number() && std::abs(v->number()) < 1e15;
      bora::check<ValueError>(fits, place, ".", name, ": must be a number below 1e15, got ", v->dump().substr(0, 60));
      auto& bound = low ? between.low : between.high;
      bora::check<ValueError>(!bound, place, ".", name, ": beside another bound of this side it is not supported");
      bound = whole ? Bound{whole_bound(*v, excluded, low)} : Bound{fixed(*v), excluded};
    }
  bool free = !between.low && !between.high && !whole;
  if (!free) return add_numbers(a_, from, between, to);
  if (free_number_ < 0) {
    free_number_ = a_.rule();
    auto [first, last] = a_.rule_at(free_number_);
    add_numbers(a_, first, between, last);
  }
  a_.call(from, free_number_, to);
}
}  // namespace bora::generate::grammar
