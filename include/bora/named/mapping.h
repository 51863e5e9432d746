// mapping.h -- jit with a mapping of logical axes to mesh axes; with it axis_mapping.h and sharded.h.
#pragma once
#include "bora/fx/jit.h"
#include "bora/named/axis_mapping.h"
#include "bora/named/operations.h"
#include "bora/named/sharded.h"
#include "bora/shard/shard.h"

namespace bora {
struct NamedJitOptions {  // of named_jit
  AxisMapping in = {};    // constrains the arguments, unless it has no rules
  AxisMapping out = {};   // storage mapping: splits the draws inside and constrains the results
};
/// jit(f) under a mapping that lays out the draws and results of f; no rank ever holds a whole array.
template <class F> auto named_jit(F f, NamedJitOptions options = {}) {
  return jit([f = std::move(f), options = std::move(options)](const auto&... a) {
    UseMapping scope(options.out);
    if (options.in.rules().empty()) return sharded(std::invoke(f, a...), options.out);
    return sharded(std::invoke(f, sharded(a, options.in)...), options.out);
  });
}
}  // namespace bora
