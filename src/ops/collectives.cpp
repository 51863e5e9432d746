// Collectives as primitives. Eval talks to the other ranks; a vmap with that axis_name turns them into array operations.
#include "bora/ops/collectives.h"
#include <algorithm>
#include <numeric>
#include "bora/kernels/memory.h"
#include "bora/kernels/move.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "ops/support.h"

namespace bora::ops {
namespace {
std::int64_t total(const Dims& d) { return std::accumulate(d.begin(), d.end(), std::int64_t{0}); }
bool captures(const MeshAxes& axes, const BatchRules& b) {
  return !b.axis_name.empty() && axes.has(AxisName(b.axis_name));
}
void only(std::string_view op, const MeshAxes& axes, const BatchRules& b) {
  check<ShardError>(axes.size() == 1, op, ": axis '", b.axis_name,
                    "' of a vmap cannot be combined with other axes here");
}
/// Dimension dim of size a * b as two, and back.
Array with_dim(const Array& x, std::int64_t dim, std::int64_t a, std::int64_t b) {
  auto s = x.shape();
  s[at(dim)] = a;
  s.insert(at(dim) + 1, b);
  return reshape(x, s);
}
Array merged(const Array& x, std::int64_t dim) {
  auto s = x.shape();
  s[at(dim)] *= s[at(dim) + 1];
  s.erase(at(dim) + 1);
  return reshape(x, s);
}
std::size_t my_part(std::string_view what, const MeshAxes& axes) {
  return static_cast<std::size_t>(this_mesh(what).part(here().rank, axes));
}

void run_collective(const Primitive& p, Inputs in, Outputs out) {
  Types ti, to;
  for (auto& i : in) ti.push_back(i.type);
  for (auto& o : out) to.push_back(o.type);
  auto scratch = kernels::allocate(collective_scratch_bytes(p, ti, to));
  start_collective(p, collective_words(p, ti[0].dtype), in, out, scratch.get()).wait();
}

/// How members are combined, in words: it is quoted when ranks disagree.
struct Kind {
  Combine value;
  operator std::string_view() const {
    return value == Combine::sum ? "sum" : value == Combine::max ? "max" : "min";
  }
  bool operator==(const Kind&) const = default;
  friend std::ostream& operator<<(std::ostream& o, const Kind& k) { return o << std::string_view(k); }
};
struct AllReduce {
  MeshAxes axes;
  Kind kind;
  Shape of;
  static constexpr std::string_view name = "all_reduce";
  static constexpr bool collective = true;
  Type infer(const Types& in) const { return in[0]; }
  void eval(Inputs in, Outputs out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const {
    check<TraceError>(kind.value == Combine::sum, "pmax and pmin cannot be differentiated");
    return all_reduce(v.ct[0], axes, kind.value, of);
  }
  AllReduce lift(std::int64_t) const { return *this; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(*this), in);
    auto rest = axes;
    rest.remove(AxisName(b.axis_name));
    Array y = in[0].value;
    if (in[0].axis < 0) y = kind.value == Combine::sum ? y * b.size : y;
    else
      y = kind.value == Combine::sum ? sum(y, in[0].axis) : kind.value == Combine::max ? amax(y, in[0].axis) : amin(y, in[0].axis);
    return {{rest.empty() ? y : all_reduce(y, rest, kind.value, of), -1}};
  }
};
struct AllGather {
  MeshAxes axes;
  std::int64_t dim;
  Dims sizes;
  Shape of;
  static constexpr std::string_view name = "all_gather";
  static constexpr bool collective = true;
  Type infer(const Types& in) const {
    auto s = in[0].shape;
    s.at(at(dim)) = total(sizes);
    return with_shape(in[0], s);
  }
  void eval(Inputs in, Outputs out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const { return reduce_scatter(v.ct[0], axes, dim, sizes, of); }
  AllGather lift(std::int64_t) const { return {axes, dim + 1, sizes, of}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    return {{merged(moveaxis(b.front(in[0]), 0, dim), dim), -1}};
  }
};
struct ReduceScatter {
  MeshAxes axes;
  std::int64_t dim;
  Dims sizes;
  Shape of;
  static constexpr std::string_view name = "reduce_scatter";
  static constexpr bool collective = true;
  Type infer(const Types& in) const {
    auto s = in[0].shape;
    auto& n = s.at(at(dim));
    check<ShapeError>(n == total(sizes), "reduce_scatter: dimension ", dim, " of ", in[0],
                      " is not the sum of the parts ", sizes);
    n = sizes.at(my_part(name, axes));
    return with_shape(in[0], s);
  }
  void eval(Inputs in, Outputs out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const { return all_gather(v.ct[0], axes, dim, sizes, of); }
  ReduceScatter lift(std::int64_t) const { return {axes, dim + 1, sizes, of}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    auto y = sum(b.front(in[0]), 0);
    return {{with_dim(y, dim, b.size, y.shape(dim) / b.size), dim}};
  }
};
struct AllToAll {
  MeshAxes axes;
  std::int64_t split_dim, concat_dim;
  Dims split_sizes, concat_sizes;
  Shape of;
  static constexpr std::string_view name = "all_to_all";
  static constexpr bool collective = true;
  Type infer(const Types& in) const {
    auto s = in[0].shape;
    check<ShapeError>(s.at(at(split_dim)) == total(split_sizes), "all_to_all: dimension ", split_dim, " of ", in[0],
                      " is not the sum of the parts ", split_sizes);
    auto part = my_part(name, axes);
    check<ShapeError>(s.at(at(concat_dim)) == concat_sizes.at(part) || split_dim == concat_dim,
                      "all_to_all: dimension ", concat_dim, " of ", in[0], " should be ", concat_sizes.at(part));
    s[at(split_dim)] = split_sizes.at(part);
    s[at(concat_dim)] = split_dim == concat_dim ? split_sizes[part] * static_cast<std::int64_t>(split_sizes.size())
                                                : total(concat_sizes);
    return with_shape(in[0], s);
  }
  void eval(Inputs in, Outputs out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const {
    return all_to_all(v.ct[0], axes, concat_dim, split_dim, concat_sizes, split_sizes, of);
  }
  AllToAll lift(std::int64_t) const { return {axes, split_dim + 1, concat_dim + 1, split_sizes, concat_sizes, of}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    auto x = b.front(in[0]);
    auto y = moveaxis(with_dim(x, split_dim + 1, b.size, x.shape(split_dim + 1) / b.size), split_dim + 1,
                      0);  // new row, old row, ...
    return {{merged(moveaxis(y, 1, 1 + concat_dim), 1 + concat_dim), 0}};
  }
};
struct Permute {
  MeshAxes axes;
  std::vector<std::pair<int, int>> pairs;  // (source, target) parts
  static constexpr std::string_view name = "ppermute";
  static constexpr bool collective = true;
  Type infer(const Types& in) const { return in[0]; }
  void eval(Inputs in, Outputs out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const {
    auto back = pairs;
    for (auto& p : back) std::swap(p.first, p.second);
    return call_one(Permute{axes, back}, {v.ct[0]});
  }
  Permute lift(std::int64_t) const { return *this; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(*this), in);
    auto x = b.front(in[0]);
    Arrays rows(static_cast<std::size_t>(b.size), zeros_like(index_in_dim(x, 0, 0)));
    for (auto& [from, to] : pairs) rows.at(static_cast<std::size_t>(to)) = index_in_dim(x, 0, from);
    return {{stack(rows), 0}};
  }
};
/// The two ways in which the rank enters a Program: scalars that are known when it runs and not before.
struct AxisIndex {
  MeshAxes axes;
  static constexpr std::string_view name = "axis_index";
  static constexpr bool opaque = true;
  Type infer(const Types&) const { return {{}, Dtype::i32}; }
  void eval(Inputs, Outputs out) const { *out[0].as<std::int32_t>() = static_cast<std::int32_t>(my_part(name, axes)); }
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules& b) const {
    only(name, axes, b);
    return {{iota({b.size}, 0), 0}};
  }
};
struct BlockStart {
  std::int64_t n;
  MeshAxes axes, within;
  std::int64_t next;
  static constexpr std::string_view name = "block_start";
  static constexpr bool opaque = true;
  Type infer(const Types&) const { return {{}, Dtype::i32}; }
  void eval(Inputs, Outputs out) const {
    auto& m = this_mesh(name);
    auto begin = [&](const MeshAxes& a, std::int64_t k) {
      return block_of(n, m.parts(a), m.part(here().rank, a) + k).begin;
    };
    *out[0].as<std::int32_t>() = static_cast<std::int32_t>(begin(axes, next) - begin(within, 0));
  }
};

// ---- eval: parts packed one after the other on the wire ------------------------------------------------------------------
struct View3 {
  std::int64_t outer, n, inner;
};
View3 around(const Shape& s, std::int64_t dim) {
  View3 v{1, s[at(dim)], 1};
  for (std::size_t d = 0; d < s.size(); ++d)
    (d < at(dim) ? v.outer : d > at(dim) ? v.inner : v.n) *= d == at(dim) ? 1 : s[d];
  return v;
}
/// Copies the slice [begin, begin + n) of dim between an array and a packed part; `pack`: array -> part.
void move_part(void* array, const Shape& shape, std::int64_t dim, std::int64_t begin, std::int64_t n, void* part,
               std::size_t size, bool pack) {
  auto v = around(shape, dim);
  if (v.outer * n * v.inner == 0) return;
  auto* base = static_cast<std::byte*>(array) + static_cast<std::size_t>(begin * v.inner) * size;
  Dims full{v.n * v.inner, 1}, packed{n * v.inner, 1}, extent{v.outer, n * v.inner};
  if (pack) kernels::copy(part, packed, base, full, extent, size);
  else kernels::copy(base, full, part, packed, extent, size);
}
std::uint64_t hash_text(const std::string& s) {  // FNV-1a: the same on every rank and build
  std::uint64_t h = 1469598103934665603ull;
  for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
  return h;
}
Dims times(const Dims& parts, std::int64_t k) {
  Dims r = parts;
  for (auto& x : r) x *= k;
  return r;
}
bool leads(const Shape& s, std::int64_t dim) { return around(s, dim).outer == 1; }
}  // namespace

std::optional<CollectiveParams> collective_params(const Primitive& p) {
  if (auto* r = as<AllReduce>(p))
    return CollectiveParams{.kind = CollectiveKind::all_reduce, .axes = r->axes, .combine = r->kind.value, .of = r->of};
  if (auto* g = as<AllGather>(p))
    return CollectiveParams{
        .kind = CollectiveKind::all_gather, .axes = g->axes, .dim = g->dim, .sizes = g->sizes, .of = g->of};
  if (auto* r = as<ReduceScatter>(p))
    return CollectiveParams{
        .kind = CollectiveKind::reduce_scatter, .axes = r->axes, .dim = r->dim, .sizes = r->sizes, .of = r->of};
  return std::nullopt;
}
void StartedCollective::wait() {
  handle->wait();
  if (finish) finish();
}
bool collective_packs_operand(const Primitive& p, const Types& in) {
  if (auto* r = as<ReduceScatter>(p)) return !leads(in[0].shape, r->dim);
  return as<AllToAll>(p) != nullptr;
}
bool collective_unpacks_result(const Primitive& p, const Types& out) {
  if (auto* g = as<AllGather>(p)) return !leads(out[0].shape, g->dim);
  return as<AllToAll>(p) != nullptr;
}
std::size_t collective_scratch_bytes(const Primitive& p, const Types& in, const Types& out) {
  if (as<AllGather>(p)) return collective_unpacks_result(p, out) ? out[0].nbytes() : 0;
  if (as<ReduceScatter>(p)) return collective_packs_operand(p, in) ? in[0].nbytes() : 0;
  if (as<AllToAll>(p)) return in[0].nbytes() + out[0].nbytes();
  return 0;
}
std::shared_ptr<const std::string> collective_words(const Primitive& p, Dtype dtype) {
  return std::make_shared<const std::string>(std::string(p.name()) + p.facts() + " " + std::string(dtype_name(dtype)));
}
StartedCollective start_collective(const Primitive& p, const std::shared_ptr<const std::string>& words, Inputs in,
                                   Outputs out, void* scratch) {
  auto* c = here().communicator;
  check<ShardError>(c != nullptr, p.name(),
                    ": no mesh is active; collectives run inside of shard_map on a mesh, or under vmap(axis_name)");
  CollectiveCall call{.kind = CollectiveKind::all_reduce,
                      .dtype = in[0].type.dtype,
                      .axes = p.named_axes(),
                      .in = in[0].data,
                      .out = out[0].data};
  call.fingerprint = hash_text(*words);
  call.describe = [words] { return *words; };
  auto size = dtype_size(call.dtype);
  if (call.dtype == Dtype::boolean) call.dtype = Dtype::u8;
  auto n = in[0].type.size();
  auto* result = out[0].data;
  if (auto* r = as<AllReduce>(p)) {
    call.reduce = static_cast<int>(r->kind.value);
    call.send_counts = {n};
    return {c->start(call)};
  }
  if (auto* g = as<AllGather>(p)) {
    auto shape = out[0].type.shape;
    auto v = around(shape, g->dim);
    call.kind = CollectiveKind::all_gather;
    call.recv_counts = times(g->sizes, v.outer * v.inner);
    if (v.outer == 1) return {c->start(call)};
    call.out = scratch;
    return {c->start(call), [=, dim = g->dim, sizes = g->sizes] {
              std::int64_t begin = 0;
              for (auto k : sizes) {
                move_part(result, shape, dim, begin, k,
                          static_cast<std::byte*>(scratch) + static_cast<std::size_t>(begin * v.outer * v.inner) * size,
                          size, false);
                begin += k;
              }
            }};
  }
  if (auto* r = as<ReduceScatter>(p)) {
    auto v = around(in[0].type.shape, r->dim);
    call.kind = CollectiveKind::reduce_scatter;
    call.recv_counts = times(r->sizes, v.outer * v.inner);
    if (v.outer != 1) {
      std::int64_t begin = 0;
      for (auto k : r->sizes) {
        move_part(const_cast<void*>(in[0].data), in[0].type.shape, r->dim, begin, k,
                  static_cast<std::byte*>(scratch) + static_cast<std::size_t>(begin * v.outer * v.inner) * size, size,
                  true);
        begin += k;
      }
      call.in = scratch;
    }
    return {c->start(call)};
  }
  if (auto* a = as<AllToAll>(p)) {
    // What goes to member k is split part k of dimension split_dim; what comes from k fills its part of concat_dim.
    auto part = my_part(p.name(), a->axes);
    auto sv = around(in[0].type.shape, a->split_dim);
    call.kind = CollectiveKind::all_to_all;
    call.send_counts = times(a->split_sizes, sv.outer * sv.inner);
    auto* incoming = static_cast<std::byte*>(scratch) + in[0].type.nbytes();
    std::int64_t begin = 0;
    for (auto k : a->split_sizes) {
      move_part(const_cast<void*>(in[0].data), in[0].type.shape, a->split_dim, begin, k,
                static_cast<std::byte*>(scratch) + static_cast<std::size_t>(begin * sv.outer * sv.inner) * size, size,
                true);
      begin += k;
    }
    auto shape = out[0].type.shape;
    auto cv = around(shape, a->concat_dim);
    Dims parts = a->split_dim == a->concat_dim ? Dims(a->split_sizes.size(), a->split_sizes[part]) : a->concat_sizes;
    call.recv_counts = times(parts, cv.outer * cv.inner);
    call.in = scratch;
    call.out = incoming;
    return {c->start(call), [=, dim = a->concat_dim] {
              std::int64_t done = 0;
              for (auto k : parts) {
                move_part(result, shape, dim, done, k,
                          incoming + static_cast<std::size_t>(done * cv.outer * cv.inner) * size, size, false);
                done += k;
              }
            }};
  }
  auto* m = as<Permute>(p);
  check<ShardError>(m != nullptr, p.name(), " is not a collective that can be started");
  auto me = static_cast<int>(my_part(p.name(), m->axes));
  call.kind = CollectiveKind::permute;
  call.send_counts = {n};
  for (auto& [from, to] : m->pairs) {
    if (from == me) call.target = to;
    if (to == me) call.source = from;
  }
  return {c->start(call)};
}

Array all_reduce(const Array& x, const MeshAxes& a, Combine kind, const Shape& of) {
  return call_one(AllReduce{a, {kind}, of}, {x});
}
Array all_gather(const Array& x, const MeshAxes& a, std::int64_t dim, const Dims& sizes, const Shape& of) {
  return call_one(AllGather{a, dim, sizes, of}, {x});
}
Array reduce_scatter(const Array& x, const MeshAxes& a, std::int64_t dim, const Dims& sizes, const Shape& of) {
  return call_one(ReduceScatter{a, dim, sizes, of}, {x});
}
Array all_to_all(const Array& x, const MeshAxes& a, std::int64_t split, std::int64_t concat, const Dims& ss,
                 const Dims& cs, const Shape& of) {
  return call_one(AllToAll{a, split, concat, ss, cs, of}, {x});
}
Array block_start(std::int64_t n, const MeshAxes& axes, const MeshAxes& within, std::int64_t next) {
  return call_one(BlockStart{n, axes, within, next}, {});
}
}  // namespace bora::ops

namespace bora {
namespace {
Dims even(std::string_view op, const Array& x, std::int64_t dim, const MeshAxes& axes) {
  auto p = ops::named_axis_size(axes), n = x.shape(dim);
  check<ShapeError>(n % p == 0, op, ": dimension ", dim, " of ", x.type(), " does not divide over the ", p,
                    " members of ", axes);
  return Dims(static_cast<std::size_t>(p), n / p);
}
Dims same(const Array& x, std::int64_t dim, const MeshAxes& axes) {
  return Dims(static_cast<std::size_t>(ops::named_axis_size(axes)), x.shape(dim));
}
}  // namespace
Array psum(const Array& x, const MeshAxes& a) {
  (void)ops::named_axis_size(a);
  return ops::all_reduce(x.dtype() == Dtype::boolean ? x.astype(i32) : x, a, ops::Combine::sum, {});
}
Array pmean(const Array& x, const MeshAxes& a) { return psum(x, a) / ops::named_axis_size(a); }
Array pmax(const Array& x, const MeshAxes& a) {
  return (void)ops::named_axis_size(a), ops::all_reduce(x, a, ops::Combine::max, {});
}
Array pmin(const Array& x, const MeshAxes& a) {
  return (void)ops::named_axis_size(a), ops::all_reduce(x, a, ops::Combine::min, {});
}
Array all_gather(const Array& x, const MeshAxes& axes, const Gather& o) {
  auto dim = normalize_axis("all_gather", o.axis, x.ndim() + (o.tiled ? 0 : 1));
  auto y = o.tiled ? x : expand_dims(x, dim);
  return ops::all_gather(y, axes, dim, same(y, dim, axes), {});
}
Array psum_scatter(const Array& x, const MeshAxes& axes, const Gather& o) {
  auto dim = normalize_axis("psum_scatter", o.axis, x.ndim());
  auto y = ops::reduce_scatter(x, axes, dim, even("psum_scatter", x, dim, axes), {});
  if (o.tiled) return y;
  check<ShapeError>(y.shape(dim) == 1, "psum_scatter: dimension ", dim, " of ", x.type(),
                    " must have one element a member unless tiled");
  return squeeze(y, dim);
}
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split, std::int64_t concat) {
  auto s = normalize_axis("all_to_all", split, x.ndim()), c = normalize_axis("all_to_all", concat, x.ndim());
  auto parts = even("all_to_all", x, s, axes);
  return ops::all_to_all(x, axes, s, c, parts, s == c ? parts : same(x, c, axes), {});
}
Array ppermute(const Array& x, const MeshAxes& axis, const std::vector<std::pair<int, int>>& pairs) {
  auto n = ops::named_axis_size(axis);
  std::vector<int> from, to;
  for (auto& [s, t] : pairs) {
    check<ValueError>(0 <= s && s < n && 0 <= t && t < n, "ppermute: (", s, ", ", t, ") names a member outside of [0, ",
                      n, ")");
    check<ValueError>(
        std::find(from.begin(), from.end(), s) == from.end() && std::find(to.begin(), to.end(), t) == to.end(),
        "ppermute: sources and destinations must be unique; ", s, " -> ", t, " repeats one");
    from.push_back(s);
    to.push_back(t);
  }
  return call_one(ops::Permute{axis, pairs}, {x});
}
Array axis_index(const MeshAxes& axes) {
  (void)ops::named_axis_size(axes);
  return call_one(ops::AxisIndex{axes}, {});
}
}  // namespace bora
