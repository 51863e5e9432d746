// fuse_windows.cpp -- slices, flips, pads, concatenations and parts at constant places as boxes of other variables, and
// the regions of a loop that reads such boxes.
#include <algorithm>
#include <cstdlib>
#include "ops/api/primitives.h"
#include "ops/api/region.h"
#include "ops/api/support.h"
#include "compile/passes/fuse/fuse_group.h"
#include "bora/ops/creation.h"

namespace bora::exec {
namespace {
using K = Origin::Kind;
constexpr std::size_t kMostPieces = 9, kMostCells = 125, kMostRegions = 27;

void shift(Piece& p, std::size_t d, std::int64_t by) {
  p.box.begin[d] += by;
  p.box.end[d] += by;
  if (p.origin.kind != K::constant) p.origin.access.offset -= by * p.origin.access.strides[d];
}
/// Cuts the box to [begin, end) along dimension d; false if nothing is left.
bool cut(Box& b, std::size_t d, std::int64_t begin, std::int64_t end) {
  b.begin[d] = std::max(b.begin[d], begin);
  b.end[d] = std::min(b.end[d], end);
  return b.begin[d] < b.end[d];
}
Pieces through(const ops::StaticSlice& s, Pieces in) {
  std::erase_if(in, [&](Piece& p) {
    for (std::size_t d = 0; d < s.start.size(); ++d) {
      if (!cut(p.box, d, s.start[d], s.limit[d])) return true;
      shift(p, d, -s.start[d]);
      auto step = s.stride[d];
      p.box.begin[d] = (p.box.begin[d] + step - 1) / step;
      p.box.end[d] = (p.box.end[d] + step - 1) / step;
      if (p.box.begin[d] == p.box.end[d]) return true;
      if (p.origin.kind != K::constant) p.origin.access.strides[d] *= step;
    }
    return false;
  });
  return in;
}
/// Boxes that tile an array around a window: below and above it along each dimension, inside it in those before.
std::vector<Box> around(const Box& window, const Shape& shape) {
  std::vector<Box> r;
  Box rest{Dims(shape.size()), shape.dims()};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto below = rest, above = rest;
    if (cut(below, d, 0, window.begin[d])) r.push_back(below);
    if (cut(above, d, window.end[d], shape[d])) r.push_back(above);
    cut(rest, d, window.begin[d], window.end[d]);
  }
  return r;
}
Pieces through(const ops::Pad& pad, Pieces in, const Type& operand, const Type& out) {
  auto& shape = out.shape;
  Box window{Dims(shape.size()), shape.dims()};
  bool some = true;
  for (std::size_t d = 0; d < shape.size(); ++d) some = cut(window, d, pad.lo[d], pad.lo[d] + operand.shape[d]) && some;
  std::erase_if(in, [&](Piece& p) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shift(p, d, pad.lo[d]);
      if (!cut(p.box, d, 0, shape[d])) return true;
    }
    return false;
  });
  Origin value{K::constant, -1, {}, ops::bits_of(pad.value, out.dtype)};
  if (!some) return {{{Dims(shape.size()), shape.dims()}, value}};
  for (auto& box : around(window, shape)) in.push_back({box, value});
  return in;
}
/// The starts of a window of this shape in an array of that shape, if they are constants: clamped, as the kernel does.
std::optional<Dims> starts_of(const Graph& g, const Instruction& i, std::size_t first, const Shape& all,
                              const Shape& window) {
  Dims r;
  for (std::size_t d = 0; d < window.size(); ++d) {
    auto c = g.constants.find(static_cast<int>(g.at(i.in[first + d])));
    if (c == g.constants.end()) return std::nullopt;
    r.push_back(std::clamp<std::int64_t>(static_cast<std::int32_t>(c->second), 0, all[d] - window[d]));
  }
  return r;
}
Pieces through(const ops::DynamicUpdateSlice&, const Pieces& in, Pieces update, const Dims& start, const Type& part,
               const Shape& shape) {
  if (part.size() == 0) return in;
  Box window{start, start};
  for (std::size_t d = 0; d < start.size(); ++d) {
    window.end[d] += part.shape[d];
    for (auto& p : update) shift(p, d, start[d]);
  }
  for (auto& box : around(window, shape))
    for (auto p : in) {
      bool some = true;
      for (std::size_t d = 0; d < start.size(); ++d) some = cut(p.box, d, box.begin[d], box.end[d]) && some;
      if (some) update.push_back(std::move(p));
    }
  return update;
}
Pieces through(const ops::Concatenate& c, const std::vector<Pieces>& in, const Graph& g, const Instruction& i) {
  Pieces r;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    auto n = g.type(i.in[k]).shape[idx(c.axis)];
    for (auto p : in[k]) {
      shift(p, idx(c.axis), at);
      if (g.type(i.in[k]).size() > 0) r.push_back(std::move(p));
    }
    at += n;
  }
  return r;
}
Pieces through(const ops::BroadcastInDim& b, const Pieces& in, const Type& operand) {
  Pieces r;
  for (auto& p : in) {
    Piece wide{{Dims(b.shape.size()), b.shape.dims()}, p.origin};
    auto& a = wide.origin.access;
    if (p.origin.kind != K::constant) a.strides = Dims(b.shape.size());
    for (std::size_t d = 0; d < b.dims.size(); ++d) {
      if (operand.shape[d] == 1) continue;
      auto to = idx(b.dims[d]);
      wide.box.begin[to] = p.box.begin[d];
      wide.box.end[to] = p.box.end[d];
      if (p.origin.kind != K::constant) a.strides[to] = p.origin.access.strides[d];
    }
    r.push_back(std::move(wide));
  }
  return r;
}
Pieces through(const ops::Rev& r, Pieces in, const Shape& shape) {
  for (auto& p : in)
    for (auto dim : r.dims) {
      auto d = idx(dim);
      auto begin = p.box.begin[d];
      p.box.begin[d] = shape[d] - p.box.end[d];
      p.box.end[d] = shape[d] - begin;
      if (p.origin.kind == K::constant) continue;
      auto& a = p.origin.access;
      a.offset += (shape[d] - 1) * a.strides[d];
      a.strides[d] = -a.strides[d];
    }
  return in;
}
struct Window {  // one of them, or none
  const ops::StaticSlice* slice;
  const ops::Rev* flip;
  const ops::Pad* pad;
  const ops::Concatenate* concatenation;
  const ops::DynamicSlice* part;  // this and the next: with constant starts
  const ops::DynamicUpdateSlice* changed;
  Dims start = {};
};
Window window_of(const Graph& g, const Instruction& i) {
  auto& p = i.primitive;
  Window w{as<ops::StaticSlice>(p), ops::flip_of(*p),         as<ops::Pad>(p),
           as<ops::Concatenate>(p), as<ops::DynamicSlice>(p), as<ops::DynamicUpdateSlice>(p)};
  if (!w.part && !w.changed) return w;
  auto start = starts_of(g, i, w.part ? 1 : 2, g.type(i.in[0]).shape, g.type(w.part ? i.out[0] : i.in[1]).shape);
  if (!start) return {};
  w.start = std::move(*start);
  return w;
}
constexpr std::int64_t kShort = 8, kShortFlip = 16, kMany = 4096;
/// Every second element or so of many short rows: loops over its copy, which is one row, are faster.
bool has_short_rows(const Window& w, const Type& out) {
  return !out.shape.empty() && out.shape.back() < kShort && w.slice && w.slice->stride.back() != 1 &&
         out.size() > kMany;
}
bool flips_short_rows(const ops::Rev& r, const Type& out) {
  return std::find(r.dims.begin(), r.dims.end(), out.ndim() - 1) != r.dims.end() && out.shape.back() <= kShortFlip &&
         out.size() > kMany;
}
}  // namespace

