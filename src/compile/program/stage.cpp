// Stage: records instead of computing. interpret: the basis of every transformation of a Program.
#include "compile/api/program.h"
#include "compile/program/idx.h"

namespace bora {
namespace {
struct Variable final : ArrayValue {
  int number;
  Variable(const Type& t, std::uint64_t o, int n) : ArrayValue(t, o), number(n) {}
};
}  // namespace

Stage::Stage(Interpreter* parent, bool local, const CompileOptions& options) : Interpreter(parent) {
  program_.local = local;
  program_.compile = options;
}
Stage::~Stage() = default;
Array Stage::fresh(const Type& t, int* number) {
  *number = static_cast<int>(program_.vars.size());
  program_.vars.push_back(t);
  scopes_.emplace_back();
  return Array(std::make_shared<Variable>(t, id, *number));
}
Array Stage::input(const Type& t, std::string label) {
  int n;
  auto a = fresh(t, &n);
  program_.in.push_back(n);
  bool plain = label.starts_with("argument ") && label.find(',') == label.npos;  // an Array itself: no path to name
  if (!plain) scopes_.back() = label;
  program_.labels.push_back(std::move(label));
  return a;
}
int Stage::variable(const Array& a) {
  if (owns(a)) return static_cast<const Variable*>(a.get())->number;
  (void)a.type();  // throws for an empty Array
  if (auto it = lifted_.find(a.get()); it != lifted_.end()) return it->second;
  int n;
  (void)fresh(a.type(), &n);
  captured_.push_back(n);
  captures.push_back(a);  // keeps the value, hence its address, alive
  return lifted_[a.get()] = n;
}
const std::string& Stage::scope(const Array& a) { return scopes_[idx(variable(a))]; }
std::string Stage::scope_of(const std::vector<int>& operands) const {
  for (int v : operands)
    if (!scopes_[idx(v)].empty()) return scopes_[idx(v)];
  return {};
}
Arrays Stage::process(const PrimitivePtr& p, const Arrays& in) {
  Instruction i{p, {}, {}};
  Types t;
  for (auto& a : in) {
    i.in.push_back(variable(a));
    t.push_back(program_.vars[idx(i.in.back())]);
  }
  auto scope = scope_of(i.in);
  i.source = current_source();
  if (!scope.empty() && !i.source->scope.ends_with(scope)) {
    auto s = std::make_shared<Source>(*i.source);
    s->scope += s->scope.empty() ? scope : "/" + scope;
    i.source = s;
  }
  Types types;
  try {
    types = p->infer(t);
  } catch (Error& e) {
    e.add_place(describe(*i.source));
    throw;
  }
  Arrays out;
  for (auto& o : types) {
    int n;
    out.push_back(fresh(o, &n));
    i.out.push_back(n);
    if (p->traits.keeps_scope) scopes_.back() = scope;
  }
  program_.code.push_back(std::move(i));
  return out;
}
std::shared_ptr<Program> Stage::raw(const Arrays& out) {
  for (auto& a : out) program_.out.push_back(variable(a));
  program_.in.insert(program_.in.end(), captured_.begin(), captured_.end());
  program_.labels.resize(program_.in.size());
  return std::make_shared<Program>(std::move(program_));
}
ProgramPtr Stage::finish(const Arrays& out) {
  auto p = raw(out);
  return simplify(p->local ? *sweep(*p, false) : *p);
}
Staged stage(const FlatFn& f, const Types& in, const std::vector<std::string>& labels, const CompileOptions& options) {
  Stage s(current(), false, options);
  Arrays args;
  for (std::size_t i = 0; i < in.size(); ++i)
    args.push_back(s.input(in[i], i < labels.size() ? labels[i] : std::string()));
  Within w(&s);
  auto out = f(args);
  auto program = s.finish(out);
  return {program, s.captures};
}
Arrays interpret(const Program& p, const Arrays& in, const std::function<void(int, const Array&)>& see) {
  check<TraceError>(in.size() == p.in.size(), "interpret: the Program takes ", p.in.size(), " inputs, got ", in.size());
  Arrays env(p.vars.size());
  for (std::size_t i = 0; i < in.size(); ++i) env[idx(p.in[i])] = in[i];
  for (std::size_t i = 0; see && i < in.size(); ++i) see(p.in[i], in[i]);
  // Free values early: an eager run of a big Program must not hold them all.
  std::vector<std::size_t> last(p.vars.size(), 0);
  for (std::size_t k = 0; k < p.code.size(); ++k)
    for (int v : p.code[k].in) last[idx(v)] = k;
  for (int v : p.out) last[idx(v)] = p.code.size();
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    auto& i = p.code[k];
    SourceScope source(i.source);
    Arrays a;
    for (int v : i.in) a.push_back(env[idx(v)]);
    auto o = call(i.primitive, a);
    for (std::size_t j = 0; see && j < o.size(); ++j) see(i.out[j], o[j]);
    for (std::size_t j = 0; j < o.size(); ++j) env[idx(i.out[j])] = std::move(o[j]);
    for (int v : i.in)
      if (last[idx(v)] == k) env[idx(v)] = {};
  }
  Arrays out;
  for (int v : p.out) out.push_back(env[idx(v)]);
  return out;
}
}  // namespace bora
