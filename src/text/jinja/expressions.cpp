#include <algorithm>
#include <cmath>
#include <limits>
#include "text/jinja/nodes.h"

namespace bora::text::jinja {
namespace {
constexpr std::string_view kBlockText = "\x01";  // no name of a template
/// An operation that may go wrong at its line.
void at(Run& run, int line) {
  run.line = line;
  run.step();
}

struct Constant final : Expression {
  explicit Constant(Value v) : value(std::move(v)) {}
  Value result(Run& run, const ScopePtr&) const override {
    run.step();
    return value;
  }
  Value value;
};
struct Variable final : Expression {
  explicit Variable(std::string n) : name(std::move(n)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    run.step();
    if (auto found = scope->find(name)) return *found;
    return global_named(name);
  }
  std::string name;
};
struct ListOf final : Expression {
  ListOf(std::vector<ExpressionPtr> i, bool t) : items(std::move(i)), tuple(t) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    Values values;
    for (auto& i : items) values.push_back(i->of(run, scope));
    at(run, line);
    return Value::list(std::move(values), tuple);
  }
  std::vector<ExpressionPtr> items;
  bool tuple;
};
struct DictOf final : Expression {
  explicit DictOf(std::vector<std::pair<ExpressionPtr, ExpressionPtr>> m) : members(std::move(m)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    std::vector<std::pair<Value, Value>> values;
    for (auto& [k, v] : members) {
      auto key = k->of(run, scope);
      auto value = v->of(run, scope);
      auto old = std::find_if(values.begin(), values.end(), [&](auto& m) { return equal(run, m.first, key); });
      if (old != values.end()) old->second = std::move(value);
      else values.emplace_back(std::move(key), std::move(value));
    }
    at(run, line);
    return Value::dict(std::move(values));
  }
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> members;
};
struct Unary final : Expression {
  Unary(char s, ExpressionPtr x) : sign(s), value(std::move(x)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    at(run, line);
    if (sign == '!') return !x.truth();
    need_defined(x);
    if (!x.is_number()) problem("a value of type ", x.type(), " has no sign");
    if (x.is(Kind::real)) return sign == '-' ? -x.number() : x.number();
    if (sign == '-' && x.integer() == std::numeric_limits<std::int64_t>::min()) problem("the number is too large");
    return sign == '-' ? -x.integer() : x.integer();
  }
  char sign;
  ExpressionPtr value;
};

/// Integers of 64 bits; Python's have no bound.
std::int64_t integers(const std::string& sign, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  bool too_large = false;
  if (sign == "+") too_large = __builtin_add_overflow(a, b, &r);
  else if (sign == "-") too_large = __builtin_sub_overflow(a, b, &r);
  else if (sign == "*") too_large = __builtin_mul_overflow(a, b, &r);
  else if (sign == "**") {
    r = 1;
    for (auto n = b; n > 0 && !too_large && a != 1; --n) {
      if (a == 0 || a == -1) {
        r = a == 0 ? 0 : b % 2 == 0 ? 1 : -1;
        break;
      }
      too_large = __builtin_mul_overflow(r, a, &r);
    }
  } else {
    if (b == 0) problem("division by zero");
    if (b == -1) {
      too_large = sign == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &r);
    } else {
      auto rest = a % b;
      bool down = rest != 0 && (rest < 0) != (b < 0);
      r = sign == "//" ? a / b - down : rest + (down ? b : 0);
    }
  }
  if (too_large) problem("a number above 2^63: ", a, " ", sign, " ", b);
  return r;
}
Value numbers(const std::string& sign, const Value& a, const Value& b) {
  const bool reals = a.is(Kind::real) || b.is(Kind::real) || sign == "/" || (sign == "**" && b.integer() < 0);
  if (!reals) return integers(sign, a.integer(), b.integer());
  const auto x = a.number(), y = b.number();
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  if (sign == "**") return std::pow(x, y);
  if (y == 0) problem("division by zero");
  if (sign == "/") return x / y;
  if (sign == "//") return std::floor(x / y);
  auto rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
Value repeated(Run& run, const Value& x, std::int64_t n) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  const auto size = x.is(Kind::text) ? x.text().size() : x.items().size();
  if (size > 0 && times > (std::size_t{1} << 32) / size) problem("a value repeated ", n, " times is too long");
  if (x.is(Kind::text)) {
    run.bytes(size * times);
    Marked r;
    for (std::size_t i = 0; i < times && size > 0; ++i) r.add(x.text());
    return r;
  }
  run.step(size * times);
  Values r;
  for (std::size_t i = 0; i < times && size > 0; ++i) r.insert(r.end(), x.items().begin(), x.items().end());
  return Value::list(std::move(r), x.is_tuple());
}
Value operation(Run& run, const std::string& sign, const Value& a, const Value& b) {
  if (sign == "~") {
    auto x = string_of(run, a);
    auto y = string_of(run, b);
    run.bytes(x.size() + y.size());
    return x.add(y);
  }
  need_defined(a);
  need_defined(b);
  if (a.is_number() && b.is_number()) return numbers(sign, a, b);
  if (sign == "+" && a.is(Kind::text) && b.is(Kind::text)) {
    run.bytes(a.text().size() + b.text().size());
    return Marked(a.text()).add(b.text());
  }
  if (sign == "+" && a.is(Kind::list) && b.is(Kind::list) && a.is_tuple() == b.is_tuple()) {
    auto items = items_of(run, a);
    auto more = items_of(run, b);
    items.insert(items.end(), more.begin(), more.end());
    return Value::list(std::move(items), a.is_tuple());
  }
  auto repeats = [](const Value& x, const Value& n) {
    return (x.is(Kind::text) || x.is(Kind::list)) && (n.is(Kind::integer) || n.is(Kind::boolean));
  };
  if (sign == "*" && repeats(a, b)) return repeated(run, a, b.integer());
  if (sign == "*" && repeats(b, a)) return repeated(run, b, a.integer());
  problem("there is no ", a.type(), " ", sign, " ", b.type(),
          sign == "+" && (a.is(Kind::text) || b.is(Kind::text)) ? "; ~ joins any values as texts" : "");
}
struct Binary final : Expression {
  Binary(std::string s, ExpressionPtr x, ExpressionPtr y) : sign(std::move(s)), a(std::move(x)), b(std::move(y)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = a->of(run, scope);
    if (sign == "and") return x.truth() ? b->of(run, scope) : x;
    if (sign == "or") return x.truth() ? x : b->of(run, scope);
    auto y = b->of(run, scope);
    at(run, line);
    return operation(run, sign, x, y);
  }
  std::string sign;
  ExpressionPtr a, b;
};
struct Comparison final : Expression {
  Comparison(ExpressionPtr x, std::vector<std::pair<std::string, ExpressionPtr>> c)
      : first(std::move(x)), chain(std::move(c)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto left = first->of(run, scope);
    for (auto& [sign, expression] : chain) {
      auto right = expression->of(run, scope);
      at(run, line);
      if (!holds(run, left, sign, right)) return false;
      left = std::move(right);
    }
    return true;
  }
  static bool holds(Run& run, const Value& a, const std::string& sign, const Value& b) {
    if (sign == "in" || sign == "not in") return contains(run, b, a) == (sign == "in");
    if (sign == "==" || sign == "!=") return equal(run, a, b) == (sign == "==");
    if (a.is_number() && b.is_number() && std::isnan(a.number() + b.number())) return false;
    auto o = order(run, a, b);
    return sign == "<" ? o < 0 : sign == "<=" ? o <= 0 : sign == ">" ? o > 0 : o >= 0;
  }
  ExpressionPtr first;
  std::vector<std::pair<std::string, ExpressionPtr>> chain;
};
struct Choice final : Expression {
  Choice(ExpressionPtr x, ExpressionPtr y, ExpressionPtr z)
      : test(std::move(x)), then(std::move(y)), otherwise(std::move(z)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    if (test->of(run, scope).truth()) return then->of(run, scope);
    return otherwise ? otherwise->of(run, scope) : Value(Undefined{"the value of an `if` without else"});
  }
  ExpressionPtr test, then, otherwise;
};
struct Attribute final : Expression {
  Attribute(ExpressionPtr x, std::string n) : value(std::move(x)), name(std::move(n)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    at(run, line);
    return attribute_of(run, x, name);
  }
  ExpressionPtr value;
  std::string name;
};
struct Item final : Expression {
  Item(ExpressionPtr x, ExpressionPtr k) : value(std::move(x)), key(std::move(k)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    auto k = key->of(run, scope);
    at(run, line);
    return item_of(run, x, k);
  }
  ExpressionPtr value, key;
};
struct Slice final : Expression {
  Slice(ExpressionPtr x, ExpressionPtr f, ExpressionPtr t, ExpressionPtr s)
      : value(std::move(x)), from(std::move(f)), to(std::move(t)), step(std::move(s)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    auto by = bound(step, run, scope), begin = bound(from, run, scope), end = bound(to, run, scope);
    at(run, line);
    need_defined(x);
    if (!x.is(Kind::text) && !x.is(Kind::list)) problem("a value of type ", x.type(), " has no slices");
    auto items = items_of(run, x);
    const auto n = static_cast<std::int64_t>(items.size()), stride = by.value_or(1);
    if (stride == 0) problem("the step of a slice is 0");
    auto inside = [&](std::int64_t i, std::int64_t least, std::int64_t most) {
      return std::clamp(i < 0 ? i + n : i, least, most);
    };
    const bool up = stride > 0;
    auto i = begin ? inside(*begin, up ? 0 : -1, up ? n : n - 1) : up ? 0 : n - 1;
    auto last = end ? inside(*end, up ? 0 : -1, up ? n : n - 1) : up ? n : -1;
    Values kept;
    for (; up ? i < last : i > last; i += std::clamp(stride, -n - 1, n + 1))
      kept.push_back(items[static_cast<std::size_t>(i)]);
    if (x.is(Kind::list)) return Value::list(std::move(kept), x.is_tuple());
    Marked text;
    for (auto& c : kept) text.add(c.text());
    return text;
  }
  static std::optional<std::int64_t> bound(const ExpressionPtr& e, Run& run, const ScopePtr& scope) {
    auto x = e ? e->of(run, scope) : Value(nullptr);
    if (x.is(Kind::none)) return {};
    if (!x.is(Kind::integer) && !x.is(Kind::boolean)) problem("a slice's ends are integers, got ", x.type());
    constexpr std::int64_t far = std::int64_t{1} << 40;
    return std::clamp(x.integer(), -far, far);
  }
  ExpressionPtr value, from, to, step;
};
struct Call final : Expression {
  Call(ExpressionPtr x, Arguments a) : called(std::move(x)), arguments(std::move(a)) {}
  Value result(Run& run, const ScopePtr& scope) const override { return with(run, scope, {}); }
  Value with(Run& run, const ScopePtr& scope, std::vector<std::pair<std::string, Value>> more) const {
    auto f = called->of(run, scope);
    auto args = values_of(arguments, run, scope);
    for (auto& named : more) args.named.push_back(std::move(named));
    at(run, line);
    need_defined(f);
    if (!f.is(Kind::object)) problem("a value of type ", f.type(), " cannot be called");
    return f.object()->call(run, args);
  }
  ExpressionPtr called;
  Arguments arguments;
};
struct Filtered final : Expression {
  Filtered(ExpressionPtr x, Filter f, Arguments a) : value(std::move(x)), filter(f), arguments(std::move(a)) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    auto args = values_of(arguments, run, scope);
    at(run, line);
    return filter(run, x, args);
  }
  ExpressionPtr value;
  Filter filter;
  Arguments arguments;
};
struct Tested final : Expression {
  Tested(ExpressionPtr x, Test t, Arguments a, bool n) : value(std::move(x)), test(t), arguments(std::move(a)), no(n) {}
  Value result(Run& run, const ScopePtr& scope) const override {
    auto x = value->of(run, scope);
    auto args = values_of(arguments, run, scope);
    at(run, line);
    return test(run, x, args) != no;
  }
  ExpressionPtr value;
  Test test;
  Arguments arguments;
  bool no;
};
}  // namespace

