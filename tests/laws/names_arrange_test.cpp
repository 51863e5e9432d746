// Cases of arrange.h.
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
}
}  // namespace bora::laws::names_arrange_test
