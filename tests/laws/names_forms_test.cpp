// Cases of forms.h and of systems of one vector.
#include "bora/ops/forms.h"
#include "bora/ops/linalg_functions.h"
#include "laws/names_odd.h"

namespace bora::laws::names_forms_test {
namespace {
void add_pads(NamedCases& cases) {
  const PadWidths thin = {{1, 0}, {0, 2}, {1, 1}}, wide = {{3, 5}, {0, 0}, {9, 10}}, same = {2, 1};
  using enum PadMode;
  for (auto [word, m] : std::initializer_list<std::pair<std::string, PadMode>>{
           {"constant", constant}, {"edge", edge}, {"reflect", reflect}, {"symmetric", symmetric}, {"wrap", wrap},
           {"linear_ramp", linear_ramp}, {"maximum", maximum}, {"minimum", minimum}, {"mean", mean},
           {"median", median}}) {
    auto name = "pad/" + word;
    auto mode = m;
    Scalar value = mode == constant ? Scalar(2.5) : Scalar(-1.5), whole = mode == constant ? Scalar(2) : Scalar(-7);
    BORA_CASE(smooth, name + "/thin", pad(a, thin, mode, value));
    BORA_CASE(smooth, name + "/wide", pad(a, wide, mode, value));
    BORA_CASE(smooth, name + "/same", pad(a, same, mode, value));
    BORA_CASE(smooth, name + "/one", pad(a, 2, mode, value));
    BORA_CASE(steps, name + "/whole", pad(a, {1, 2}, mode, whole));
  }
}
}  // namespace
void add_forms(NamedCases& cases) {
  BORA_CASE(smooth, "tensordot/pair", tensordot(a, b, {1, 0}));
  BORA_CASE(smooth, "tensordot/lists", tensordot(a, b, {{1, 2}, {0, 1}}));
  BORA_CASE(smooth, "tensordot/turned", tensordot(a, b, {{2, 1}, {1, 0}}));
  BORA_CASE(smooth, "tensordot/negative", tensordot(a, b, {{-2}, {-1}}));
  BORA_CASE(smooth, "tensordot/none", tensordot(a, b, TensordotAxes(Dims{}, Dims{})));
  BORA_CASE(smooth, "moveaxis/swap", moveaxis(a, {0, 1}, {1, 0}));
  BORA_CASE(smooth, "moveaxis/front", moveaxis(a, {2, 0}, {0, 1}));
  BORA_CASE(smooth, "moveaxis/back", moveaxis(a, {0, 1}, {-1, -2}));
  BORA_CASE(smooth, "moveaxis/one", moveaxis(a, Dims{0}, Dims{2}));
  BORA_CASE(smooth, "moveaxis/none", moveaxis(a, Dims{}, Dims{}));
  BORA_CASE(smooth, "expand_dims/two", expand_dims(a, {0, 2}));
  BORA_CASE(smooth, "expand_dims/back", expand_dims(a, {-1, 1}));
  BORA_CASE(smooth, "expand_dims/none", expand_dims(a, Dims{}));
  BORA_CASE(smooth, "roll/two", roll(a, {1, -2}, {0, 2}));
  BORA_CASE(smooth, "roll/twice", roll(a, {1, 1}, {1, 1}));
  BORA_CASE(smooth, "roll/far", roll(a, {-7, 9}, {-1, 0}));
  for (std::int64_t by : {5, -1, 0, 30}) BORA_CASE(smooth, "roll/flat" + std::to_string(by), roll(a, by));
  for (auto name : {"all", "one", "none", "late"})
    BORA_CASE(values, std::string("repeat/") + name, repeat(a, b, 1));
  BORA_CASE(smooth, "repeat/cut", repeat(a, b, 1, {.total = 4}));
  BORA_CASE(smooth, "repeat/filled", repeat(a, b, 1, {.total = 6}));
  BORA_CASE(smooth, "repeat/flat", repeat(a, 2));
  add_pads(cases);
  using namespace linalg;
  for (auto name : {"vector", "vectors", "batches", "one_matrix"})
    BORA_CASE(smooth, std::string("linalg::solve/") + name, solve(a, b));
  BORA_CASE(smooth, "linalg::lu_solve/vector", lu_solve(lu_factor(a), b));
  BORA_CASE(smooth, "linalg::cho_solve/vector", cho_solve(tril(a), b));
  BORA_CASE(smooth, "linalg::solve_triangular/vector", solve_triangular(a, b, {.lower = true}));
}
}  // namespace bora::laws::names_forms_test
