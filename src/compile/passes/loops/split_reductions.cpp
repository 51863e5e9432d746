// split_reductions.cpp -- reductions as loops take them: one over dimensions that are not neighbours becomes one for
// each run of neighbours, as the kernel computes it; one of a broadcast constant becomes its result.
#include <cstring>
#include <optional>
#include <vector>
#include "compile/api/executable.h"
#include "kernels/api/reduce.h"
#include "ops/api/primitives.h"
#include "compile/passes/graph.h"
#include "ops/api/reduction_steps.h"
#include "compile/passes/pass_list.h"

namespace bora::exec {
namespace {
constexpr std::int64_t kFew = 8, kColumns = 16;  // few long columns are reduced as rows (ops/primitives/reduce.cpp)
constexpr std::int64_t kMostElements = 1 << 20;  // that are added up here

/// The dtypes whose reductions are computed as they are stored, in at most 64 bits.
bool is_plain(Dtype d) { return d == f32 || d == f64 || d == i32 || d == u32 || d == i64; }
/// The bits of one element of the constant of a plain dtype from which a variable is broadcast.
std::optional<std::uint64_t> constant_bits(const Program& p, const std::vector<const Instruction*>& maker, int v) {
  if (!is_plain(p.vars[idx(v)].dtype)) return std::nullopt;
  for (auto* m = maker[idx(v)]; m; m = maker[idx(v)]) {
    if (is_constant(*m)) {
      std::uint64_t bits = 0;
      OutputView out{p.vars[idx(m->out[0])], &bits};
      m->primitive->eval({}, {&out, 1});
      return bits;
    }
    bool same = m->primitive->traits.view && p.vars[idx(m->in[0])].dtype == p.vars[idx(v)].dtype;
    if (!broadcast(*m) && !same) break;
    v = m->in[0];
  }
  return std::nullopt;
}
/// The constant to which `dims` of an array of equal elements reduce, with the bits that the reduction gives: it only
/// depends on their number and on whether they are the last dimensions. nullopt: there are too many.
std::optional<ops::Constant> reduced(const ops::Reduce& r, Type t, std::uint64_t bits) {
  auto size = dtype_size(t.dtype);
  for (auto& dims : ops::reduction_steps(t, r.dims)) {
    ops::Reduce step{r.kind, dims};
    auto next = step.infer({t});
    auto n = next.size() == 0 ? 0 : t.size() / next.size();
    std::int64_t behind = 1;
    for (auto d = dims.empty() ? t.ndim() : dims.back() + 1; d < t.ndim(); ++d) behind *= t.shape[idx(d)];
    auto columns = behind == 1 || (behind <= kFew && n >= ops::kLongColumn) ? 1 : kColumns;
    if (n == 0 || n * columns > kMostElements) return std::nullopt;
    if (n > 1) {
      std::vector<char> in(idx(n * columns) * size), out(idx(columns) * size);
      for (std::size_t k = 0; k < in.size(); k += size) std::memcpy(in.data() + k, &bits, size);
      kernels::reduce(r.kind, t.dtype, in.data(), out.data(), 1, n, columns);
      std::memcpy(&bits, out.data(), size);
    }
    t = next;
  }
  auto as = [&](auto number) {
    std::memcpy(&number, &bits, sizeof number);
    return ops::Constant{Scalar(number), t.dtype};
  };
  switch (t.dtype) {
    case f32: return as(0.f);
    case f64: return as(0.);
    case i32: return as(std::int32_t{});
    case u32: return as(std::uint32_t{});
    default: return as(std::int64_t{});
  }
}
}  // namespace

ProgramPtr split_reductions(const ProgramPtr& p) {
  auto r = std::make_shared<Program>(*p);
  r->code.clear();
  std::vector<const Instruction*> maker(p->vars.size());
  for (auto& i : p->code)
    for (int v : i.out) maker[idx(v)] = &i;
  auto fresh = [&](const Type& t) {
    r->vars.push_back(t);
    return static_cast<int>(r->vars.size()) - 1;
  };
  for (auto i : p->code) {
    i.primitive = with_programs(i.primitive, split_reductions);
    auto* reduce = reduction(i);
    if (!reduce) {
      r->code.push_back(std::move(i));
      continue;
    }
    auto type = r->vars[idx(i.in[0])];
    auto bits = constant_bits(*p, maker, i.in[0]);
    if (auto c = bits ? reduced(*reduce, type, *bits) : std::nullopt) {
      auto shape = r->vars[idx(i.out[0])].shape;
      auto v = shape.empty() ? i.out[0] : fresh({{}, type.dtype});
      r->code.push_back({primitive(*c), {}, {v}, i.source});
      if (!shape.empty()) r->code.push_back({primitive(ops::BroadcastInDim{shape, {}}), {v}, i.out, i.source});
      continue;
    }
    auto steps = ops::reduction_steps(type, reduce->dims);
    for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
      ops::Reduce step{reduce->kind, steps[k]};
      auto v = fresh(step.infer({r->vars[idx(i.in[0])]}));
      r->code.push_back({primitive(step), i.in, {v}, i.source});
      i.in = {v};
    }
    if (steps.size() > 1) i.primitive = primitive(ops::Reduce{reduce->kind, steps.back()});
    r->code.push_back(std::move(i));
  }
  return r;
}
}  // namespace bora::exec
