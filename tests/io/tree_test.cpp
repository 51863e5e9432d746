// Trees saved and loaded in one line: alone, on meshes, from checkpoints, and what is refused.
#include "bora/io/tree.h"
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include "bora/fx/jit.h"
#include "bora/named/named.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace tree_test {
using namespace bora;
namespace {
struct Inner {
  NamedArray table;
  std::optional<Array> bias = none;
};
struct Model {
  Array weight;
  std::vector<Inner> inner;
  std::map<std::string, Array> more;
  float scale = 1;
  Array key = {}, empty = {};
};
Model make(std::int64_t seed) {
  Axis in{"in", 4}, out{"out", 2};
  auto [a, b, c] = random::split<3>(random::key(seed));
  return {random::normal(a, {5, 3}),
          {{named(random::normal(b, {4, 2}), {in, out}), random::bits(c, {3}, u8)}, {named(ones({2}), {out})}},
          {{"half", random::normal(c, {6}, bf16)},
           {"none", zeros({0, 2})},
           {"number", array(static_cast<double>(seed), f64)}},
          static_cast<float>(seed),
          a};
}
void expect_same(const Model& a, const Model& b) {
  ASSERT_EQ(tree::paths(a), tree::paths(b));
  auto x = tree::leaves(a), y = tree::leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].type(), y[i].type());
    auto numbers = [](const Array& v) {
      return (v.dtype() == Dtype::key ? random::key_data(v) : v).to_vector<double>();
    };
    EXPECT_EQ(numbers(x[i]), numbers(y[i])) << tree::paths(a)[i];
  }
}
struct TreeFiles : testing::Test {
  test::TempFolder temp;
  std::string folder = temp / "trees", at = folder + "/weights";
};
using bora::test::error_of;
}  // namespace

TEST_F(TreeFiles, OneLineThereAndOneBack) {
  auto model = make(1);
  save_tree(at, model);
  auto back = load_tree(at, make(2));
  expect_same(back, model);
  EXPECT_EQ(back.scale, 1.F);
  save_tree(at, make(3));      // replaces it
  expect_same(load_tree(at, model), make(3));
  auto shapes = eval_shape(
      [](const Array& x) {
        return tree::map([&](const Array& leaf) { return leaf.dtype() == f32 ? leaf + x : leaf; }, make(1));
      },
      array(0.));
  expect_same(load_tree(at, shapes), make(3));
  save_tree(folder + "/one", array({1., 2.}));
  EXPECT_EQ(load_tree(folder + "/one", zeros({2})).to_vector<float>(), (std::vector<float>{1, 2}));
}
TEST_F(TreeFiles, AnyMeshReadsWhatAnotherWrote) {
  auto model = make(1);
  auto split = [](const Model& m) {
    auto r = m;
    r.weight = with_sharding_constraint(m.weight, Spec{"data"});
    r.more.at("half") = with_sharding_constraint(m.more.at("half"), Spec{"data"});
    return r;
  };
  local_mesh({{"data", 3}}, [&](const Mesh&) { save_tree(at, split(make(1))); });
  expect_same(load_tree(at, make(2)), model);
  for (int n : {1, 2, 4})
    local_mesh({{"data", n}}, [&](const Mesh&) {
      auto back = load_tree(at, split(make(2)));
      EXPECT_EQ(back.weight.spec(), split(model).weight.spec());
      expect_same(back, model);
    });
}
TEST_F(TreeFiles, ReadsAPartOfACheckpointAndOfARun) {
  Arrays keep;
  struct State {
    Model params;
    Array step;
  } state{make(4), array(7)};
  for (int step : {3, 5}) {
    state.step = array(step);
    io::save_checkpoint(folder + "/run/checkpoints", step, io::leaves_of(tree::node(state), "", keep),
                        io::place_here());
  }
  expect_same(load_tree(folder + "/run", make(1), "params"), make(4));
  for (auto name : {"/run", "/run/checkpoints", "/run/checkpoints/step-5"})
    EXPECT_EQ(load_tree(folder + name, State{make(1), array(0)}).step.item<int>(), 5) << name;
  EXPECT_EQ(load_tree(folder + "/run/checkpoints/step-3", State{make(1), array(0)}).step.item<int>(), 3);
}
TEST_F(TreeFiles, WhatDoesNotFitIsNamed) {
  save_tree(at, make(1));
  auto other = make(1);
  other.weight = zeros({5, 4});
  EXPECT_NE(error_of([&] { (void)load_tree(at, other); }).find("leaf 'weight'"), std::string::npos);
  other = make(1);
  other.more["extra"] = zeros({1});
  EXPECT_NE(error_of([&] { (void)load_tree(at, other); }).find("leaf 'more.extra'"), std::string::npos);
  EXPECT_NE(
      error_of([&] { (void)load_tree(folder + "/nothing", make(1)); }).find("no checkpoint at " + folder + "/nothing"),
      std::string::npos);
  std::ofstream(folder + "/file") << "x";
  fs::create_directories(folder + "/run/checkpoints/step-3");
  EXPECT_EQ(error_of([&] { save_tree(folder + "/run", make(1)); }),
            "save_tree: " + folder + "/run holds something else (checkpoints); choose another folder");
  EXPECT_NE(error_of([&] { save_tree(folder + "/run/checkpoints", make(1)); }).find("holds something else (step-3)"),
            std::string::npos);
  EXPECT_TRUE(error_of([&] { save_tree(folder + "/file", make(1)); }).starts_with("save_tree: " + folder + "/file: "));
  EXPECT_THROW((void)jit([&](const Array& x) {
                 save_tree(at, x);
                 return x;
               })(ones({2})),
               TraceError);
  expect_same(load_tree(at, make(2)), make(1));  // untouched
}
}  // namespace tree_test
