// Collectives as primitives; each owns its start, its scratch memory and its layout on the wire. Eval communicates with
// the other ranks; a vmap with that axis_name turns them into array operations.
#include "ops/api/collective_primitives.h"
#include "ops/api/exchange.h"
#include <algorithm>
#include <numeric>
#include <utility>
#include "kernels/api/memory.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/collective_start.h"
#include "ops/primitives/merge_sorted.h"
#include "ops/primitives/owners.h"
#include "ops/primitives/packing.h"
#include "bora/ops/creation.h"
#include "bora/array/primitive.h"

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
/// Splits dimension dim of size a * b in two, and merges it again.
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

std::uint64_t hash_text(const std::string& s) {  // FNV-1a: the same on every rank and build
  std::uint64_t h = 1469598103934665603ull;
  for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
  return h;
}
struct AllReduce {
  MeshAxes axes;
  Reduction kind;
  Shape of;
  Wire wire = {};
  static constexpr std::string_view name = "all_reduce";
  static constexpr bool collective = true;
  Type infer(const Types& in) const { return in[0]; }
  void eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const {
    check<TraceError>(kind == Reduction::sum, "pmax and pmin cannot be differentiated");
    return all_reduce(v.ct[0], axes, kind, of, wire);
  }
  Pushed jvp(const Arrays& in, const Arrays& t) const {
    check<TraceError>(kind == Reduction::sum, "pmax and pmin cannot be differentiated");
    return {{call_one(*this, in)}, {call_one(*this, t)}};
  }
  AllReduce lift(std::int64_t) const { return *this; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(*this), in);
    auto rest = axes;
    rest.remove(AxisName(b.axis_name));
    Array y = in[0].value;
    if (in[0].axis < 0) y = kind == Reduction::sum ? y * b.size : y;
    else if (kind == Reduction::sum) y = sum(y, in[0].axis, {.dtype = y.dtype()});
    else y = kind == Reduction::max ? amax(y, in[0].axis) : amin(y, in[0].axis);
    return {{rest.empty() ? y : all_reduce(y, rest, kind, of, wire), -1}};
  }
  std::optional<CollectiveParams> params() const {
    return CollectiveParams{.kind = CollectiveKind::all_reduce, .axes = axes, .reduce = kind, .of = of, .wire = wire};
  }
  void call(CollectiveCall& c, const Type& in, const Type&) const {
    c.kind = CollectiveKind::all_reduce;
    c.reduce = kind, c.wire = wire;
    c.send_counts = {in.size()};
  }
  StartedCollective start(Start s) const { return s.now(); }
};
struct AllGather {
  MeshAxes axes;
  std::int64_t dim;
  Dims sizes;
  Shape of;
  static constexpr std::string_view name = "all_gather";
  static constexpr bool collective = true, linear = true, only_moves = true;
  Type infer(const Types& in) const {
    auto s = in[0].shape;
    s.at(at(dim)) = total(sizes);
    return with_shape(in[0], s);
  }
  void eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const { return reduce_scatter(v.ct[0], axes, dim, sizes, of); }
  AllGather lift(std::int64_t) const { return {axes, dim + 1, sizes, of}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    return {{merged(moveaxis(b.front(in[0]), 0, dim), dim), -1}};
  }
  std::optional<CollectiveParams> params() const {
    return CollectiveParams{.kind = CollectiveKind::all_gather, .axes = axes, .dim = dim, .sizes = sizes, .of = of};
  }
  bool unpacks_result(const Types& out) const { return !leads(out[0].shape, dim); }
  std::size_t scratch_bytes(const Types&, const Types& out) const { return unpacks_result(out) ? out[0].nbytes() : 0; }
  void call(CollectiveCall& c, const Type&, const Type& out) const {
    auto v = around(out.shape, dim);
    c.kind = CollectiveKind::all_gather;
    c.recv_counts = times(sizes, v.outer * v.inner);
  }
  StartedCollective start(Start s) const {
    auto& shape = s.out.type.shape;
    if (leads(shape, dim)) return s.now();
    s.call.out = s.scratch;
    return s.now([shape, dim = dim, sizes = sizes, result = s.out.data, packed = s.scratch, size = s.size] {
      move_parts(result, shape, dim, sizes, packed, size, false);
    });
  }
};
struct ReduceScatter {
  MeshAxes axes;
  std::int64_t dim;
  Dims sizes;
  Shape of;
  Wire wire = {};
  static constexpr std::string_view name = "reduce_scatter";
  static constexpr bool collective = true, linear = true;
  Type infer(const Types& in) const {
    auto s = in[0].shape;
    auto& n = s.at(at(dim));
    check<ShapeError>(n == total(sizes), "reduce_scatter: dimension ", dim, " of ", in[0],
                      " is not the sum of the parts ", sizes);
    n = sizes.at(my_part(name, axes));
    return with_shape(in[0], s);
  }
  void eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const { return all_gather(v.ct[0], axes, dim, sizes, of); }
  ReduceScatter lift(std::int64_t) const { return {axes, dim + 1, sizes, of, wire}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    auto y = sum(b.front(in[0]), 0, {.dtype = in[0].value.dtype()});
    return {{with_dim(y, dim, b.size, y.shape(dim) / b.size), dim}};
  }
  std::optional<CollectiveParams> params() const {
    return CollectiveParams{CollectiveKind::reduce_scatter, axes, Reduction::sum, dim, sizes, of, wire};
  }
  bool packs_operand(const Types& in) const { return !leads(in[0].shape, dim); }
  std::size_t scratch_bytes(const Types& in, const Types&) const { return packs_operand(in) ? in[0].nbytes() : 0; }
  void call(CollectiveCall& c, const Type& in, const Type&) const {
    auto v = around(in.shape, dim);
    c.kind = CollectiveKind::reduce_scatter, c.wire = wire;
    c.recv_counts = times(sizes, v.outer * v.inner);
  }
  StartedCollective start(Start s) const {
    auto& shape = s.in.type.shape;
    if (leads(shape, dim)) return s.now();
    move_parts(const_cast<void*>(s.in.data), shape, dim, sizes, s.scratch, s.size, true);
    s.call.in = s.scratch;
    return s.now();
  }
};
struct AllToAll {
  MeshAxes axes;
  std::int64_t split_dim, concat_dim;
  Dims split_sizes, concat_sizes;
  Shape of;
  static constexpr std::string_view name = "all_to_all";
  static constexpr bool collective = true, linear = true, only_moves = true;
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
  void eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
  Array vjp(const Vjp& v) const {
    return all_to_all(v.ct[0], axes, concat_dim, split_dim, concat_sizes, split_sizes, of);
  }
  AllToAll lift(std::int64_t) const { return {axes, split_dim + 1, concat_dim + 1, split_sizes, concat_sizes, of}; }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (!captures(axes, b)) return b.lifted(primitive(lift(b.size)), in);
    only(name, axes, b);
    auto x = b.front(in[0]);
    // new row, old row, ...
    auto y = moveaxis(with_dim(x, split_dim + 1, b.size, x.shape(split_dim + 1) / b.size), split_dim + 1, 0);
    return {{merged(moveaxis(y, 1, 1 + concat_dim), 1 + concat_dim), 0}};
  }
  bool packs_operand(const Types& in) const { return !leads(in[0].shape, split_dim); }
  bool unpacks_result(const Types& out) const { return !leads(out[0].shape, concat_dim); }
  std::size_t scratch_bytes(const Types& in, const Types& out) const {
    return (packs_operand(in) ? in[0].nbytes() : 0) + (unpacks_result(out) ? out[0].nbytes() : 0);
  }
  /// Member k is sent part k of split_dim; its data fills part k of concat_dim.
  Dims received() const {
    return split_dim == concat_dim ? Dims(split_sizes.size(), split_sizes[my_part(name, axes)]) : concat_sizes;
  }
  void call(CollectiveCall& c, const Type& in, const Type& out) const {
    auto sv = around(in.shape, split_dim), cv = around(out.shape, concat_dim);
    c.kind = CollectiveKind::all_to_all;
    c.send_counts = times(split_sizes, sv.outer * sv.inner);
    c.recv_counts = times(received(), cv.outer * cv.inner);
    // Parts that are equal here are equal everywhere: a part's length is a factor of the sender's times one of the
    // receiver's.
    auto n = c.send_counts[0];
    auto same = [n](const Dims& counts) { return std::count(counts.begin(), counts.end(), n) == std::ssize(counts); };
    c.uniform = n > 0 && same(c.send_counts) && same(c.recv_counts);
  }
  StartedCollective start(Start s) const {
    auto& shape = s.out.type.shape;
    auto* incoming = s.scratch;
    if (packs_operand({s.in.type})) {
      move_parts(const_cast<void*>(s.in.data), s.in.type.shape, split_dim, split_sizes, s.scratch, s.size, true);
      s.call.in = std::exchange(incoming, incoming + s.in.type.nbytes());
    }
    if (leads(shape, concat_dim)) return s.now();
    s.call.out = incoming;
    return s.now([shape, dim = concat_dim, parts = received(), result = s.out.data, incoming, size = s.size] {
      move_parts(result, shape, dim, parts, incoming, size, false);
    });
  }
};
struct Permute {
  MeshAxes axes;
  std::vector<std::pair<int, int>> pairs;  // (source, target) parts
  static constexpr std::string_view name = "ppermute";
  static constexpr bool collective = true, linear = true;
  Type infer(const Types& in) const { return in[0]; }
  void eval(InputViews in, OutputViews out) const { run_collective(PrimitiveOf(*this), in, out); }
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
  void call(CollectiveCall& c, const Type& in, const Type&) const {
    auto me = static_cast<int>(my_part(name, axes));
    c.kind = CollectiveKind::permute;
    c.send_counts = {in.size()};
    for (auto& [from, to] : pairs) {
      if (from == me) c.target = to;
      if (to == me) c.source = from;
    }
  }
  StartedCollective start(Start s) const { return s.now(); }
};
/// The two primitives through which the rank enters a Program: scalars known only when it runs.
struct AxisIndex {
  MeshAxes axes;
  static constexpr std::string_view name = "axis_index";
  static constexpr bool opaque = true;
  Type infer(const Types&) const { return {{}, Dtype::i32}; }
  void eval(InputViews, OutputViews out) const { *out[0].as<int>() = static_cast<int>(my_part(name, axes)); }
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
  void eval(InputViews, OutputViews out) const {
    auto& m = this_mesh(name);
    auto own = m.block_of_rank(n, axes, here().rank);
    auto begin = (next ? own.end : own.begin) - m.block_of_rank(n, within, here().rank).begin;
    *out[0].as<std::int32_t>() = static_cast<std::int32_t>(begin);
  }
};
/// f(p as its collective type); `otherwise` if p is no collective.
template <class R, class F> R as_collective(const Primitive& p, R otherwise, F f) {
  if (auto* c = as<AllReduce>(p)) return f(*c);
  if (auto* c = as<AllGather>(p)) return f(*c);
  if (auto* c = as<ReduceScatter>(p)) return f(*c);
  if (auto* c = as<AllToAll>(p)) return f(*c);
  if (auto* c = as<Permute>(p)) return f(*c);
  if (auto* c = as<Exchange>(p)) return f(*c);
  if (auto* c = as<MergeSorted>(p)) return f(*c);
  if (auto* c = as<TakeFromOwners>(p)) return f(*c);
  if (auto* c = as<ScatterToOwners>(p)) return f(*c);
  return otherwise;
}
}  // namespace

