// pipeline.h -- equal layers in stages along a mesh axis: each rank holds layers / stages of them, and parts of the
// batch go from one stage to the next.
#pragma once
#include <functional>
#include "bora/array/mesh.h"
#include "bora/nn/axes.h"
#include "bora/nn/pipeline_plan.h"
#include "bora/nn/stacked.h"

namespace bora::nn {
struct PipelineOptions {                // of layers that are stages over ranks
  std::string axis{mesh_axes::kStage};  // of the mesh
  std::int64_t microbatches = 0;        // equal parts of the rows; 0: default_microbatches()
  std::int64_t stages = 0;              // 0: the ranks along the mesh axis; else a multiple of them, in one process any
  remat::Policy checkpoint = remat::nothing;  // values kept of each layer for the backward pass, besides its input
  Schedule schedule = Schedule::gpipe;  // of through(..) with a loss
};
/// A loss that is a sum over rows: of(y, rows) is a floating-point scalar for any part of the rows of y and of `rows`,
/// all with the axis batch, and the sum over parts is that of all.
struct RowsLoss {
  std::function<NamedArray(const NamedArray& y, const std::vector<NamedArray>& rows)> of = {};
  std::vector<NamedArray> rows = {};
  explicit operator bool() const { return of != nullptr; }
};
/// key for part `microbatch` of the rows, whose draws are its own; key itself where the rows are one part.
std::optional<Array> key_of_part(const std::optional<Array>& key, const std::optional<Array>& microbatch);
/// The same for the keys that a layer holds (of an adapter's dropout, of rounding).
void draw_by_part(tree::Node layer, const Array& microbatch);

namespace detail {
/// The mesh axis over which the current mapping splits the layers; empty: it does not.
std::string stage_axis(const Axis& layers);
/// The numbers of a pipeline and its arguments as one stage sees them. Shape letters: S stages, M microbatches.
class Pipeline {
 public:
  Pipeline(const Axis& layers, const NamedArray& x, const PipelineOptions&);
  /// An argument's leaves: `per_layer` ones are cut into the stages, those with rows into the microbatches. It becomes
  /// what a stage sees of it; the numbers come later.
  void take(tree::Node argument, bool per_layer);
  const Axis& all_layers() const { return layers_; }
  Axis layers() const { return {layers_.name, layers_.size / stage_.size}; }  // of a stage
  bool parts() const { return parts_.size > 1; }
  NamedArray part(const Array& x) const { return tree::Leaf<NamedArray>::with_axes(x, axes_); }
  /// stage: {a microbatch, its number, the arguments' leaves} -> {the microbatch after the stage's layers}.
  NamedArray run(const FlatFn& stage) const;
  /// The same of a stage that gives further values of its layers behind the microbatch, [layers of a stage, ..] each:
  /// {what run() gives, their sums over the microbatches, [layers, ..] each}.
  std::pair<NamedArray, Arrays> run_and_sum(const FlatFn& stage) const;
  /// The loss of what run() gives, in the order of 1F1B.
  NamedArray loss(const FlatFn& stage, const RowsLoss&) const;

