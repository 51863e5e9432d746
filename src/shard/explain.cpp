// What a Program costs on this rank, and where the Specs of its values come from.
#include <optional>
#include <set>
#include <sstream>
#include "array/api/source.h"
#include "bora/base/text.h"
#include "bora/shard/shard.h"
#include "compile/api/executable.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "shard/abstract.h"
#include "shard/held_body.h"

namespace bora {
namespace fx {
namespace {
/// The values of a global Program that are split, in order, each with the reason.
class Reasons {
 public:
  Reasons(const ShardedProgram& made, const Shard& s)
      : p_(*made.global), before_(*made.values), values_(*made.placed), s_(s), reader_(p_.vars.size()) {
    for (auto& i : p_.code)
      for (int v : i.in)
        if (!reader_[at(v)]) reader_[at(v)] = &i;
  }
  void print(std::ostream& o, const std::string& tab) const {
    for (std::size_t k = 0; k < p_.in.size(); ++k)
      if (split(p_.in[k]))
        o << tab << value(p_.in[k]) << " as it is given"
          << (k < p_.labels.size() && !p_.labels[k].empty() ? ": " + p_.labels[k] : std::string()) << "\n";
    for (auto& i : p_.code) {
      bool any = false;
      for (int v : i.out)
        if (split(v)) o << tab << value(v) << " = " << operation(i) << ", " << reason(i, v) << "\n", any = true;
      if (any || i.primitive->traits.holds) inside(o, i, tab + "  ");
    }
  }

 private:
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }
  bool split(int v) const { return !values_[at(v)].spec.trivial() || !values_[at(v)].partial.empty(); }
  std::string value(int v) const { return "%" + std::to_string(v) + " " + describe(values_[at(v)]); }
  static std::string operation(const Instruction& i) {
    std::string name(i.primitive->name()), place = i.source ? describe(*i.source) : std::string();
    return place.empty() ? name : name + " (" + place + ")";
  }
  std::string reason(const Instruction& i, int v) const {
    auto& spec = values_[at(v)].spec;
    auto wanted = [&] {
      auto* r = reader_[at(v)];
      return r ? "as " + operation(*r) + " wants it" : std::string("as the result is wanted");
    };
    if (at(v) >= before_.size()) return wanted();
    if (ops::constraint_of(*i.primitive)) return "by constraint";
    if (spec != before_[at(v)].spec) return wanted();
    const Sharded* biggest = nullptr;
    int from = -1;
    for (int x : i.in)
      if (split(x) && (!biggest || values_[at(x)].type.size() > biggest->type.size()))
        biggest = &values_[at(x)], from = x;
    return from < 0 ? "as it says itself" : "follows %" + std::to_string(from);
  }
  void inside(std::ostream& o, const Instruction& i, const std::string& tab) const {
    auto show = [&](const ProgramPtr& held, const std::vector<Sharded>& in, const Forced& force) {
      std::ostringstream lines;
      Reasons(shard_program(held, in, s_, force), s_).print(lines, tab);
      if (!lines.str().empty()) o << tab << "inside, %0 .. counted anew:\n" << lines.str();
    };
    auto b = body_of(i);
    if (!b) return;
    auto in = arguments_of(i, *b, values_);
    for (auto& q : {b->program, b->other})
      if (q) show(q, in, forced(i, *b, in, values_));
  }
  const Program& p_;
  const std::vector<Sharded>& before_;  // as they were without what readers want
  const std::vector<Sharded>& values_;
  const Shard& s_;
  std::vector<const Instruction*> reader_;  // the first one of each value
};
std::string splits_text(const ProgramPtr& p, const Arrays& in, const Shard& s) {
  std::vector<Sharded> v;
  for (auto& a : in) v.push_back(s.view(a));
  TypesOnly types;
  Within w(&types);  // it has been partitioned, and ranks have compared it
  std::ostringstream o;
  Reasons(shard_program(p, v, s), s).print(o, "  ");
  return o.str().empty() ? std::string() : "splits, and where they come from:\n" + o.str();
}
}  // namespace
}  // namespace fx

namespace {
/// Adds the mesh axes with shares over which p takes a mean of ranks, as pmean does: a sum over them, divided by their
/// number.
void add_means_of_ranks(const Program& p, const MeshShape& mesh, std::set<std::string>& found) {
  std::vector<std::optional<double>> number(p.vars.size());  // of constants
  std::vector<MeshAxes> summed(p.vars.size());               // mesh axes with shares, of sums over them
  auto at = [](int v) { return static_cast<std::size_t>(v); };
  for (auto& i : p.code) {
    for (auto& held : i.primitive->programs()) add_means_of_ranks(*held, mesh, found);
    if (i.out.size() != 1) continue;
    auto out = at(i.out[0]);
    auto role = i.primitive->traits.loop;
    auto name = i.primitive->name();
    auto reduced = ops::collective_params(*i.primitive);
    if (reduced && reduced->kind == CollectiveKind::all_reduce && reduced->reduce == Reduction::sum &&
        !mesh.equal(reduced->axes))
      summed[out] = reduced->axes;
    if (role == LoopRole::broadcast || role == LoopRole::cast)
      number[out] = number[at(i.in[0])], summed[out] = summed[at(i.in[0])];
    if (auto value = ops::constant_value(*i.primitive)) number[out] = value;
    if (name != "div" && name != "mul") continue;
    for (auto [x, by] : {std::pair(at(i.in[0]), at(i.in[1])), std::pair(at(i.in[1]), at(i.in[0]))}) {
      if (summed[x].empty() || !number[by] || (name == "div" && x != at(i.in[0]))) continue;
      double ranks = mesh.parts(summed[x]);
      if (*number[by] == (name == "div" ? ranks : 1 / ranks)) found.insert(to_string(summed[x]));
    }
  }
}
}  // namespace

std::string explain_program(const ProgramPtr& p, const Arrays& in) {
  auto local = fx::local_program(p, in);
  auto e = executable(local);
  auto& i = e->info();
  std::ostringstream o;
  if (auto* s = nearest<Shard>()) o << "mesh " << to_string(s->mesh()) << ", rank " << s->rank() << "\n";
  o << "inputs " << bytes_text(static_cast<std::int64_t>(i.input_bytes)) << ", outputs "
    << bytes_text(static_cast<std::int64_t>(i.output_bytes)) << ", temporaries "
    << bytes_text(static_cast<std::int64_t>(i.slab_bytes)) << ", " << i.flops / 1e9 << " GFLOP, " << i.kernels
    << " kernels (" << i.fused << " fused)\n";
  for (auto& c : i.collective_uses)
    o << "  " << c.times << " x " << c.what << ", " << bytes_text(static_cast<std::int64_t>(c.bytes)) << " each\n";
  std::set<std::string> means;
  if (auto* s = nearest<Shard>(); s && !s->mesh().shares.empty()) add_means_of_ranks(*p, s->mesh(), means);
  for (auto& axes : means)
    o << "  warning: a mean of the ranks along " << axes << " (psum / their number, as pmean takes it) weighs each "
      << "rank alike, but by the shares of the mesh their blocks differ in size; the mean of the elements is "
      << "psum(sum) / psum(count)\n";
  o << e->explain();
  if (auto* s = nearest<Shard>(); s && s->mesh().size() > 1) o << fx::splits_text(p, in, *s);
  return o.str();
}
}  // namespace bora
