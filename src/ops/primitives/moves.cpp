// Slices, pads, reversals and concatenations as moves of rows, for Shard: along a split dimension only the rows that
// change hands travel.
#include "ops/primitives/moves.h"
#include "ops/api/primitives.h"
#include <algorithm>
#include "ops/primitives/pad_fit.h"

namespace bora::ops {
namespace {
bool contiguous(const Move& m) {
  return std::all_of(m.pieces.begin(), m.pieces.end(), [](auto& p) { return p.every == 1; });
}
bool no_gaps(const Move& m) {
  std::int64_t n = 0;
  for (auto& p : m.pieces) n += p.end - p.begin;
  return contiguous(m) && n == m.n;
}
/// The pieces of `inner`, all contiguous, that the rows of a piece are.
std::vector<Piece> through(const Piece& p, const Move& inner) {
  std::vector<Piece> r;
  for (auto& q : inner.pieces) {
    auto [first, last] = steps_inside(p.start, p.step, q.begin, q.end);
    auto all = (p.end - p.begin + p.every - 1) / p.every;
    first = std::max<std::int64_t>(first, 0), last = std::min(last, all);
    if (first < last)
      r.push_back({.begin = p.begin + first * p.every,
                   .end = p.begin + (last - 1) * p.every + 1,
                   .every = p.every,
                   .operand = q.operand,
                   .start = q.start + (p.start + first * p.step - q.begin) * q.step,
                   .step = p.step * q.step});
  }
  return r;
}
}  // namespace
Moved composed(const std::vector<Sharded>& in, const Move& m) {
  Moved r{.in = {}, .move = {m.dim, m.n, {}, m.fill}};
  auto number = [&](const Sharded& x) {
    for (std::size_t k = 0; k < r.in.size(); ++k)
      if (x.local.defined() && r.in[k].local.defined() && r.in[k].local.get() == x.local.get() &&
          r.in[k].spec == x.spec && r.in[k].type == x.type)
        return static_cast<std::int64_t>(k);
    r.in.push_back(x);
    return static_cast<std::int64_t>(r.in.size()) - 1;
  };
  const bool takes_gaps = in.size() == 1 && no_gaps(m);  // those of its operand become its own
  for (std::size_t j = 0; j < in.size(); ++j) {
    auto* inner = in[j].moved.get();
    bool fits = inner && inner->move.dim == m.dim && contiguous(inner->move);
    if (!fits || (!takes_gaps && !no_gaps(inner->move))) inner = nullptr;
    if (inner && takes_gaps) r.move.fill = inner->move.fill;
    Dims numbers;
    if (!inner) numbers.push_back(number(in[j]));
    else
      for (auto& x : inner->in) numbers.push_back(number(x));
    for (auto& p : m.pieces) {
      if (at(p.operand) != j) continue;
      for (auto q : inner ? through(p, inner->move) : std::vector<Piece>{p}) {
        q.operand = numbers[inner ? at(q.operand) : 0];
        r.move.pieces.push_back(q);
      }
    }
  }
  return r;
}
Sharded moved(Moved m, const ShardRules& s) {
  const auto d = at(m.move.dim);
  for (auto& x : m.in)
    if (x.moved) x = s.reshard(x, x.spec, x.partial);
  Sharded r{.local = {}, .type = m.in[0].type, .spec = m.in[0].spec, .partial = m.in[0].partial};
  r.type.shape[d] = m.move.n;
  auto& kept = r.spec[d];
  std::int64_t most = 0;
  for (auto& x : m.in)
    if (!x.spec[d].empty()) kept = x.spec[d], most = std::max(most, x.type.shape[d]);
  if (m.move.n < most)
    while (s.mesh().parts(kept) > std::max<std::int64_t>(m.move.n, 1)) kept = kept.head(kept.size() - 1);
  (void)s.local_shape(r.type.shape, r.spec);  // a plan asks which sizes a rank's Program depends on
  r.moved = std::make_shared<Moved>(std::move(m));
  if (s.defers()) return r;
  r.local = moved_now(*r.moved, r, s);
  r.moved = nullptr;
  return r;
}
Array rows_around(const Sharded& x, std::int64_t dim, Dims wanted, const ShardRules& s) {
  auto n = x.type.shape[at(dim)];
  std::vector<Piece> all;
  if (n > 0) all.push_back({.end = n});
  return call_one(Exchange{.axes = x.spec[at(dim)],
                           .dim = dim,
                           .n = n,
                           .pieces = all,
                           .fill = 0,
                           .rows = {n},
                           .whole = {0},
                           .wanted = std::move(wanted),
                           .of = x.type.shape,
                           .sparse = s.defers()},
                  {x.local});
}
namespace {
Array cut(const Array& x, std::size_t d, std::int64_t begin, std::int64_t count, std::int64_t step = 1) {
  Dims from(at(x.ndim()), 0), to = x.shape().dims(), steps(to.size(), 1);
  from[d] = begin, to[d] = count == 0 ? begin : begin + (count - 1) * step + 1, steps[d] = step;
  return call_one(StaticSlice{from, to, steps}, {x});
}
/// Where most rows stay on their rank, as in shifts: only the rows before and behind a rank's own run are exchanged, so
/// that a loop reads that run where it lies. Nothing if most rows move. All ranks emit the same instructions.
std::optional<Array> with_own_run(const Exchange& whole, const Arrays& locals, const ShardRules& s) {
  auto parts = s.mesh().parts(whole.axes), me = s.mesh().part(s.rank(), whole.axes);
  auto d = at(whole.dim);
  std::vector<OwnRun> runs;
  std::size_t operand = 0;
  std::int64_t most = 0, all = 0;
  auto part = [&](int p) {
    if (whole.wanted.empty()) return s.mesh().block(whole.n, whole.axes, p);
    return BlockRange{whole.wanted[at(2 * p)], whole.wanted[at(2 * p + 1)]};
  };
  for (int p = 0; p < parts; ++p) all += part(p).size();
  for (std::size_t j = 0; j < locals.size(); ++j) {
    auto of_j = longest_own_runs(whole, s.mesh(), static_cast<std::int64_t>(j));
    std::int64_t n = 0;
    for (auto& r : of_j) n += r.end - r.begin;
    if (n > most) most = n, operand = j, runs = of_j;
  }
  if (2 * most < all || most == 0) return std::nullopt;
  auto e = whole;
  e.wanted = {};
  bool before = false, behind = false;
  for (int p = 0; p < parts; ++p) {
    before = before || part(p).begin < runs[at(p)].begin;
    behind = behind || runs[at(p)].end < part(p).end;
  }
  for (int p = 0; p < parts; ++p) {
    auto& r = runs[at(p)];
    if (before) e.wanted.push_back(part(p).begin), e.wanted.push_back(r.begin);
    if (behind) e.wanted.push_back(r.end), e.wanted.push_back(part(p).end);
  }
  auto& mine = runs[at(me)];
  auto own_begin = whole.whole[operand] ? 0 : s.mesh().block(whole.rows[operand], whole.axes, me).begin;
  auto own = cut(locals[operand], d, mine.from - own_begin, mine.end - mine.begin, mine.step);
  if (!before && !behind) return own;
  auto others = call_one(std::move(e), locals);
  auto low = mine.begin - part(me).begin, high = part(me).end - mine.end;
  Arrays rows{own};
  if (before) rows.insert(rows.begin(), behind ? cut(others, d, 0, low) : others);
  if (behind) rows.push_back(before ? cut(others, d, low, high) : others);
  return call_one(Concatenate{whole.dim}, rows);
}
}  // namespace
Array moved_now(Moved& m, const Sharded& x, const ShardRules& s) {
  if (m.made.defined()) return m.made;
  const auto d = at(m.move.dim);
  const auto& mesh = s.mesh();
  Exchange e{.axes = {},
             .dim = m.move.dim,
             .n = m.move.n,
             .pieces = m.move.pieces,
             .fill = m.move.fill,
             .rows = {},
             .whole = {},
             .wanted = {},
             .of = x.type.shape,
             .sparse = s.defers()};
  Arrays locals;
  for (auto& y : m.in) {
    bool whole = y.spec[d].empty();
    if (!whole) e.axes = y.spec[d];
    e.rows.push_back(y.type.shape[d]);
    e.whole.push_back(whole);
    locals.push_back(y.local);
  }
  if (auto parts = mesh.parts(e.axes), blocks = mesh.parts(x.spec[d]); blocks < parts)
    for (int p = 0; p < parts; ++p) {
      auto b = mesh.block(m.move.n, x.spec[d], p / (parts / blocks));
      e.wanted.push_back(b.begin);
      e.wanted.push_back(b.end);
    }
  if (s.defers())  // in a Program loops read across pieces; alone, putting them together is one more copy
    if (auto y = with_own_run(e, locals, s)) return m.made = *y;
  return m.made = call_one(std::move(e), locals);
}

// ---- slice ----------------------------------------------------------------------------------------------------------
Move StaticSlice::along(const Type&, std::int64_t dim) const {
  auto d = at(dim);
  auto n = (limit[d] - start[d] + stride[d] - 1) / stride[d];
  return {dim, n, {{.end = n, .start = start[d], .step = stride[d]}}};
}
std::optional<StaticSlice> StaticSlice::without(const Type& x, const Dims& dims) const {
  auto r = *this;
  for (auto d : dims) r.start[at(d)] = 0, r.limit[at(d)] = x.shape[at(d)], r.stride[at(d)] = 1;
  bool whole = r.limit == x.shape.dims() && r.start == Dims(r.limit.size(), 0) && r.stride == Dims(r.limit.size(), 1);
  return whole ? std::nullopt : std::optional(r);
}
std::optional<std::vector<Sharded>> StaticSlice::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return by_moves(*this, in[0], s, false);
}

