// names.cpp -- Jinja's tests, and the functions that every template sees.
#include <algorithm>
#include <ctime>
#include "text/jinja/run.h"

namespace bora::text::jinja {
namespace {
Value other(Args& a, std::string_view name) {
  auto v = a.take(0, "other");
  a.done(name, 1);
  return v;
}
struct TestRow {
  std::string_view name;
  Test test;
};
template <Kind k> bool is(Run&, const Value& x, Args&) { return x.is(k); }
bool same(Run& run, const Value& x, Args& a) { return equal(run, x, other(a, "equalto")); }
bool differs(Run& run, const Value& x, Args& a) { return !equal(run, x, other(a, "ne")); }
bool less(Run& run, const Value& x, Args& a) { return order(run, x, other(a, "lt")) < 0; }
bool at_most(Run& run, const Value& x, Args& a) { return order(run, x, other(a, "le")) <= 0; }
bool more(Run& run, const Value& x, Args& a) { return order(run, x, other(a, "gt")) > 0; }
bool at_least(Run& run, const Value& x, Args& a) { return order(run, x, other(a, "ge")) >= 0; }
bool divided(const Value& x, std::int64_t by) {
  if (!x.is(Kind::integer) && !x.is(Kind::boolean)) problem("even, odd and divisibleby take integers, got ", x.type());
  if (by == 0) problem("division by zero");
  return by == -1 || x.integer() % by == 0;
}
template <Case how> bool in_own_case(Run&, const Value& x, Args&) {
  return x.is(Kind::text) && in_case(x.text(), how).text == x.text().text;
}
bool has_items(const Value& x) { return x.is(Kind::text) || x.is(Kind::list) || x.is(Kind::dict); }
constexpr TestRow kTests[] = {
    {"!=", differs},
    {"<", less},
    {"<=", at_most},
    {"==", same},
    {">", more},
    {">=", at_least},
    {"boolean", is<Kind::boolean>},
    {"callable", [](Run&, const Value& x, Args&) { return x.is(Kind::object) && x.object()->can_be_called(); }},
    {"defined", [](Run&, const Value& x, Args&) { return !x.is(Kind::undefined); }},
    {"divisibleby", [](Run&, const Value& x, Args& a) {
       auto by = a.take(0, "num");
       if (!by.is(Kind::integer)) problem("divisibleby takes an integer, got ", by.type());
       return divided(x, by.integer());
     }},
    {"eq", same},
    {"equalto", same},
    {"even", [](Run&, const Value& x, Args&) { return divided(x, 2); }},
    {"false", [](Run&, const Value& x, Args&) { return x.is(Kind::boolean) && !x.boolean(); }},
    {"filter", [](Run&, const Value& x, Args&) { return x.is(Kind::text) && filter_named(x.text().text) != nullptr; }},
    {"float", is<Kind::real>},
    {"ge", at_least},
    {"greaterthan", more},
    {"gt", more},
    {"in", [](Run& run, const Value& x, Args& a) { return contains(run, other(a, "in"), x); }},
    {"integer", is<Kind::integer>},
    {"iterable", [](Run&, const Value& x, Args&) { return has_items(x) || x.is(Kind::undefined); }},
    {"le", at_most},
    {"lessthan", less},
    {"lower", in_own_case<Case::lower>},
    {"lt", less},
    {"mapping", is<Kind::dict>},
    {"ne", differs},
    {"none", is<Kind::none>},
    {"number", [](Run&, const Value& x, Args&) { return x.is_number(); }},
    {"odd", [](Run&, const Value& x, Args&) { return !divided(x, 2); }},
    {"sameas", [](Run&, const Value& x, Args& a) { return x.same(other(a, "sameas")); }},
    {"sequence", [](Run&, const Value& x, Args&) { return has_items(x) || x.is(Kind::undefined); }},
    {"string", is<Kind::text>},
    {"test", [](Run&, const Value& x, Args&) { return x.is(Kind::text) && test_named(x.text().text) != nullptr; }},
    {"true", [](Run&, const Value& x, Args&) { return x.is(Kind::boolean) && x.boolean(); }},
    {"undefined", is<Kind::undefined>},
    {"upper", in_own_case<Case::upper>},
};

class Namespace final : public Object {
 public:
  std::string_view type() const override { return "namespace"; }
  Value attribute(std::string_view name) override {
    auto v = names_.find(name);
    return v ? *v : Value(Undefined{std::string(name)});
  }
  void set(Run&, const std::string& name, Value v) override { names_.set(name, std::move(v)); }
  void clear() override { names_.names.clear(); }

