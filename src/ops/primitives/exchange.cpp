// The exchange of rows between ranks: who sends which, and the kernel that packs, sends, copies and unpacks them.
#include "ops/api/exchange.h"
#include <algorithm>
#include <array>
#include <limits>
#include "bora/array/primitive.h"
#include "kernels/api/move.h"
#include "ops/primitives/collective_start.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
/// Rows to, to + every, .. (count of them) of a part are rows from, from + step, .. of an operand.
struct Rows {
  std::int64_t to, every, count, operand, from, step;
  /// Rows that travel: one that is read many times travels once.
  std::int64_t moved() const { return step == 0 ? std::min<std::int64_t>(count, 1) : count; }
};
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }  // b > 0
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }
/// An exchange with the place of a rank in it.
struct Exchanging {
  const Exchange& e;
  const MeshShape& mesh;
  int parts, me;  // me: this rank's part
  Exchanging(const Exchange& x, const MeshShape& m, int part) : e(x), mesh(m), parts(m.parts(x.axes)), me(part) {}
  /// The rows of the result that part p has, in stretches.
  std::vector<BlockRange> stretches(int p) const {
    if (e.wanted.empty()) return {mesh.block(e.n, e.axes, p)};
    std::vector<BlockRange> r;
    auto each = e.wanted.size() / at(parts);
    for (auto k = at(p) * each; k < (at(p) + 1) * each; k += 2) r.push_back({e.wanted[k], e.wanted[k + 1]});
    return r;
  }
  std::int64_t rows(int p) const {
    std::int64_t n = 0;
    for (auto& w : stretches(p)) n += w.size();
    return n;
  }
  BlockRange owned(std::int64_t operand, int p) const {
    auto n = e.rows.at(at(operand));
    return e.whole.at(at(operand)) ? BlockRange{0, n} : mesh.block(n, e.axes, p);
  }
  /// f(piece, the k of begin + k every that are in a stretch of part q, the place of the row of k = 0 in the part).
  template <class F> void each_wanted(int q, const F& f) const {
    std::int64_t place = 0;
    for (auto& want : stretches(q)) {
      for (auto& x : e.pieces) {
        auto first = std::max<std::int64_t>(0, ceil_div(want.begin - x.begin, x.every));
        auto last = ceil_div(std::min(want.end, x.end) - x.begin, x.every);
        if (first < last) f(x, first, last, place + x.begin - want.begin);
      }
      place += want.size();
    }
  }
  /// The rows of part q that part p gives it, in the order in which they travel. A whole operand is read where it is
  /// needed.
  std::vector<Rows> between(int p, int q) const {
    std::vector<Rows> r;
    each_wanted(q, [&](const Piece& x, std::int64_t first, std::int64_t last, std::int64_t zero) {
      if (e.whole.at(at(x.operand)) && p != q) return;
      auto own = owned(x.operand, p);
      auto [from, to] = steps_inside(x.start, x.step, own.begin, own.end);
      first = std::max(first, from), last = std::min(last, to);
      if (first < last)
        r.push_back({zero + first * x.every, x.every, last - first, x.operand, x.start + first * x.step, x.step});
    });
    return r;
  }
  std::int64_t moved(int p, int q) const {
    std::int64_t n = 0;
    if (p != q)
      for (auto& r : between(p, q)) n += r.moved();
    return n;
  }
  /// The parts that give part q rows lie between these two.
  std::pair<int, int> givers(int q) const {
    auto least = parts, most = -1;
    each_wanted(q, [&](const Piece& x, std::int64_t first, std::int64_t last, std::int64_t) {
      if (e.whole.at(at(x.operand))) return;
      auto n = e.rows.at(at(x.operand));
      for (auto row : {x.start + first * x.step, x.start + (last - 1) * x.step}) {
        auto owner = mesh.owner(n, e.axes, row);
        least = std::min(least, owner), most = std::max(most, owner);
      }
    });
    return {least, most};
  }
  Dims sent() const {
    Dims r;
    for (int q = 0; q < parts; ++q) r.push_back(moved(me, q));
    return r;
  }
  Dims received() const {
    Dims r;
    for (int p = 0; p < parts; ++p) r.push_back(moved(p, me));
    return r;
  }
};
Exchanging here_in(const Exchange& e) {
  auto& mesh = this_mesh(Exchange::name);
  return {e, mesh, mesh.part(here().rank, e.axes)};
}
std::int64_t sum_of(const Dims& d) {
  std::int64_t n = 0;
  for (auto x : d) n += x;
  return n;
}
/// Elements of one row: also of an array without rows.
std::int64_t row_of(const Shape& s, std::int64_t dim) {
  return product(s, 0, dim) * product(s, dim + 1, static_cast<std::int64_t>(s.size()));
}
/// Arrays [outer, rows, inner] between which rows are copied.
struct Side {
  std::byte* data;
  std::int64_t rows, first, step;  // rows in all; the first one of this copy, and the distance to the next
};
struct RowCopy {
  std::int64_t outer, inner;
  std::size_t size;
  void operator()(const Side& to, const Side& from, std::int64_t count) const {
    if (outer * inner * count == 0) return;
    auto place = [&](const Side& s) { return s.data + s.first * inner * static_cast<std::int64_t>(size); };
    kernels::copy(place(to), {to.rows * inner, to.step * inner, 1}, place(from),
                  {from.rows * inner, from.step * inner, 1}, {outer, count, inner}, size);
  }
};
std::byte* bytes_of(const void* p) { return static_cast<std::byte*>(const_cast<void*>(p)); }
/// The rows of this rank's part that no piece gives.
void fill_rows(const Exchanging& x, const RowCopy& copy, std::byte* out, Dtype dtype) {
  auto n = x.rows(x.me);
  std::vector<std::pair<std::int64_t, std::int64_t>> given;
  bool scattered = false;
  x.each_wanted(x.me, [&](const Piece& p, std::int64_t first, std::int64_t last, std::int64_t zero) {
    scattered = scattered || p.every != 1;
    given.emplace_back(zero + first * p.every, zero + (last - 1) * p.every + 1);
  });
  alignas(16) std::array<std::byte, 16> element{};
  if (dtype != Dtype::key) write_number(x.e.fill, dtype, element.data());
  auto fill = [&](std::int64_t begin, std::int64_t end) {
    if (begin >= end || copy.outer * copy.inner == 0) return;
    kernels::copy(out + begin * copy.inner * static_cast<std::int64_t>(copy.size), {n * copy.inner, copy.inner, 1},
                  element.data(), {0, 0, 0}, {copy.outer, end - begin, copy.inner}, copy.size);
  };
  if (scattered) return fill(0, n);
  std::sort(given.begin(), given.end());
  std::int64_t next = 0;
  for (auto [begin, end] : given) {
    fill(next, begin);
    next = end;
  }
  fill(next, n);
}
}  // namespace

