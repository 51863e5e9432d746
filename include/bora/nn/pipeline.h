// pipeline.h -- equal layers in stages along a mesh axis: each rank holds layers / stages of them, and parts of the
// batch go from one stage to the next.
#pragma once
#include "bora/nn/axes.h"
#include "bora/nn/stacked.h"

namespace bora::nn {
struct PipelineOptions {
  std::string axis = "stage";      // of the mesh
  std::int64_t microbatches = 0;   // equal parts of the rows; 0: UseMicrobatches', else default_microbatches()
  std::int64_t stages = 0;         // 0: the ranks along the mesh axis; else a multiple of them, in one process any
  remat::Policy checkpoint = remat::nothing;  // values kept of each layer for the backward pass, besides its input
};
/// The share of a stage's time in which it has nothing to do: (stages - 1) / (microbatches + stages - 1).
double pipeline_bubble(std::int64_t stages, std::int64_t microbatches);
/// The most parts of the rows, up to 4 a stage, of which each spreads evenly over `ranks`; else the most that divide
/// the rows at all.
std::int64_t default_microbatches(std::int64_t rows, std::int64_t stages, std::int64_t ranks = 1);
/// While it lives, pipelines of this thread whose options do not say it cut the rows into so many parts; 0: default.
class [[nodiscard]] UseMicrobatches {
 public:
  [[nodiscard]] explicit UseMicrobatches(std::int64_t microbatches);
  ~UseMicrobatches();
  UseMicrobatches(const UseMicrobatches&) = delete;
  UseMicrobatches& operator=(const UseMicrobatches&) = delete;

 private:
  std::int64_t saved_;
};
/// key for part `microbatch` of the rows, whose draws are its own; key itself where the rows are one part.
std::optional<Array> key_of_part(const std::optional<Array>& key, const std::optional<Array>& microbatch);

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
  Axis layers() const { return {layers_.name, layers_.size / stage_.size}; }  // of a stage
  bool parts() const { return parts_.size > 1; }
  NamedArray part(const Array& x) const { return tree::Leaf<NamedArray>::with_axes(x, axes_); }
  /// stage: {a microbatch, its number, the arguments' leaves} -> {the microbatch after the stage's layers}.
  NamedArray run(const FlatFn& stage) const;

 private:
  Array cut(const NamedArray& x, std::vector<Axis>& axes) const;
  Array shifted(const Array& held, const Spec& spec) const;
  Axis layers_, stage_, parts_, rows_;
  std::int64_t ranks_;
  bool on_mesh_;
  NamedArray x_;
  std::vector<Axis> axes_;  // of a microbatch
  AxisMapping inside_;
  Arrays leaves_;
  Dims positions_;  // of the stages in the leaves; -1: the same for all; -2: microbatches come first
};
template <class Block, class F> auto layer_step(const F& f) {
  return [&f](const Block& layer, const NamedArray& x, const std::optional<Array>& part, const auto&... args) {
    return std::pair<NamedArray, std::nullopt_t>(f(layer, x, part, args...), none);
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
  return [&stack, f, x, options](const auto&... args) {
    detail::Pipeline p(stack.axis, x, options);
    std::tuple<Block, std::remove_cvref_t<decltype(args)>...> one{stack.layer, args...};
    std::apply(
        [&](auto& layer, auto&... a) {
          p.take(tree::node(layer), true);
          (p.take(tree::node(a), detail::is_per_layer<std::remove_cvref_t<decltype(a)>>), ...);
        },
        one);
    FlatFn stage = [&](const Arrays& in) {
      auto mine = one;
      tree::replace(tree::node(mine), in.data() + 2, in.size() - 2);
      std::optional<Array> number;
      if (p.parts()) number = in[1];
      auto y = std::apply(
          [&](const Block& layer, const auto&... a) {
            Stacked<Block> layers{layer, p.layers()};
            return scan(layers, detail::layer_step<Block>(f), p.part(in[0]), {.checkpoint = options.checkpoint})(number,
                                                                                                              a...);
          },
          mine);
      return Arrays{y.first.array()};
    };
    return p.run(stage);
  };
}
/// y = through(stack, f, x, {.checkpoint})(args...): x through f(layer, x, microbatch, args...) for each layer in turn.
/// A pipeline if the current mapping splits the stack's axis over a mesh axis ({"layers", "stage"}), else a fold, with
/// none as microbatch.
template <class Block, class F>
auto through(const Stacked<Block>& stack, const F& f, const NamedArray& x, const FoldOptions& options = {}) {
  return [&stack, f, x, options](const auto&... args) {
    if (auto axis = detail::stage_axis(stack.axis); !axis.empty() && !options.reverse)
      return pipeline(stack, f, x, {.axis = axis, .checkpoint = options.checkpoint})(args...);
    return scan(stack, detail::layer_step<Block>(f), x, options)(std::optional<Array>(), args...).first;
  };
}
}  // namespace bora::nn
