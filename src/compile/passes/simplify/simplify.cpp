// simplify: common subexpressions, constants, transposes around products, dead code. Reads structure and constants
// only; on a local Program instructions with sizes are never merged (sizes that are equal on one rank may differ on the
// next) and collectives are effects.
#include <algorithm>
#include <cstring>
#include <numeric>
#include "compile/api/program.h"
#include "ops/api/primitives.h"
#include "compile/passes/simplify/computed.h"
#include "compile/program/idx.h"

namespace bora {
namespace {
std::vector<int> unchanged(const Program& p) {
  std::vector<int> v(p.vars.size());
  std::iota(v.begin(), v.end(), 0);
  return v;
}
/// p with `code` for its instructions and `same` for its variables, without dead code.
std::shared_ptr<Program> rebuilt(const Program& p, std::vector<Instruction> code, const std::vector<int>& same,
                                 bool effects) {
  auto r = std::make_shared<Program>();
  r->local = p.local;
  r->compile = p.compile;
  r->labels = p.labels;
  r->in = p.in;
  for (int v : p.out) r->out.push_back(same[idx(v)]);
  Mask live(p.vars.size());
  for (int v : r->out) live[idx(v)] = true;
  std::vector<bool> keep(code.size());
  for (std::size_t k = code.size(); k-- > 0;) {
    keep[k] = (effects && communicates(code[k])) || has_effect(code[k]) ||
              std::any_of(code[k].out.begin(), code[k].out.end(), [&](int v) { return live[idx(v)]; });
    if (keep[k])
      for (int v : code[k].in) live[idx(v)] = true;
  }
  std::vector<int> number(p.vars.size(), -1);
  auto renamed = [&](int v) {
    auto& n = number[idx(v)];
    if (n < 0) {
      n = static_cast<int>(r->vars.size());
      r->vars.push_back(p.vars[idx(v)]);
    }
    return n;
  };
  for (int& v : r->in) v = renamed(v);
  for (std::size_t k = 0; k < code.size(); ++k) {
    if (!keep[k]) continue;
    for (int& v : code[k].in) v = renamed(v);
    for (int& v : code[k].out) v = renamed(v);
    r->code.push_back(std::move(code[k]));
  }
  for (int& v : r->out) v = renamed(v);
  return r;
}
bool mergeable(const Instruction& i, bool by_size) {
  auto& t = i.primitive->traits;
  return t.plain() && (by_size || !t.sized);
}
/// One known element, as the bits of its dtype (neither a key nor complex).
struct alignas(8) Bits : std::array<std::byte, 8> {};  // kernels read and write it as a number
Scalar to_scalar(const Bits& bits, Dtype d) {
  return dispatch(d, "constant", [&](auto t) -> Scalar {
    decltype(t) v;
    std::memcpy(&v, bits.data(), sizeof v);
    return Scalar(v);
  });
}

class Simplifier {
 public:
  explicit Simplifier(const Program& p)
      : p_(p), same_(unchanged(p)), maker_(p.vars.size(), -1), readers_(p.vars.size()) {
    for (int v : p.out) ++readers_[idx(v)];
    for (auto i = p.code.rbegin(); i != p.code.rend(); ++i)
      if (std::any_of(i->out.begin(), i->out.end(), [&](int v) { return readers_[idx(v)] > 0; }))
        for (int v : i->in) ++readers_[idx(v)];
  }
  std::shared_ptr<Program> run() {
    bool by_size = !p_.local && std::none_of(p_.code.begin(), p_.code.end(),
                                             [](auto& i) { return i.primitive->traits.blocks || communicates(i); });
    for (auto& original : p_.code) {
      Instruction i = original;
      for (int& v : i.in) v = same_[idx(v)];
      if (replaced_by_operand(i)) continue;
      fold(i);
      absorb_transposes(i);
      if (mergeable(i, by_size)) {
        auto [it, fresh] = seen_.try_emplace(Computed{i.primitive.get(), i.in}, static_cast<int>(code_.size()));
        if (!fresh) {
          auto& first = code_[idx(it->second)];
          for (std::size_t k = 0; k < i.out.size(); ++k) same_[idx(i.out[k])] = first.out[k];
          continue;
        }
      }
      for (int v : i.out) maker_[idx(v)] = static_cast<int>(code_.size());
      code_.push_back(std::move(i));
    }
    return rebuilt(p_, std::move(code_), same_, p_.local);
  }

 private:
  /// The instruction that makes v, with its parameters, if it is a P; else null.
  template <class P> std::pair<const Instruction*, const P*> made(int v) const {
    if (maker_[idx(v)] < 0) return {};
    auto& i = code_[idx(maker_[idx(v)])];
    auto* p = as<P>(i.primitive);
    return {p ? &i : nullptr, p};
  }
  const Bits* known(int v) const {
    auto it = known_.find(v);
    return it == known_.end() ? nullptr : &it->second;
  }
  const Type& type(int v) const { return p_.vars[idx(v)]; }