std::pair<std::int64_t, std::int64_t> steps_inside(std::int64_t start, std::int64_t step, std::int64_t begin,
                                                   std::int64_t end) {
  if (step == 0) return {0, begin <= start && start < end ? std::numeric_limits<std::int64_t>::max() : 0};
  if (step > 0) return {ceil_div(begin - start, step), ceil_div(end - start, step)};
  return {floor_div(start - end, -step) + 1, floor_div(start - begin, -step) + 1};
}
Type Exchange::infer(const Types& in) const {
  auto x = here_in(*this);
  check<ShapeError>(in.size() == rows.size() && in.size() == whole.size(), "exchange: ", in.size(), " operands, but ",
                    rows.size(), " numbers of rows");
  for (std::size_t j = 0; j < in.size(); ++j) {
    auto want = in[0].shape;
    want.at(at(dim)) = x.owned(static_cast<std::int64_t>(j), x.me).size();
    check<ShapeError>(in[j].shape == want && in[j].dtype == in[0].dtype, "exchange: operand ", j, " is ", in[j],
                      ", but this rank's block of it is ", want);
  }
  auto out = in[0];
  out.shape[at(dim)] = x.rows(x.me);
  return out;
}
void Exchange::eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
Exchange Exchange::lift(std::int64_t n) const {
  auto r = *this;
  ++r.dim;
  r.of = prepend(n, of);
  return r;
}
std::size_t Exchange::scratch_bytes(const Types&, const Types& out) const {
  auto x = here_in(*this);
  auto n = (sum_of(x.sent()) + sum_of(x.received())) * row_of(out[0].shape, dim);
  return static_cast<std::size_t>(n) * dtype_size(out[0].dtype);
}
void Exchange::call(CollectiveCall& c, const Type&, const Type& out) const {
  auto x = here_in(*this);
  auto row = row_of(out.shape, dim);
  c.kind = CollectiveKind::all_to_all;
  c.sparse = sparse;
  c.send_counts = x.sent();
  c.recv_counts = x.received();
  for (auto* counts : {&c.send_counts, &c.recv_counts})
    for (auto& n : *counts) n *= row;
}
/// Packs what others read, starts, and copies this rank's own rows while the others' travel.
StartedCollective Exchange::start(Start s) const {
  auto x = here_in(*this);
  const auto& shape = s.out.type.shape;
  const RowCopy copy{product(shape, 0, dim), product(shape, dim + 1, static_cast<std::int64_t>(shape.size())), s.size};
  const auto n = x.rows(x.me);
  auto operand = [&](const Rows& r) {
    return Side{bytes_of(s.all[at(r.operand)].data), s.all[at(r.operand)].type.shape[at(dim)],
                r.from - x.owned(r.operand, x.me).begin, r.step};
  };
  auto result = [n, data = bytes_of(s.out.data)](const Rows& r) { return Side{data, n, r.to, r.every}; };
  auto packed = [](std::byte* at, const Rows& r) { return Side{at, r.moved(), 0, r.step == 0 ? 0 : 1}; };
  auto bytes = [copy](const Rows& r) {
    return static_cast<std::size_t>(r.moved() * copy.outer * copy.inner) * copy.size;
  };
  auto* place = s.scratch;
  for (int q = 0; q < x.parts; ++q) {
    if (q == x.me) continue;
    for (auto& r : x.between(x.me, q)) {
      copy({place, r.moved(), 0, 1}, operand(r), r.moved());
      place += bytes(r);
    }
  }
  s.call.in = s.scratch;
  s.call.out = place;
  auto* incoming = place;
  auto started = s.now([incoming, result, packed, bytes, copy, x = *this] {
    auto e = here_in(x);
    auto* from = incoming;
    for (int p = 0; p < e.parts; ++p) {
      if (p == e.me) continue;
      for (auto& r : e.between(p, e.me)) {
        copy(result(r), packed(from, r), r.count);
        from += bytes(r);
      }
    }
  });
  fill_rows(x, copy, bytes_of(s.out.data), s.out.type.dtype);
  for (auto& r : x.between(x.me, x.me)) copy(result(r), operand(r), r.count);
  return started;
}

