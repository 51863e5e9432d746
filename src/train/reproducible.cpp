#include "bora/train/reproducible.h"
#include <bit>
#include "bora/array/communicator.h"
#include "bora/base/error.h"
#include "bora/nn/axes.h"
#include "bora/ops/manipulation.h"
#include "bora/train/placement.h"
#include "ops/api/same_everywhere.h"

namespace bora::training {
namespace {
bool is_power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }
AxisMapping over_ranks(const detail::VirtualRanks& v) {
  return AxisMapping{{v.ranks.name, MeshAxes(std::string_view(v.ranks.name))}};
}
}  // namespace

namespace detail {
VirtualRanks virtual_ranks(std::int64_t parts) {
  auto& h = here();
  VirtualRanks v{{"data", 1}};
  if (h.mesh) {
    auto axes = batch_axes(current_mapping(), *h.mesh);
    check<ShardError>(axes.size() <= 1, "virtual ranks: the batch is split over ", axes.size(),
                      " mesh axes; give the mesh one axis for it");
    check<ShardError>(h.mesh->equal(axes), "virtual ranks: their parts are equal, but mesh ", to_string(*h.mesh),
                      " has shares along ", to_string(axes), "; leave these out");
    if (!axes.empty()) v.ranks = {axes[0].str(), h.mesh->axis_size(axes[0])};
  }
  check<ShardError>(is_power_of_two(parts) && is_power_of_two(v.ranks.size) && v.ranks.size <= parts, "virtual ranks: ",
                    parts, " of them are not whole subtrees of ", v.ranks.size,
                    " ranks; both must be powers of two, with at most as many ranks");
  v.halvings = std::countr_zero(static_cast<std::uint64_t>(parts / v.ranks.size));
  return v;
}
void cut(tree::Node example, std::int64_t parts, const VirtualRanks& v) {
  for (auto& slot : tree::slots(example)) {
    auto x = slot.leaf.as<NamedArray>();
    if (!x || !slot.leaf.defined()) continue;
    auto axes = x->axes();
    check<AxisError>(!axes.empty() && axes[0].name == nn::kBatch && axes[0].size % parts == 0, "virtual ranks: ",
                     slot.path, " with axes ", axes, " cannot be cut into ", parts, " equal parts of its batch");
    auto rows = axes[0].size / parts;
    std::vector<Axis> cut{v.ranks};
    for (int level = 0; level < v.halvings; ++level) cut.push_back(v.half(level));
    cut.push_back({axes[0].name, rows});
    cut.insert(cut.end(), axes.begin() + 1, axes.end());
    Shape first, all;  // the ranks' rows stay where they are
    for (auto& a : cut) all.push_back(a.size);
    first = {v.ranks.size, axes[0].size / v.ranks.size};
    for (std::size_t d = 1; d < axes.size(); ++d) first.push_back(axes[d].size);
    *x = auto_sharded(NamedArray(reshape(reshape(x->array(), first), all), cut), over_ranks(v));
  }
}
NamedArray numbers(std::int64_t parts, const VirtualRanks& v) {
  std::vector<Axis> axes{v.ranks};
  for (int level = 0; level < v.halvings; ++level) axes.push_back(v.half(level));
  Shape shape;
  for (auto& a : axes) shape.push_back(a.size);
  return auto_sharded(NamedArray(reshape(arange(parts), shape), axes), over_ranks(v));
}
void add_ranks(tree::Node sums, const Axis& ranks) {
  constexpr std::int64_t few = 8192;  // numbers that every rank adds for itself
  auto* mesh = here().mesh;
  bool split = mesh && mesh->has(AxisName(ranks.name));
  for (auto& slot : tree::slots(sums)) {
    if (!slot.leaf.defined()) continue;
    auto x = slot.leaf.get();
    auto spec = Spec::replicated(static_cast<std::size_t>(x.ndim()));
    std::size_t longest = 1;
    for (std::size_t d = 1; d < spec.size(); ++d)
      if (x.shape(static_cast<std::int64_t>(d)) > x.shape(static_cast<std::int64_t>(longest))) longest = d;
    // Each rank adds its part of the numbers of all of them.
    if (split && x.size() > few) spec[longest].push_back(AxisName(ranks.name));
    if (split) x = ops::constrained(x, spec);
    for (auto n = ranks.size; n > 1; n /= 2) x = slice_in_dim(x, 0, 0, n, 2) + slice_in_dim(x, 0, 1, n, 2);
    auto shape = x.shape();
    shape.erase(0);
    x = reshape(x, shape);
    if (is_inexact(x.dtype())) x = x + 0.0;  // integers would become f32
    if (split) x = ops::constrained(x, Spec::replicated(shape.size()));
    if (auto* named = slot.leaf.as<NamedArray>()) {
      std::vector<Axis> axes(named->axes().begin() + 1, named->axes().end());
      *named = tree::Leaf<NamedArray>::with_axes(x, axes);
    } else slot.leaf.set(x);
  }
}
}  // namespace detail

void check_virtual(std::int64_t parts, const LayoutMappings& mappings, const MeshShape& mesh, std::int64_t batch,
                   std::int64_t accumulate) {
  if (parts == 0) return;
  auto axes = batch_axes(mappings.compute, mesh);
  std::int64_t ranks = 1, all = 1;
  for (auto& a : axes) ranks *= mesh.axis_size(a);
  for (auto& a : mesh.axes) all *= a.second;
  check<ConfigError>(accumulate == 1, "reproducible.virtual: a rank computes its virtual ranks one after another; set "
                                      "accumulate=1, not ", accumulate);
  check<ConfigError>(batch % parts == 0, "reproducible.virtual: batch ", batch, " cannot be cut into ", parts,
                     " equal parts");
  check<ConfigError>(ranks == all && axes.size() <= 1, "reproducible.virtual: the mesh has ", all,
                     " ranks, of which the batch is split over ", ranks, " by ", axes.size(),
                     axes.size() == 1 ? " axis" : " axes", "; split nothing but the batch, over one axis");
  check<ConfigError>(mesh.equal(axes), "reproducible.virtual: the parts are equal, but mesh ", to_string(mesh),
                     " has shares along ", to_string(axes), "; leave mesh.shares out");
  for (auto& rule : mappings.storage.rules())
    check<ConfigError>(rule.mesh.empty(), "reproducible.virtual: the layout splits axis '", rule.axis,
                       "' of parameters, so sums over them depend on the ranks; set layout=dp");
  check<ConfigError>(is_power_of_two(ranks) && ranks <= parts, "reproducible.virtual: ", ranks,
                     " ranks do not hold whole subtrees of ", parts,
                     " virtual ranks; start a power of two of them, and at most ", parts);
}
}  // namespace bora::training
