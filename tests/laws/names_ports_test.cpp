// Cases of options that ported programs use: vectors of two numbers, second sets of variables, weights, ends, distinct
// slices, sparse grids.
#include "bora/ops/image.h"
#include "laws/names_odd.h"
#include "support/throws.h"

namespace bora::laws::names_ports_test {
namespace {
Arrays parts(const Unique& u) { return {u.values, u.indices, u.inverse, u.counts}; }

void add_covariances(NamedCases& cases) {
  for (auto name : {"two", "two_vectors"}) BORA_CASE(smooth, std::string("cov/") + name, cov(a, b));
  BORA_CASE(smooth, "cov/two_columns", cov(a, b, {.rowvar = false}));
  BORA_CASE(smooth, "cov/vector_columns", cov(a, {.rowvar = false}));
  for (auto name : {"one_row", "whole"}) BORA_CASE(smooth, std::string("cov/") + name, cov(a));
  BORA_CASE(steps, "cov/no_observations", cov(a));
  BORA_CASE(smooth, "cov/one_observation", cov(a, {.ddof = 0}));
  BORA_CASE(smooth, "cov/bias", cov(a, {.bias = true}));
  BORA_CASE(smooth, "cov/ddof", cov(a, {.bias = true, .ddof = 2}));
  BORA_CASE(smooth, "cov/fweights", cov(a, {.fweights = b}));
  BORA_CASE(smooth, "cov/aweights", cov(a, {.aweights = b}));
  BORA_CASE(smooth, "cov/aweights_bias", cov(a, {.bias = true, .aweights = b}));
  auto often = array({2, 1, 0, 3});
  BORA_CASE(smooth, "cov/weights", cov(a, b, {.fweights = often, .aweights = c}));
  BORA_CASE(smooth, "cov/weights_ddof", cov(a, {.ddof = 0, .fweights = c, .aweights = b}));
  BORA_CASE(steps, "corrcoef/two", corrcoef(a, b));  // clipped at 1, which the diagonal is
  BORA_CASE(steps, "corrcoef/two_columns", corrcoef(a, b, {.rowvar = false}));
  BORA_CASE(steps, "corrcoef/one_row", corrcoef(a));
}
void add_sets(NamedCases& cases) {
  BORA_CASE(values, "unique/rows", unique(a, {.axis = 0}));
  BORA_CASE(values, "unique/columns", unique(a, {.axis = -1}));
  BORA_CASE(steps, "unique/rows_size", unique(a, {.size = 4, .axis = 0}));
  BORA_CASE(steps, "unique/rows_cut", unique(a, {.size = 2, .axis = 0}));
  BORA_CASE(steps, "unique/rows_fill", unique(a, {.size = 5, .fill = -3, .axis = 0}));
  BORA_CASE(values, "unique/vector_axis", unique(a, {.axis = 0}));
  BORA_CASE(values, "unique/many_nan", unique(a, {.equal_nan = false}));
  for (auto name : {"rows", "cube", "flags", "holes", "of_nothing"})
    BORA_CASE(values, std::string("unique_all/") + name, parts(unique_all(a, {.axis = 0})));
  BORA_CASE(values, "unique_all/many_nan", parts(unique_all(a, {.axis = 0, .equal_nan = false})));
  BORA_CASE(steps, "unique_all/rows_size", parts(unique_all(a, {.size = 4, .fill = 7, .axis = 0})));
  BORA_CASE(steps, "unique_all/cube_inside", parts(unique_all(a, {.size = 3, .axis = 1})));
  BORA_CASE(steps, "unique_all/size", parts(unique_all(a, {.size = 8})));
}
void add_images(NamedCases& cases) {
  using enum image::ResizeMethod;
  using image::resize, image::scale_and_translate;
  const image::ResizeOptions rough{.antialias = false};
  for (auto [word, m] : std::initializer_list<std::pair<std::string, image::ResizeMethod>>{
           {"nearest", nearest}, {"linear", linear}, {"cubic", cubic}, {"cubic_pytorch", cubic_pytorch},
           {"lanczos3", lanczos3}, {"lanczos5", lanczos5}, {"area", area}}) {
    auto name = "image::resize/" + word, moved = "image::scale_and_translate/" + word;
    auto method = m;
    BORA_CASE(smooth, name + "/up", resize(a, {9, 8, 2}, method));
    BORA_CASE(smooth, name + "/down", resize(a, {3, 2, 2}, method));
    BORA_CASE(smooth, name + "/mixed", resize(a, {4, 11, 2}, method));
    BORA_CASE(smooth, name + "/one", resize(a, {1, 1, 2}, method));
    BORA_CASE(smooth, name + "/same", resize(a, {6, 5, 2}, method));
    BORA_CASE(smooth, name + "/rough", resize(a, {3, 8, 3}, method, rough));
    if (method == nearest) continue;
    BORA_CASE(smooth, moved, scale_and_translate(a, {5, 7, 2}, {0, 1}, b, c, method));
    BORA_CASE(smooth, moved + "/rough", scale_and_translate(a, {5, 7, 2}, {0, 1}, b, c, method, rough));
  }
  BORA_CASE(steps, "image::resize/whole", resize(a, {3, 3}, nearest));
  BORA_CASE(smooth, "image::resize/line", resize(a, {7, 1}, cubic_pytorch, rough));
  BORA_CASE(smooth, "image::scale_and_translate/none",
            scale_and_translate(a, {6, 5, 2}, {}, zeros({0}, f64), zeros({0}, f64), linear));
}
}  // namespace
void add_ports(NamedCases& cases) {
  BORA_CASE(smooth, "diff/prepend", diff(a, 1, -1, {.prepend = 2.5}));
  BORA_CASE(smooth, "diff/append", diff(a, 1, -1, {.append = b}));
  BORA_CASE(smooth, "diff/ends", diff(a, 2, 0, {.prepend = b, .append = -1.}));
  BORA_CASE(smooth, "diff/scalar_array", diff(a, 1, -1, {.prepend = b}));
  BORA_CASE(steps, "diff/whole", diff(a, 1, -1, {.prepend = 0, .append = 7}));
  BORA_CASE(steps, "diff/flags", diff(a, 1, -1, {.prepend = true}));
  BORA_CASE(smooth, "diff/none", diff(a, 0, -1, {.prepend = 1.}));
  BORA_CASE(steps, "diff/from_nothing", diff(a, 1, -1, {.prepend = 1., .append = 4.}));
  for (auto name : {"plane", "plane_one", "plane_space", "space_plane", "whole"})
    BORA_CASE(smooth, std::string("cross/") + name, cross(a, b));
  for (auto name : {"plane_axis", "plane_space_axis"})
    BORA_CASE(smooth, std::string("cross/") + name, cross(a, b, 0));
  BORA_CASE(smooth, "cross/axes", cross(a, b, {.a = 0, .b = 1, .result = 0}));
  BORA_CASE(smooth, "cross/axes_last", cross(a, b, {.a = 0}));
  BORA_CASE(smooth, "meshgrid/xy", meshgrid({a, b}));
  BORA_CASE(smooth, "meshgrid/ij", meshgrid({a, b}, {.indexing = Indexing::ij}));
  BORA_CASE(smooth, "meshgrid/sparse", meshgrid({a, b}, {.sparse = true}));
  BORA_CASE(smooth, "meshgrid/sparse_ij", meshgrid({a, b, c}, {.indexing = Indexing::ij, .sparse = true}));
  BORA_CASE(smooth, "meshgrid/three", meshgrid({a, b, c}));
  BORA_CASE(smooth, "meshgrid/one", meshgrid({a}, {.sparse = true}));
  BORA_CASE(smooth, "lax::cumsum", lax::cumsum(a, 1));
  BORA_CASE(smooth, "lax::cumsum/reverse", lax::cumsum(a, -1, true));
  BORA_CASE(smooth, "lax::cumprod", lax::cumprod(a, 1));
  BORA_CASE(smooth, "lax::cumprod/reverse", lax::cumprod(a, 0, true));
  add_covariances(cases);
  add_sets(cases);
  add_images(cases);
}
namespace {
using bora::test::says;
TEST(PortedNames, MistakesAreNamed) {
  auto x = ones({2, 3}), v = ones({3});
  says<ShapeError>([&] { return cross(ones({4}), v); },
                   "cross: needs vectors of two or three numbers, got 4 along axis 0 of [4] and 3 along axis 0 of [3]");
  says<ShapeError>([&] { return diff(x, 1, -1, {.prepend = v}); },
                   "diff: .prepend f32[3] does not fit x f32[2, 3] along axis 1");
  says<ShapeError>([&] { return diff(x, 1, 0, {.append = ones({2, 2})}); }, "diff: .append f32[2, 2] does not fit");
  says<ShapeError>([&] { return cov(ones({2, 2, 2})); }, "cov: x must be variables [V, n] or a vector, got f32[2, 2");
  says<ShapeError>([&] { return corrcoef(x, ones({4})); },
                   "corrcoef: x f32[2, 3] has 3 observations and y f32[4] has 4");
  says<DtypeError>([&] { return cov(x, {.fweights = v}); }, "cov: .fweights say how often each observation occurs");
  says<ShapeError>([&] { return cov(x, {.fweights = array({1, 2})}); },
                   "cov: .fweights i32[2] is not one number for each of the 3 observations");
  says<ShapeError>([&] { return cov(x, {.aweights = ones({2, 3})}); }, "cov: .aweights f32[2, 3] is not one number");
  says<IndexError>([&] { return unique(x, {.axis = 2}); }, "unique: axis 2");
  says<ValueError>([&] { return unique(x, {.size = -1, .axis = 0}); }, "unique: size = -1 must not be negative");
  says<TraceError>([&] { return jit([](const Array& a) { return unique(a, {.axis = 0}); })(x); }, "give {.size = n}");
  says<TraceError>([&] { return jit([&](const Array& n) { return repeat(x, n, 1); })(array({1, 2, 3})); },
                   "repeat: the size of the result depends on values, which are not known inside transforms; "
                   "give {.total = n}");
  says<TraceError>([&] { return vmap([&](const Array& n) { return repeat(x, n, 1); })(ones({2, 3}, i32)); },
                   "give {.total = n}");
  lax::Combine plus = [](const Array& a, const Array& b) { return a + b; };
  says<ValueError>([&] { return lax::reduce_window(x, 0., plus, {1, 2}, {.window_strides = {0, 1}}); },
                   "reduce_window: window_strides = 0 must be positive");
  says<ShapeError>([&] { return meshgrid({x}, {.sparse = true}); }, "meshgrid: needs vectors, got f32[2, 3]");
}
TEST(PortedNames, MistakesWithImagesAreNamed) {
  using image::ResizeMethod, image::resize, image::scale_and_translate;
  auto x = ones({2, 3}), one = ones({1}), two = ones({2});
  says<ShapeError>([&] { return resize(x, {4}, ResizeMethod::linear); },
                   "resize: the shape [4] has a size for each dimension, also for those that stay, and x is f32[2, 3]");
  says<ValueError>([&] { return resize(x, {4, -1}, ResizeMethod::area); }, "resize: sizes must not be negative");
  says<ShapeError>([&] { return resize(zeros({0, 3}), {2, 3}, ResizeMethod::cubic); },
                   "resize: dimension 0 of x f32[0, 3] is empty and has no pixel for [2, 3]");
  says<ValueError>([&] { return scale_and_translate(x, {2, 3}, {0}, one, one, ResizeMethod::nearest); },
                   "scale_and_translate: nearest has no weights");
  says<ShapeError>([&] { return scale_and_translate(x, {2, 3}, {0}, two, one, ResizeMethod::linear); },
                   "scale_and_translate: scale f32[2] and translation f32[1] must be vectors");
  says<ShapeError>([&] { return scale_and_translate(x, {2, 4}, {0}, one, one, ResizeMethod::linear); },
                   "scale_and_translate: dimension 1 of x f32[2, 3] is none of [0] and cannot become [2, 4]");
  says<ValueError>([&] { return scale_and_translate(x, {2, 3}, {0, -2}, two, two, ResizeMethod::linear); },
                   "scale_and_translate: dimension 0 is given twice");
  EXPECT_EQ(resize(x, {0, 3}, ResizeMethod::linear).shape(), (Shape{0, 3}));
  EXPECT_EQ(resize(ones({2, 2}, i32), {3, 3}, ResizeMethod::linear).dtype(), f32);
  EXPECT_EQ(resize(ones({2, 2}, u8), {3, 3}, ResizeMethod::nearest).dtype(), u8);
}
TEST(PortedNames, SlicesWithoutElements) {
  EXPECT_EQ(unique(zeros({0, 3}), {.axis = 0}).shape(), (Shape{0, 3}));
  auto none_at_all = unique_all(zeros({2, 0}), {.axis = 1});
  EXPECT_EQ(none_at_all.values.shape(), (Shape{2, 0}));
  EXPECT_EQ(none_at_all.inverse.shape(), Shape{0});
  auto filled = unique(zeros({0, 2}, f64), {.size = 3, .fill = 7., .axis = 0});
  EXPECT_EQ(worst(filled, full({3, 2}, 7., f64)), 0) << filled;
}
TEST(PortedNames, RepeatByNumbersOfADerivative) {
  auto counts = array({2, 0, 1});
  auto g = grad([&](const Array& x) { return sum(square(repeat(x, counts))); })(array({3., 1., 2.}));
  EXPECT_EQ(worst(g, array({12., 0., 4.})), 0) << g;
}
}  // namespace
}  // namespace bora::laws::names_ports_test
