#include "bora/nn/pipeline.h"
#include <algorithm>
#include "bora/array/communicator.h"
#include "bora/ops/collectives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "shard/api/shaped.h"

namespace bora::nn {
namespace {
Array constrained(const Array& a, const Spec& spec) { return here().mesh ? constrain_rows(a, spec) : a; }
Shape with_first(std::int64_t n, Shape shape) {
  shape.insert(0, n);
  return shape;
}
}  // namespace

double pipeline_bubble(std::int64_t stages, std::int64_t microbatches) {
  check<ValueError>(stages >= 1 && microbatches >= 1, "pipeline_bubble: ", stages, " stages and ", microbatches,
                    " microbatches; there must be 1 or more of both");
  return static_cast<double>(stages - 1) / static_cast<double>(microbatches + stages - 1);
}
std::int64_t default_microbatches(std::int64_t rows, std::int64_t stages, std::int64_t ranks) {
  constexpr std::int64_t of_stage = 4;
  for (auto even : {ranks, std::int64_t{1}})
    for (auto m = of_stage * stages; m > 1; --m)
      if (rows % m == 0 && rows / m % even == 0) return m;
  return 1;
}
Schedule parse_schedule(std::string_view word) {
  check<ConfigError>(word == "gpipe" || word == "1f1b", "schedule: there is no '", word, "'; there are gpipe, 1f1b");
  return word == "gpipe" ? Schedule::gpipe : Schedule::one_forward_one_backward;
}
std::optional<Array> key_of_part(const std::optional<Array>& key, const std::optional<Array>& microbatch) {
  if (!key || !microbatch) return key;
  return random::fold_in(*key, *microbatch);
}
void draw_by_part(tree::Node layer, const Array& microbatch) {
  for (auto& slot : tree::slots(layer))
    if (slot.leaf.defined() && slot.leaf.get().dtype() == Dtype::key) {
      auto keys = slot.leaf.get();
      slot.leaf.set(random::fold_in(keys, broadcast_to(microbatch, keys.shape())));
    }
}

namespace detail {
void check_sums(Schedule schedule) {
  check<ValueError>(schedule == Schedule::gpipe, "through_reported: the schedule is 1f1b, which takes the loss of each "
                    "microbatch by itself, but layers' values are sums over all rows; use gpipe");
}
std::string stage_axis(const Axis& layers) {
  if (!here().mesh) return {};
  auto axes = placement_of({layers}, current_mapping(), *here().mesh).spec[0];
  check<ValueError>(axes.size() <= 1, "pipeline: axis ", layers, " is mapped to ", axes.size(),
                    " mesh axes; stages lie along one of them");
  return axes.empty() ? std::string() : axes[0].str();
}
Pipeline::Pipeline(const Axis& layers, const NamedArray& x, const PipelineOptions& o) : layers_(layers), x_(x) {
  check<AxisError>(x.has_axis(kBatch) && !x.has_axis(o.axis) && !x.has_axis(layers.name), "pipeline: x needs an axis ",
                   kBatch, " and none named ", o.axis, " or ", layers.name, ", got ", x.axes());
  on_mesh_ = here().mesh && here().mesh->has(AxisName(o.axis));
  ranks_ = on_mesh_ ? here().mesh->axis_size(AxisName(o.axis)) : 1;
  stage_ = {o.axis, o.stages > 0 ? o.stages : ranks_};
  check<ValueError>(o.stages >= 0 && o.microbatches >= 0, "pipeline: .stages is ", o.stages, " and .microbatches ",
                    o.microbatches, "; they must be 1 or more (0: the default)");
  check<ValueError>(stage_.size % ranks_ == 0, "pipeline: ", stage_.size,
                    " stages cannot be spread evenly over the ", ranks_, " ranks of mesh axis '", o.axis, "'");
  check<ShardError>(!on_mesh_ || here().mesh->equal(MeshAxes(std::string_view(o.axis))), "pipeline: mesh axis '",
                    o.axis, "' has shares (mesh ", [&] { return to_string(*here().mesh); },
                    "), but stages are of equal size; leave its shares out");
  check<ValueError>(layers.size % stage_.size == 0, "pipeline: ", layers.size, " layers cannot be cut into ",
                    stage_.size, " equal stages");
  inside_ = current_mapping().without(AxisName(o.axis));
  auto rows = x.axis(kBatch).size;
  auto m = o.microbatches;
  if (m == 0) {
    auto spec = spec_for({x.axis(kBatch)}, inside_);
    m = default_microbatches(rows, stage_.size, here().mesh ? here().mesh->parts(spec[0]) : 1);
  }
  check<ValueError>(rows % m == 0, "pipeline: ", rows, " rows cannot be cut into ", m, " equal microbatches");
  parts_ = {"microbatch", m};
  rows_ = {kBatch, rows / m};
  axes_ = x.axes();
  axes_[static_cast<std::size_t>(x.position(kBatch))] = rows_;
}
/// x as [M, ..] of which the mapping splits the axes behind; these become `axes`.
Array Pipeline::cut(const NamedArray& x, std::vector<Axis>& axes, const AxisMapping& mapping) const {
  check<AxisError>(x.axis(kBatch).size == rows_.size * parts_.size, "pipeline: an argument has axes ", x.axes(),
                   ", but x has ", rows_.size * parts_.size, " rows");
  auto at = x.position(kBatch);
  axes = x.axes();
  axes[static_cast<std::size_t>(at)] = rows_;
  auto shape = x.array().shape();
  shape.erase(at);
  shape.insert(at, parts_.size);
  shape.insert(at, rows_.size);
  auto y = moveaxis(reshape(x.array(), shape), at + 1, 0);
  if (!here().mesh) return y;
  auto spec = spec_for(axes, mapping);
  spec.insert(0, MeshAxes{});
  return constrain_rows(y, spec);
}
void Pipeline::take(tree::Node argument, bool per_layer) {
  for (auto& slot : tree::slots(argument)) {
    if (!slot.leaf.defined()) continue;
    auto* x = slot.leaf.as<NamedArray>();
    if (per_layer && (!x || x->has_axis(layers_.name))) {
      auto at = x ? x->position(layers_.name) : 0;
      auto a = slot.leaf.get();
      check<AxisError>(a.ndim() > at && a.shape(at) == layers_.size, "pipeline: ", slot.path, " is ", a.type(),
                       "; a dimension must be the ", layers_.size, " layers");
      auto shape = a.shape();
      shape.erase(at);
      shape.insert(at, layers_.size / stage_.size);
      shape.insert(at, stage_.size);
      auto y = reshape(a, shape);
      if (x) {
        auto axes = x->axes();
        axes[static_cast<std::size_t>(at)] = layers();
        *x = tree::Leaf<NamedArray>::with_axes(a, axes);
      }
      leaves_.push_back(y);
      positions_.push_back(at);
    } else if (x && x->has_axis(kBatch)) {
      std::vector<Axis> axes;
      leaves_.push_back(cut(*x, axes, inside_));
      positions_.push_back(kOfPart);
      *x = tree::Leaf<NamedArray>::with_axes(x->array(), axes);
    } else {
      leaves_.push_back(slot.leaf.get());
      positions_.push_back(kSame);
    }
  }
}
Spec Pipeline::spec() const {
  Spec r = here().mesh ? spec_for(axes_, inside_) : Spec::replicated(axes_.size());
  r.insert(0, on_mesh_ ? MeshAxes(std::string_view(stage_.name)) : MeshAxes());
  return r;
}
Array Pipeline::numbers() const { return constrained(arange(stage_.size).astype(i32), Spec{spec()[0]}); }
/// Whether a number is of that stage; the stages' dimension is the one before a microbatch's.
Array Pipeline::is(std::int64_t stage, const Shape& shape) const {
  Dims column(shape.size(), 1);
  column[shape.size() - axes_.size() - 1] = stage_.size;
  return broadcast_to(reshape(numbers() == constant(stage, i32), Shape(column)), shape);
}
/// Each stage gets what the one before it held, or on the way back the one behind it; the first one, or the last, gets
/// nothing of use.
Array Pipeline::shifted(const Array& held, Way way) const {
  bool back = way == Way::back;
  auto pass = [&](const Arrays& in) {
    auto k = in[0].shape(0);
    auto leaves = back ? slice_in_dim(in[0], 0, 0, 1) : slice_in_dim(in[0], 0, k - 1, k);
    std::vector<std::pair<int, int>> next;
    for (int i = 0; i + 1 < static_cast<int>(ranks_); ++i) next.emplace_back(back ? i + 1 : i, back ? i : i + 1);
    if (ranks_ > 1) leaves = ppermute(leaves, MeshAxes(std::string_view(stage_.name)), next);
    if (k == 1) return Arrays{leaves};
    return Arrays{back ? concatenate({slice_in_dim(in[0], 0, 1, k), leaves}, 0)
                       : concatenate({leaves, slice_in_dim(in[0], 0, 0, k - 1)}, 0)};
  };
  if (ranks_ == 1) return pass({held})[0];
  auto split = spec();
  return fx::shard_map_shaped(pass, {held}, {split}, {held.shape()}, {split})[0];
}
NamedArray Pipeline::run(const FlatFn& stage) const { return run_and_sum(stage).first; }
std::pair<NamedArray, Arrays> Pipeline::run_and_sum(const FlatFn& stage) const {
  auto stages = stage_.size, parts = parts_.size;
  std::vector<Axis> axes;
  auto x = cut(x_, axes, inside_);
  auto spec = this->spec();
  auto at = [&](std::int64_t m, std::int64_t times) {
    auto shape = x.shape();
    shape.erase(0);
    return broadcast_to(slice_in_dim(x, 0, m, m + 1), with_first(times, shape));
  };
  // While a stage has none of its own, it computes some microbatch, whose numbers no one reads: no NaN arises there.
  auto held = constrained(stop_gradient(at(0, stages)), spec);
  auto fed = stages > 1 ? concatenate({x, stop_gradient(at(parts - 1, stages - 1))}, 0) : x;
  auto number = numbers();
  Dims positions{0, 0};
  for (auto p : positions_) positions.push_back(p == kOfPart ? 0 : p);
  auto tick = [&](const Array& before, const std::pair<Array, Array>& in) {
    auto mine = stages == 1 ? expand_dims(in.first, 0)
                            : where(is(0, held.shape()), broadcast_to(expand_dims(in.first, 0), held.shape()),
                                    shifted(before, Way::forward));
    auto own = in.second - number;
    auto part = minimum(maximum(own, constant(0, i32)), constant(parts - 1, i32));
    Arrays all{constrained(mine, spec), part};
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      all.push_back(positions_[i] == kOfPart ? bora::take(leaves_[i], part, 0) : leaves_[i]);
    UseMapping scope(inside_);
    auto out = fx::named_vmap(stage, all, positions, stage_);
    auto y = constrained(out[0], spec);
    std::vector<Array> values(out.begin() + 1, out.end());
    for (auto& v : values) {  // a product, not a choice: sums over ranks stay pending
      Dims column(static_cast<std::size_t>(v.ndim()), 1);
      column[0] = stages;
      v = v * reshape((own == part).astype(v.dtype()), Shape(column));
    }
    return std::pair{y, std::pair{y, values}};
  };
  auto ticks = arange(parts + stages - 1).astype(i32);
  auto [ys, values] = bora::scan(tick, held, std::pair{fed, ticks}).second;
  ys = slice_in_dim(ys, 0, stages - 1, stages - 1 + parts);
  ys = stages == 1 ? squeeze(ys, 1) : sum(where(is(stages - 1, ys.shape()), ys, zeros_like(ys)), 1);
  auto place = x_.position(kBatch);
  auto y = reshape(moveaxis(ys, 0, place + 1), x_.array().shape());
  for (auto& v : values) {
    v = sum(v, 0);
    auto shape = v.shape();
    shape.erase(0);
    shape[0] = layers_.size;
    v = reshape(v, shape);
  }
  return {auto_sharded(tree::Leaf<NamedArray>::with_axes(y, x_.axes())), values};
}
void put_sums(tree::Node values, const Arrays& sums, const Axis& layers) {
  std::size_t i = 0;
  for (auto& slot : tree::slots(values)) {
    if (!slot.leaf.defined()) continue;
    auto* x = slot.leaf.as<NamedArray>();
    if (!x) {
      slot.leaf.set(sums.at(i++));
      continue;
    }
    auto axes = x->axes();
    check<AxisError>(!axes.empty() && axes[0].name == layers.name && !x->has_axis(kBatch), "pipeline: ", slot.path,
                     " of a layer's values has axes ", axes, "; values are summed over the rows, so they have no axis ",
                     kBatch);
    axes[0] = layers;
    *x = tree::Leaf<NamedArray>::with_axes(sums.at(i++), axes);
  }
}
}  // namespace detail
}  // namespace bora::nn
