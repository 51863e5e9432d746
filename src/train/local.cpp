#include "bora/train/local.h"
#include "bora/array/communicator.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/transform.h"
#include "ops/api/same_everywhere.h"
#include "train/levels.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::local {
namespace detail {
namespace {
bool on_mesh(const Axis& replica) { return here().mesh && here().mesh->has(AxisName(replica.name)); }
/// How a leaf without the axis is stored; plain Arrays are whole.
Spec spec_of_leaf(const tree::LeafRef& leaf, std::int64_t ndim, const Axis& replica, const AxisMapping& storage) {
  auto* x = leaf.as<NamedArray>();
  if (!x) return Spec::replicated(static_cast<std::size_t>(ndim));
  auto axes = x->axes();
  std::erase_if(axes, [&](auto& a) { return a.name == replica.name; });
  return spec_for(axes, storage.without(AxisName(replica.name)));
}
/// Spec of the sum over replicas: split along the largest local dimension among the first `dims`; small arrays stay
/// whole.
Spec spec_of_sum(const Array& x, const Spec& spec, const Axis& replica, std::size_t dims) {
  auto all = spec;
  all.insert(0, MeshAxes{});
  auto apart = all;
  constexpr std::int64_t few = 8192;
  if (on_mesh(replica) && x.size() > few) {
    std::size_t longest = 0;
    double most = 1;
    for (std::size_t d = 1; d < dims; ++d) {
      auto n = static_cast<double>(x.shape(static_cast<std::int64_t>(d))) / here().mesh->parts(all[d]);
      if (n > most) most = n, longest = d;
    }
    if (longest > 0) apart[longest].push_back(AxisName(replica.name));
  }
  return apart;
}
/// Numbers as they travel. Blocks of integers: [.., blocks, bytes], and an f32 scale for each block, [.., blocks].
struct Packed {
  Array numbers, scales;
};
/// Numbers in a block of a last dimension of n numbers; an even number.
std::int64_t block_of_last(std::int64_t n, const Wire& wire) { return std::min<std::int64_t>(wire.block, n + n % 2); }
/// A block's scale is max |x| / 127; its numbers are rounded to whole multiples of it, which the codec packs. Scalars
/// of a replica have no blocks.
Packed pack(const Array& x, const Wire& wire) {
  if (!wire.exact() && !wire.blocks()) return {x.astype(info(wire.codec).dtype), {}};
  if (!wire.blocks() || x.ndim() < 2 || x.size() == 0) return {x, {}};
  auto n = x.shape(-1), block = block_of_last(n, wire), blocks = (n + block - 1) / block;
  Dims none_before(static_cast<std::size_t>(x.ndim()), 0), behind = none_before;
  behind.back() = blocks * block - n;
  auto shape = x.shape();
  shape.erase(shape.size() - 1);
  shape.push_back(blocks);
  shape.push_back(block);
  auto y = reshape(pad(x.astype(f32), none_before, behind), shape);
  constexpr double most = 127;
  auto scales = amax(abs(y), -1) / most;
  auto q = clip(round(y / expand_dims(where(scales > 0, scales, 1.0), -1)), -most, most);
  return {training::packed(wire.codec, q), scales};
}
/// shape: of what was packed.
Array unpack(const Packed& p, const Shape& shape, const Wire& wire) {
  if (!p.scales.defined()) return in_accumulator(p.numbers);
  auto q = training::unpacked(wire.codec, p.numbers);
  auto padded = shape;
  padded.erase(padded.size() - 1);
  padded.push_back(q.shape(-1) * q.shape(-2));
  return slice_in_dim(reshape(q * expand_dims(p.scales, -1), padded), -1, 0, shape.back());
}
/// spec: of the numbers before they were packed. A block is on one rank.
Spec spec_of_packed(const Packed& p, Spec spec) {
  if (p.scales.defined()) spec.push_back(MeshAxes{});
  return spec;
}
/// The place of the axis `layers`, if the leaf has it and there are fragments of layers.
std::optional<std::size_t> layers_of(const tree::LeafRef& leaf, const Options& o) {
  auto* x = leaf.as<NamedArray>();
  for (std::size_t d = 0; x && o.fragments > 1 && d < x->axes().size(); ++d)
    if (x->axes()[d].name == o.layers) return d;
  return std::nullopt;
}
}  // namespace
}  // namespace detail

