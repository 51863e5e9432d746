// The texts of errors and warnings: the operation, the values, and what to do.
#include <bora/bora.h>
#include <gtest/gtest.h>
#include "support/throws.h"

using namespace bora;
namespace {
using bora::test::error_of;
struct Params {
  Array up;
  std::map<std::string, Array> more;
};
struct Options {
  Array x;
  float rate = 0;
};
}  // namespace

TEST(Messages, RandomKeysInArithmeticNameTheOperation) {
  auto k = random::key(1);
  auto numbers = ones({2});
  EXPECT_EQ(error_of([&] { (void)(k + 1); }),
            "add: random keys take no part in arithmetic; draw numbers from one: random::uniform(key, shape)");
  EXPECT_EQ(error_of([&] { (void)(2 * k); }),
            "multiply: random keys take no part in arithmetic; draw numbers from one: random::uniform(key, shape)");
  EXPECT_EQ(error_of([&] { (void)(k * numbers); }),
            "multiply: random keys and numbers have no common dtype, got key and f32");
  EXPECT_EQ(error_of([&] { (void)maximum(numbers, k); }),
            "maximum: random keys and numbers have no common dtype, got f32 and key");
  for (auto& text : {error_of([&] { (void)(k < 1); }), error_of([&] { (void)pow(k, 2.5); }),
                     error_of([&] { (void)where(array(true), k, 0); })})
    EXPECT_NE(text.find(": random keys take no part in arithmetic; draw numbers from one: random::uniform(key, shape)"),
              std::string::npos)
        << text;
  EXPECT_EQ(error_of([&] { (void)concatenate({random::split(k, 3), ones({3})}); }),
            "concatenate: random keys and numbers have no common dtype, got key and f32");
  EXPECT_EQ(error_of([&] { (void)concatenate({random::split(k, 3), random::split(k, 2)}); }), "no error");
}
TEST(Messages, SizesNameTheFunction) {
  EXPECT_EQ(error_of([] { (void)zeros({-2}); }), "zeros: sizes must not be negative, got [-2]");
  EXPECT_EQ(error_of([] { (void)ones({3, -2}); }), "ones: sizes must not be negative, got [3, -2]");
  EXPECT_EQ(error_of([] { (void)full({-2}, 1); }), "full: sizes must not be negative, got [-2]");
  EXPECT_EQ(error_of([] { (void)eye(-2); }), "eye: sizes must not be negative, got [-2, -2]");
  EXPECT_EQ(error_of([] { (void)tri(-2, 3); }), "tri: sizes must not be negative, got [-2, 3]");
}
TEST(Messages, AGivenDtypeIsNotAdvisedAgain) {
  EXPECT_EQ(error_of([] { (void)array({300}, u8); }), "array: 300 does not fit into u8");
  EXPECT_EQ(error_of([] { (void)array({-1}, u32); }), "array: -1 does not fit into u32");
  EXPECT_EQ(error_of([] { (void)array({3000000000}); }),
            "array: 3000000000 does not fit into i32; give a dtype: array({..}, i64)");
}
TEST(Messages, PositionsNameTheAxis) {
  Axis seq{"seq", 7}, one{"one", 1};
  EXPECT_EQ(error_of([&] { (void)arange(seq)[{"seq", 7}]; }),
            "x[..]: index 7 is outside of axis 'seq', which has 7 elements");
  EXPECT_EQ(error_of([&] { (void)zeros({seq, one})[{{"seq", range(0, 2)}, {"one", -2}}]; }),
            "x[..]: index -2 is outside of axis 'one', which has 1 element");
  EXPECT_EQ(error_of([&] { (void)at(arange(seq), {"seq", 9}).set(1); }),
            "at().set: index 9 is outside of axis 'seq', which has 7 elements");
  EXPECT_EQ(error_of([&] { (void)at(zeros({seq, one}), {"seq", -8}).add(zeros({one})); }),
            "at().add: index -8 is outside of axis 'seq', which has 7 elements");
  EXPECT_EQ((arange(seq)[{"seq", -7}].item<int>()), 0);
}
TEST(Messages, AnAxisThatIsNotThereIsSaidWithThoseThatAre) {
  local_mesh({{"x", 2}}, [](const Mesh& mesh) {
    EXPECT_EQ(error_of([] { (void)psum(ones({3}), "y"); }), "no mesh axis named 'y'; the mesh is x=2");
    EXPECT_EQ(error_of([] { (void)axis_index("y"); }), "no mesh axis named 'y'; the mesh is x=2");
    EXPECT_EQ(error_of([] { (void)psum(ones({3}), "x"); }),
              "axis 'x' of the mesh is not bound here: collectives act on blocks; call them inside shard_map");
    EXPECT_EQ(
        error_of([&] { (void)shard_map([](Array b) { return psum(b, "y"); }, mesh, {Spec{"x"}}, Spec{})(ones({2})); }),
        "no mesh axis named 'y'; the mesh is x=2");
  });
}
TEST(Messages, CollectivesThatDifferAreQuotedInWords) {
  std::array<std::string, 2> said;
  try {
    local_mesh({{"x", 2}}, [&](const Mesh& mesh) {
      auto mine = [&](const Array& b) { return mesh.rank() == 0 ? psum(b, "x") : pmax(b, "x"); };
      try {
        (void)gather(jit([&](const Array& x) { return shard_map(mine, mesh, {Spec{"x"}}, Spec{})(x); })(ones({2})));
      } catch (const Error& e) {
        said.at(static_cast<std::size_t>(mesh.rank())) = e.text();
        throw;
      }
    });
    ADD_FAILURE() << "no error";
  } catch (const Error&) {}
  auto text = said[0] + said[1];
  EXPECT_NE(text.find("kind=sum"), std::string::npos) << text;
  EXPECT_NE(text.find("kind=max"), std::string::npos) << text;
}
TEST(Messages, VmapSaysWhatOutMeans) {
  auto f = [](const Array& a, const Array& b) { return a + b; };
  EXPECT_EQ(error_of([&] { (void)vmap(f, {.in = 0, .out = none})(ones({3}), ones({3})); }),
            "vmap: result 0 depends on what is mapped, but .out = none says that it does not; give it an axis in "
            ".out (which arguments are mapped stands in .in: vmap(f, {.in = {0, none}}))");
}
TEST(Messages, ALeakedValueSaysWhatToDo) {
  Array leaked;
  (void)jit([&](const Array& x) {
    leaked = x * 2;
    return sum(x);
  })(ones({2}));
  EXPECT_EQ(error_of([&] { (void)(leaked + 1); }),
            "add: f32[2] is a traced or sharded value that was used after the transform or mesh that made it had "
            "ended; return it from the function that is transformed instead of storing it outside");
}
TEST(Messages, ItemOfManyElementsSaysWhatReadsThem) {
  EXPECT_EQ(
      error_of([] { (void)ones({3}).item<float>(); }),
      "item: needs exactly one element, the array is f32[3]; to_vector() reads all of them, view(x, i).item() one");
}
TEST(Messages, OptimizersNameTheParameter) {
  Params p{ones({3}), {{"b", ones({2})}}}, wrong{ones({3}), {{"b", ones({4})}}}, fewer{ones({3}), {}};
  for (auto& tx :
       {optim::adamw(), optim::sgd({.momentum = 0.9}), optim::chain(optim::clip_by_global_norm(1), optim::adam())}) {
    auto state = tx.init(p);
    EXPECT_EQ(error_of([&] { (void)tx.update(wrong, state, p); }),
              "optim: the gradient of 'more.b' is f32[4], the parameter is f32[2]");
    EXPECT_EQ(error_of([&] { (void)tx.update(fewer, state, p); }), "optim: the gradient: 1 arrays for 2 parameters");
    auto text = error_of([&] { (void)tx.update(wrong, state, wrong); });
    EXPECT_TRUE(text.starts_with("optim: the state's entry '")) << text;
    EXPECT_NE(text.find("more.b' is f32[2], the parameter is f32[4]; the state was made for other parameters"),
              std::string::npos)
        << text;
    EXPECT_EQ(error_of([&] { (void)tx.update(p, state, p); }), "no error");
  }
  EXPECT_EQ(error_of([&] { (void)optim::apply_updates(p, wrong); }),
            "apply_updates: the update of 'more.b' is f32[4], the parameter is f32[2]");
}
TEST(Messages, StagingAgainSaysWhyAndWhatHelps) {
  auto said = [](const auto& calls) {
    testing::internal::CaptureStderr();
    calls();
    return testing::internal::GetCapturedStderr();
  };
  auto shapes = jit([](const Array& x) { return x * 2; }, {.name = "shapes"});
  auto text = said([&] {
    for (int n = 1; n < 10; ++n) (void)shapes(ones({n}));
  });
  EXPECT_EQ(text,
            "warning: bora: jit(shapes) was staged 9 times; the last time for another value of 'argument 0': f32[8], "
            "then f32[9]. Each shape is staged once: pad to one shape, or to a few, and mask what does not count.\n");
  auto numbers = jit([](const Options& o) { return o.x * o.rate; }, {.name = "numbers"});
  text = said([&] {
    for (int n = 0; n < 5; ++n) (void)numbers(Options{ones({2}), 0.5F * static_cast<float>(n)});
  });
  EXPECT_EQ(text,
            "warning: bora: jit(numbers) was staged 4 times; the last time for another value of 'rate': 1, then 1.5. "
            "A number that changes every step belongs in an Array.\n");
  auto few = jit([](const Options& o) { return o.x * o.rate; });
  text = said([&] {  // two shapes and two numbers are what a cache is for
    for (int round = 0; round < 5; ++round)
      for (int n : {1, 2}) (void)few(Options{ones({n}), static_cast<float>(n)});
  });
  EXPECT_EQ(text, "");
}
TEST(Messages, ConvolutionsQuoteWhatWasGiven) {
  auto x = ones({8, 3, 32, 30}), w = ones({16, 4, 5, 5});
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, w, {1, 1}); }),
            "conv_general_dilated: x f32[8, 3, 32, 30] has 3 channels, and w f32[16, 4, 5, 5] takes 4");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, w, {1, 1}, {.feature_group_count = 3}); }),
            "conv_general_dilated: the 16 output channels of w f32[16, 4, 5, 5] do not split into 3 "
            "(feature_group_count)");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, w, {1, 1}, {.feature_group_count = 2}); }),
            "conv_general_dilated: x f32[8, 3, 32, 30] has 3 channels, and w f32[16, 4, 5, 5] takes 4 in each of 2 "
            "groups");
  auto fits = ones({16, 3, 5, 5});
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, fits, {1}); }),
            "conv_general_dilated: window_strides has 1 numbers for 2 spatial dimensions");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, fits, {1, 1}, {.rhs_dilation = {0, 1}}); }),
            "conv_general_dilated: rhs_dilation = 0 must be positive");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated(x, fits, {1, 1}, {.lhs_dilation = {1}}); }),
            "conv_general_dilated: lhs_dilation has 1 numbers for 2 spatial dimensions");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated_patches(x, {3}, {1, 1}); }),
            "conv_general_dilated_patches: filter_shape has 1 sizes for the 2 spatial dimensions of x "
            "f32[8, 3, 32, 30]");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated_local(x, w, {1, 1}, {3}); }),
            "conv_general_dilated_local: filter_shape has 1 sizes for the 2 spatial dimensions of x f32[8, 3, 32, 30]");
  EXPECT_EQ(error_of([&] { (void)lax::conv_general_dilated_local(x, w, {1, 1}, {3, 3}); }),
            "conv_general_dilated_local: w f32[16, 4, 5, 5] has 5 places along a dimension in which x "
            "f32[8, 3, 32, 30] has 30 windows");
  EXPECT_EQ(error_of([&] { (void)conv_transpose(x, w, {.stride = {1}}); }),
            "conv_transpose: stride has 1 numbers for 2 spatial dimensions");
  auto integers = ones({8, 3, 32, 30}, i32);
  EXPECT_EQ(error_of([&] { (void)min_pool(integers, {.window = {2, 2}, .stride = {1}}); }),
            "min_pool: stride has 1 numbers for 2 spatial dimensions");
  EXPECT_EQ(error_of([&] { (void)avg_pool(x, {.window = {2, 2}, .stride = {1}}); }),
            "avg_pool: stride has 1 numbers for 2 spatial dimensions");
}