bool is_readable(const Piece& p) {
  auto& a = p.origin.access;
  if (p.origin.kind != K::memory) return true;
  for (std::size_t d = a.dims.size(); d-- > 0;)
    if (a.dims[d] != 1) return std::abs(a.strides[d]) <= kFarthest;
  return true;
}
bool joins(const Graph& g, const Instruction& i) {
  auto w = window_of(g, i);
  return w.pad || w.concatenation || w.changed;
}
bool is_window(const Graph& g, const Instruction& i, bool joined) {
  if (i.out.size() != 1 || g.type(i.out[0]).size() == 0 || g.type(i.out[0]).dtype == Dtype::key ||
      is_complex(g.type(i.out[0]).dtype) || g.type(i.out[0]).dtype == u64)
    return false;
  auto w = window_of(g, i);
  if (w.pad) return std::all_of(w.pad->interior.begin(), w.pad->interior.end(), [](auto n) { return n == 0; });
  if (w.slice || w.part) return joined || !has_short_rows(w, g.type(i.out[0]));
  if (w.flip) return !flips_short_rows(*w.flip, g.type(i.out[0]));
  return w.concatenation || w.changed;
}
Pieces pieces_through(const Graph& g, const Instruction& i, const std::vector<Pieces>& in) {
  auto &operand = g.type(i.in[0]), &out = g.type(i.out[0]);
  auto w = window_of(g, i);
  auto limit = w.start;
  for (std::size_t d = 0; d < limit.size() && w.part; ++d) limit[d] += out.shape[d];
  auto r = w.slice           ? through(*w.slice, in[0])
           : w.flip          ? through(*w.flip, in[0], out.shape)
           : w.part          ? through({w.start, limit, Dims(limit.size(), 1)}, in[0])
           : w.pad           ? through(*w.pad, in[0], operand, out)
           : w.concatenation ? through(*w.concatenation, in, g, i)
           : w.changed       ? through(*w.changed, in[0], in[1], w.start, g.type(i.in[1]), out.shape)
                             : through(*broadcast(i), in[0], operand);
  for (auto& p : r)
    if (p.origin.kind != K::constant) p.origin.access.dims = out.shape.dims();
  return r.size() <= kMostPieces ? r : Pieces{};
}

