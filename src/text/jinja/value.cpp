#include "text/jinja/value.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include "text/jinja/run.h"
#include "text/unicode.h"

namespace bora::text::jinja {
namespace {
/// Three-way, of numbers of any kind.
template <class T> int three_way(const T& a, const T& b) { return a < b ? -1 : b < a ? 1 : 0; }
int order_of_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::real) || b.is(Kind::real)) return three_way(a.number(), b.number());
  return three_way(a.integer(), b.integer());
}
/// A text in quotes; json: as JSON has it, otherwise as Python's repr.
Marked quoted(const Marked& s, bool json) {
  char quote = json || (s.text.find('\'') != s.text.npos && s.text.find('"') == s.text.npos) ? '"' : '\'';
  Marked r(std::string_view(&quote, 1));
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s.text[i], mark = s.marks[i];
    const auto code = static_cast<unsigned char>(c);
    constexpr std::string_view from = "\n\t\r\b\f", into = "ntrbf";
    auto k = from.find(c);
    if (c == quote || c == '\\') r.add(std::string{'\\', c}, mark);
    else if (k < (json ? 5 : 3)) r.add(std::string{'\\', into[k]}, mark);
    else if (code < 0x20 || (!json && code == 0x7f)) {
      constexpr std::string_view hex = "0123456789abcdef";
      r.add(json ? "\\u00" : "\\x", mark).add(std::string{hex[code >> 4], hex[code & 15]}, mark);
    } else r.add(std::string_view(&c, 1), mark);
  }
  return r.add(std::string_view(&quote, 1), kPlain);
}
class Json {
 public:
  Json(Run& run, std::int64_t indent, bool sort, const Marked& comma, const Marked& colon)
      : run_(run), indent_(indent), sort_(sort), comma_(comma), colon_(colon) {}
  void write(const Value& v, std::int64_t level) {
    Run::Deeper deeper(run_);
    run_.step();
    switch (v.kind()) {
      case Kind::none: out.add("null", kPlain); break;
      case Kind::boolean: out.add(v.boolean() ? "true" : "false", kPlain); break;
      case Kind::integer: out.add(std::to_string(v.integer()), kPlain); break;
      case Kind::real: {
        auto x = v.number();
        out.add(std::isnan(x) ? "NaN" : std::isinf(x) ? (x < 0 ? "-Infinity" : "Infinity") : python_number(x), kPlain);
        break;
      }
      case Kind::text:
        run_.bytes(v.text().size());
        out.add(quoted(v.text(), true));
        break;
      case Kind::list:
        inside('[', ']', v.items().size(), level, [&](std::size_t i) { write(v.items()[i], level + 1); });
        break;
      case Kind::dict: {
        auto members = v.members();
        if (sort_)
          std::stable_sort(members.begin(), members.end(),
                           [&](auto& a, auto& b) { return order(run_, a.first, b.first) < 0; });
        inside('{', '}', members.size(), level, [&](std::size_t i) {
          auto& key = members[i].first;
          if (key.is(Kind::text)) out.add(quoted(key.text(), true));
          else out.add("\"", kPlain).add(string_of(run_, key)).add("\"", kPlain);
          out.add(colon_);
          write(members[i].second, level + 1);
        });
        break;
      }
      default: problem("a value of type ", v.type(), " has no form in JSON");
    }
  }
  Marked out;

 private:
  template <class F> void inside(char open, char close, std::size_t n, std::int64_t level, F&& item) {
    out.add(std::string_view(&open, 1), kPlain);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) out.add(comma_);
      line(level + 1);
      item(i);
    }
    if (n > 0) line(level);
    out.add(std::string_view(&close, 1), kPlain);
  }
  void line(std::int64_t level) {
    if (indent_ < 0) return;
    run_.bytes(static_cast<std::size_t>(level * indent_) + 1);
    out.add("\n" + std::string(static_cast<std::size_t>(level * indent_), ' '), kPlain);
  }
  Run& run_;
  std::int64_t indent_;
  bool sort_;
  const Marked &comma_, &colon_;
};
}  // namespace

Value Object::attribute(std::string_view name) { return Undefined{std::string(name)}; }
void Object::set(Run&, const std::string& name, Value) {
  problem("a value of type ", type(), " does not let '", name, "' be set");
}
Value Object::call(Run&, Args&) { problem("a value of type ", type(), " cannot be called"); }