// ---- pad ------------------------------------------------------------------------------------------------------------
Move Pad::along(const Type& x, std::int64_t dim) const {
  auto d = at(dim);
  auto f = fit(x.shape[d], lo[d], hi[d], interior[d]);
  auto every = interior[d] + 1;
  Move m{dim, f.size, {}, value};
  if (f.count > 0)
    m.pieces.push_back({.begin = f.to, .end = f.to + (f.count - 1) * every + 1, .every = every, .start = f.first});
  return m;
}
std::optional<Pad> Pad::without(const Type&, const Dims& dims) const {
  auto r = *this;
  for (auto d : dims) r.lo[at(d)] = r.hi[at(d)] = r.interior[at(d)] = 0;
  auto zero = [](const Dims& a) { return std::all_of(a.begin(), a.end(), [](auto n) { return n == 0; }); };
  return zero(r.lo) && zero(r.hi) && zero(r.interior) ? std::nullopt : std::optional(r);
}
std::optional<std::vector<Sharded>> Pad::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return by_moves(*this, in[0], s, true);
}

// ---- rev ------------------------------------------------------------------------------------------------------------
Move Rev::along(const Type& x, std::int64_t dim) const {
  auto n = x.shape[at(dim)];
  return {dim, n, {{.end = n, .start = n - 1, .step = -1}}};
}
std::optional<Rev> Rev::without(const Type&, const Dims& gone) const {
  Rev r;
  for (auto d : dims)
    if (!contains(gone, d)) r.dims.push_back(d);
  return r.dims.empty() ? std::nullopt : std::optional(r);
}
std::optional<std::vector<Sharded>> Rev::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return by_moves(*this, in[0], s, false);
}