 private:
  Scope names_;
};
Value make_namespace(Run& run, Args& a) {
  auto space = std::make_shared<Namespace>();
  run.keep(space);
  for (auto& dict : a.at) {
    if (!dict.is(Kind::dict)) problem("namespace takes a dict or names, got ", dict.type());
    for (auto& [key, v] : dict.members()) space->set(run, string_of(run, key).text, v);
  }
  for (auto& [name, v] : a.named) space->set(run, name, v);
  return std::shared_ptr<Object>(space);
}
Value range(Run& run, Args& a) {
  std::int64_t bound[3] = {0, 0, 1};
  a.done("range", 3);
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    if (!a.at[i].is(Kind::integer) && !a.at[i].is(Kind::boolean)) problem("range takes integers, got ", a.at[i].type());
    bound[i] = a.at[i].integer();
  }
  if (a.at.empty()) problem("range takes 1 to 3 integers");
  if (a.at.size() == 1) std::swap(bound[0], bound[1]);
  auto [from, to, by] = bound;
  if (by == 0) problem("range's step is 0");
  Values r;
  constexpr std::size_t most = 100'000;  // as in Jinja's sandbox
  for (auto i = from; by > 0 ? i < to : i > to;) {
    if (r.size() == most) problem("range has more than ", most, " numbers");
    r.emplace_back(i);
    run.step();
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  return Value::list(std::move(r));
}
Value make_dict(Run& run, Args& a) {
  std::vector<std::pair<Value, Value>> members;
  for (auto& dict : a.at) {
    if (!dict.is(Kind::dict)) problem("dict takes a dict or names, got ", dict.type());
    members = dict.members();
    run.step(members.size());
  }
  for (auto& [name, v] : a.named) {
    auto old = std::find_if(members.begin(), members.end(),
                            [&](auto& m) { return m.first.is(Kind::text) && m.first.text().text == name; });
    if (old != members.end()) old->second = v;
    else members.emplace_back(Marked(name), v);
  }
  return Value::dict(std::move(members));
}
Value raise(Run& run, Args& a) {
  problem(string_of(run, a.take(0, "message")).text);
}
/// The time in a format of strftime, in UTC.
Value strftime_now(Run& run, Args& a) {
  auto format = string_of(run, a.take(0, "format")).text;
  if (format.size() > 1000) problem("strftime_now: a format of ", format.size(), " bytes");
  if (!run.now) problem("the template writes the date (strftime_now), and no day is given; `date: YYYY-MM-DD` beside "
                        "chat_template gives one");
  const auto seconds = static_cast<std::time_t>(*run.now);
  std::tm tm{};
  ::gmtime_r(&seconds, &tm);
  std::string out(format.size() * 64 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &tm));
  return Marked(out);
}
class Joiner final : public Object {
 public:
  explicit Joiner(Marked s) : between_(std::move(s)) {}
  std::string_view type() const override { return "joiner"; }
  bool can_be_called() const override { return true; }
  Value call(Run&, Args&) override { return std::exchange(used_, true) ? between_ : Marked(); }

 private:
  Marked between_;
  bool used_ = false;
};
struct Global {
  std::string_view name;
  Value (*call)(Run&, Args&);
};
constexpr Global kGlobals[] = {
    {"range", range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"raise_exception", raise},
    {"strftime_now", strftime_now},
    {"joiner", [](Run& run, Args& a) -> Value {
       return std::shared_ptr<Object>(std::make_shared<Joiner>(string_of(run, a.take(0, "sep", Marked(", ")))));
     }},
};
}  // namespace

Test test_named(std::string_view name) {
  for (auto& row : kTests)
    if (row.name == name) return row.test;
  return nullptr;
}
Value global_named(std::string_view name) {
  for (auto& g : kGlobals)
    if (g.name == name) return function(name, g.call);
  return Undefined{std::string(name)};
}
}  // namespace bora::text::jinja
