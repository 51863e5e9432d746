// filters.cpp -- Jinja's filters, with `transformers`' tojson.
#include <algorithm>
#include <cmath>
#include "bora/base/text.h"
#include "text/jinja/run.h"

namespace bora::text::jinja {
namespace {
/// The value at a path such as "function.name" or 0; `otherwise` takes the place of what is not there.
Value at_path(Run& run, Value x, const Value& path, const Value& otherwise = {}) {
  auto next = [&](const Value& key) {
    x = item_of(run, x, key);
    if (x.is(Kind::undefined) && !otherwise.is(Kind::undefined)) x = otherwise;
  };
  if (!path.is(Kind::text)) return next(path), x;
  std::string_view rest = path.text().text;
  for (;;) {
    auto dot = rest.find('.');
    auto name = rest.substr(0, dot);
    auto place = parse_as<std::int64_t>(name);
    next(place ? Value(*place) : Value(Marked(name)));
    if (dot == rest.npos) return x;
    rest.remove_prefix(dot + 1);
  }
}
/// What a filter compares: an attribute, in lower case unless it minds case.
Value key_of(Run& run, const Value& item, const Value& attribute, bool minds_case) {
  auto key = attribute.is(Kind::none) ? item : at_path(run, item, attribute);
  if (minds_case || !key.is(Kind::text)) return key;
  run.bytes(key.text().size());
  return in_case(key.text(), Case::lower);
}
Values sorted(Run& run, const Values& items, const Value& attribute, bool minds_case, bool reverse) {
  std::vector<std::pair<Value, Value>> keyed;
  for (auto& item : items) keyed.emplace_back(key_of(run, item, attribute, minds_case), item);
  std::stable_sort(keyed.begin(), keyed.end(), [&](auto& a, auto& b) {
    return reverse ? order(run, b.first, a.first) < 0 : order(run, a.first, b.first) < 0;
  });
  Values r;
  for (auto& [key, item] : keyed) r.push_back(item);
  return r;
}
Value sort(Run& run, const Value& x, Args& a) {
  auto reverse = a.take(0, "reverse", false).truth(), minds = a.take(1, "case_sensitive", false).truth();
  auto attribute = a.take(2, "attribute", nullptr);
  a.done("sort", 3);
  return Value::list(sorted(run, items_of(run, x), attribute, minds, reverse));
}
Value dictsort(Run& run, const Value& x, Args& a) {
  auto minds = a.take(0, "case_sensitive", false).truth();
  auto by = a.take(1, "by", Marked("key"));
  auto reverse = a.take(2, "reverse", false).truth();
  a.done("dictsort", 3);
  if (!x.is(Kind::dict)) problem("dictsort takes a dict, got ", x.type());
  Values pairs;
  for (auto& [key, member] : x.members()) pairs.push_back(Value::list({key, member}, true));
  auto place = std::int64_t{by.is(Kind::text) && by.text().text == "value"};
  return Value::list(sorted(run, pairs, place, minds, reverse));
}
Value unique(Run& run, const Value& x, Args& a) {
  auto minds = a.take(0, "case_sensitive", false).truth();
  auto attribute = a.take(1, "attribute", nullptr);
  Values keys, kept;
  for (auto& item : items_of(run, x)) {
    auto key = key_of(run, item, attribute, minds);
    if (std::any_of(keys.begin(), keys.end(), [&](auto& k) { return equal(run, k, key); })) continue;
    keys.push_back(key);
    kept.push_back(item);
  }
  return Value::list(std::move(kept));
}
Value groupby(Run& run, const Value& x, Args& a) {
  auto attribute = a.take(0, "attribute");
  a.done("groupby", 1);
  Values groups;
  auto items = sorted(run, items_of(run, x), attribute, false, false);
  for (std::size_t i = 0; i < items.size();) {
    auto key = at_path(run, items[i], attribute);
    Values group;
    for (; i < items.size() && equal(run, key, at_path(run, items[i], attribute)); ++i) group.push_back(items[i]);
    groups.push_back(Value::list({key, Value::list(std::move(group))}, true));
  }
  return Value::list(std::move(groups));
}
template <bool least> Value extreme(Run& run, const Value& x, Args& a) {
  auto minds = a.take(0, "case_sensitive", false).truth();
  auto attribute = a.take(1, "attribute", nullptr);
  auto items = sorted(run, items_of(run, x), attribute, minds, !least);
  return items.empty() ? Value(Undefined{"an element of an empty list"}) : items[0];
}
Value sum(Run& run, const Value& x, Args& a) {
  auto attribute = a.take(0, "attribute", nullptr), total = a.take(1, "start", std::int64_t{0});
  for (auto& item : items_of(run, x)) {
    auto v = attribute.is(Kind::none) ? item : at_path(run, item, attribute);
    if (!v.is_number() || !total.is_number()) problem("sum takes numbers, got ", v.type());
    if (v.is(Kind::real) || total.is(Kind::real)) total = total.number() + v.number();
    else {
      std::int64_t next;
      if (__builtin_add_overflow(total.integer(), v.integer(), &next)) problem("sum: above 2^63");
      total = next;
    }
  }
  return total;
}
/// Items for select and map, which take all that is false for an empty list.
Values items_or_none(Run& run, const Value& x) { return x.truth() ? items_of(run, x) : Values(); }
Value map(Run& run, const Value& x, Args& a) {
  Values r;
  auto attribute = a.at.empty() ? a.take(0, "attribute") : Value();
  if (!attribute.is(Kind::undefined)) {
    auto otherwise = a.take(1, "default");
    a.done("map", 0);
    for (auto& item : items_or_none(run, x)) r.push_back(at_path(run, item, attribute, otherwise));
    return Value::list(std::move(r));
  }
  if (a.at.empty() || !a.at[0].is(Kind::text)) problem("map takes the name of a filter, or attribute=..");
  auto name = a.at[0].text().text;
  auto filter = filter_named(name);
  if (filter == nullptr) problem("there is no filter '", name, "'");
  a.at.erase(a.at.begin());
  for (auto& item : items_or_none(run, x)) {
    auto args = a;
    r.push_back(filter(run, item, args));
  }
  return Value::list(std::move(r));
}
/// select, reject, selectattr and rejectattr.
template <bool keep, bool by_attribute> Value choose(Run& run, const Value& x, Args& a) {
  std::size_t used = 0;
  auto attribute = by_attribute ? a.take(used++, "attribute") : Value(nullptr);
  if (attribute.is(Kind::undefined)) problem("selectattr and rejectattr take the name of an attribute");
  Test test = nullptr;
  if (a.at.size() > used) {
    auto name = a.at[used++];
    test = name.is(Kind::text) ? test_named(name.text().text) : nullptr;
    if (test == nullptr) problem("there is no test '", string_of(run, name).text, "'");
  }
  a.at.erase(a.at.begin(), a.at.begin() + static_cast<std::ptrdiff_t>(used));
  Values r;
  for (auto& item : items_or_none(run, x)) {
    auto v = by_attribute ? at_path(run, item, attribute) : item;
    auto args = a;
    if ((test ? test(run, v, args) : v.truth()) == keep) r.push_back(item);
  }
  return Value::list(std::move(r));
}
Value join(Run& run, const Value& x, Args& a) {
  auto between = string_of(run, a.take(0, "d", Marked("")));
  auto attribute = a.take(1, "attribute", nullptr);
  a.done("join", 2);
  auto items = items_of(run, x);
  if (!attribute.is(Kind::none))
    for (auto& item : items) item = at_path(run, item, attribute);
  return joined(run, items, between);
}
Value batch(Run& run, const Value& x, Args& a) {
  auto n = integer_in(a.take(0, "linecount"), "batch");
  auto fill = a.take(1, "fill_with", nullptr);
  if (n < 1) problem("batch takes a number above 0, got ", n);
  Values r, row;
  auto items = items_of(run, x);
  for (auto& item : items) {
    row.push_back(item);
    if (static_cast<std::int64_t>(row.size()) == n) r.push_back(Value::list(std::exchange(row, {})));
  }
  if (!row.empty() && !fill.is(Kind::none)) {
    run.step(static_cast<std::size_t>(n));
    row.resize(static_cast<std::size_t>(n), fill);
  }
  if (!row.empty()) r.push_back(Value::list(std::move(row)));
  return Value::list(std::move(r));
}
Value indent(Run& run, const Value& x, Args& a) {
  auto width = a.take(0, "width", std::int64_t{4});
  auto first = a.take(1, "first", false).truth(), blank = a.take(2, "blank", false).truth();
  a.done("indent", 3);
  auto n = width.is(Kind::text) ? 0 : integer_in(width, "indent");
  if (n < 0 || n > 1000) problem("indent takes 0 to 1000 columns, got ", n);
  auto by = width.is(Kind::text) ? width.text() : Marked(std::string(static_cast<std::size_t>(n), ' '));
  auto s = string_of(run, x);
  Marked r;
  for (std::size_t at = 0; at <= s.size();) {
    auto end = std::min(s.text.find('\n', at), s.size());
    run.more_bytes(r.size(), by.size() + end - at + 1);
    if (at > 0) r.add("\n", s.marks[at - 1]);
    if (at == 0 ? first : blank || end > at) r.add(by);
    r.add(s.part(at, end - at));
    at = end + 1;
  }
  return r;
}
Value integer(Run&, const Value& x, Args& a) {
  auto otherwise = a.take(0, "default", std::int64_t{0});
  auto base = integer_in(a.take(1, "base", std::int64_t{10}), "int");
  if (x.is(Kind::integer) || x.is(Kind::boolean)) return x.integer();
  double value = NAN;
  if (x.is(Kind::real)) value = x.number();
  else if (x.is(Kind::text)) {
    auto text = stripped(x.text(), true, true, nullptr).text;
    if (base >= 2 && base <= 36 && base != 10) {
      std::int64_t i = 0;
      std::string_view digits = text;
      if (base == 16 && (digits.starts_with("0x") || digits.starts_with("0X"))) digits.remove_prefix(2);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), i, static_cast<int>(base));
      return error == std::errc() && end == digits.data() + digits.size() && !digits.empty() ? Value(i) : otherwise;
    }
    if (auto i = parse_as<std::int64_t>(text)) return *i;
    value = parse_as<double>(text).value_or(NAN);
  }
  if (!(std::abs(value) < 9e18)) return otherwise;
  return static_cast<std::int64_t>(value);
}
Value real(Run&, const Value& x, Args& a) {
  auto otherwise = a.take(0, "default", 0.0);
  if (x.is_number()) return x.number();
  auto value = x.is(Kind::text) ? parse_as<double>(stripped(x.text(), true, true, nullptr).text) : std::nullopt;
  return value ? Value(*value) : otherwise;
}
Value round(Run&, const Value& x, Args& a) {
  auto places = integer_in(a.take(0, "precision", std::int64_t{0}), "round");
  auto how = a.take(1, "method", Marked("common"));
  if (!x.is_number()) problem("round takes a number, got ", x.type());
  auto scale = std::pow(10.0, static_cast<double>(places));
  auto word = how.is(Kind::text) ? how.text().text : "";
  if (word == "ceil") return std::ceil(x.number() * scale) / scale;
  if (word == "floor") return std::floor(x.number() * scale) / scale;
  if (word != "common") problem("round knows common, ceil and floor");
  return std::nearbyint(x.number() * scale) / scale;
}
Value to_json(Run& run, const Value& x, Args& a) {
  (void)a.take(9, "ensure_ascii");  // texts stay as they are, as in `transformers`
  auto indent = a.take(1, "indent", nullptr), separators = a.take(2, "separators", nullptr);
  if (!a.at.empty() && a.at.size() == 1) indent = a.at[0];
  auto keys = a.take(3, "sort_keys", false).truth();
  const bool lines = !indent.is(Kind::none);
  auto n = lines ? integer_in(indent, "tojson's indent") : -1;
  if (n > 100) problem("tojson's indent is at most 100, got ", n);
  Marked comma(lines ? "," : ", "), colon(": ");
  if (separators.is(Kind::list) && separators.items().size() == 2) {
    comma = string_of(run, separators.items()[0]);
    colon = string_of(run, separators.items()[1]);
  }
  need_defined(x);
  return json_of(run, x, lines ? std::max<std::int64_t>(n, 0) : -1, keys, comma, colon);
}
Value length(Run& run, const Value& x, Args& a) {
  a.done("length", 0);
  if (x.is(Kind::text)) {
    run.bytes(x.text().size());
    return static_cast<std::int64_t>(characters(x.text().text));
  }
  return static_cast<std::int64_t>(items_of(run, x).size());
}
Value escape(Run& run, const Value& x, Args&) {
  Marked r;
  auto s = string_of(run, x);
  for (std::size_t i = 0; i < s.size(); ++i) {
    constexpr std::string_view from = "&<>'\"";
    constexpr std::string_view into[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    auto k = from.find(s.text[i]);
    run.more_bytes(r.size(), 1);
    r.add(k == from.npos ? std::string_view(s.text).substr(i, 1) : into[k], s.marks[i]);
  }
  return r;
}
Value otherwise(Run&, const Value& x, Args& a) {
  auto value = a.take(0, "default_value", Marked("")), for_false = a.take(1, "boolean", false);
  a.done("default", 2);
  return x.is(Kind::undefined) || (for_false.truth() && !x.truth()) ? value : x;
}
Value end_of(Run& run, const Value& x, bool last) {
  auto items = items_of(run, x);
  if (items.empty()) return Undefined{"an item of an empty value"};
  return last ? items.back() : items[0];
}
/// Each word with a capital, where words end at blanks, minuses and opening brackets.
Value title(Run& run, const Value& x, Args&) {
  auto s = string_of(run, x);
  run.bytes(2 * s.size());
  Marked r;
  bool begins = true;
  for (auto& c : each_character(s)) {
    r.add(in_case(c, begins ? Case::upper : Case::lower));
    begins = std::string_view("-({[<").find(c.text) != std::string_view::npos ||
             stripped(c, true, false, nullptr).empty();
  }
  return r;
}
struct FilterRow {
  std::string_view name;
  Filter filter;
};
constexpr FilterRow kFilters[] = {
    {"abs", [](Run&, const Value& x, Args&) -> Value {
       if (!x.is_number()) problem("abs takes a number, got ", x.type());
       if (x.is(Kind::real)) return std::abs(x.number());
       return x.integer() < 0 ? -std::max(x.integer(), -INT64_MAX) : x.integer();
     }},
    {"attr", [](Run& run, const Value& x, Args& a) {
       return attribute_of(run, x, string_of(run, a.take(0, "name")).text);
     }},
    {"batch", batch},
    {"capitalize", cased<Case::capitalize>},
    {"count", length},
    {"d", otherwise},
    {"default", otherwise},
    {"dictsort", dictsort},
    {"e", escape},
    {"escape", escape},
    {"first", [](Run& run, const Value& x, Args&) { return end_of(run, x, false); }},
    {"float", real},
    {"groupby", groupby},
    {"indent", indent},
    {"int", integer},
    {"items", [](Run& run, const Value& x, Args& a) -> Value {
       if (x.is(Kind::undefined)) return Value::list({});
       if (!x.is(Kind::dict)) problem("items takes a dict, got ", x.type());
       return method_of(x, "items").object()->call(run, a);
     }},
    {"join", join},
    {"last", [](Run& run, const Value& x, Args&) { return end_of(run, x, true); }},
    {"length", length},
    {"list", [](Run& run, const Value& x, Args&) { return Value::list(items_of(run, x)); }},
    {"lower", cased<Case::lower>},
    {"map", map},
    {"max", extreme<false>},
    {"min", extreme<true>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<false, true>},
    {"replace", [](Run& run, const Value& x, Args& a) -> Value {
       auto from = string_of(run, a.take(0, "old")), to = string_of(run, a.take(1, "new"));
       auto most = a.take(2, "count", nullptr);
       a.done("replace", 3);
       return replaced(run, string_of(run, x), from, to, most.is(Kind::none) ? -1 : integer_in(most, "replace"));
     }},
    {"reverse", [](Run& run, const Value& x, Args&) -> Value {
       auto items = items_of(run, x);
       std::reverse(items.begin(), items.end());
       if (x.is(Kind::text)) return joined(run, items, {});
       return Value::list(std::move(items));
     }},
    {"round", round},
    {"safe", [](Run& run, const Value& x, Args&) -> Value { return string_of(run, x); }},
    {"select", choose<true, false>},
    {"selectattr", choose<true, true>},
    {"sort", sort},
    {"string", [](Run& run, const Value& x, Args&) -> Value { return string_of(run, x); }},
    {"sum", sum},
    {"title", title},
    {"tojson", to_json},
    {"trim", [](Run& run, const Value& x, Args& a) -> Value {
       auto set = a.take(0, "chars", nullptr);
       return stripped(string_of(run, x), true, true, set);
     }},
    {"unique", unique},
    {"upper", cased<Case::upper>},
    {"wordcount", [](Run& run, const Value& x, Args&) -> Value {
       Args none;
       return static_cast<std::int64_t>(method_of(string_of(run, x), "split").object()->call(run, none).items().size());
     }},
};
}  // namespace

Filter filter_named(std::string_view name) {
  for (auto& row : kFilters)
    if (row.name == name) return row.filter;
  return nullptr;
}
}  // namespace bora::text::jinja