// ---- concatenate ----------------------------------------------------------------------------------------------------
namespace {
/// Each dimension is split as the largest operand that splits it has it; a mesh axis splits one dimension.
Spec split_of_largest(const std::vector<Sharded>& in) {
  std::vector<const Sharded*> order;
  for (auto& x : in) order.push_back(&x);
  auto size = [](const Sharded* x) { return x->symbolic ? x->symbolic->size : x->type.size(); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size(a) > size(b); });
  auto r = Spec::replicated(in[0].spec.size());
  for (auto* x : order)
    for (std::size_t d = 0; d < r.size(); ++d) {
      auto& axes = x->spec[d];
      if (r[d].empty() && std::none_of(axes.begin(), axes.end(), [&](auto& a) { return r.uses(a); })) r[d] = axes;
    }
  return r;
}
/// A stretched value whose rows along dimension d are one row.
bool repeats_a_row(const Sharded& x, std::size_t d) {
  if (!x.symbolic || x.symbolic->primitive->traits.loop != LoopRole::broadcast || x.type.shape[d] == 0) return false;
  auto f = *x.symbolic->primitive->factors({x.symbolic->operands[0].type()});
  return !contains(f.in[0], f.out[0][d]);
}
}  // namespace
/// Operands that every rank has whole along the axis stay so: their rows do not travel.
std::optional<std::vector<Sharded>> Concatenate::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  const auto d = at(axis);
  Move joined{axis};
  auto given = in;
  for (std::size_t j = 0; j < in.size(); ++j) {
    auto n = in[j].type.shape[d];
    bool one = repeats_a_row(in[j], d);
    Piece p{.begin = joined.n, .end = joined.n + n, .operand = static_cast<std::int64_t>(j), .step = one ? 0 : 1};
    if (n > 0) joined.pieces.push_back(p);
    joined.n += n;
    if (one) given[j].type.shape[d] = 1;
  }
  auto m = composed(given, joined);
  auto split = split_of_largest(m.in), other = split;
  if (s.mesh().parts(split[d]) == 1) return std::nullopt;
  other[d] = {};
  MeshAxes keep;
  if (in[0].type.dtype != boolean)
    for (auto& a : m.in[0].partial)
      if (!split.uses(a) && std::all_of(m.in.begin(), m.in.end(), [&](auto& x) { return x.partial.has(a); }))
        keep.push_back(a);
  for (auto& x : m.in) x = s.reshard(x, x.spec[d].empty() ? other : split, keep);
  return std::vector<Sharded>{moved(std::move(m), s)};
}
}  // namespace bora::ops
