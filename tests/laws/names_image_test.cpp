// Cases of jax.image.
#include "bora/ops/ndimage.h"
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_image_test {
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
namespace {
using bora::test::says;
TEST(Image, MistakesAreNamed) {
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
}  // namespace
}  // namespace bora::laws::names_image_test
