#include <algorithm>
#include "text/jinja/nodes.h"

namespace bora::text::jinja {
namespace {
ScopePtr inside(const ScopePtr& outer) { return std::make_shared<Scope>(Scope{{}, outer}); }
void append(Run& run, Marked& out, const Marked& text) {
  run.more_bytes(out.size(), text.size());
  out.add(text);
}

struct Data final : Statement {
  explicit Data(std::string s) : text(s) {}
  Flow run(Run& run, const ScopePtr&, Marked& out) const override { return append(run, out, text), Flow::next; }
  Marked text;
};
struct Output final : Statement {
  explicit Output(ExpressionPtr e) : value(std::move(e)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    append(run, out, string_of(run, value->of(run, scope)));
    return Flow::next;
  }
  ExpressionPtr value;
};
struct Choose final : Statement {
  explicit Choose(std::vector<Branch> b) : branches(std::move(b)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    for (auto& b : branches)
      if (!b.test || b.test->of(run, scope).truth()) return b.body.run(run, scope, out);
    return Flow::next;
  }
  std::vector<Branch> branches;
};

/// The variable `loop`.
class LoopObject final : public Object, public std::enable_shared_from_this<LoopObject> {
 public:
  using Again = std::function<Value(Run&, const Value& items)>;
  LoopObject(Values items, std::int64_t depth, Again again)
      : items_(std::move(items)), depth_(depth), again_(std::move(again)) {}
  std::string_view type() const override { return "loop"; }
  Value attribute(std::string_view name) override {
    const auto n = static_cast<std::int64_t>(items_.size());
    if (name == "index") return at + 1;
    if (name == "index0") return at;
    if (name == "revindex") return n - at;
    if (name == "revindex0") return n - at - 1;
    if (name == "first") return at == 0;
    if (name == "last") return at == n - 1;
    if (name == "length") return n;
    if (name == "depth") return depth_;
    if (name == "depth0") return depth_ - 1;
    if (name == "previtem") return at > 0 ? items_[static_cast<std::size_t>(at - 1)] : Undefined{"loop.previtem"};
    if (name == "nextitem") return at + 1 < n ? items_[static_cast<std::size_t>(at + 1)] : Undefined{"loop.nextitem"};
    if (name == "cycle")
      return function("loop.cycle", [i = at](Run&, Args& args) {
        if (args.at.empty()) problem("loop.cycle takes the values that take turns");
        return args.at[static_cast<std::size_t>(i) % args.at.size()];
      });
    if (name == "changed")
      return function("loop.changed", [self = shared_from_this()](Run& run, Args& args) -> Value {
        run.keep(self);
        auto now = Value::list(args.at);
        bool same = self->seen_.is(Kind::list) && equal(run, self->seen_, now);
        self->seen_ = now;
        return !same;
      });
    return Undefined{"loop." + std::string(name)};
  }
  bool can_be_called() const override { return true; }
  Value call(Run& run, Args& args) override {
    if (!again_) problem("loop(..) needs {% for .. recursive %}");
    auto items = args.take(0, "iterable");
    args.done("loop(..)", 1);
    return again_(run, items);
  }
  void clear() override { seen_ = {}; }
  std::int64_t at = 0;

