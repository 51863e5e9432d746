// coalesce.cpp -- merges small neighbouring collectives into one. Global shapes and the structure of the Program decide
// which are small and neighbours, so every rank gets the same collectives in the same order.
#include <algorithm>
#include <numeric>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "ops/api/collective_primitives.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "compile/passes/graph.h"

namespace bora {
namespace {
using Params = ops::CollectiveParams;
constexpr std::size_t kSmall = std::size_t{1} << 20, kMostPackBytes = std::size_t{4} << 20, kMostPackMembers = 64,
                      kMostParts = 16;
/// Sums of so many bytes do not wait for others: on a slow network they are on their way beside what these come from.
constexpr std::size_t kEnough = std::size_t{128} << 10;

/// The parameters of the instruction if it is a collective that is small by its global shape.
std::optional<Params> small(const Program& p, const Instruction& i) {
  auto c = ops::collective_params(*i.primitive);
  auto& t = p.vars[idx(i.in.empty() ? i.out[0] : i.in[0])];
  if (!c || (c->of.empty() && !t.shape.empty()) || c->sizes.size() > kMostParts) return std::nullopt;
  if (static_cast<std::size_t>(volume(c->of)) * dtype_size(t.dtype) >= kSmall) return std::nullopt;
  return c;
}
bool alike(const Params& a, const Params& b) {
  return a.kind == b.kind && a.axes == b.axes && a.reduce == b.reduce && a.wire == b.wire &&
         a.sizes.size() == b.sizes.size();
}

/// Packs the members' operands into one array, runs one collective and cuts its result into theirs.
struct Pack {
  std::vector<Params> members;
  Types results;

  Shape of() const {
    std::int64_t n = 0;
    for (auto& m : members) n += volume(m.of);
    return {n};
  }
  static Array joined(const Arrays& parts) { return parts.size() == 1 ? parts[0] : concatenate(parts, 0); }
  /// n numbers and zeros behind them: members do not share blocks of a wire, so packing changes no bit.
  std::int64_t filled(std::int64_t n) const {
    auto& wire = members[0].wire;
    std::int64_t block = wire.blocks() ? wire.block : 1;
    return (n + block - 1) / block * block;
  }
  void add(Arrays& flat, const Array& x) const {
    flat.push_back(ravel(x));
    if (members[0].wire.blocks()) flat.push_back(full_of({{filled(x.size()) - x.size()}, x.dtype()}, 0));
  }
  Array cut(const Array& flat, std::int64_t& at, const Shape& shape) const {
    auto n = volume(shape), begin = at;
    at += filled(n);
    return reshape(slice_in_dim(flat, 0, begin, begin + n), shape);
  }
  /// Elements of part `part` of a member; then, for each part, the sum over all members.
  std::int64_t count(std::size_t member, std::size_t part, const Shape& whole) const {
    auto& m = members[member];
    std::int64_t n = m.sizes[part];
    for (std::size_t d = 0; d < whole.size(); ++d)
      if (d != idx(m.dim)) n *= whole[d];
    return n;
  }
  Dims parts(const Arrays& x) const {
    Dims r(members[0].sizes.size());
    for (std::size_t p = 0; p < r.size(); ++p)
      for (std::size_t i = 0; i < x.size(); ++i) r[p] += filled(count(i, p, x[i].shape()));
    return r;
  }
  Arrays operator()(const Arrays& x) const {
    auto& first = members[0];
    Arrays flat, out;
    std::int64_t at = 0;
    if (first.kind == CollectiveKind::reduce_scatter) {
      for (std::size_t p = 0; p < first.sizes.size(); ++p)
        for (std::size_t i = 0; i < x.size(); ++i) {
          auto& m = members[i];
          auto begin =
              std::accumulate(m.sizes.begin(), m.sizes.begin() + static_cast<std::ptrdiff_t>(p), std::int64_t{0});
          add(flat, slice_in_dim(x[i], m.dim, begin, begin + m.sizes[p]));
        }
      auto y = ops::reduce_scatter(joined(flat), first.axes, 0, parts(x), of(), first.wire);
      for (auto& t : results) out.push_back(cut(y, at, t.shape));
      return out;
    }
    for (auto& a : x) add(flat, a);
    if (first.kind == CollectiveKind::all_reduce) {
      auto y = ops::all_reduce(joined(flat), first.axes, first.reduce, of(), first.wire);
      for (auto& t : results) out.push_back(cut(y, at, t.shape));
      return out;
    }
    auto y = ops::all_gather(joined(flat), first.axes, 0, parts(x), of());
    std::vector<Arrays> arrived(x.size());
    for (std::size_t p = 0; p < first.sizes.size(); ++p)
      for (std::size_t i = 0; i < x.size(); ++i) {
        auto shape = x[i].shape();
        shape[idx(members[i].dim)] = members[i].sizes[p];
        arrived[i].push_back(cut(y, at, shape));
      }
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(concatenate(arrived[i], members[i].dim));
    return out;
  }
};

struct Coalescer {
  const Program& p;
  std::shared_ptr<Program> r;
  std::vector<int> number;  // old variable -> new

