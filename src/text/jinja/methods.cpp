// methods.cpp -- methods of Python's texts, lists and dicts that change nothing.
#include <algorithm>
#include "text/jinja/run.h"

namespace bora::text::jinja {
namespace {
class Function final : public Object {
 public:
  Function(std::string_view name, std::function<Value(Run&, Args&)> f) : name_(name), f_(std::move(f)) {}
  std::string_view type() const override { return "function"; }
  bool can_be_called() const override { return true; }
  Value call(Run& run, Args& args) override { return f_(run, args); }

 private:
  std::string name_;
  std::function<Value(Run&, Args&)> f_;
};
const Marked& text_in(const Value& v, std::string_view what) {
  if (!v.is(Kind::text)) problem(what, " takes a text, got ", v.type());
  return v.text();
}
Value split(Run& run, const Marked& s, Args& args, bool from_end) {
  auto by = args.take(0, "sep", nullptr), most = args.take(1, "maxsplit", std::int64_t{-1});
  args.done("split", 2);
  auto left = integer_in(most, "split");
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  const bool blanks = by.is(Kind::none);
  const auto& sep = blanks ? Marked(" ") : text_in(by, "split");
  if (sep.empty()) problem("split takes a text that is not empty");
  if (blanks) {
    std::size_t at = 0;
    auto all = each_character(s);
    bool open = false;
    for (auto& c : all) {
      const bool space = stripped(c, true, false, nullptr).empty();
      if (space) open = false;
      else if (open) parts.back().second += c.size();
      else parts.emplace_back(at, c.size()), open = true;
      at += c.size();
    }
    if (left >= 0 && parts.size() > static_cast<std::size_t>(left) + 1) {
      auto n = static_cast<std::size_t>(left);
      if (from_end) {
        auto& last = parts[parts.size() - n - 1];
        last = {parts[0].first, last.first + last.second - parts[0].first};
        parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(n) - 1);
      } else {
        parts[n].second = stripped(s, false, true, nullptr).size() - parts[n].first;
        if (s.size() > parts[n].first + parts[n].second) parts[n].second = s.size() - parts[n].first;
        parts.resize(n + 1);
      }
    }
  } else if (from_end) {
    auto end = s.size();
    for (; left != 0; --left) {
      auto found = end < sep.size() ? s.text.npos : s.text.rfind(sep.text, end - sep.size());
      if (found == s.text.npos) break;
      parts.emplace_back(found + sep.size(), end - found - sep.size());
      end = found;
    }
    parts.emplace_back(0, end);
    std::reverse(parts.begin(), parts.end());
  } else {
    std::size_t at = 0;
    for (; left != 0; --left) {
      auto found = s.text.find(sep.text, at);
      if (found == s.text.npos) break;
      parts.emplace_back(at, found - at);
      at = found + sep.size();
    }
    parts.emplace_back(at, s.size() - at);
  }
  run.bytes(s.size());
  run.step(parts.size());
  Values r;
  for (auto& [from, n] : parts) r.emplace_back(s.part(from, n));
  return Value::list(std::move(r));
}
Value split_lines(Run& run, const Marked& s, Args& args) {
  auto ends = args.take(0, "keepends", false).truth();
  args.done("splitlines", 1);
  run.bytes(s.size());
  Values r;
  for (std::size_t at = 0; at < s.size();) {
    auto end = std::min(s.text.find_first_of("\n\r\v\f", at), s.size());
    auto next = std::min(end + 1, s.size());
    if (end + 1 < s.size() && s.text[end] == '\r' && s.text[end + 1] == '\n') ++next;
    r.emplace_back(s.part(at, (ends ? next : end) - at));
    at = next;
  }
  run.step(r.size());
  return Value::list(std::move(r));
}
/// startswith and endswith: of a text, or of one in a tuple.
Value with_end(Run& run, const Marked& s, Args& args, bool begin) {
  auto what = args.take(0, "prefix");
  args.done(begin ? "startswith" : "endswith", 1);
  auto is = [&](const Value& v) {
    auto& end = text_in(v, begin ? "startswith" : "endswith").text;
    return begin ? s.text.starts_with(end) : s.text.ends_with(end);
  };
  if (!what.is_tuple()) return is(what);
  auto items = items_of(run, what);
  return std::any_of(items.begin(), items.end(), is);
}
/// find, rfind, index: a number of characters.
Value find(const Marked& s, Args& args, std::string_view name) {
  auto what = args.take(0, "sub");
  args.done(name, 1);
  auto& sub = text_in(what, name).text;
  auto found = name[0] == 'r' ? s.text.rfind(sub) : s.text.find(sub);
  if (found == s.text.npos && name == "index") problem("index: the text '", sub, "' is not in it");
  if (found == s.text.npos) return std::int64_t{-1};
  return static_cast<std::int64_t>(characters(std::string_view(s.text).substr(0, found)));
}
Value count(const Marked& s, Args& args) {
  auto what = args.take(0, "sub");
  args.done("count", 1);
  auto& sub = text_in(what, "count").text;
  if (sub.empty()) return static_cast<std::int64_t>(characters(s.text) + 1);
  std::int64_t n = 0;
  for (auto at = s.text.find(sub); at != s.text.npos; at = s.text.find(sub, at + sub.size())) ++n;
  return n;
}
/// str.format, with {} {0} {name} alone.
Value format(Run& run, const Marked& s, Args& args) {
  Marked r;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s.text[i];
    if (c != '{' && c != '}') {
      r.add(s.part(i, 1));
      continue;
    }
    if (i + 1 < s.size() && s.text[i + 1] == c) {
      r.add(s.part(i++, 1));
      continue;
    }
    auto end = s.text.find('}', i);
    auto name = c == '{' && end != s.text.npos ? s.text.substr(i + 1, end - i - 1) : std::string("}");
    auto place = name.empty() ? next++ : name.find_first_not_of("0123456789") == name.npos && name.size() < 6
                                             ? static_cast<std::size_t>(std::stoi(name)) : args.at.size();
    auto named = std::find_if(args.named.begin(), args.named.end(), [&](auto& n) { return n.first == name; });
    if (place >= args.at.size() && named == args.named.end()) problem("format has no argument '{", name, "}'");
    auto text = string_of(run, place < args.at.size() ? args.at[place] : named->second);
    run.more_bytes(r.size(), text.size());
    r.add(text);
    i = end;
  }
  return r;
}
using Method = Value (*)(Run&, const Value&, Args&);
template <bool left, bool right> Value strip(Run&, const Value& x, Args& args) {
  auto set = args.take(0, "chars", nullptr);
  args.done("strip", 1);
  return stripped(x.text(), left, right, set);
}
template <bool begin> Value without_end(Run&, const Value& x, Args& args) {
  auto what = args.take(0, "prefix");
  args.done("removeprefix", 1);
  auto &s = x.text(), &end = text_in(what, "removeprefix");
  if (begin) return s.text.starts_with(end.text) ? s.part(end.size()) : s;
  return s.text.ends_with(end.text) ? s.part(0, s.size() - end.size()) : s;
}
struct MethodRow {
  Kind kind;
  std::string_view name;
  Method method;
};
constexpr MethodRow kMethods[] = {
    {Kind::text, "strip", strip<true, true>},
    {Kind::text, "lstrip", strip<true, false>},
    {Kind::text, "rstrip", strip<false, true>},
    {Kind::text, "split", [](Run& run, const Value& x, Args& a) { return split(run, x.text(), a, false); }},
    {Kind::text, "rsplit", [](Run& run, const Value& x, Args& a) { return split(run, x.text(), a, true); }},
    {Kind::text, "splitlines", [](Run& run, const Value& x, Args& a) { return split_lines(run, x.text(), a); }},
    {Kind::text, "startswith", [](Run& run, const Value& x, Args& a) { return with_end(run, x.text(), a, true); }},
    {Kind::text, "endswith", [](Run& run, const Value& x, Args& a) { return with_end(run, x.text(), a, false); }},
    {Kind::text, "removeprefix", without_end<true>},
    {Kind::text, "removesuffix", without_end<false>},
    {Kind::text, "find", [](Run&, const Value& x, Args& a) { return find(x.text(), a, "find"); }},
    {Kind::text, "rfind", [](Run&, const Value& x, Args& a) { return find(x.text(), a, "rfind"); }},
    {Kind::text, "index", [](Run&, const Value& x, Args& a) { return find(x.text(), a, "index"); }},
    {Kind::text, "count", [](Run&, const Value& x, Args& a) { return count(x.text(), a); }},
    {Kind::text, "format", [](Run& run, const Value& x, Args& a) { return format(run, x.text(), a); }},
    {Kind::text, "lower", cased<Case::lower>},
    {Kind::text, "upper", cased<Case::upper>},
    {Kind::text, "title", cased<Case::title>},
    {Kind::text, "capitalize", cased<Case::capitalize>},
    {Kind::text, "replace",
     [](Run& run, const Value& x, Args& a) -> Value {
       auto from = a.take(0, "old"), to = a.take(1, "new"), most = a.take(2, "count", std::int64_t{-1});
       a.done("replace", 3);
       return replaced(run, x.text(), text_in(from, "replace"), text_in(to, "replace"), integer_in(most, "replace"));
     }},
    {Kind::text, "join",
     [](Run& run, const Value& x, Args& a) -> Value {
       auto items = items_of(run, a.take(0, "iterable"));
       a.done("join", 1);
       for (auto& item : items) (void)text_in(item, "join");
       return joined(run, items, x.text());
     }},
    {Kind::list, "index",
     [](Run& run, const Value& x, Args& a) -> Value {
       auto what = a.take(0, "value");
       auto& items = x.items();
       auto found = std::find_if(items.begin(), items.end(), [&](auto& item) { return equal(run, item, what); });
       if (found == items.end()) problem("index: the value is not in the list");
       return static_cast<std::int64_t>(found - items.begin());
     }},
    {Kind::list, "count",
     [](Run& run, const Value& x, Args& a) -> Value {
       auto what = a.take(0, "value");
       auto& items = x.items();
       return std::int64_t{std::count_if(items.begin(), items.end(), [&](auto& i) { return equal(run, i, what); })};
     }},
    {Kind::dict, "get",
     [](Run&, const Value& x, Args& a) -> Value {
       auto key = a.take(0, "key"), otherwise = a.take(1, "default", nullptr);
       a.done("get", 2);
       auto found = x.find(key);
       return found ? *found : otherwise;
     }},
    {Kind::dict, "keys",
     [](Run& run, const Value& x, Args& a) -> Value {
       a.done("keys", 0);
       return Value::list(items_of(run, x));
     }},
    {Kind::dict, "values",
     [](Run& run, const Value& x, Args& a) -> Value {
       a.done("values", 0);
       run.step(x.members().size());
       Values r;
       for (auto& member : x.members()) r.push_back(member.second);
       return Value::list(std::move(r));
     }},
    {Kind::dict, "items",
     [](Run& run, const Value& x, Args& a) -> Value {
       a.done("items", 0);
       run.step(x.members().size());
       Values r;
       for (auto& [key, member] : x.members()) r.push_back(Value::list({key, member}, true));
       return Value::list(std::move(r));
     }},
};
}  // namespace