namespace {
int deeper(int deepest, const Value& item) {
  auto depth = std::max(deepest, item.depth() + 1);
  constexpr int most = 150;
  if (depth > most) problem("lists lie in each other more than ", most, " deep");
  return depth;
}
}  // namespace
Value Value::list(Values items, bool tuple) {
  int depth = 0;
  for (auto& item : items) depth = deeper(depth, item);
  Value v;
  v.v_ = std::make_shared<const ListData>(ListData{std::move(items), tuple, depth});
  return v;
}
Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  int depth = 0;
  for (auto& [key, item] : items) depth = deeper(deeper(depth, key), item);
  Value v;
  v.v_ = std::make_shared<const DictData>(DictData{std::move(items), depth});
  return v;
}
int Value::depth() const {
  if (is(Kind::list)) return std::get<std::shared_ptr<const ListData>>(v_)->depth;
  return is(Kind::dict) ? std::get<std::shared_ptr<const DictData>>(v_)->depth : 0;
}
const Values& Value::items() const { return std::get<std::shared_ptr<const ListData>>(v_)->items; }
bool Value::is_tuple() const { return is(Kind::list) && std::get<std::shared_ptr<const ListData>>(v_)->tuple; }
const std::vector<std::pair<Value, Value>>& Value::members() const {
  return std::get<std::shared_ptr<const DictData>>(v_)->members;
}
std::size_t Value::bytes() const {
  std::size_t n = 16;
  if (is(Kind::text)) n += text().size();
  if (is(Kind::list))
    for (auto& item : items()) n += item.bytes();
  if (is(Kind::dict))
    for (auto& [key, item] : members()) n += key.bytes() + item.bytes();
  return n;
}
bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return integer() != 0;
    case Kind::real: return number() != 0;
    case Kind::text: return !text().empty();
    case Kind::list: return !items().empty();
    case Kind::dict: return !members().empty();
    case Kind::object: return true;
  }
  return false;
}
std::string_view Value::type() const {
  constexpr std::string_view names[] = {"Undefined", "NoneType", "bool", "int", "float", "str", "list", "dict"};
  if (is(Kind::object)) return object()->type();
  return is_tuple() ? "tuple" : names[static_cast<std::size_t>(kind())];
}
const Value* Value::find(const Value& key) const {
  for (auto& [k, v] : members())
    if (k.kind() == key.kind() && (k.is(Kind::text) ? k.text().text == key.text().text
                                                     : k.is(Kind::integer) && k.integer() == key.integer()))
      return &v;
  return nullptr;
}
bool Value::same(const Value& other) const {
  if (kind() != other.kind()) return false;
  if (is(Kind::undefined)) return true;
  return v_.index() != static_cast<std::size_t>(Kind::text)
             ? std::visit(
                   [&](auto& a) {
                     using T = std::decay_t<decltype(a)>;
                     if constexpr (std::is_same_v<T, Undefined>) return true;
                     else return a == std::get<T>(other.v_);
                   },
                   v_)
             : text().text == other.text().text;
}

Value Args::take(std::size_t place, std::string_view name, Value otherwise) {
  for (auto it = named.begin(); it != named.end(); ++it)
    if (it->first == name) {
      otherwise = std::move(it->second);
      named.erase(it);
      return otherwise;
    }
  return place < at.size() ? at[place] : otherwise;
}
void Args::done(std::string_view what, std::size_t most) const {
  if (at.size() > most) problem(what, " takes at most ", most, " arguments, got ", at.size());
  if (!named.empty()) problem(what, " has no argument '", named[0].first, "'");
}

