// factor_rules.h -- which dimensions of a parameter are a matrix's rows and columns, and which only stack equal
// parameters, by the names of its axes: for Adafactor's factored moments and Muon (T5X's logical_factor_rules).
#pragma once
#include <map>
#include <string>
#include "bora/optim/transform_base.h"

namespace bora::optim {
/// none: the parameter is not factored; batch: equal parameters are stacked along the axis, never averaged over.
enum class FactorDim : std::uint8_t { none, batch, row, column };
/// Rules by the names of axes. A parameter whose path matches a regular expression of by_path (the first that does) has
/// these for its dimensions instead.
struct FactorRules : std::map<std::string, FactorDim> {
  using map::map;
  std::vector<std::pair<std::string, std::vector<FactorDim>>> by_path = {};
};
/// The models' axes: embed is a row, layers a batch, relative_bucket is not factored, the rest are columns.
FactorRules standard_factor_rules();

/// How one parameter is seen.
struct FactorDims {
  Dims rows = {}, columns = {};  // both empty: not a matrix
  Dims averaged = {};            // all dimensions that are no batch
  bool ruled = false;            // by the rules, not by sizes
};
/// Without rules, and for vectors and matrices without a batch axis, rows are the second largest dimension and columns
/// the largest. Rows without columns, or columns without rows, are no matrix. Throws ValueError naming the parameter:
/// more than two dimensions or a batch axis and one of the names has no rule, or rows, columns and none together.
FactorDims factor_dims(const Leaves& params, std::size_t i, const FactorRules& rules);
}  // namespace bora::optim
