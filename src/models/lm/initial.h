// initial.h -- the parameters that a model is born with. Private.
#pragma once
#include "bora/models/contract.h"
#include "bora/nn/policy.h"
#include "bora/nn/weight_format.h"

namespace bora::models {
struct Initial {
  Policy policy;
  std::optional<nn::WeightFormat> weights = {};
  bool drawn = true;
};
/// Drawn, or zeros; in the policy's dtype, or packed.
tree::Any initial(const AnyModel&, const Initial&, const Array& key);
/// The parameters of a model that generates or scores, as a function of its key: as initial() makes them, and the
/// adapters beside a base of integers.
std::function<tree::Any(const Array& key)> born(const AnyModelPtr&, const ModelOptions&);
}  // namespace bora::models