std::vector<OwnRun> longest_own_runs(const Exchange& e, const MeshShape& mesh, std::int64_t operand) {
  std::vector<OwnRun> r;
  for (int q = 0; q < mesh.parts(e.axes); ++q) {
    Exchanging x(e, mesh, q);
    auto part = x.stretches(q).front();
    OwnRun best{part.begin, part.begin, x.owned(operand, q).begin, 1};
    for (auto& run : x.between(q, q))
      if (run.operand == operand && run.every == 1 && run.step > 0 && run.count > best.end - best.begin)
        best = {part.begin + run.to, part.begin + run.to + run.count, run.from, run.step};
    r.push_back(best);
  }
  return r;
}
Traffic traffic(const Exchange& e, const MeshShape& mesh) {
  auto parts = mesh.parts(e.axes);
  Traffic t{Dims(at(parts), 0), Dims(at(parts), 0)};
  for (int q = 0; q < parts; ++q) {
    Exchanging x(e, mesh, q);
    for (auto [p, last] = x.givers(q); p <= last; ++p) {
      auto n = x.moved(p, q);
      t.sent[at(p)] += n;
      t.received[at(q)] += n;
    }
  }
  return t;
}
namespace {
std::size_t nbytes(const Types& types) {
  std::size_t n = 0;
  for (auto& t : types) n += t.nbytes();
  return n;
}
}  // namespace
std::size_t collective_bytes(const Primitive& p, const Types& in, const Types& out) {
  if (auto* e = as<Exchange>(p); e && here().mesh) {
    auto t = traffic(*e, *here().mesh);
    std::int64_t most = 0;
    for (std::size_t k = 0; k < t.sent.size(); ++k) most = std::max(most, t.sent[k] + t.received[k]);
    return static_cast<std::size_t>(most * row_of(out[0].shape, e->dim)) * dtype_size(out[0].dtype);
  }
  return nbytes(in) + nbytes(out);
}
std::size_t received_bytes(const Primitive& p, const Types& in, const Types& out) {
  auto given = nbytes(in), got = nbytes(out);
  auto parts = here().mesh ? at(here().mesh->parts(p.named_axes())) : 1;
  if (auto* e = as<Exchange>(p); e && here().mesh) {
    auto received = traffic(*e, *here().mesh).received;
    auto most = *std::max_element(received.begin(), received.end());
    return at(most * row_of(out[0].shape, e->dim)) * dtype_size(out[0].dtype);
  }
  if (p.name() == "all_reduce") return 2 * (given - given / parts);
  if (p.name() == "all_to_all") return given - given / parts;
  if (p.name() == "all_gather") return got - std::min(got, given);
  if (p.name() == "reduce_scatter") return given - std::min(got, given);
  return got;
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::Exchange>(ops::Exchange);
}
