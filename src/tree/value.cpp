// Static values without their types: how they are made, compared with what is wanted, and printed.
#include "bora/tree/value.h"
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include "bora/base/text.h"
#include "path.h"
#include "type_name.h"

namespace bora::tree {
using Kind = Value::Kind;
namespace {
std::string text_of_number(double d) {
  char text[32];
  auto f = static_cast<float>(d);
  auto end = static_cast<double>(f) == d ? std::to_chars(text, text + sizeof text, f)
                                         : std::to_chars(text, text + sizeof text, d);
  return {text, end.ptr};
}
std::string_view kind_of(const Value& v) {
  constexpr std::string_view names[] = {"nothing", "an optional value", "a boolean", "an integer", "an integer",
                                        "a number", "a text", "a user's type", "a list", "a struct"};
  return names[static_cast<std::size_t>(v.kind)];
}
std::string shown(const Value& v) {
  std::ostringstream o;
  o << v;
  auto text = o.str();
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}
std::string static_at(const std::string& path) {
  return path.empty() ? "the static value" : "the static '" + path + "'";
}
[[noreturn]] void other_fields(const std::string& path, const std::string& missing, const std::string& more) {
  auto where = path.empty() ? std::string() : " in '" + path + "'";
  fail<CheckpointError>("other statics", where, " than wanted: ", missing.empty() ? "" : "it has no " + missing,
                        missing.empty() || more.empty() ? "" : ", ", more.empty() ? "" : "it has " + more,
                        "; a field was added, removed or renamed since: give the struct the same fields, or keep this "
                        "tree's statics with {.statics = ignore}");
}
}  // namespace

std::ostream& operator<<(std::ostream& o, const Value& v) {
  auto join = [&](char open, char close) -> auto& {
    o << open;
    for (std::size_t i = 0; i < v.parts.size(); ++i) {
      o << (i > 0 ? ", " : "");
      if (v.kind == Kind::fields) o << one_line(v.names[i]) << '=';
      o << v.parts[i];
    }
    return o << close;
  };
  switch (v.kind) {
    case Kind::none: return o << "none";
    case Kind::some: return o << v.parts[0];
    case Kind::boolean: return o << (v.bits != 0 ? "true" : "false");
    case Kind::integer: return o << static_cast<std::int64_t>(v.bits);
    case Kind::natural: return o << v.bits;
    case Kind::number: return o << text_of_number(std::bit_cast<double>(v.bits));
    case Kind::text: return o << '"' << one_line(v.text) << '"';
    case Kind::bytes: return o << v.text.size() << " bytes";
    case Kind::list: return join('[', ']');
    case Kind::fields: return join('{', '}');
  }
  return o;
}

namespace detail {
Value integer(std::int64_t x) { return {Kind::integer, static_cast<std::uint64_t>(x)}; }
Value natural(std::uint64_t x) { return {x >> 63 == 0 ? Kind::integer : Kind::natural, x}; }
Value number(double x) { return {Kind::number, std::bit_cast<std::uint64_t>(x)}; }
Value text(Kind kind, std::string s) { return {kind, 0, std::move(s)}; }
Value parts(Kind kind, std::vector<Value> parts, std::vector<std::string> names) {
  return {kind, 0, {}, std::move(names), std::move(parts)};
}
std::string below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
void wrong_value(const Value& v, const std::string& path, std::string_view wanted) {
  fail<CheckpointError>(static_at(path), " is ", kind_of(v), " there: ", shown(v), "; this tree wants ", wanted);
}
void not_read(const std::string& path, const std::exception& why) {
  fail<CheckpointError>(static_at(path), " cannot be read: ", why.what());
}
void not_stored(const std::type_info& type, bool is_enum) {
  check<ValueError>(!is_enum, "enum ", type_name(type), " cannot be written, since some numbers in a damaged file "
                    "would be none of its own: give it a type, as in enum ", type_name(type), " : int");
  fail<ValueError>("a value of type ", type_name(type), " cannot be written: give the type cereal's serialize and "
                   "include bora/io/cereal.h, or leave the statics out with {.statics = ignore}");
}
std::uint64_t integer_of(const Value& v, const std::string& path, std::int64_t least, std::uint64_t most) {
  auto range = [&] { return "an integer from " + std::to_string(least) + " to " + std::to_string(most); };
  auto negative = v.kind == Kind::integer && static_cast<std::int64_t>(v.bits) < 0;
  if ((v.kind != Kind::integer && v.kind != Kind::natural) ||
      (negative ? static_cast<std::int64_t>(v.bits) < least : v.bits > most))
    wrong_value(v, path, range());
  return v.bits;
}
double number_of(const Value& v, const std::string& path) {
  if (v.kind != Kind::number) wrong_value(v, path, "a floating number");
  return std::bit_cast<double>(v.bits);
}
const std::string& text_of(const Value& v, const std::string& path, Kind kind) {
  if (v.kind != kind) wrong_value(v, path, kind_of({kind}));
  return v.text;
}
const std::vector<Value>& list_of(const Value& v, const std::string& path) {
  if (v.kind != Kind::list) wrong_value(v, path, "a list");
  return v.parts;
}
const std::vector<Value>& list_of(const Value& v, const std::string& path, std::size_t n) {
  if (v.kind != Kind::list || v.parts.size() != n) wrong_value(v, path, "a list of " + std::to_string(n));
  return v.parts;
}
std::vector<const Value*> fields_of(const Value& v, const std::string& path,
                                    const std::vector<std::string_view>& names) {
  if (v.kind != Kind::fields) wrong_value(v, path, "a struct");
  std::map<std::string_view, const Value*> there;
  for (std::size_t i = 0; i < v.names.size(); ++i) there[v.names[i]] = &v.parts[i];
  std::vector<const Value*> found;
  std::string missing, more;
  for (auto name : names) {
    auto it = there.find(name);
    if (it == there.end()) {
      if (missing.empty()) missing = "'" + std::string(name) + "'";
      continue;
    }
    found.push_back(it->second);
    there.erase(it);
  }
  if (!there.empty())
    more = "'" + one_line(there.begin()->first) + "' (" + shown(*there.begin()->second) + "), which is not wanted";
  if (!missing.empty() || !more.empty()) other_fields(path, missing, more);
  return found;
}

template <class T> Value PlainRow<T>::write(const T& x) {
  if constexpr (std::is_same_v<T, bool>) return {Kind::boolean, x};
  else if constexpr (std::is_same_v<T, std::string>) return text(Kind::text, x);
  else if constexpr (std::is_same_v<T, Dtype>) return text(Kind::text, std::string(dtype_name(x)));
  else if constexpr (std::is_same_v<T, AxisName>) return text(Kind::text, x.str());
  else if constexpr (std::is_same_v<T, Scalar>)
    return parts(Kind::fields,
                 {integer(static_cast<std::int64_t>(x.kind)), integer(x.integer), number(x.value), number(x.imaginary)},
                 {"kind", "integer", "value", "imaginary"});
  else {  // long double: its digits, of which f64 has fewer
    char digits[48];
    std::snprintf(digits, sizeof digits, "%La", x);
    return text(Kind::text, digits);
  }
}
template <class T> void PlainRow<T>::read(T& x, const Value& v, const std::string& path) {
  if constexpr (std::is_same_v<T, bool>) {
    if (v.kind != Kind::boolean) wrong_value(v, path, "a boolean");
    x = v.bits != 0;
  } else if constexpr (std::is_same_v<T, std::string>) x = text_of(v, path);
  else if constexpr (std::is_same_v<T, Dtype>) {
    auto& name = text_of(v, path);
    for (std::size_t i = 0; i < kDtypes; ++i)
      if (dtype_name(static_cast<Dtype>(i)) == name) return void(x = static_cast<Dtype>(i));
    wrong_value(v, path, "the name of a dtype");
  } else if constexpr (std::is_same_v<T, AxisName>) x = AxisName(text_of(v, path));
  else if constexpr (std::is_same_v<T, Scalar>) {
    auto part = fields_of(v, path, {"kind", "integer", "value", "imaginary"});
    auto kind = integer_of(*part[0], path, 0, static_cast<std::uint64_t>(Scalar::Kind::complex));
    x.kind = static_cast<Scalar::Kind>(kind);
    constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    x.integer = static_cast<std::int64_t>(integer_of(*part[1], path, least, static_cast<std::uint64_t>(most)));
    x.value = number_of(*part[2], path);
    x.imaginary = number_of(*part[3], path);
  } else {
    auto& digits = text_of(v, path);
    char* end = nullptr;
    auto y = std::strtold(digits.c_str(), &end);
    if (digits.empty() || end != digits.c_str() + digits.size()) wrong_value(v, path, "a long double");
    x = y;
  }
}
template struct PlainRow<bool>;
template struct PlainRow<std::string>;
template struct PlainRow<long double>;
template struct PlainRow<Dtype>;
template struct PlainRow<AxisName>;
template struct PlainRow<Scalar>;
}  // namespace detail

std::vector<ValueSlot> value_slots(void* at, ValueWalk walk) {
  struct Collect final : ValueVisitor {
    void value(const Name& n, const ValueRef& r) override { all.push_back({path.at(n), r}); }
    void enter(const Name& n) override { path.enter(n); }
    void leave() override { path.leave(); }
    Path path;
    std::vector<ValueSlot> all;
  } v;
  walk(at, v, {});
  return std::move(v.all);
}
Value write_values(const std::vector<ValueSlot>& slots) {
  auto all = detail::parts(Kind::fields);
  std::set<std::string_view> paths;
  for (auto& s : slots) {
    check<ValueError>(paths.insert(s.path).second, "two static values have the path '", s.path,
                      "': rename a field, or a map's key with a dot");
    try {
      all.parts.push_back(s.value.write(s.value.at));
    } catch (const ValueError& e) { fail<ValueError>(static_at(s.path), ": ", e.text()); }
    all.names.push_back(s.path);
  }
  return all;
}
void read_values(const std::vector<ValueSlot>& slots, const Value& from) {
  std::vector<std::string_view> paths;
  for (auto& s : slots) paths.push_back(s.path);
  auto values = detail::fields_of(from, {}, paths);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].value.read(slots[i].value.at, *values[i], slots[i].path);
}
}  // namespace bora::tree