  bool unknown(int v) const {
    auto d = type(v).dtype;
    return d == Dtype::key || is_complex(d) || is_stored_only(d);
  }

  static const ops::Transpose* transposed(const Instruction& i) { return as<ops::Transpose>(i.primitive); }
  bool replaced_by_operand(const Instruction& i) {
    auto forward = [&](int v) {
      same_[idx(i.out[0])] = v;
      return true;
    };
    if (i.primitive->traits.chooses)
      if (auto* c = known(i.in[0])) return forward(i.in[(*c)[0] != std::byte{0} ? 1 : 2]);
    if (auto* t = transposed(i))
      if (auto [m, inner] = made<ops::Transpose>(i.in[0]); m) {
        bool identity = true;
        for (std::size_t d = 0; d < inner->perm.size(); ++d)
          identity = identity && inner->perm[static_cast<std::size_t>(t->perm[d])] == static_cast<std::int64_t>(d);
        if (identity) return forward(m->in[0]);
      }
    return false;
  }
  /// Scalars of known value become constants; a broadcast constant is known too (select on it needs no array).
  void fold(Instruction& i) {
    auto& p = *i.primitive;
    auto& t = p.traits;
    if (t.loop == LoopRole::broadcast && known(i.in[0])) known_[i.out[0]] = *known(i.in[0]);
    if (i.out.size() != 1 || !type(i.out[0]).shape.empty() || unknown(i.out[0]) || !t.plain() ||
        t.opaque || t.enters_shard || t.random)
      return;
    std::vector<InputView> in;
    for (int v : i.in) {
      if (!known(v) || !type(v).shape.empty() || unknown(v)) return;
      in.push_back({type(v), known(v)->data()});
    }
    Bits bits{};
    OutputView out[] = {{type(i.out[0]), bits.data()}};
    p.eval(in, out);
    known_[i.out[0]] = bits;
    if (!as<ops::Constant>(p))
      i = {primitive(ops::Constant{to_scalar(bits, type(i.out[0]).dtype), type(i.out[0]).dtype}), {}, i.out, i.source};
  }
  /// dot(transpose(x), y) reads x in place; transpose(dot(x, y)) that only swaps the free dimensions is dot(y, x), if
  /// the product has no other reader.
  void absorb_transposes(Instruction& i) {
    if (auto* t = transposed(i)) {
      auto [m, d] = made<ops::DotGeneral>(i.in[0]);
      if (!m || readers_[idx(i.in[0])] > 1) return;
      auto nb = static_cast<std::int64_t>(d->batch_a.size()),
           na = static_cast<std::int64_t>(d->free_a(type(m->in[0]).ndim()).size());
      auto n = static_cast<std::int64_t>(t->perm.size());
      Dims swapped;
      for (std::int64_t k = 0; k < nb; ++k) swapped.push_back(k);
      for (std::int64_t k = nb + na; k < n; ++k) swapped.push_back(k);
      for (std::int64_t k = nb; k < nb + na; ++k) swapped.push_back(k);
      if (t->perm == swapped)
        i = {primitive(ops::DotGeneral{d->batch_b, d->batch_a, d->contract_b, d->contract_a}),
             {m->in[1], m->in[0]},
             i.out,
             i.source};
      return;
    }
    auto* d = as<ops::DotGeneral>(i.primitive);
    if (!d) return;
    ops::DotGeneral r = *d;
    bool changed = false;
    for (int side = 0; side < 2; ++side) {
      auto [m, t] = made<ops::Transpose>(i.in[idx(side)]);
      if (!m) continue;
      auto n = static_cast<std::int64_t>(t->perm.size());
      Dims free;
      for (auto f : side == 0 ? r.free_a(n) : r.free_b(n)) free.push_back(t->perm[static_cast<std::size_t>(f)]);
      if (!std::is_sorted(free.begin(), free.end())) continue;  // the output's dimensions would change order
      for (auto* dims : {side == 0 ? &r.batch_a : &r.batch_b, side == 0 ? &r.contract_a : &r.contract_b})
        for (auto& x : *dims) x = t->perm[static_cast<std::size_t>(x)];
      i.in[idx(side)] = m->in[0];
      changed = true;
    }
    if (changed) i.primitive = primitive(r);
  }

  const Program& p_;
  std::vector<int> same_, maker_, readers_;  // readers_: reads by live code
  std::vector<Instruction> code_;
  std::unordered_map<Computed, int, Computed::Hash> seen_;
  std::unordered_map<int, Bits> known_;
};
}  // namespace

std::shared_ptr<Program> sweep(const Program& p, bool collectives_are_effects) {
  return rebuilt(p, p.code, unchanged(p), collectives_are_effects);
}
ProgramPtr simplify(const Program& p) { return Simplifier(p).run(); }
}  // namespace bora
