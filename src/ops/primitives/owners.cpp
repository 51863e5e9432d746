// owners.cpp -- rows travel between the ranks that index them and those that own them: numbers of rows first, which
// depend on data, then the rows' places, then the rows. A table is seen as [batch, outer, n, inner], and so is what is
// taken from it; the row of an index is [outer, inner].
#include "ops/primitives/owners.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include "bora/array/primitive.h"
#include "kernels/api/memory.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/packing.h"

namespace bora::ops {
namespace {
using Places = std::vector<std::int32_t>;
/// This rank among the owners of n rows.
struct Owners {
  const MeshShape& mesh;
  MeshAxes axes;
  std::int64_t n;
  std::size_t parts = at(mesh.parts(axes)), me = at(mesh.part(here().rank, axes));
  Owners(std::string_view what, const MeshAxes& over, std::int64_t rows)
      : mesh(this_mesh(what)), axes(over), n(rows) {}
  BlockRange block(std::size_t p) const { return mesh.block(n, axes, static_cast<std::int64_t>(p)); }
};
std::int64_t length(const auto& v) { return static_cast<std::int64_t>(v.size()); }
std::int64_t total_of(const Dims& d) { return std::accumulate(d.begin(), d.end(), std::int64_t{0}); }
/// Places (batch * rows of the owner's block + row in the block) that this rank wants of each owner, and for each index
/// its place among all of these; -1 for an index without a row.
struct Wanted {
  Places places;  // the first owner's first
  Dims counts;    // of each owner
  Places of;      // of each index
};
Wanted wanted_of(const Owners& o, const std::int32_t* indices, const IndexDims& d, bool clamps) {
  std::vector<std::int64_t> begin, rows;
  for (std::size_t p = 0; p < o.parts; ++p) begin.push_back(o.block(p).begin), rows.push_back(o.block(p).size());
  Wanted w{{}, Dims(o.parts, 0), Places(at(d.batch * d.m), -1)};
  auto each = [&](auto f) {
    for (std::int64_t j = 0; j < d.batch * d.m; ++j) {
      std::int64_t row = indices[j];
      if (clamps) row = std::clamp<std::int64_t>(row, 0, o.n - 1);
      if (row < 0 || row >= o.n) continue;
      auto p = at(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin() - 1);
      f(at(j), p, static_cast<std::int32_t>(j / d.m * rows[p] + row - begin[p]));
    }
  };
  each([&](std::size_t, std::size_t p, std::int32_t) { ++w.counts[p]; });
  Dims next(o.parts, 0);
  std::partial_sum(w.counts.begin(), w.counts.end() - 1, next.begin() + 1);
  w.places.resize(at(total_of(w.counts)));
  each([&](std::size_t j, std::size_t p, std::int32_t place) {
    w.of[j] = static_cast<std::int32_t>(next[p]);
    w.places[at(next[p]++)] = place;
  });
  return w;
}
/// Each place once, if it is wanted more often.
void ask_once(Wanted& w) {
  Places once, renamed(w.places.size());
  std::int64_t first = 0;
  for (auto& count : w.counts) {
    auto begin = w.places.begin() + first, end = begin + count;
    Places sorted(begin, end);
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (auto k = begin; k != end; ++k)
      renamed[at(k - w.places.begin())] = static_cast<std::int32_t>(
          length(once) + (std::lower_bound(sorted.begin(), sorted.end(), *k) - sorted.begin()));
    once.insert(once.end(), sorted.begin(), sorted.end());
    first += count;
    count = length(sorted);
  }
  w.places = std::move(once);
  for (auto& k : w.of)
    if (k >= 0) k = renamed[at(k)];
}
/// An all_to_all of elements with these counts.
std::shared_ptr<Communicator::Handle> send(Start& s, Dtype d, const void* in, void* out, const Dims& sent,
                                            const Dims& received) {
  CollectiveCall c{.kind = CollectiveKind::all_to_all, .dtype = d, .in = in, .out = out};
  c.send_counts = sent, c.recv_counts = received;
  return s.round(c);
}
/// How many places the others name.
Dims told(Start& s, const Dims& counts) {
  Dims r(counts.size()), one(counts.size(), 1);
  CollectiveCall c{.kind = CollectiveKind::all_to_all, .dtype = Dtype::i64, .in = counts.data(), .out = r.data()};
  c.send_counts = c.recv_counts = one;
  c.uniform = true;
  s.round(c)->wait();
  return r;
}
/// For places in a block of `rows` rows: the rows of [batch * outer * rows, inner] that make up their rows.
Places stretched(const Places& places, std::int64_t outer, std::int64_t rows) {
  if (outer == 1) return places;
  Places r;
  r.reserve(places.size() * at(outer));
  for (std::int64_t p : places)
    for (std::int64_t o = 0; o < outer; ++o)
      r.push_back(static_cast<std::int32_t>((p / rows * outer + o) * rows + p % rows));
  return r;
}
/// The rows `places` of [n, inner]; `missing` where there is none.
void rows_at(const void* from, std::int64_t n, const Places& places, std::int64_t inner, std::size_t size, void* to,
             const Bytes16& missing = {}) {
  kernels::take(from, places.data(), to, 1, n, length(places), inner, size, kernels::OutOfRange::fill, &missing);
}
/// For each [batch, outer, m] of what is taken: the row of [wanted, outer] that it is.
Places rows_of(const Places& of, const IndexDims& d) {
  if (d.outer == 1) return of;
  Places r;
  r.reserve(of.size() * at(d.outer));
  for (std::int64_t b = 0; b < d.batch; ++b)
    for (std::int64_t o = 0; o < d.outer; ++o)
      for (std::int64_t j = 0; j < d.m; ++j) {
        auto k = of[at(b * d.m + j)];
        r.push_back(k < 0 ? -1 : static_cast<std::int32_t>(k * d.outer + o));
      }
  return r;
}
/// As if every rank gave each other one as much.
void evenly(CollectiveCall& c, const MeshAxes& axes, std::int64_t elements) {
  auto parts = here().mesh ? here().mesh->parts(axes) : 1;
  c.kind = CollectiveKind::all_to_all;
  for (int p = 0; p < parts; ++p) c.send_counts.push_back(equal_block(elements, parts, p).size());
  c.recv_counts = c.send_counts;
}
constexpr std::int64_t kOnce = 16;  // bytes of a row for which it pays to look for indices that are equal
}  // namespace

Type TakeFromOwners::infer(const Types& in) const {
  check_indexing(name, in.at(0), in.at(1), axis, batch_dims);
  return with_shape(in[0], taken_shape(in[0].shape, in[1].shape, axis, batch_dims));
}
void TakeFromOwners::eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
TakeFromOwners TakeFromOwners::lift(std::int64_t size) const {
  return {axes, axis + 1, fill, batch_dims + 1, n, prepend(size, of)};
}
void TakeFromOwners::call(CollectiveCall& c, const Type&, const Type& out) const { evenly(c, axes, out.size()); }
StartedCollective TakeFromOwners::start(Start s) const {
  const Owners owners(name, axes, n);
  const auto d = index_dims(s.in.type, s.all[1].type, axis, batch_dims);
  const auto row = d.outer * d.inner * static_cast<std::int64_t>(s.size);
  auto wanted = wanted_of(owners, s.all[1].as<std::int32_t>(), d, !fill);
  if (row >= kOnce) ask_once(wanted);
  auto asked = told(s, wanted.counts);
  Places places(at(total_of(asked)));
  send(s, Dtype::i32, wanted.places.data(), places.data(), wanted.counts, asked)->wait();
  // Buffers that grow: how much others ask for depends on data.
  auto sent = kernels::allocate(places.size() * at(row)), came = kernels::allocate(wanted.places.size() * at(row));
  rows_at(s.in.data, d.batch * d.outer * d.n, stretched(places, d.outer, d.n), d.inner, s.size, sent.get());
  auto handle = send(s, Dtype::u8, sent.get(), came.get(), times(asked, row), times(wanted.counts, row));
  auto rows = length(wanted.places) * d.outer;
  return {handle, [=, of = rows_of(wanted.of, d), out = s.out.data, size = s.size,
                   missing = missing_number(s.in.type.dtype)] {
            (void)sent;  // lives until the others have it
            rows_at(came.get(), rows, of, d.inner, size, out, missing);
          }};
}

Type ScatterToOwners::infer(const Types& in) const {
  check_indexing(name, in.at(2), in.at(1), axis, batch_dims);
  auto want = with_shape(in[2], taken_shape(in[2].shape, in[1].shape, axis, batch_dims));
  check<ShapeError>(in[0] == want, "scatter_to_owners: updates must be ", want, ", got ", in[0]);
  return in[2];
}
void ScatterToOwners::eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
ScatterToOwners ScatterToOwners::lift(std::int64_t size) const {
  return {mode, axes, axis + 1, batch_dims + 1, n, prepend(size, of)};
}
void ScatterToOwners::call(CollectiveCall& c, const Type& in, const Type&) const { evenly(c, axes, in.size()); }
StartedCollective ScatterToOwners::start(Start s) const {
  const Owners owners(name, axes, n);
  const auto& target = s.all[2];
  const auto d = index_dims(target.type, s.all[1].type, axis, batch_dims);
  const auto row = d.outer * d.inner * static_cast<std::int64_t>(s.size);
  auto wanted = wanted_of(owners, s.all[1].as<std::int32_t>(), d, false);
  auto asked = told(s, wanted.counts);
  auto places = std::make_shared<Places>(at(total_of(asked)));
  auto sent = kernels::allocate(wanted.places.size() * at(row)), came = kernels::allocate(places->size() * at(row));
  // Which rows of the updates [batch, outer, m] each wanted place has.
  Places from(wanted.places.size() * at(d.outer));
  for (std::size_t j = 0; j < wanted.of.size(); ++j)
    for (std::int64_t o = 0; o < d.outer && wanted.of[j] >= 0; ++o)
      from[at(wanted.of[j] * d.outer + o)] = static_cast<std::int32_t>(
          (static_cast<std::int64_t>(j) / d.m * d.outer + o) * d.m + static_cast<std::int64_t>(j) % d.m);
  rows_at(s.in.data, d.batch * d.outer * d.m, from, d.inner, s.size, sent.get());
  auto named = send(s, Dtype::i32, wanted.places.data(), places->data(), wanted.counts, asked);
  auto handle = send(s, Dtype::u8, sent.get(), came.get(), times(wanted.counts, row), times(asked, row));
  named->wait();
  if (target.type.nbytes() > 0) std::memcpy(s.out.data, target.data, target.type.nbytes());
  return {handle, [=, mode = mode, dtype = s.in.type.dtype, out = s.out.data] {
            (void)sent;
            auto to = stretched(*places, d.outer, d.n);
            kernels::scatter(mode, dtype, out, to.data(), came.get(), out, 1, d.batch * d.outer * d.n, length(to),
                             d.inner);
          }};
}

bool have_own_indices(const std::vector<Sharded>& in, const ShardRules& s, std::int64_t axis,
                      std::int64_t batch_dims) {
  const auto &table = in[0].spec, &indices = in[1].spec;
  const auto& axes = table[at(axis)];
  if (s.mesh().parts(axes) == 1) return false;
  MeshAxes others, own;
  for (std::size_t d = 0; d < table.size(); ++d) {
    if (d == at(axis)) continue;
    if (d < at(batch_dims) && table[d] != indices[d]) return false;
    others.append(table[d]);
  }
  for (auto d = at(batch_dims); d < indices.size(); ++d) own.append(indices[d]);
  auto shared = [&](const MeshAxes& a, const MeshAxes& b) {
    return std::any_of(a.begin(), a.end(), [&](auto& m) { return b.has(m); });
  };
  auto d = index_dims(in[0].type, in[1].type, axis, batch_dims);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // places are i32
  return shared(axes, own) && !shared(others, own) && d.batch * d.outer * std::max(d.n, d.m) <= most;
}
IndexedBytes indexed_bytes(const std::vector<Sharded>& in, const ShardRules& s, std::int64_t axis,
                           std::int64_t batch_dims) {
  auto block = [&](const Sharded& x, std::size_t d) {
    auto parts = std::int64_t{s.mesh().parts(x.spec[d])};
    return static_cast<double>((x.type.shape[d] + parts - 1) / parts);
  };
  double indices = 1, row = static_cast<double>(dtype_size(in[0].type.dtype)), batch = 1;
  for (std::size_t d = 0; d < in[1].spec.size(); ++d) indices *= block(in[1], d);
  for (std::size_t d = 0; d < in[0].spec.size(); ++d)
    if (d < at(batch_dims)) batch *= block(in[0], d);
    else if (d != at(axis)) row *= block(in[0], d);
  auto parts = static_cast<double>(s.mesh().parts(in[0].spec[at(axis)]));
  auto others = (parts - 1) / parts;
  return {indices * (4 + row) * others, batch * static_cast<double>(in[0].type.shape[at(axis)]) * row * others};
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::TakeFromOwners>(ops::TakeFromOwners);
template PrimitivePtr primitive<ops::ScatterToOwners>(ops::ScatterToOwners);
}
