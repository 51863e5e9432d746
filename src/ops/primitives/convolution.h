// convolution.h -- the two primitives of convolutions, each the derivative of the other. Private.
#pragma once
#include "ops/primitives/dims.h"
#include "bora/array/primitive_base.h"

namespace bora::ops {
/// How windows lie on the spatial dimensions, a number for each: window p has its tap u on element
/// (stride p + dilation u - lo) / input_dilation, which counts as zero where it does not exist. hi: beyond the end.
struct WindowPlaces {
  Dims stride, lo, hi, dilation, input_dilation;
  std::int64_t ndim() const { return static_cast<std::int64_t>(stride.size()); }
  /// Windows of `taps` taps on `size` elements.
  std::int64_t windows(std::size_t d, std::int64_t size, std::int64_t taps) const;
  /// The places of the transposed operation, with mirrored windows, whose result has `sizes`.
  WindowPlaces turned(const Dims& sizes, const Dims& taps) const;
  /// The elements that windows [first, last) of `taps` taps reach along dimension d; some may not exist.
  BlockRange reach(std::size_t d, std::int64_t first, std::int64_t last, std::int64_t taps) const;
  /// These windows on those elements alone. lo and hi differ between ranks where input_dilation is not 1.
  void narrow(std::size_t d, std::int64_t first, std::int64_t last, std::int64_t taps);
};
/// y[s.., b.., p.., o] = sum over u, i of x[s.., b.., place of u.., i] w[s.., u.., i, o], for each of `groups` of
/// channels on its own: x [stack.., batch.., spatial.., in], w [stack.., taps.., in / groups, out]. turned: w is
/// [.., mirrored taps.., out / groups, in].
struct Convolve {
  Dims stride, lo, hi, dilation, input_dilation;
  std::int64_t groups = 1, stacks = 0;
  bool turned = false;
  static constexpr std::string_view name = "conv";
  static constexpr bool sized = true;
  WindowPlaces places() const { return {stride, lo, hi, dilation, input_dilation}; }
  bool saved(Saveable keep, const std::vector<std::string>&) const;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  Convolve lift(std::int64_t) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  Cost cost(const Types&, const Types&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Convolve> samples();
};
/// w[s.., u.., i, o] = sum over b, p of x[s.., b.., place of u.., i] y[s.., b.., p.., o], for windows of `taps` taps.
struct ConvolveFilter {
  Dims stride, lo, hi, dilation, input_dilation, taps;
  std::int64_t groups = 1, stacks = 0;
  static constexpr std::string_view name = "conv_filter";
  static constexpr bool sized = true;
  WindowPlaces places() const { return {stride, lo, hi, dilation, input_dilation}; }
  Convolve forward() const { return {stride, lo, hi, dilation, input_dilation, groups, stacks, false}; }
  bool saved(Saveable keep, const std::vector<std::string>&) const;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays vjp(const Vjp&) const;
  DimFactors factors(const Types&) const;
  ConvolveFilter lift(std::int64_t) const;
  Cost cost(const Types&, const Types&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<ConvolveFilter> samples();
};
}  // namespace bora::ops

namespace bora {
// Compiled once, in src/ops/primitives/convolution.cpp: units that make one do not compile its rules.
extern template PrimitivePtr primitive<ops::Convolve>(ops::Convolve);
extern template PrimitivePtr primitive<ops::ConvolveFilter>(ops::ConvolveFilter);
}  // namespace bora
