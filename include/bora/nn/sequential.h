// sequential.h -- layers one after the other, as one layer.
#pragma once
#include <tuple>
#include "bora/named/random.h"
#include "bora/ops/indexing.h"

namespace bora::nn {
namespace detail {
template <class L> concept TakesKey = std::is_invocable_v<const L&, const NamedArray&, const std::optional<Array>&>;
}  // namespace detail
/// The layers' composition: sequential(up, lambda(f), Dropout{0.1F}, down)(x, key). Layers that take a key get one of
/// their own (the key split by the number of layers), none of none; the others take x alone. Paths: layers.0, layers.1.
template <class... L> struct Sequential {
  static_assert(sizeof...(L) > 0, "nn::Sequential has at least one layer; Identity{} gives x itself");
  std::tuple<L...> layers;
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key = none) const {
    constexpr auto n = static_cast<int>(sizeof...(L));
    std::optional<Array> keys;
    if (key && (detail::TakesKey<L> || ...)) keys = random::split(*key, n);
    auto y = x;
    std::int64_t i = 0;
    auto run = [&](const auto& layer) {
      if constexpr (detail::TakesKey<std::remove_cvref_t<decltype(layer)>>)
        y = layer(std::as_const(y), keys ? std::optional(view(*keys, i)) : std::optional<Array>());
      else y = layer(std::as_const(y));
      ++i;
    };
    std::apply([&](const auto&... layer) { (run(layer), ...); }, layers);
    return y;
  }
};
/// These layers, one after the other.
template <class... L> Sequential<L...> sequential(L... layers) { return {{std::move(layers)...}}; }
}  // namespace bora::nn
