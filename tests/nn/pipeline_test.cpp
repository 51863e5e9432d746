// Layers in stages against the same layers one after another.
#include "bora/nn/pipeline.h"
#include "laws/laws.h"
#include "nn/stages.h"
#include "support/throws.h"

namespace bora::laws::pipeline_test {
namespace {
using nn::PipelineOptions, nn::pipeline_bubble;
const Axis kRows{nn::kBatch, 8};
struct Inputs {
  nn::Stacked<Block> blocks;
  NamedArray x, shift;
  Array scale;
};
Inputs inputs(Dtype dtype = f64) {
  Inputs in{Block::layers(), {rnd({6, 8}, 1), {kEmbed, kRows}}, {rnd({8}, 2), {kRows}}, rnd({4}, 4) + 1.5};
  return tree::map([&](const Array& a) { return a.astype(dtype); }, in);
}
NamedArray one_after_another(const Inputs& in, const remat::Policy& remat = remat::nothing) {
  return nn::fold(in.blocks, in.x, {.checkpoint = remat})(in.shift, nn::per_layer(std::optional(in.scale)),
                                                          nn::per_layer(std::optional<Array>()));
}
NamedArray in_stages(const Inputs& in, const PipelineOptions& o, const std::optional<Array>& keys = none) {
  auto f = [](const Block& b, const NamedArray& x, const std::optional<Array>& part, const NamedArray& shift,
              const std::optional<Array>& scale, const std::optional<Array>& key) {
    return b(x, shift, scale, nn::key_of_part(key, part));
  };
  return nn::pipeline(in.blocks, f, in.x, o)(in.shift, nn::per_layer(std::optional(in.scale)), nn::per_layer(keys));
}
/// Gradients of rows go between stages as they are, whatever the wire of parameters' gradients.
TEST(Pipeline, RowsAreNoGradientsOfTheWire) {
  auto in = inputs(f32);
  for (auto& layout : stage_layouts())
    local_mesh(layout.mesh, [&](const Mesh& mesh) {
      UseMapping split(layout.compute);
      auto loss = [&](const std::pair<NamedArray, NamedArray>& rows) {
        auto mine = in;
        mine.x = auto_sharded(rows.first), mine.shift = auto_sharded(rows.second);
        auto y = in_stages(mine, {.microbatches = 2}).array();
        return sum(y * rnd(y.shape(), 7).astype(f32));
      };
      auto gradients = [&] { return gathered(tree::leaves(jit(grad(loss))(std::pair{in.x, in.shift}))); };
      auto want = gradients();
      MeshAxes over;
      for (auto& axis : mesh.shape().axes)
        if (axis.first.str() != "model") over.push_back(axis.first);
      UseMapping rounded(current_mapping().with_gradients({Wire::int4(), over}));
      close(gradients(), want, 0, name(layout.mesh));
    });
}
/// Those of parameters that stages gather (FSDP) do travel as it says, in halves too.
TEST(Pipeline, ParametersOfStagesHaveTheWire) {
  auto layout = stage_layouts()[4];
  for (auto dtype : {f32, bf16, f16}) {
    auto in = inputs(dtype);
    local_mesh(layout.mesh, [&](const Mesh&) {
      UseMapping split(layout.compute);
      auto mine = sharded(in.blocks, layout.storage);
      auto loss = [&](const nn::Stacked<Block>& blocks) {
        auto with = in;
        with.blocks = blocks;
        auto y = in_stages(with, {.microbatches = 2}).array();
        return sum(y * rnd(y.shape(), 7).astype(dtype));
      };
      auto weights = [&] { return gathered({jit(grad(loss))(mine).layer.up.weight.array()})[0]; };
      auto exact = weights();
      UseMapping rounded(current_mapping().with_gradients({Wire::int4(), {"data", "stage"}}));
      EXPECT_FALSE(array_equal(weights(), exact)) << dtype_name(dtype);
    });
  }
}
TEST(Pipeline, IsTheLayersOneAfterAnother) {
  auto in = inputs();
  auto want = with_gradients([](const Inputs& x) { return one_after_another(x); }, in);
  for (auto& layout : stage_layouts())
    for (std::int64_t parts : {1, 2, 4}) {
      auto f = [&](const Inputs& x) {
        return with_gradients([&](const Inputs& y) { return in_stages(y, {.microbatches = parts}); }, x);
      };
      for (bool staged : {false, true}) holds_on(layout, f, in, staged, want, std::to_string(parts) + " microbatches");
    }
}
TEST(Pipeline, AnyNumberOfStagesAndPartsInOneProcess) {
  auto in = inputs();
  auto want = with_gradients([](const Inputs& x) { return one_after_another(x); }, in);
  for (std::int64_t stages : {1, 2, 4})
    for (std::int64_t parts : {1, 2, 4, 8})
      for (auto remat : {remat::nothing, remat::everything}) {
        PipelineOptions o{.microbatches = parts, .stages = stages, .checkpoint = remat};
        close(with_gradients([&](const Inputs& x) { return in_stages(x, o); }, in), want, 1e-12,
              std::to_string(stages) + " stages, " + std::to_string(parts) + " parts");
      }
  local_mesh({{"stage", 2}}, [&](const Mesh&) {  // two stages on each rank
    auto y = with_gradients([&](const Inputs& x) { return in_stages(x, {.microbatches = 4, .stages = 4}); }, in);
    close(gathered(y), want, 1e-12, "four stages on two ranks");
  });
}
/// The numbers are those of one process with as many stages and parts; only what all stages use (shift) is summed in
/// another order.
TEST(Pipeline, TheSameBitsAndDrawsWhereverTheStagesAre) {
  auto in = inputs(f32);
  auto keys = random::split(random::key(9), kLayers.size);
  auto f = [&](const Inputs& x) {
    return with_gradients([&](const Inputs& y) { return in_stages(y, {.microbatches = 4, .stages = 4}, keys); }, x);
  };
  auto want = jit(f)(in);
  auto plain = jit([&](const Inputs& x) { return Arrays{one_after_another(x).array()}; })(in);
  close({jit([&](const Inputs& x) { return Arrays{in_stages(x, {.microbatches = 4, .stages = 4}).array()}; })(in)[0]},
        plain, 1e-6, "f32");
  for (std::vector<MeshAxis> mesh : {std::vector<MeshAxis>{{"stage", 2}}, {{"stage", 4}}})
    local_mesh(mesh, [&](const Mesh&) {
      UseMapping split({{nn::kLayers, "stage"}});
      auto got = gathered(jit(f)(sharded(in, current_mapping())));
      auto shared = tree::leaves(in).size() - 1;  // with the result before the gradients
      for (std::size_t i = 0; i < got.size(); ++i)
        close({got[i]}, {want[i]}, i == shared ? 5e-7 : 0, name(mesh) + " " + std::to_string(i));
    });
}
TEST(Pipeline, ALoopOfTicksPassesOneMicrobatchEach) {
  auto in = inputs();
  local_mesh({{"stage", 4}}, [&](const Mesh& mesh) {
    UseMapping split({{nn::kLayers, "stage"}});
    auto mine = sharded(in, current_mapping());
    auto f = jit([](const Inputs& x) {
      return grad([](const Inputs& y) { return sum(square(in_stages(y, {.microbatches = 2}).array())); })(x);
    });
    auto text = explain_program(program_of(f, mine), f.inputs(mine));
    if (mesh.rank() > 0) return;
    // 2 + 4 - 1 ticks forward and back; the results of the last stage; nothing else travels
    EXPECT_NE(text.find("10 x ppermute stage f64[1, 6, 4]"), std::string::npos) << text;
    EXPECT_NE(text.find("1 x all_reduce stage f64[6, 8]"), std::string::npos) << text;
    EXPECT_EQ(text.find("all_gather"), std::string::npos) << text;
  });
}
TEST(Pipeline, ThroughFollowsTheMapping) {
  auto in = inputs();
  auto f = [](const Block& b, const NamedArray& x, const std::optional<Array>& part, const NamedArray& shift) {
    return part ? b(x, shift, none, none) * 2.0 : b(x, shift, none, none);
  };
  auto plain = nn::through(in.blocks, f, in.x)(in.shift);
  auto twice = nn::pipeline(in.blocks, f, in.x, {.microbatches = 2, .stages = 2})(in.shift);
  local_mesh({{"stage", 2}}, [&](const Mesh&) {
    close({nn::through(in.blocks, f, in.x)(in.shift).array()}, {plain.array()}, 0, "no rule");
    UseMapping split({{nn::kLayers, "stage"}});
    auto through = nn::through(in.blocks, f, in.x, {.microbatches = 2});
    close({gather(through(in.shift).array())}, {twice.array()}, 1e-12, "a rule");
  });
}
/// Values of a layer: a sum over the rows for every place of a vector, and a number.
struct Values {
  NamedArray squares;  // [embed]
  Array total;
};
TEST(Pipeline, ValuesOfLayersAreSumsOverAllRows) {
  auto in = inputs();
  auto f = [](const Block& b, const NamedArray& x, const std::optional<Array>&, const NamedArray& shift) {
    auto y = b(x, shift, none, none);
    auto squares = sum(square(y), nn::kBatch);
    return std::pair{y, Values{squares, sum(squares).array() * 0.5}};
  };
  auto all = [&](const auto& run) {
    return [&run](const Inputs& x) {
      auto [y, values] = run(x);
      return Arrays{y.array(), values.squares.array(), values.total};
    };
  };
  auto with_gradients = [&](const auto& run, const Inputs& x) {
    auto loss = [&](const Inputs& i) {
      auto r = all(run)(i);  // nonlinear in the sums
      return sum(square(r[1]) * rnd(r[1].shape(), 3)) + sum(r[2] * r[2] * 0.1) + sum(r[0] * rnd(r[0].shape(), 7));
    };
    return joined(all(run)(x), tree::leaves(grad(loss)(x)));
  };
  auto through = [&](const PipelineOptions& o) {
    return [&f, o](const Inputs& x) { return nn::through_reported(x.blocks, f, x.x, o)(x.shift); };
  };
  auto plain = through({});
  auto want = with_gradients(plain, in);
  EXPECT_EQ(want[1].shape(), (Shape{4, 6}));
  for (std::int64_t stages : {1, 2, 4})
    for (std::int64_t parts : {1, 2, 8}) {
      PipelineOptions o{.microbatches = parts, .stages = stages};
      auto run = [&](const Inputs& x) { return nn::pipeline_reported(x.blocks, f, x.x, o)(x.shift); };
      close(with_gradients(run, in), want, 1e-12, std::to_string(stages) + " stages, " + std::to_string(parts));
    }
  for (auto& layout : stage_layouts())
    local_mesh(layout.mesh, [&](const Mesh&) {
      UseMapping split(layout.compute);
      auto g = [&](const Inputs& x) { return with_gradients(through({.microbatches = 4}), x); };
      close(gathered(jit(g)(sharded(in, layout.storage))), want, 1e-12, name(layout.mesh));
    });
  local_mesh({{"stage", 2}}, [&](const Mesh&) {
    UseMapping split({{nn::kLayers, "stage"}});
    EXPECT_THROW((void)through({.schedule = nn::Schedule::one_forward_one_backward})(in), ValueError);
  });
}
TEST(Pipeline, BubbleAndDefaultParts) {
  EXPECT_EQ(pipeline_bubble(1, 4), 0);
  EXPECT_DOUBLE_EQ(pipeline_bubble(4, 12), 3.0 / 15);
  for (std::int64_t rows : {1, 7, 8, 12, 30, 64})
    for (std::int64_t stages : {1, 2, 4})
      for (std::int64_t ranks : {1, 2, 3}) {
        auto m = nn::default_microbatches(rows, stages, ranks);
        EXPECT_TRUE(m >= 1 && m <= 4 * stages && rows % m == 0) << rows << " " << stages << " " << ranks << " " << m;
      }
  EXPECT_EQ(nn::default_microbatches(64, 2), 8);
  EXPECT_EQ(nn::default_microbatches(8, 2, 2), 4);
  EXPECT_EQ(nn::default_microbatches(7, 2), 7);
}
TEST(Pipeline, ErrorsNameTheSizes) {
  auto in = inputs();
  auto says = [&](const PipelineOptions& o, const std::string& words) {
    test::says<ValueError>([&] { (void)in_stages(in, o); }, words);
  };
  says({.stages = 3}, "pipeline: 4 layers cannot be cut into 3 equal stages");
  says({.microbatches = 3}, "pipeline: 8 rows cannot be cut into 3 equal microbatches");
  says({.microbatches = -1}, "they must be 1 or more");
  EXPECT_THROW((void)in_stages(in, {.axis = "embed"}), AxisError);
  EXPECT_THROW((void)pipeline_bubble(0, 1), ValueError);
  local_mesh({{"stage", 4}}, [&](const Mesh&) {
    says({.stages = 2}, "pipeline: 2 stages cannot be spread evenly over the 4 ranks of mesh axis 'stage'");
  });
  local_mesh({{"stage", 2, {1, 3}}}, [&](const Mesh&) {
    test::says<ShardError>([&] { (void)in_stages(in, {}); }, "mesh axis 'stage' has shares (mesh stage=2(1:3))");
  });
}
}  // namespace
}  // namespace bora::laws::pipeline_test