  explicit Coalescer(const Program& old) : p(old), r(std::make_shared<Program>(old)), number(old.vars.size()) {
    r->code.clear();
    std::iota(number.begin(), number.end(), 0);
  }
  void append(Instruction i) {
    for (int& v : i.in) v = number[idx(v)];
    r->code.push_back(std::move(i));
  }
  /// Members of the run that begins with instruction k.
  std::vector<std::size_t> run_from(std::size_t k) const {
    auto first = small(p, p.code[k]);
    if (!first) return {k};
    auto dtype = p.vars[idx(p.code[k].in[0])].dtype;
    std::vector<bool> depends(p.vars.size());
    std::vector<std::size_t> run;
    std::size_t bytes = 0, enough = first->kind == CollectiveKind::all_gather ? kMostPackBytes : kEnough;
    for (std::size_t j = k; j < p.code.size() && bytes < enough; ++j) {
      auto& i = p.code[j];
      if (!run.empty() && has_effect(i)) break;  // it stays where it is among the collectives
      bool needs = std::any_of(i.in.begin(), i.in.end(), [&](int v) { return depends[idx(v)]; });
      if (communicates(i)) {
        auto c = small(p, i);
        auto size = c ? static_cast<std::size_t>(volume(c->of)) * dtype_size(dtype) : 0;
        if (!c || needs || !alike(*first, *c) || p.vars[idx(i.in[0])].dtype != dtype || bytes + size > kMostPackBytes ||
            run.size() == kMostPackMembers)
          break;
        bytes += size;
        run.push_back(j);
      }
      if (needs || (!run.empty() && run.back() == j))
        for (int v : i.out) depends[idx(v)] = true;
    }
    return run;
  }
  /// Orders the instructions from the first to the last member: those independent of the members' results, the packed
  /// collective, the others.
  void pack(const std::vector<std::size_t>& run) {
    std::vector<bool> depends(p.vars.size());
    std::vector<Instruction> later;
    std::size_t next = 0;
    Pack together;
    Types types;
    std::vector<int> operands, results;
    for (std::size_t j = run.front(); j <= run.back(); ++j) {
      auto& i = p.code[j];
      if (j == run[next]) {
        ++next;
        together.members.push_back(*small(p, i));
        together.results.push_back(p.vars[idx(i.out[0])]);
        types.push_back(p.vars[idx(i.in[0])]);
        operands.push_back(i.in[0]);
        results.push_back(i.out[0]);
        depends[idx(i.out[0])] = true;
      } else if (std::any_of(i.in.begin(), i.in.end(), [&](int v) { return depends[idx(v)]; })) {
        for (int v : i.out) depends[idx(v)] = true;
        later.push_back(i);
      } else append(i);
    }
    for (int& v : operands) v = number[idx(v)];
    auto first = r->code.size();
    auto out = exec::inline_into(*r, *stage(together, types).program, operands);
    for (auto k = first; k < r->code.size(); ++k) r->code[k].source = p.code[run.front()].source;
    for (std::size_t k = 0; k < out.size(); ++k) number[idx(results[k])] = out[k];
    for (auto& i : later) append(std::move(i));
  }
  ProgramPtr run() {
    for (std::size_t k = 0; k < p.code.size();) {
      auto members = communicates(p.code[k]) ? run_from(k) : std::vector<std::size_t>{k};
      if (members.size() < 2) {
        auto i = p.code[k++];
        i.primitive = with_programs(i.primitive, coalesce);
        append(std::move(i));
      } else {
        pack(members);
        k = members.back() + 1;
      }
    }
    for (int& v : r->out) v = number[idx(v)];
    return r;
  }
};
}  // namespace

ProgramPtr coalesce(const ProgramPtr& p) {
  if (std::none_of(p->code.begin(), p->code.end(), communicates)) return p;
  return Coalescer(*p).run();
}
}  // namespace bora