bool equal(Run& run, const Value& a, const Value& b) {
  Run::Deeper deeper(run);
  run.step();
  if (a.is_number() && b.is_number()) return order_of_numbers(a, b) == 0 && !std::isnan(a.number() - b.number());
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::text: return a.text().text == b.text().text;
    case Kind::list: {
      auto &x = a.items(), &y = b.items();
      return a.is_tuple() == b.is_tuple() && x.size() == y.size() &&
             std::equal(x.begin(), x.end(), y.begin(), [&](auto& p, auto& q) { return equal(run, p, q); });
    }
    case Kind::dict: {
      auto &x = a.members(), &y = b.members();
      return x.size() == y.size() && std::all_of(x.begin(), x.end(), [&](auto& m) {
               auto other = b.find(m.first);
               return other != nullptr && equal(run, m.second, *other);
             });
    }
    default: return a.same(b);
  }
}
int order(Run& run, const Value& a, const Value& b) {
  Run::Deeper deeper(run);
  run.step();
  if (a.is_number() && b.is_number()) return order_of_numbers(a, b);
  if (a.is(Kind::text) && b.is(Kind::text)) return three_way(a.text().text, b.text().text);
  if (a.is(Kind::list) && b.is(Kind::list)) {
    auto &x = a.items(), &y = b.items();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(run, x[i], y[i])) return order(run, x[i], y[i]);
    return three_way(x.size(), y.size());
  }
  if (a.is(Kind::undefined) || b.is(Kind::undefined))
    problem("'", (a.is(Kind::undefined) ? a : b).missing(), "' is undefined");
  problem("values of types ", a.type(), " and ", b.type(), " have no order");
}
bool contains(Run& run, const Value& box, const Value& x) {
  if (box.is(Kind::text)) {
    if (!x.is(Kind::text)) problem("'in <string>' needs a text on its left, got ", x.type());
    run.step(box.text().size() / 64);
    return box.text().text.find(x.text().text) != std::string::npos;
  }
  if (box.is(Kind::dict)) {
    run.step(box.members().size());
    return box.find(x) != nullptr;
  }
  auto items = items_of(run, box);
  return std::any_of(items.begin(), items.end(), [&](auto& item) { return equal(run, item, x); });
}
Values items_of(Run& run, const Value& v) {
  Values r;
  switch (v.kind()) {
    case Kind::undefined: break;
    case Kind::list: r = v.items(); break;
    case Kind::text:
      for (auto& c : each_character(v.text())) r.emplace_back(c);
      break;
    case Kind::dict:
      for (auto& member : v.members()) r.push_back(member.first);
      break;
    default: problem("a value of type ", v.type(), " has no items");
  }
  run.step(r.size() + 1);
  return r;
}
std::string python_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr;
  std::string s(buffer, end);
  auto e = s.find('e');
  auto power = std::stoi(s.substr(e + 1));
  if (power < -4 || power >= 16) return s;
  end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed).ptr;
  s.assign(buffer, end);
  return s.find('.') == s.npos ? s + ".0" : s;
}
Marked repr_of(Run& run, const Value& v) {
  if (v.is(Kind::text)) {
    run.bytes(v.text().size());
    return quoted(v.text(), false);
  }
  return v.is(Kind::undefined) ? Marked("Undefined") : string_of(run, v);
}
Marked string_of(Run& run, const Value& v) {
  Run::Deeper deeper(run);
  run.step();
  switch (v.kind()) {
    case Kind::undefined: return {};
    case Kind::none: return "None";
    case Kind::boolean: return v.boolean() ? "True" : "False";
    case Kind::integer: return std::to_string(v.integer());
    case Kind::real: return python_number(v.number());
    case Kind::text: return v.text();
    case Kind::list: {
      Marked r(v.is_tuple() ? "(" : "[");
      for (std::size_t i = 0; i < v.items().size(); ++i)
        r.add(i > 0 ? ", " : "", kPlain).add(repr_of(run, v.items()[i]));
      return r.add(!v.is_tuple() ? "]" : v.items().size() == 1 ? ",)" : ")", kPlain);
    }
    case Kind::dict: {
      Marked r("{");
      for (std::size_t i = 0; i < v.members().size(); ++i) {
        auto& [key, value] = v.members()[i];
        r.add(i > 0 ? ", " : "", kPlain).add(repr_of(run, key)).add(": ", kPlain).add(repr_of(run, value));
      }
      return r.add("}", kPlain);
    }
    case Kind::object: problem("a ", v.type(), " is no text");
  }
  return {};
}
Marked json_of(Run& run, const Value& v, std::int64_t indent, bool sort_keys, const Marked& comma,
               const Marked& colon) {
  Json json(run, indent, sort_keys, comma, colon);
  json.write(v, 0);
  return std::move(json.out);
}
}  // namespace bora::text::jinja
