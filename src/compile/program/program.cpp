// Queries on a Program: dependence, counts, the fingerprint, text.
#include "compile/api/program.h"
#include <algorithm>
#include <sstream>
#include "ops/api/primitives.h"
#include "compile/program/idx.h"
#include "bora/array/params.h"

namespace bora {
Types Program::in_types() const {
  Types t;
  for (int v : in) t.push_back(vars[idx(v)]);
  return t;
}
Types Program::out_types() const {
  Types t;
  for (int v : out) t.push_back(vars[idx(v)]);
  return t;
}
namespace {
template <class T> bool any_here_or_held(const Instruction& i, const T& holds) {
  if (holds(i.primitive->traits)) return true;
  if (!i.primitive->traits.holds) return false;
  for (auto& h : i.primitive->programs())
    for (auto& inner : h->code)
      if (any_here_or_held(inner, holds)) return true;
  return false;
}
}  // namespace
bool holds_programs(const Program& p) {
  return std::any_of(p.code.begin(), p.code.end(), [](auto& i) { return i.primitive->traits.holds; });
}
bool communicates(const Instruction& i) {
  return any_here_or_held(i, [](auto& t) { return t.collective; });
}
bool has_effect(const Instruction& i) {
  return any_here_or_held(i, [](auto& t) { return t.effect; });
}
std::size_t count(const Program& p, std::string_view name) {
  std::size_t n = 0;
  for (auto& i : p.code) {
    n += i.primitive->name() == name;
    for (auto& h : i.primitive->programs()) n += count(*h, name);
  }
  return n;
}
namespace {
void list(const Program& p, bool collectives_only, std::vector<std::string>& r) {
  for (auto& i : p.code) {
    std::string line(i.primitive->name());
    if (!collectives_only) {
      for (int v : i.in) line += " %" + std::to_string(v);
      r.push_back(line);
    } else if (i.primitive->traits.collective) {
      r.push_back(line + i.primitive->facts() + " " + std::string(dtype_name(p.vars[idx(i.out[0])].dtype)));
    }
    for (auto& h : i.primitive->programs()) {
      auto before = r.size();
      r.push_back(std::string(i.primitive->name()) + " {");
      list(*h, collectives_only, r);
      r.push_back("}");
      if (collectives_only && r.size() == before + 2) r.resize(before);
    }
  }
}
}  // namespace
std::vector<std::string> fingerprint(const Program& p) {
  std::vector<std::string> r;
  list(p, true, r);
  return r;
}
std::vector<std::string> structure(const Program& p) {
  std::vector<std::string> r;
  list(p, false, r);
  return r;
}
void param_rules::print_program_name(std::ostream& o, const ProgramPtr& p) {
  if (p) o << "{" << p->code.size() << "}";
  else o << "none";
}
std::string print(const Program& p, int indent) {
  std::string tab(idx(indent), ' ');
  std::map<int, std::string> constants;
  auto name = [&](int v) {
    auto it = constants.find(v);
    return it != constants.end() ? it->second : "%" + std::to_string(v);
  };
  auto typed = [&](int v) { return name(v) + " " + to_string(p.vars[idx(v)]); };
  std::ostringstream o;
  o << tab << "(";
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    o << (i ? ", " : "") << typed(p.in[i]);
    if (i < p.labels.size() && !p.labels[i].empty()) o << " " << p.labels[i];
  }
  o << ") {\n";
  for (auto& i : p.code) {
    if (auto* c = as<ops::Constant>(i.primitive)) {
      std::ostringstream text;
      param_rules::print(text, c->value);
      constants[i.out[0]] = text.str();
      continue;
    }
    o << tab << "  ";
    for (std::size_t k = 0; k < i.out.size(); ++k) o << (k ? ", " : "") << typed(i.out[k]);
    o << " = " << i.primitive->name();
    for (int v : i.in) o << " " << name(v);
    if (auto params = i.primitive->params(); !params.empty()) o << "   [" << params << "]";
    o << "\n";
    for (auto& held : i.primitive->programs()) o << print(*held, indent + 6);
  }
  o << tab << "  return";
  for (std::size_t i = 0; i < p.out.size(); ++i) o << (i ? ", " : " ") << name(p.out[i]);
  o << "\n" << tab << "}\n";
  return o.str();
}
std::ostream& operator<<(std::ostream& o, const Program& p) { return o << print(p); }
std::ostream& operator<<(std::ostream& o, const ProgramPtr& p) { return o << print(*p); }
}  // namespace bora