 private:
  Values items_;
  std::int64_t depth_;
  Again again_;
  Value seen_;
};
struct For final : Statement {
  explicit For(Loop l) : l(std::move(l)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    go(run, scope, l.items->of(run, scope), 1, out);
    return Flow::next;
  }
  void go(Run& run, const ScopePtr& scope, const Value& all, std::int64_t depth, Marked& out) const {
    run.line = line;
    auto items = items_of(run, all);
    if (l.filter)
      std::erase_if(items, [&](auto& item) {
        auto frame = inside(scope);
        l.target.set(run, frame, item);
        return !l.filter->of(run, frame).truth();
      });
    if (items.empty()) {
      l.otherwise.run(run, inside(scope), out);
      return;
    }
    LoopObject::Again again;
    if (l.recursive)
      again = [this, scope, depth](Run& run, const Value& items) -> Value {
        Marked text;
        go(run, scope, items, depth + 1, text);
        return text;
      };
    auto loop = std::make_shared<LoopObject>(items, depth, std::move(again));
    for (auto& item : items) {
      run.step();
      auto frame = inside(scope);
      frame->set("loop", std::shared_ptr<Object>(loop));
      l.target.set(run, frame, item);
      if (l.body.run(run, frame, out) == Flow::leave) break;
      ++loop->at;
    }
  }
  Loop l;
};
struct Leave final : Statement {
  explicit Leave(Flow f) : flow(f) {}
  Flow run(Run&, const ScopePtr&, Marked&) const override { return flow; }
  Flow flow;
};
struct Assign final : Statement {
  Assign(Target t, ExpressionPtr v) : target(std::move(t)), value(std::move(v)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked&) const override {
    auto v = value->of(run, scope);
    run.line = line;
    target.set(run, scope, std::move(v));
    return Flow::next;
  }
  Target target;
  ExpressionPtr value;
};
/// The text of a body, through the filters of a block.
Value block_of(const Body& body, const Expression& filters, Run& run, const ScopePtr& scope) {
  auto frame = inside(scope);
  Marked text;
  body.run(run, frame, text);
  auto around = inside(scope);
  around->set("\x01", std::move(text));
  return filters.of(run, around);
}
struct AssignBlock final : Statement {
  AssignBlock(Target t, ExpressionPtr f, Body b) : target(std::move(t)), filters(std::move(f)), body(std::move(b)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked&) const override {
    target.set(run, scope, block_of(body, *filters, run, scope));
    return Flow::next;
  }
  Target target;
  ExpressionPtr filters;
  Body body;
};
struct FilterBlock final : Statement {
  FilterBlock(ExpressionPtr f, Body b) : filters(std::move(f)), body(std::move(b)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    append(run, out, string_of(run, block_of(body, *filters, run, scope)));
    return Flow::next;
  }
  ExpressionPtr filters;
  Body body;
};
struct With final : Statement {
  With(std::vector<std::pair<Target, ExpressionPtr>> v, Body b) : values(std::move(v)), body(std::move(b)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    auto frame = inside(scope);
    for (auto& [target, value] : values) target.set(run, frame, value->of(run, scope));
    return body.run(run, frame, out);
  }
  std::vector<std::pair<Target, ExpressionPtr>> values;
  Body body;
};
struct Generation final : Statement {
  explicit Generation(Body b) : body(std::move(b)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    auto from = out.size();
    auto flow = body.run(run, scope, out);
    for (auto i = from; i < out.size(); ++i) out.marks[i] = static_cast<char>(out.marks[i] | kLearnt);
    return flow;
  }
  Body body;
};

/// A macro with the frame in which it was written.
class MacroObject final : public Object {
 public:
  MacroObject(const Callable& c, ScopePtr scope) : c_(c), scope_(std::move(scope)) {}
  std::string_view type() const override { return "macro"; }
  bool can_be_called() const override { return true; }
  Value attribute(std::string_view name) override {
    if (name == "name") return Marked(c_.name);
    return Object::attribute(name);
  }
  Value call(Run& run, Args& args) override {
    auto frame = inside(scope_);
    for (std::size_t i = 0; i < c_.parameters.size(); ++i) {
      auto& p = c_.parameters[i];
      auto by_name = std::find_if(args.named.begin(), args.named.end(), [&](auto& n) { return n.first == p.name; });
      if (i < args.at.size()) {
        if (by_name != args.named.end()) problem(c_.name, " got two values for the argument '", p.name, "'");
        frame->set(p.name, args.at[i]);
      } else if (by_name != args.named.end()) {
        frame->set(p.name, by_name->second);
        args.named.erase(by_name);
      } else frame->set(p.name, p.otherwise ? p.otherwise->of(run, frame) : Value(Undefined{p.name}));
    }
    Values rest;
    for (std::size_t i = c_.parameters.size(); i < args.at.size(); ++i) rest.push_back(args.at[i]);
    frame->set("varargs", Value::list(std::move(rest), true));
    frame->set("caller", args.take(args.at.size(), "caller", Undefined{"caller"}));
    std::vector<std::pair<Value, Value>> more;
    for (auto& [name, v] : args.named) more.emplace_back(Marked(name), v);
    frame->set("kwargs", Value::dict(std::move(more)));
    Marked text;
    c_.body.run(run, frame, text);
    return text;
  }
  void clear() override { scope_.reset(); }

