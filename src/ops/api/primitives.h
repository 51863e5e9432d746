// primitives.h -- parameters of the primitives that passes and other layers inspect. Rules are in src/ops, beside the
// public functions; `as<Transpose>(primitive)` gives the parameters. Elementwise operations are recognised by
// Primitive::element().
#pragma once
#include "bora/array/primitive_base.h"
#include "kernels/api/index.h"

namespace bora::ops {
struct Move;  // exchange.h
// Every struct here declares the rules it has (see primitive.h); src/ops defines them.
/// One number: a scalar of any dtype but key.
struct Constant {
  Scalar value;
  Dtype dtype;
  static constexpr std::string_view name = "constant";
  static constexpr bool moves = true, recomputed = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  DimFactors factors(const Types&) const;
  static SamplesOf<Constant> samples();
};
std::optional<double> constant_value(const Primitive&);  // if it is a real constant
/// Input dimension i becomes output dimension dims[i] (increasing); sizes 1 are stretched.
struct BroadcastInDim {
  Shape shape;
  Dims dims;
  static constexpr std::string_view name = "broadcast_in_dim";
  static constexpr bool moves = true, recomputed = true;
  static constexpr auto loop = LoopRole::broadcast;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  BroadcastInDim resized(const Types& in, const Types& out) const;
  BroadcastInDim lift(std::int64_t n) const;
  static SamplesOf<BroadcastInDim> samples();
};
struct Reshape {
  Shape shape;
  static constexpr std::string_view name = "reshape";
  static constexpr bool sized = true, view = true, recomputed = true, keeps_scope = true, linear = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  Reshape lift(std::int64_t n) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Reshape> samples();
};
struct Transpose {
  Dims perm;  // output dimension d is input dimension perm[d]
  static constexpr std::string_view name = "transpose";
  static constexpr bool moves = true, keeps_scope = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Transpose lift(std::int64_t n) const;
  static SamplesOf<Transpose> samples();
};
/// The elements of dims in reverse order.
struct Rev {
  Dims dims;
  static constexpr std::string_view name = "rev";
  static constexpr bool any_dtype = true, takes_symbolic = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Rev lift(std::int64_t n) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  Move along(const Type&, std::int64_t dim) const;  // what it does along dim
  std::optional<Rev> without(const Type&, const Dims& dims) const;  // the rest, if any
  static SamplesOf<Rev> samples();
};
struct Iota {
  Shape shape;
  std::int64_t dim;
  Dtype dtype;
  static constexpr std::string_view name = "iota";
  static constexpr bool sized = true, moves = true, recomputed = true;
  static constexpr auto loop = LoopRole::iota;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  static SamplesOf<Iota> samples();
};
struct Cast {
  Dtype dtype;
  static constexpr std::string_view name = "cast";
  static constexpr bool moves = true, keeps_scope = true;
  static constexpr auto loop = LoopRole::cast;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Cast lift(std::int64_t) const;
  static SamplesOf<Cast> samples();
};
struct Bitcast {
  Dtype dtype;
  static constexpr std::string_view name = "bitcast";
  static constexpr bool any_dtype = true;
  static constexpr auto loop = LoopRole::bitcast;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Bitcast lift(std::int64_t) const;
  static SamplesOf<Bitcast> samples();
};
/// x, with its derivative defined as zero.
struct StopGradient {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr bool view = true, flat = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  StopGradient lift(std::int64_t) const;
  static SamplesOf<StopGradient> samples();
};
/// x under a name that a checkpoint policy may keep.
struct Name {
  std::string label;
  static constexpr std::string_view name = "name";
  static constexpr bool view = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Name lift(std::int64_t) const;
  static SamplesOf<Name> samples();
};
/// The name that p gives its operand for checkpoint policies; null if p is no Name.
const std::string* checkpoint_name_of(const Primitive& p);
/// Its inputs. Nothing computed from them is merged with the same computation elsewhere, folded to a constant, or moved
/// out of a loop. Removed after those passes: kernels fuse across it.
struct OptimizationBarrier {
  static constexpr std::string_view name = "optimization_barrier";
  static constexpr bool barrier = true;
  Types infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<OptimizationBarrier> samples();
};
/// x[start, limit) with steps.
struct StaticSlice {
  Dims start, limit, stride;
  static constexpr std::string_view name = "slice";
  static constexpr bool sized = true, moves = true, takes_symbolic = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  StaticSlice resized(const Types& in, const Types& out) const;
  StaticSlice lift(std::int64_t n) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  Move along(const Type&, std::int64_t dim) const;  // what it does along dim
  std::optional<StaticSlice> without(const Type&, const Dims& dims) const;  // the rest, if any
  static SamplesOf<StaticSlice> samples();
};
/// lo and hi elements of `value` around each dimension (negative: cut), `interior` between neighbours.
struct Pad {
  Dims lo, hi, interior;
  Scalar value;
  static constexpr std::string_view name = "pad";
  static constexpr bool moves = true, takes_symbolic = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Pad lift(std::int64_t n) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  Move along(const Type&, std::int64_t dim) const;  // what it does along dim
  std::optional<Pad> without(const Type&, const Dims& dims) const;  // the rest, if any
  static SamplesOf<Pad> samples();
};
struct Concatenate {
  std::int64_t axis;
  static constexpr std::string_view name = "concatenate";
  static constexpr bool moves = true, takes_symbolic = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Concatenate lift(std::int64_t n) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Concatenate> samples();
};
/// Reduction over dims (sorted), which disappear. Columns of this many elements and more, up to 8 of them side by side,
/// are reduced as rows are: their sums have a row's order.
inline constexpr std::int64_t kLongColumn = 64;
struct Reduce {
  Reduction kind;
  Dims dims;
  static constexpr std::string_view name = "reduce";
  static constexpr auto loop = LoopRole::reduce;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Array vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Reduce lift(std::int64_t) const;
  static SamplesOf<Reduce> samples();
};
/// Output: batch dimensions, free dimensions of a, free dimensions of b, each in order of the operand. Accumulates in
/// f32 (f64, integers: their own dtype) and rounds once.
struct DotGeneral {
  Dims batch_a, batch_b, contract_a, contract_b;
  static constexpr std::string_view name = "dot_general";
  static constexpr bool by_bits = true;
  static constexpr std::string_view memory = "products";
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Cost cost(const Types& in, const Types& out) const;
  Arrays vjp(const Vjp&) const;
  bool saved(Saveable, const std::vector<std::string>& names) const;
  DimFactors factors(const Types&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  static SamplesOf<DotGeneral> samples();
  Dims free_a(std::int64_t ndim) const;
  Dims free_b(std::int64_t ndim) const;
};
/// q [B.., S, K, G, D] (G heads for each of k and v), k [B.., T, K, D], v [B.., T, K, E], of one floating dtype -> out
/// [B.., S, K, G, E] and lse [B.., K, G, S] (f32; f64 for f64), the log of the sum of exp(score). No [S, T] is ever in
/// memory. Computed in f32 (f64). Further inputs, each of the full size or 1 in every dimension: mask (boolean) and
/// bias (lse's dtype) [B.., K, G, S, T]; segments of queries [B.., S] and of keys [B.., T] (i32); for keep < 1 a random
/// key [B..] and the number of each head in the whole array [B.., K, G] (i64): the weight of (row, s, t) draws number
/// (row S + s) T + t, so that a block of heads draws what the whole array would; a window [B..] (i32): t > s - window.
struct Attention {
  double scale;
  std::optional<std::int64_t> left = none, right = none;  // query s meets keys s - left .. s + right
  double soft_cap = 0;                                    // 0: none. Before the bias
  bool mask = false, bias = false, segments = false;
  float keep = 1;  // probability with which a weight is kept; the kept ones are divided by it
  bool window = false;
  static constexpr std::string_view name = "attention";
  Types infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Cost cost(const Types& in, const Types& out) const;
  Arrays vjp(const Vjp&) const;
  bool saved(Saveable, const std::vector<std::string>& names) const;
  DimFactors factors(const Types&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  static SamplesOf<Attention> samples();
};
/// q, k, v, d_out, lse, delta [B.., K, G, S], then the further inputs of Attention -> dq, dk, dv and, if wanted, dbias.
/// The weights are exp(score - lse); d (score) = weight * (d (weight) - delta).
struct AttentionGrad {
  Attention of;
  bool bias;  // the gradient of the bias is wanted
  static constexpr std::string_view name = "attention_grad";
  static constexpr bool takes_symbolic = true;
  Types infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Cost cost(const Types& in, const Types& out) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  static SamplesOf<AttentionGrad> samples();
};
/// x with `indices` in place of dimension axis. The first `batch` dimensions of x and of indices go together (batch <=
/// axis): x [b.., p.., n, q..], indices i32 [b.., k..] -> [b.., p.., k.., q..]. Indices are already counted from the
/// front; outside of [0, n): see fill.
struct Take {
  std::int64_t axis;
  bool fill;  // out of range: false clamps, true gives NaN (0 for integers)
  std::int64_t batch_dims = 0;
  static constexpr std::string_view name = "take";
  static constexpr bool any_dtype = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  DimFactors factors(const Types&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Take> samples();
};
/// Inputs x, indices, updates (of the type that Take{axis, .., batch_dims} gives): x with updates combined at the
/// indices. Updates whose index is outside are dropped.
struct Scatter {
  kernels::ScatterMode mode;
  std::int64_t axis;
  std::int64_t batch_dims = 0;
  static constexpr std::string_view name = "scatter";
  static constexpr int in_place = 0;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  std::optional<std::vector<Sharded>> by_owners(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Scatter> samples();
};
/// The window of `window_sizes` of x that begins at i32 scalars (inputs 1, 2, ..; one a dimension), clamped to lie
/// inside.
struct DynamicSlice {
  Shape window_sizes;
  static constexpr std::string_view name = "dynamic_slice";
  static constexpr bool moves = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  DynamicSlice resized(const Types& in, const Types& out) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  static SamplesOf<DynamicSlice> samples();
};
/// Inputs x, update, i32 scalars: x with the window that begins there (clamped) replaced by update.
struct DynamicUpdateSlice {
  static constexpr std::string_view name = "dynamic_update_slice";
  static constexpr bool any_dtype = true;
  static constexpr int in_place = 0;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  static SamplesOf<DynamicUpdateSlice> samples();
};
/// The block [start, start + sizes) of a draw of `shape` from the stream of a key. Inputs: keys [b...], then for a
/// block one i32 start a dimension. Output: [b..., sizes...] of dtype u8, u32 or i64 (8, 32, 64 random bits). `spec`:
/// how the draw is to be split.
struct RandomBits {
  Shape shape;
  Dtype dtype;
  Spec spec;
  Shape sizes;
  static constexpr std::string_view name = "random_bits";
  static constexpr bool enters_shard = true, sized = true, random = true;
  static constexpr auto loop = LoopRole::random;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  RandomBits lift(std::int64_t) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<RandomBits> samples();
};
}  // namespace bora::ops

namespace bora {
// Compiled once, in src/ops: units that make one do not compile its rules.
extern template PrimitivePtr primitive<ops::Constant>(ops::Constant);
extern template PrimitivePtr primitive<ops::BroadcastInDim>(ops::BroadcastInDim);
extern template PrimitivePtr primitive<ops::Reshape>(ops::Reshape);
extern template PrimitivePtr primitive<ops::Transpose>(ops::Transpose);
extern template PrimitivePtr primitive<ops::Rev>(ops::Rev);
extern template PrimitivePtr primitive<ops::Iota>(ops::Iota);
extern template PrimitivePtr primitive<ops::Cast>(ops::Cast);
extern template PrimitivePtr primitive<ops::Bitcast>(ops::Bitcast);
extern template PrimitivePtr primitive<ops::StopGradient>(ops::StopGradient);
extern template PrimitivePtr primitive<ops::Name>(ops::Name);
extern template PrimitivePtr primitive<ops::OptimizationBarrier>(ops::OptimizationBarrier);
extern template PrimitivePtr primitive<ops::StaticSlice>(ops::StaticSlice);
extern template PrimitivePtr primitive<ops::Pad>(ops::Pad);
extern template PrimitivePtr primitive<ops::Concatenate>(ops::Concatenate);
extern template PrimitivePtr primitive<ops::Reduce>(ops::Reduce);
extern template PrimitivePtr primitive<ops::DotGeneral>(ops::DotGeneral);
extern template PrimitivePtr primitive<ops::Attention>(ops::Attention);
extern template PrimitivePtr primitive<ops::AttentionGrad>(ops::AttentionGrad);
extern template PrimitivePtr primitive<ops::Take>(ops::Take);
extern template PrimitivePtr primitive<ops::Scatter>(ops::Scatter);
extern template PrimitivePtr primitive<ops::DynamicSlice>(ops::DynamicSlice);
extern template PrimitivePtr primitive<ops::DynamicUpdateSlice>(ops::DynamicUpdateSlice);
extern template PrimitivePtr primitive<ops::RandomBits>(ops::RandomBits);
}  // namespace bora