Args values_of(const Arguments& list, Run& run, const ScopePtr& scope) {
  Args args;
  for (auto& a : list) {
    auto v = a.value->of(run, scope);
    switch (a.how) {
      case Argument::How::at: args.at.push_back(std::move(v)); break;
      case Argument::How::named: args.named.emplace_back(a.name, std::move(v)); break;
      case Argument::How::all:
        for (auto& item : items_of(run, v)) args.at.push_back(item);
        break;
      case Argument::How::all_named:
        if (!v.is(Kind::dict)) problem("** takes a dict, got ", v.type());
        for (auto& [key, member] : v.members()) args.named.emplace_back(string_of(run, key).text, member);
        break;
    }
  }
  return args;
}
ExpressionPtr constant(Value v) { return made(Constant(std::move(v))); }
ExpressionPtr variable(std::string name) { return made(Variable(std::move(name))); }
ExpressionPtr block_text() { return made(Variable(std::string(kBlockText))); }
ExpressionPtr list_of(std::vector<ExpressionPtr> items, bool tuple) { return made(ListOf(std::move(items), tuple)); }
ExpressionPtr dict_of(std::vector<std::pair<ExpressionPtr, ExpressionPtr>> m) { return made(DictOf(std::move(m))); }
ExpressionPtr unary(char sign, ExpressionPtr x) { return made(Unary(sign, std::move(x))); }
ExpressionPtr binary(std::string sign, ExpressionPtr a, ExpressionPtr b) {
  return made(Binary(std::move(sign), std::move(a), std::move(b)));
}
ExpressionPtr comparison(ExpressionPtr x, std::vector<std::pair<std::string, ExpressionPtr>> chain) {
  return made(Comparison(std::move(x), std::move(chain)));
}
ExpressionPtr choice(ExpressionPtr test, ExpressionPtr then, ExpressionPtr otherwise) {
  return made(Choice(std::move(test), std::move(then), std::move(otherwise)));
}
ExpressionPtr attribute(ExpressionPtr x, std::string name) { return made(Attribute(std::move(x), std::move(name))); }
ExpressionPtr item(ExpressionPtr x, ExpressionPtr key) { return made(Item(std::move(x), std::move(key))); }
ExpressionPtr slice(ExpressionPtr x, ExpressionPtr from, ExpressionPtr to, ExpressionPtr step) {
  return made(Slice(std::move(x), std::move(from), std::move(to), std::move(step)));
}
ExpressionPtr call(ExpressionPtr x, Arguments args) { return made(Call(std::move(x), std::move(args))); }
ExpressionPtr filtered(ExpressionPtr x, const std::string& name, Arguments args) {
  return made(Filtered(std::move(x), filter_named(name), std::move(args)));
}
ExpressionPtr tested(ExpressionPtr x, const std::string& name, Arguments args, bool negated) {
  return made(Tested(std::move(x), test_named(name), std::move(args), negated));
}
Value call_with(const Expression& e, Run& run, const ScopePtr& scope, const std::string& name, Value v) {
  auto* c = dynamic_cast<const Call*>(&e);
  if (c == nullptr) problem("{% call %} needs a call, as in {% call f() %}");
  return c->with(run, scope, {{name, std::move(v)}});
}
}  // namespace bora::text::jinja