std::optional<std::int64_t> Options::begins(std::int64_t step, std::int64_t n) const {
  if (step < 1 || step <= met || step == last) return std::nullopt;
  for (std::int64_t p = 0; p < n; ++p)
    if (step % every == offset(p, n)) return p;
  return std::nullopt;
}
std::vector<std::int64_t> Options::pending(std::int64_t step, std::int64_t n) const {
  std::vector<std::int64_t> r;
  for (auto s = step - delay + 1; s < step; ++s)
    if (auto p = begins(s, n)) r.push_back(*p);
  return r;
}

namespace detail {
void check(const Axis& replica, const Options& o) {
  bora::check<ValueError>(replica.size >= 1, "local: axis '", replica.name, "' has size ", replica.size,
                          "; there must be 1 replica or more");
  bora::check<ValueError>(o.every >= 1, "local: .every is ", o.every, "; replicas meet every 1 or more steps");
  bora::check<ValueError>(o.delay >= 0 && o.delay < o.every, "local: .delay is ", o.delay, ", but replicas meet every ",
                          o.every, " steps; it must be from 0 to below that");
  bora::check<ValueError>(o.delay == 0 || o.kind != Kind::slowmo, "local: .delay is ", o.delay,
                          ", but slowmo's meetings use the learning rate of the last step; set it to 0");
  bora::check<ValueError>(o.mix >= 0 && o.mix < 1, "local: .mix is ", o.mix, "; it must be from 0 to below 1");
  bora::check<ValueError>(o.fragments >= 1, "local: .fragments is ", o.fragments, "; there must be 1 or more");
  bora::check<ValueError>(o.wire.exact() || o.kind != Kind::average, "local: .wire is ", word(o.wire),
                          "; average sends parameters, which must be exact: f32");
  bora::check<ValueError>(!o.wire.blocks() || valid_block(o.wire.block), "local: .wire has blocks of ", o.wire.block,
                          " numbers; they must be a multiple of 64, up to 4096");
  if (!on_mesh(replica)) return;
  auto ranks = here().mesh->axis_size(AxisName(replica.name));
  bora::check<ShardError>(here().mesh->equal(MeshAxes(std::string_view(replica.name))), "local: mesh axis '",
                          replica.name, "' has shares (mesh ", to_string(*here().mesh),
                          "), but each of its ranks trains as many replicas; leave its shares out");
  bora::check<ShardError>(replica.size % ranks == 0, "local: ", replica.size,
                          " replicas cannot be spread evenly over the ", ranks, " ranks of mesh axis '", replica.name,
                          "'");
}
Dims take_axis(tree::Node state, tree::Node others, const Axis& replica) {
  for (auto& slot : tree::slots(state)) {
    if (!slot.leaf.defined()) continue;
    auto* x = slot.leaf.as<NamedArray>();
    bora::check<AxisError>(!x || (!x->axes().empty() && x->axes()[0] == replica), "local: ", slot.path, " has ",
                           [&] { return to_string(x->array().type()); }, " without axis ", replica.name, " (",
                           replica.size, ") in front; make the state with begin()");
  }
  Dims positions = fx::remove_axis(state, replica, "local");
  for (auto& p : positions) p = 0;
  auto more = fx::remove_axis(others, replica, "local");
  positions.insert(positions.end(), more.begin(), more.end());
  return positions;
}
Arrays each(const FlatFn& f, const Arrays& leaves, const Dims& positions, const Axis& replica) {
  UseMapping scope(current_mapping().without(AxisName(replica.name)));
  return fx::named_vmap(f, leaves, positions, replica);
}
void repeat(tree::Node t, const Axis& replica, const AxisMapping& storage) {
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto a = slot.leaf.get();
    auto spec = spec_of_leaf(slot.leaf, a.ndim(), replica, storage);
    spec.insert(0, on_mesh(replica) ? MeshAxes(std::string_view(replica.name)) : MeshAxes{});
    auto shape = a.shape();
    shape.insert(0, replica.size);
    a = ops::constrained(broadcast_to(expand_dims(a, 0), shape), spec);
    if (auto* x = slot.leaf.as<NamedArray>()) {
      auto axes = x->axes();
      axes.insert(axes.begin(), replica);
      *x = tree::Leaf<NamedArray>::with_axes(a, axes);
    } else slot.leaf.set(a);
  }
}
/// As sums of two, whose order nothing changes; a reduction's would depend on the other dimensions of a rank's block.
Array sum_in_order(const Array& x) {
  auto shape = x.shape();
  shape.erase(0);
  auto at = [&](std::int64_t m) { return reshape(slice_in_dim(x, 0, m, m + 1), shape); };
  auto total = at(0);
  constexpr std::int64_t unrolled = 64;
  if (x.shape(0) > unrolled) {
    auto add = [](const Array& t, const Array& y) { return std::pair{t + y, none}; };
    return scan(add, total, slice_in_dim(x, 0, 1, x.shape(0))).first;
  }
  for (std::int64_t m = 1; m < x.shape(0); ++m) total = total + at(m);
  return total;
}
void spread(tree::Node t, tree::Node scales, const Axis& replica, const AxisMapping& storage, const Wire& wire) {
  auto theirs = tree::slots(scales);
  std::size_t i = 0;
  for (auto& slot : tree::slots(t)) {
    auto& scale = theirs[i++].leaf;
    if (!slot.leaf.defined()) continue;
    auto a = in_accumulator(slot.leaf.get());
    bora::check<ShapeError>(a.ndim() > 0 && a.shape(0) == replica.size, "local: ", slot.path, " is ", a.type(),
                            "; its first dimension must be the ", replica.size, " replicas");
    auto packed = pack(a, wire);
    auto whole = spec_of_packed(packed, spec_of_leaf(slot.leaf, a.ndim() - 1, replica, storage));
    auto spec = spec_of_sum(packed.numbers, whole, replica, static_cast<std::size_t>(a.ndim()));
    slot.leaf.set(ops::constrained(packed.numbers, spec));
    if (packed.scales.defined()) {
      spec.resize(spec.size() - 1);
      packed.scales = ops::constrained(packed.scales, spec);
    }
    scale.set(packed.scales);
  }
}
void add_up(tree::Node t, tree::Node scales, tree::Node like, const Axis& replica, const AxisMapping& storage,
            const Wire& wire) {
  auto theirs = tree::slots(scales), originals = tree::slots(like);
  std::size_t i = 0;
  for (auto& slot : tree::slots(t)) {
    auto at = i++;
    if (!slot.leaf.defined()) continue;
    auto shape = originals[at].leaf.get().shape();
    auto y = sum_in_order(unpack({slot.leaf.get(), theirs[at].leaf.get()}, shape, wire));
    y = y / static_cast<double>(replica.size);
    shape.erase(0);
    auto spec = spec_of_leaf(originals[at].leaf, y.ndim(), replica, storage);
    auto packed = pack(y, wire);
    auto whole = spec_of_packed(packed, spec);
    packed.numbers = ops::constrained(packed.numbers, whole);
    if (packed.scales.defined()) {
      whole.resize(whole.size() - 1);
      packed.scales = ops::constrained(packed.scales, whole);
    }
    y = ops::constrained(unpack(packed, shape, wire), spec);
    if (auto* x = slot.leaf.as<NamedArray>()) {
      auto axes = originals[at].leaf.as<NamedArray>()->axes();
      axes.erase(axes.begin());
      *x = tree::Leaf<NamedArray>::with_axes(y, axes);
    } else slot.leaf.set(y);
  }
}
std::int64_t fragments(tree::Node params, const Options& o) {
  if (o.fragments == 1) return 1;
  bool layers = false, others = false;
  for (auto& slot : tree::slots(params)) {
    if (!slot.leaf.defined() || (o.trains && !o.trains(slot.path))) continue;
    auto d = layers_of(slot.leaf, o);
    (d ? layers : others) = true;
    if (!d) continue;
    auto n = slot.leaf.as<NamedArray>()->axes()[*d].size;
    bora::check<ValueError>(o.fragments <= n, "local: .fragments is ", o.fragments, ", more than the ", n, " ",
                            o.layers, " of ", slot.path);
  }
  bora::check<ValueError>(layers, "local: .fragments is ", o.fragments, ", but no parameter has the axis ", o.layers,
                          " to be cut along");
  auto n = o.fragments + (others ? 1 : 0);
  bora::check<ValueError>(n <= o.every, "local: .every is ", o.every, ", less than the ", n,
                          " fragments, each of which meets once in so many steps");
  return n;
}
void keep_fragment(tree::Node params, const Options& o, std::int64_t p) {
  for (auto& slot : tree::slots(params)) {
    if (!slot.leaf.defined()) continue;
    auto d = layers_of(slot.leaf, o);
    bool in = (!o.trains || o.trains(slot.path)) && (o.fragments == 1 || (p < o.fragments) == d.has_value());
    if (!in) slot.leaf.set(Array());
    else if (d) {
      auto* x = slot.leaf.as<NamedArray>();
      auto axes = x->axes();
      auto n = axes[*d].size;
      axes[*d].size = (n - p + o.fragments - 1) / o.fragments;
      *x = tree::Leaf<NamedArray>::with_axes(
          slice_in_dim(x->array(), static_cast<std::int64_t>(*d), p, n, o.fragments), axes);
    }
  }
}
void put_fragment(tree::Node params, tree::Node part, const Options& o, std::int64_t p) {
  auto to = tree::slots(params), from = tree::slots(part);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!from[i].leaf.defined()) continue;
    auto d = layers_of(to[i].leaf, o);
    if (!d) {
      to[i].leaf.set(from[i].leaf.get());
      continue;
    }
    auto whole = to[i].leaf.get(), mine = from[i].leaf.get();
    auto axis = static_cast<std::int64_t>(*d), n = whole.shape(axis);
    Arrays pieces;  // layers of other fragments, one of this, ..
    for (std::int64_t l = 0; l < n;) {
      bool here = l % o.fragments == p;
      auto end = here ? l + 1 : std::min(n, l + (p - l % o.fragments + o.fragments) % o.fragments);
      pieces.push_back(here ? slice_in_dim(mine, axis, l / o.fragments, l / o.fragments + 1)
                            : slice_in_dim(whole, axis, l, end));
      l = end;
    }
    to[i].leaf.set(pieces.size() == 1 ? pieces[0] : concatenate(pieces, axis));
  }
}
void own(tree::Node one, const Array& zero) {
  for (auto& slot : tree::slots(one)) {
    if (!slot.leaf.defined() || slot.leaf.as<NamedArray>()) continue;
    auto a = slot.leaf.get();
    if (is_numeric(a.dtype()) && a.dtype() != boolean) slot.leaf.set(a + zero.astype(a.dtype()));
  }
}
Array zero_of_each(const Axis& replica) {
  auto zero = full_of({{replica.size}, i32}, 0);
  return on_mesh(replica) ? ops::constrained(zero, Spec{MeshAxes(std::string_view(replica.name))}) : zero;
}
void place_scalars(tree::Node replicas, const Axis& replica) {
  if (!on_mesh(replica)) return;
  for (auto& slot : tree::slots(replicas))
    if (slot.leaf.defined() && slot.leaf.get().ndim() == 1)
      slot.leaf.set(ops::constrained(slot.leaf.get(), Spec{MeshAxes(std::string_view(replica.name))}));
}
}  // namespace detail
}  // namespace bora::local