namespace {
/// Joins neighbours along dimension d that have the same origins and the same extents in all other dimensions.
void merge(std::vector<std::pair<Box, std::vector<const Origin*>>>& cells, std::size_t d) {
  auto same = [](auto& a, auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](auto* x, auto* y) { return x == y || *x == *y; });
  };
  for (std::size_t k = 0; k < cells.size(); ++k)
    for (std::size_t j = k + 1; j < cells.size();) {
      auto &a = cells[k].first, &b = cells[j].first;
      bool next = a.end[d] == b.begin[d];
      for (std::size_t e = 0; e < a.begin.size(); ++e)
        next = next && (e == d || (a.begin[e] == b.begin[e] && a.end[e] == b.end[e]));
      if (next && same(cells[k].second, cells[j].second)) {
        a.end[d] = b.end[d];
        cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
}
}  // namespace

std::optional<Regions> regions_of(const Scene& s, const Group& g) {
  std::vector<const Read*> reads;
  for (int m : g.members)
    for (int v : s.items[idx(m)].code->in)
      if (auto& r = s.read(v); r.kind == K::pieces && std::find(reads.begin(), reads.end(), &r) == reads.end())
        reads.push_back(&r);
  Regions r;
  if (reads.empty()) return r;
  r.dims = reads[0]->access.dims;
  std::vector<Dims> ends(r.dims.size());
  for (auto* read : reads) {
    if (read->access.dims != r.dims) return std::nullopt;
    for (auto& p : read->pieces)
      for (std::size_t d = 0; d < r.dims.size(); ++d) ends[d].push_back(p.box.end[d]);
  }
  std::size_t count = 1;
  for (auto& e : ends) {
    std::sort(e.begin(), e.end());
    e.erase(std::unique(e.begin(), e.end()), e.end());
    r.cut.push_back(e.size() > 1);
    if ((count *= e.size()) > kMostCells) return std::nullopt;
  }
  std::vector<std::pair<Box, std::vector<const Origin*>>> cells(count);
  for (std::size_t k = 0; k < count; ++k) {
    auto& [box, origins] = cells[k];
    box = {Dims(r.dims.size()), Dims(r.dims.size())};
    for (std::size_t d = r.dims.size(), rest = k; d-- > 0; rest /= ends[d].size()) {
      auto i = rest % ends[d].size();
      box.begin[d] = i ? ends[d][i - 1] : 0;
      box.end[d] = ends[d][i];
    }
    for (auto* read : reads) origins.push_back(&read->origin_at(box.begin));
  }
  for (std::size_t d = r.dims.size(); d-- > 0;) merge(cells, d);
  if (cells.size() > kMostRegions) return std::nullopt;
  auto size = [](auto& cell) {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < cell.first.begin.size(); ++d) n *= cell.first.end[d] - cell.first.begin[d];
    return n;
  };
  auto loads = [](auto& cell) {
    return std::count_if(cell.second.begin(), cell.second.end(), [](auto* o) { return o->kind == K::memory; });
  };
  std::stable_sort(cells.begin(), cells.end(), [&](auto& a, auto& b) { return size(a) > size(b); });
  if (auto most = std::max_element(cells.begin(), cells.end(), [&](auto& a, auto& b) { return loads(a) < loads(b); });
      most != cells.begin())
    std::rotate(cells.begin() + 1, most, most + 1);
  for (auto& c : cells) r.boxes.push_back(c.first);
  return r;
}
const Origin& Read::origin_at(const Dims& at) const {
  for (auto& p : pieces) {
    bool inside = true;
    for (std::size_t d = 0; d < at.size(); ++d) inside = inside && p.box.begin[d] <= at[d] && at[d] < p.box.end[d];
    if (inside) return p.origin;
  }
  return *this;
}
}  // namespace bora::exec