void run_collective(const Primitive& p, InputViews in, OutputViews out) {
  Types ti, to;
  for (auto& i : in) ti.push_back(i.type);
  for (auto& o : out) to.push_back(o.type);
  auto scratch = kernels::allocate(collective_scratch_bytes(p, ti, to));
  start_collective(p, collective_words(p, ti[0].dtype), in, out, scratch.get()).wait();
}
void StartedCollective::wait() {
  handle->wait();
  if (finish) finish();
}
std::optional<CollectiveParams> collective_params(const Primitive& p) {
  return as_collective(p, std::optional<CollectiveParams>(), [](auto& c) -> std::optional<CollectiveParams> {
    if constexpr (requires { c.params(); }) return c.params();
    else return std::nullopt;
  });
}
bool collective_only_moves(const Primitive& p) {
  return as_collective(p, false, [](auto& c) { return requires { c.only_moves; }; });
}
bool collective_packs_operand(const Primitive& p, const Types& in) {
  return as_collective(p, false, [&](auto& c) {
    if constexpr (requires { c.packs_operand(in); }) return c.packs_operand(in);
    else return false;
  });
}
bool collective_unpacks_result(const Primitive& p, const Types& out) {
  return as_collective(p, false, [&](auto& c) {
    if constexpr (requires { c.unpacks_result(out); }) return c.unpacks_result(out);
    else return false;
  });
}
std::size_t collective_scratch_bytes(const Primitive& p, const Types& in, const Types& out) {
  return as_collective(p, std::size_t{0}, [&](auto& c) {
    if constexpr (requires { c.scratch_bytes(in, out); }) return c.scratch_bytes(in, out);
    else return std::size_t{0};
  });
}
std::shared_ptr<const std::string> collective_words(const Primitive& p, Dtype dtype) {
  return std::make_shared<const std::string>(std::string(p.name()) + p.facts() + " " + std::string(dtype_name(dtype)));
}
CollectiveCall collective_call(const Primitive& p, const Type& in, const Type& out) {
  CollectiveCall c{.dtype = in.dtype == Dtype::boolean ? Dtype::u8 : in.dtype};
  bool known = as_collective(p, false, [&](auto& x) { return x.call(c, in, out), true; });
  check<ShardError>(known, p.name(), " is not a collective that can be started");
  return c;
}
StartedCollective start_collective(const Primitive& p, const std::shared_ptr<const std::string>& words, InputViews in,
                                   OutputViews out, void* scratch) {
  auto* c = here().communicator;
  check<ShardError>(c != nullptr, p.name(),
                    ": no mesh is active; collectives run inside of shard_map on a mesh, or under vmap(axis_name)");
  Start s{.communicator = *c,
          .axes = p.named_axes(),
          .call = collective_call(p, in[0].type, out[0].type),
          .in = in[0],
          .all = in,
          .out = out[0],
          .scratch = static_cast<std::byte*>(scratch),
          .size = dtype_size(in[0].type.dtype)};
  s.call.in = in[0].data;
  s.call.out = out[0].data;
  s.call.fingerprint = hash_text(*words);
  s.call.describe = [words] { return *words; };
  return as_collective(p, StartedCollective(), [&](auto& x) { return x.start(s); });
}
Array all_reduce(const Array& x, const MeshAxes& a, Reduction kind, const Shape& of, const Wire& wire) {
  return call_one(AllReduce{a, kind, of, wire}, {x});
}
Array all_gather(const Array& x, const MeshAxes& a, std::int64_t dim, const Dims& sizes, const Shape& of) {
  return call_one(AllGather{a, dim, sizes, of}, {x});
}
Array reduce_scatter(const Array& x, const MeshAxes& a, std::int64_t dim, const Dims& sizes, const Shape& of,
                     const Wire& wire) {
  return call_one(ReduceScatter{a, dim, sizes, of, wire}, {x});
}
Array all_to_all(const Array& x, const MeshAxes& a, std::int64_t split, std::int64_t concat, const Dims& ss,
                 const Dims& cs, const Shape& of) {
  return call_one(AllToAll{a, split, concat, ss, cs, of}, {x});
}
Array permute(const Array& x, const MeshAxes& axes, const std::vector<std::pair<int, int>>& pairs) {
  return call_one(Permute{axes, pairs}, {x});
}
Array part_index(const MeshAxes& axes) { return call_one(AxisIndex{axes}, {}); }
Array block_start(std::int64_t n, const MeshAxes& axes, const MeshAxes& within, std::int64_t next) {
  check<ShapeError>(n <= INT32_MAX, "a dimension of ", n, " elements is split over ", axes,
                    ", but positions are i32; give it two dimensions");
  return call_one(BlockStart{n, axes, within, next}, {});
}
}  // namespace bora::ops
