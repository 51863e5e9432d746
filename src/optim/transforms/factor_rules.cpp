#include "bora/optim/factor_rules.h"
#include <algorithm>
#include <numeric>
#include <optional>
#include <regex>
#include "bora/named/axes.h"

namespace bora::optim {
FactorRules standard_factor_rules() {
  FactorRules r{{"embed", FactorDim::row},
                {"layers", FactorDim::batch},
                {"experts", FactorDim::batch},
                {"relative_bucket", FactorDim::none}};
  for (auto name : {"vocab", "mlp", "heads", "head_group", "head_size", "position"}) r[name] = FactorDim::column;
  return r;
}
namespace {
Dims all_dims(const Shape& shape) {
  Dims r(shape.size());
  std::iota(r.begin(), r.end(), 0);
  return r;
}
FactorDims by_size(const Shape& shape) {
  FactorDims r;
  r.averaged = all_dims(shape);
  if (shape.size() < 2) return r;
  auto order = all_dims(shape);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return shape[static_cast<std::size_t>(a)] < shape[static_cast<std::size_t>(b)];
  });
  r.rows = {order[order.size() - 2]};
  r.columns = {order.back()};
  return r;
}
FactorDims by_rule(const std::vector<FactorDim>& kinds, const std::string& path) {
  FactorDims r;
  r.ruled = true;
  bool none = false;
  for (std::size_t d = 0; d < kinds.size(); ++d) {
    auto dim = static_cast<std::int64_t>(d);
    if (kinds[d] != FactorDim::batch) r.averaged.push_back(dim);
    if (kinds[d] == FactorDim::row) r.rows.push_back(dim);
    if (kinds[d] == FactorDim::column) r.columns.push_back(dim);
    none = none || kinds[d] == FactorDim::none;
  }
  if (r.rows.empty() || r.columns.empty()) r.rows = r.columns = {};
  check<ValueError>(r.rows.empty() || !none, "optim: '", path,
                    "' has rows, columns and an axis whose factor rule is none");
  return r;
}
}  // namespace

FactorDims factor_dims(const Leaves& params, std::size_t i, const FactorRules& rules) {
  auto shape = params.arrays[i].shape();
  for (auto& [pattern, kinds] : rules.by_path) {
    if (!std::regex_search(params.paths[i], std::regex(pattern))) continue;
    check<ValueError>(kinds.size() == shape.size(), "optim: the factor rule '", pattern, "' has ", kinds.size(),
                      " dimensions, but '", params.paths[i], "' is ", params.arrays[i].type());
    return by_rule(kinds, params.paths[i]);
  }
  auto names = i < params.axes.size() ? params.axes[i] : std::vector<std::string>();
  bool stacked = std::any_of(names.begin(), names.end(), [&](auto& n) {
    auto it = rules.find(n);
    return it != rules.end() && it->second == FactorDim::batch;
  });
  if (rules.empty() || (shape.size() <= 2 && !stacked)) return by_size(shape);
  check<ValueError>(names.size() == shape.size(), "optim: the factor rules need the names of the axes of '",
                    params.paths[i], "', which is the plain ", params.arrays[i].type());
  std::vector<FactorDim> kinds;
  std::optional<std::size_t> rank;
  for (auto& name : names) {
    auto it = rules.find(name);
    if (it == rules.end() && name == kAdapterRank) {
      kinds.push_back(FactorDim::none);  // for now
      rank = kinds.size() - 1;
      continue;
    }
    check<ValueError>(it != rules.end(), "optim: no factor rule for the axis '", name, "' of '", params.paths[i],
                      "'; give it one (factor_rules): row, column, batch or none");
    kinds.push_back(it->second);
  }
  if (rank) {  // a row beside columns, a column beside rows
    bool columns = std::count(kinds.begin(), kinds.end(), FactorDim::column) > 0;
    kinds[*rank] = columns ? FactorDim::row : FactorDim::column;
  }
  return by_rule(kinds, params.paths[i]);
}
}  // namespace bora::optim
