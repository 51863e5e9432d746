// Cases of manipulation.h, and of positions and choices of indexing.h.
#include "laws/names_table.h"

namespace bora::laws::names_arrange_test {
namespace {
void add_choices(NamedCases& cases) {
  for (auto [name, n, k, m] : std::initializer_list<std::tuple<std::string, int, int, int>>{
           {"303", 3, 0, 3}, {"3-14", 3, -1, 4}, {"422", 4, 2, 2}}) {
    auto rows = n, offset = k, columns = m;
    BORA_CASE(steps, "tril_indices/" + name, tril_indices(rows, offset, columns));
    BORA_CASE(steps, "triu_indices/" + name, triu_indices(rows, offset, columns));
  }
  BORA_CASE(steps, "diag_indices", diag_indices(3));
  BORA_CASE(steps, "indices", indices({2, 3}));
  BORA_CASE(steps, "ravel_multi_index", ravel_multi_index({a, b}, {3, 4}));
  BORA_CASE(steps, "unravel_index", unravel_index(a, {3, 4}));
  BORA_CASE(smooth, "put_along_axis", put_along_axis(a, b, c, 1));
  BORA_CASE(smooth, "select", select({a > 2, a > 0}, {a * a, b}, -1));
  using F = std::function<Array(const Array&)>;
  F minus = [](const Array& x) { return -x; }, squares = [](const Array& x) { return x * x; },
    sines = [](const Array& x) { return sin(x); };
  BORA_CASE(steps, "piecewise", piecewise(a, {a < -1, a < 1}, {minus, squares, sines}));
  BORA_CASE(smooth, "piecewise/none", piecewise(a, {a < 0}, {minus}));
  BORA_CASE(smooth, "choose", choose(a, {b, c}));
  BORA_CASE(steps, "logspace", logspace(-1, 2, 5, 10, f64));
  BORA_CASE(steps, "logspace/base", logspace(0, 3, 4, 2, f64));
  BORA_CASE(steps, "geomspace", geomspace(1, 1000, 4, f64));
  BORA_CASE(steps, "geomspace/negative", geomspace(-0.5, -8, 5, f64));
  BORA_CASE(steps, "geomspace/one", geomspace(3, 8, 1, f64));
  BORA_CASE(steps, "packbits", packbits(a));
  BORA_CASE(steps, "packbits/axis", packbits(a, 0));
  BORA_CASE(steps, "unpackbits", unpackbits(a, 1));
}
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
void add_lists(NamedCases& cases) {
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
  BORA_CASE(steps, "linspace/open", linspace(-1.5, 2, 6, {.endpoint = false, .dtype = f64}));
  BORA_CASE(steps, "linspace/closed", linspace(-1.5, 2, 6, {.dtype = f64}));
  BORA_CASE(smooth, "linspace/arrays", linspace(a, b, 5));
  BORA_CASE(smooth, "linspace/arrays_open", linspace(a, b, 3, {.endpoint = false, .axis = -1}));
  BORA_CASE(smooth, "linspace/arrays_one", linspace(a, b, 1, {.axis = 1}));
  BORA_CASE(steps, "eye/above", eye(3, 4, 1, f64));
  BORA_CASE(steps, "eye/below", eye(4, 3, -2, f64));
  BORA_CASE(smooth, "full/array", full({2, 3, 4}, a));
  for (auto name : {"all", "one", "none", "late"})
    BORA_CASE(values, std::string("repeat/") + name, repeat(a, b, 1));
  BORA_CASE(smooth, "repeat/cut", repeat(a, b, 1, {.total = 4}));
  BORA_CASE(smooth, "repeat/filled", repeat(a, b, 1, {.total = 6}));
  BORA_CASE(smooth, "repeat/flat", repeat(a, 2));
}
void add_meshes(NamedCases& cases) {
  BORA_CASE(smooth, "meshgrid/xy", meshgrid({a, b}));
  BORA_CASE(smooth, "meshgrid/ij", meshgrid({a, b}, {.indexing = Indexing::ij}));
  BORA_CASE(smooth, "meshgrid/sparse", meshgrid({a, b}, {.sparse = true}));
  BORA_CASE(smooth, "meshgrid/sparse_ij", meshgrid({a, b, c}, {.indexing = Indexing::ij, .sparse = true}));
  BORA_CASE(smooth, "meshgrid/three", meshgrid({a, b, c}));
  BORA_CASE(smooth, "meshgrid/one", meshgrid({a}, {.sparse = true}));
}
}  // namespace
void add_arrange(NamedCases& cases) {
  for (auto kind : {"/scalar", "/vector", "/matrix"}) {
    BORA_CASE(smooth, std::string("atleast_1d") + kind, atleast_1d(a));
    BORA_CASE(smooth, std::string("atleast_2d") + kind, atleast_2d(a));
    BORA_CASE(smooth, std::string("atleast_3d") + kind, atleast_3d(a));
  }
  for (auto kind : {"", "/vectors"}) {
    BORA_CASE(smooth, std::string("hstack") + kind, hstack({a, b}));
    BORA_CASE(smooth, std::string("vstack") + kind, vstack({a, b}));
    BORA_CASE(smooth, std::string("dstack") + kind, dstack({a, b}));
    BORA_CASE(smooth, std::string("column_stack") + kind, column_stack({a, b}));
  }
  BORA_CASE(smooth, "block", block({{a, b}, {b, a}}));
  BORA_CASE(smooth, "block/ranks", block({Arrays{a}, Arrays{b}}));
  BORA_CASE(smooth, "broadcast_arrays", broadcast_arrays({a, b}));
  BORA_CASE(smooth, "array_split", array_split(a, 3));
  BORA_CASE(smooth, "array_split/axis", array_split(a, 3, -1));
  BORA_CASE(smooth, "array_split/positions", array_split(a, Dims{1, -2, 9}));
  BORA_CASE(smooth, "array_split/more", array_split(a, 4));
  BORA_CASE(smooth, "hsplit", hsplit(a, 2));
  BORA_CASE(smooth, "hsplit/vector", hsplit(a, 2));
  BORA_CASE(smooth, "vsplit", vsplit(a, 3));
  BORA_CASE(smooth, "dsplit", dsplit(a, 2));
  BORA_CASE(smooth, "unstack", unstack(a, -1));
  BORA_CASE(smooth, "append", append(a, b));
  BORA_CASE(smooth, "append/axis", append(a, b, 1));
  BORA_CASE(smooth, "insert", insert(a, 2, array(9.)));
  BORA_CASE(smooth, "insert/several", insert(a, 2, b));
  BORA_CASE(smooth, "insert/column", insert(a, -1, b, 1));
  BORA_CASE(smooth, "delete_", delete_(a, {1, -1, 1}));
  BORA_CASE(smooth, "delete_/axis", delete_(a, {0}, 1));
  BORA_CASE(smooth, "delete_/all", delete_(a, {0}));
  BORA_CASE(smooth, "resize", resize(a, {3, 7}));
  BORA_CASE(smooth, "resize/less", resize(a, {2, 2}));
  BORA_CASE(smooth, "fliplr", fliplr(a));
  BORA_CASE(smooth, "flipud", flipud(a));
  for (std::int64_t k : {-1, 0, 1, 2, 3}) BORA_CASE(smooth, "rot90/" + std::to_string(k), rot90(a, k));
  BORA_CASE(smooth, "rot90/axes", rot90(a, 1, 2, 0));
  for (auto [from, to] : std::initializer_list<std::pair<int, int>>{{0, 2}, {2, 0}, {1, 3}, {-1, 1}}) {
    auto i = from, j = to;
    BORA_CASE(smooth, "rollaxis/" + std::to_string(i) + std::to_string(j), rollaxis(a, i, j));
  }
  BORA_CASE(smooth, "matrix_transpose", matrix_transpose(a));
  for (std::int64_t k : {-2, 0, 1, 4, 6}) {
    BORA_CASE(smooth, "diagonal/" + std::to_string(k), diagonal(a, k));
    BORA_CASE(smooth, "trace/" + std::to_string(k), trace(a, k));
    BORA_CASE(smooth, "diag/" + std::to_string(k), diag(a, k));
  }
  BORA_CASE(smooth, "diagonal/axes", diagonal(a, -1, 2, 0));
  BORA_CASE(smooth, "diag/matrix", diag(a, 1));
  BORA_CASE(steps, "diag/empty", diag(a));
  BORA_CASE(smooth, "diagflat", diagflat(a, -1));
  BORA_CASE(smooth, "fill_diagonal", fill_diagonal(a, array(5.)));
  BORA_CASE(smooth, "fill_diagonal/vector", fill_diagonal(a, b));
  add_choices(cases);
  add_pads(cases);
  add_lists(cases);
  add_meshes(cases);
}
namespace {
TEST(Manipulation, RepeatByNumbersOfADerivative) {
  auto counts = array({2, 0, 1});
  auto g = grad([&](const Array& x) { return sum(square(repeat(x, counts))); })(array({3., 1., 2.}));
  EXPECT_EQ(worst(g, array({12., 0., 4.})), 0) << g;
}
}  // namespace
}  // namespace bora::laws::names_arrange_test