 private:
  friend class Interleaved;
  static constexpr std::int64_t kSame = -1, kOfPart = -2;
  enum class Way : std::uint8_t { forward, back };
  Array cut(const NamedArray& x, std::vector<Axis>& axes, const AxisMapping& mapping) const;
  Spec spec() const;     // of what the stages hold: [S, a microbatch]
  Array numbers() const;  // of the stages: i32 [S]
  Array is(std::int64_t stage, const Shape& shape) const;
  Array shifted(const Array& held, Way way) const;
  Axis layers_, stage_, parts_, rows_;
  std::int64_t ranks_;
  bool on_mesh_;
  NamedArray x_;
  std::vector<Axis> axes_;  // of a microbatch
  AxisMapping inside_;
  Arrays leaves_;
  Dims positions_;  // of the stages in the leaves; kSame: the same for all; kOfPart: microbatches come first
};
void check_sums(Schedule);  // throws ValueError unless it is gpipe
/// The options of a pipeline along this mesh axis.
inline PipelineOptions along(const std::string& axis, PipelineOptions options) {
  options.axis = axis;
  return options;
}
template <class Block, class F> auto layer_step(const F& f) {
  return [f](const Block& layer, const NamedArray& x, const std::optional<Array>& part, const auto&... args) {
    return std::pair<NamedArray, std::nullopt_t>(f(layer, x, part, args...), none);
  };
}
/// Puts sums in the place of a stage's values, which have its layers first.
void put_sums(tree::Node values, const Arrays& sums, const Axis& layers);
/// run(the Pipeline of these arguments, what a stage does with a microbatch, the values of its layers beside: the last
/// ones that it gave). f(layer, x, microbatch, args...) -> std::pair{x, a layer's values}.
template <class Block, class F, class Run>
auto in_stages(const Stacked<Block>& stack, const F& f, const NamedArray& x, const PipelineOptions& options,
               const Run& run) {
  return [&stack, f, x, options, run](const auto&... args) {
    Pipeline p(stack.axis, x, options);
    std::tuple<Block, std::remove_cvref_t<decltype(args)>...> one{stack.layer, args...};
    std::apply(
        [&](auto& layer, auto&... a) {
          p.take(tree::node(layer), true);
          (p.take(tree::node(a), is_per_layer<std::remove_cvref_t<decltype(a)>>), ...);
        },
        one);
    using Values = typename fx::result_t<F, Block, NamedArray, std::optional<Array>,
                                         bare_t<std::remove_cvref_t<decltype(args)>>...>::second_type;
    std::vector<Values> values;
    FlatFn stage = [&](const Arrays& in) {
      auto mine = one;
      tree::replace(tree::node(mine), in.data() + 2, in.size() - 2);
      std::optional<Array> number;
      if (p.parts()) number = in[1];
      auto draw = [&f](Block layer, const NamedArray& v, const std::optional<Array>& part, const auto&... a) {
        if (part) draw_by_part(tree::node(layer), *part);
        return f(layer, v, part, a...);
      };
      auto y = std::apply(
          [&](const Block& layer, const auto&... a) {
            Stacked<Block> layers{layer, p.layers()};
            return scan(layers, draw, p.part(in[0]), {.checkpoint = options.checkpoint})(number, a...);
          },
          mine);
      Arrays all{y.first.array()};
      auto more = tree::leaves(y.second);
      all.insert(all.end(), more.begin(), more.end());
      values.clear();
      values.push_back(std::move(y.second));
      return all;
    };
    return run(p, stage, values);
  };
}
}  // namespace detail

/// y = pipeline(stack, f, x, {.microbatches = M})(args...): x through f(layer, x, microbatch, args...) for every layer
/// in turn, as fold does it, in stages: a loop of M + S - 1 ticks, in each of which a stage passes the microbatch that
/// it holds through its layers and on to the next stage, with one ppermute (GPipe, Huang et al. 2019; as a loop over a
/// split dimension, Xu et al. 2021, GSPMD). Derivatives are those of the loop: the backward pass goes from the last
/// stage to the first. Within a stage the rules of the current mapping hold, but for the mesh axis of the stages.
///   x [.., batch, ..] floating-point; f keeps its axes and dtype. Returns the same. Microbatch m has the rows i with
///   i % M == m, and microbatch is its number, an i32 scalar (none if M is 1), for draws of its own.
///   args: NamedArrays with axis batch are cut as x is, those in per_layer(..) along the layers, others are the same
///   everywhere. f may not mix rows: a mean over the batch would be that of a microbatch.
/// Throws ValueError if the stages do not divide the layers, or the microbatches the rows.
template <class Block, class F>
auto pipeline(const Stacked<Block>& stack, const F& f, const NamedArray& x, const PipelineOptions& options = {}) {
  auto run = [](const detail::Pipeline& p, const FlatFn& stage, const auto&) { return p.run(stage); };
  return detail::in_stages(stack, detail::layer_step<Block>(f), x, options, run);
}
/// auto [y, sums] = pipeline_reported(stack, f, x, {.microbatches = M})(args...): pipeline() of an f that returns
/// std::pair{x, a layer's values}, a tree of floating-point NamedArrays and Arrays without the rows' axis; `sums` are
/// their sums over the microbatches, stacked along the layer axis. They may depend on all rows of a microbatch, and are
/// a sum over all rows where f gives sums (not means: f weighs them).
template <class Block, class F>
auto pipeline_reported(const Stacked<Block>& stack, const F& f, const NamedArray& x,
                       const PipelineOptions& options = {}) {
  auto run = [](const detail::Pipeline& p, const FlatFn& stage, auto& values) {
    auto [y, sums] = p.run_and_sum(stage);
    auto r = values.back();
    detail::put_sums(tree::node(r), sums, p.all_layers());
    return std::pair{y, r};
  };
  return detail::in_stages(stack, f, x, options, run);
}
/// loss.of(y, loss.rows) for that y, in the order of 1F1B (Narayanan et al. 2019, PipeDream; 2021, with a flush at the
/// end): in a tick each stage passes one microbatch forward and another one back, and what the last stage gave becomes
/// a loss and its gradient in between. S - 1 ticks before have forward passes alone, S - 1 behind backward ones, so the
/// bubble is that of pipeline(). For the backward pass stage s (from 0) keeps its layers' inputs of 2 (S - 1 - s) + 1
/// microbatches, S in the mean, where pipeline() keeps those of all M.
///   The gradients are computed with the loss and multiplied by its cotangent, so those of a loss that is scaled
///   against underflow are not: no f16. Sums of gradients of halves are f32 until then.
/// Throws as pipeline() does, and AxisError if a row argument lacks the axis batch; ValueError if the loss is no
/// floating-point scalar.
template <class Block, class F>
auto pipeline_loss(const Stacked<Block>& stack, const F& f, const NamedArray& x, const RowsLoss& loss,
                   const PipelineOptions& options = {}) {
  auto run = [loss](const detail::Pipeline& p, const FlatFn& stage, const auto&) { return p.loss(stage, loss); };
  return detail::in_stages(stack, detail::layer_step<Block>(f), x, options, run);
}
/// y = through(stack, f, x, {.checkpoint})(args...): x through f(layer, x, microbatch, args...) for each layer in turn.
/// A pipeline if the current mapping splits the stack's axis over a mesh axis ({"layers", "stage"}), which stands for
/// .axis; else a fold, with none as microbatch.
template <class Block, class F>
auto through(const Stacked<Block>& stack, const F& f, const NamedArray& x, const PipelineOptions& options = {}) {
  return [&stack, f, x, options](const auto&... args) {
    if (auto axis = detail::stage_axis(stack.axis); !axis.empty())
      return pipeline(stack, f, x, detail::along(axis, options))(args...);
    return scan(stack, detail::layer_step<Block>(f), x, {.checkpoint = options.checkpoint})(std::optional<Array>(),
                                                                                            args...).first;
  };
}
/// auto [y, values] = through_reported(..): the same of an f that returns std::pair{x, a layer's values}, which are
/// stacked along the layers, and summed over the microbatches as pipeline_reported() does it. Throws ValueError where
/// .schedule of stages is 1F1B: a loss of such sums has no parts.
template <class Block, class F>
auto through_reported(const Stacked<Block>& stack, const F& f, const NamedArray& x,
                      const PipelineOptions& options = {}) {
  return [&stack, f, x, options](const auto&... args) {
    if (auto axis = detail::stage_axis(stack.axis); !axis.empty()) {
      detail::check_sums(options.schedule);
      return pipeline_reported(stack, f, x, detail::along(axis, options))(args...);
    }
    return scan(stack, f, x, {.checkpoint = options.checkpoint})(std::optional<Array>(), args...);
  };
}
/// last(y) for that y; with a loss loss.of(last(y), loss.rows), by pipeline_loss if the .schedule of stages is 1F1B.
/// last may not mix rows.
template <class Block, class F, class Last>
auto through(const Stacked<Block>& stack, const F& f, const NamedArray& x, const PipelineOptions& options,
             const Last& last, const RowsLoss& loss) {
  return [&stack, f, x, options, last, loss](const auto&... args) {
    auto ending = loss;
    if (loss)
      ending.of = [&](const NamedArray& y, const std::vector<NamedArray>& rows) { return loss.of(last(y), rows); };
    auto axis = detail::stage_axis(stack.axis);
    if (loss && !axis.empty() && options.schedule == Schedule::one_forward_one_backward)
      return pipeline_loss(stack, f, x, ending, detail::along(axis, options))(args...);
    auto y = through(stack, f, x, options)(args...);
    return loss ? ending.of(y, loss.rows) : last(y);
  };
}
}  // namespace bora::nn