 private:
  const Callable& c_;
  ScopePtr scope_;
};
struct Macro final : Statement {
  explicit Macro(Callable c) : c(std::move(c)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked&) const override {
    auto object = std::make_shared<MacroObject>(c, scope);
    run.keep(scope);
    scope->set(c.name, std::shared_ptr<Object>(object));
    return Flow::next;
  }
  Callable c;
};
struct CallBlock final : Statement {
  CallBlock(ExpressionPtr e, Callable c) : called(std::move(e)), c(std::move(c)) {}
  Flow run(Run& run, const ScopePtr& scope, Marked& out) const override {
    auto caller = std::make_shared<MacroObject>(c, scope);
    run.line = line;
    append(run, out, string_of(run, call_with(*called, run, scope, "caller", std::shared_ptr<Object>(caller))));
    return Flow::next;
  }
  ExpressionPtr called;
  Callable c;
};
}  // namespace

Flow Body::run(Run& run, const ScopePtr& scope, Marked& out) const {
  Run::Deeper deeper(run);
  for (auto& s : statements) {
    run.step();
    if (auto flow = s->run(run, scope, out); flow != Flow::next) return flow;
  }
  return Flow::next;
}
void Target::set(Run& run, const ScopePtr& scope, Value v) const {
  if (!several.empty()) {
    auto items = items_of(run, v);
    if (items.size() != several.size())
      problem(items.size(), " values for ", several.size(), " names, of which the first is '", several[0].name, "'");
    for (std::size_t i = 0; i < items.size(); ++i) several[i].set(run, scope, items[i]);
  } else if (member.empty()) scope->set(name, std::move(v));
  else {
    auto space = scope->find(name);
    if (space == nullptr || !space->is(Kind::object)) problem("'", name, "' is no namespace");
    space->object()->set(run, member, std::move(v));
  }
}
StatementPtr data(std::string text) { return made(Data(std::move(text))); }
StatementPtr output(ExpressionPtr e) { return made(Output(std::move(e))); }
StatementPtr choose(std::vector<Branch> b) { return made(Choose(std::move(b))); }
StatementPtr loop(Loop l) { return made(For(std::move(l))); }
StatementPtr leave(Flow f) { return made(Leave(f)); }
StatementPtr assign(Target t, ExpressionPtr v) { return made(Assign(std::move(t), std::move(v))); }
StatementPtr assign_block(Target t, ExpressionPtr filters, Body b) {
  return made(AssignBlock(std::move(t), std::move(filters), std::move(b)));
}
StatementPtr filter_block(ExpressionPtr filters, Body b) { return made(FilterBlock(std::move(filters), std::move(b))); }
StatementPtr with_block(std::vector<std::pair<Target, ExpressionPtr>> values, Body b) {
  return made(With(std::move(values), std::move(b)));
}
StatementPtr generation(Body b) { return made(Generation(std::move(b))); }
StatementPtr macro(Callable c) { return made(Macro(std::move(c))); }
StatementPtr call_block(ExpressionPtr call, Callable c) { return made(CallBlock(std::move(call), std::move(c))); }
}  // namespace bora::text::jinja