Value function(std::string_view name, std::function<Value(Run&, Args&)> f) {
  return std::shared_ptr<Object>(std::make_shared<Function>(name, std::move(f)));
}
Value method_of(const Value& x, std::string_view name) {
  for (auto& row : kMethods)
    if (row.kind == x.kind() && row.name == name)
      return function(name, [x, m = row.method](Run& run, Args& args) { return m(run, x, args); });
  for (std::string_view is : {"isdigit", "isalpha", "isalnum", "isspace", "islower", "isupper"})
    if (x.is(Kind::text) && name == is)
      return function(name, [x, is](Run& run, Args& args) -> Value {
        args.done(is, 0);
        run.bytes(x.text().size());
        return all_of_category(x.text(), is);
      });
  constexpr std::string_view changing[] = {"append", "extend", "insert", "pop", "remove", "sort", "reverse", "clear",
                                           "update", "setdefault", "popitem"};
  const bool changes = std::find(std::begin(changing), std::end(changing), name) != std::end(changing);
  if (changes && (x.is(Kind::list) || (x.is(Kind::dict) && !x.find(Marked(name)))))
    problem("templates change no ", x.type(), ": .", name, "(..) is not allowed; {% set %} makes a new one");
  return Undefined{std::string(name)};
}
Value attribute_of(Run&, const Value& x, std::string_view name) {
  if (x.is(Kind::undefined)) problem("'", x.missing(), "' is undefined; it has no '", name, "'");
  if (x.is(Kind::object)) return x.object()->attribute(name);
  if (auto method = method_of(x, name); !method.is(Kind::undefined)) return method;
  if (x.is(Kind::dict))
    if (auto member = x.find(Marked(name))) return *member;
  return Undefined{std::string(name)};
}
Value item_of(Run& run, const Value& x, const Value& key) {
  if (x.is(Kind::undefined)) problem("'", x.missing(), "' is undefined; it has no items");
  if (x.is(Kind::dict)) {
    run.step(x.members().size() / 16);
    if (auto member = x.find(key)) return *member;
  }
  if (key.is(Kind::text))
    return x.is(Kind::object) ? x.object()->attribute(key.text().text) : method_of(x, key.text().text);
  if ((x.is(Kind::list) || x.is(Kind::text)) && (key.is(Kind::integer) || key.is(Kind::boolean))) {
    const auto n = static_cast<std::int64_t>(x.is(Kind::list) ? x.items().size() : characters(x.text().text));
    const auto i = key.integer() < 0 ? key.integer() + n : key.integer();
    if (i >= 0 && i < n) {
      if (x.is(Kind::list)) return x.items()[static_cast<std::size_t>(i)];
      run.step(x.text().size() / 16);
      return each_character(x.text())[static_cast<std::size_t>(i)];
    }
  }
  return Undefined{string_of(run, key).text};
}
}  // namespace bora::text::jinja
