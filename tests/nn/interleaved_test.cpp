// 1F1B against layers one after another and the loss of all rows.
#include "bora/fx/lower.h"
#include "laws/laws.h"
#include "nn/stages.h"
#include "support/throws.h"

namespace bora::laws::interleaved_test {
namespace {
using nn::PipelineOptions;
const Axis kRows{nn::kBatch, 16}, kPlaces{nn::kPosition, 4};
struct Inputs {
  nn::Stacked<Block> blocks;
  NamedArray x, shift;
  Array scale;
  NamedArray gain, head, weights;  // [embed], [embed], [batch, position]
};
Inputs inputs(Dtype dtype = f64, Axis rows = kRows) {
  Inputs in{Block::layers(),
            {rnd({4, rows.size, 6}, 1), {kPlaces, rows, kEmbed}},
            {rnd({rows.size}, 2), {rows}},
            rnd({4}, 4) + 1.5,
            {rnd({6}, 5), {kEmbed}},
            {rnd({6}, 6), {kEmbed}},
            {rnd({rows.size, 4}, 7), {rows, kPlaces}}};
  return tree::map([&](const Array& a) { return a.astype(dtype); }, in);
}
auto layer() {
  return [](const Block& b, const NamedArray& x, const std::optional<Array>& part, const NamedArray& shift,
            const std::optional<Array>& scale, const NamedArray& gain, const std::optional<Array>& key) {
    return b(x, shift, scale, nn::key_of_part(key, part), gain);
  };
}
/// It closes over head.
nn::RowsLoss loss_of(const Inputs& in) {
  return {[head = in.head](const NamedArray& y, const std::vector<NamedArray>& rows) {
            return sum(square(dot(y, head, nn::kEmbed) - 0.5) * rows[0]);
          },
          {in.weights}};
}
NamedArray in_order(const Inputs& in, const PipelineOptions& o, const std::optional<Array>& keys = none) {
  return nn::pipeline_loss(in.blocks, layer(), in.x, loss_of(in), o)(in.shift, nn::per_layer(std::optional(in.scale)),
                                                                     in.gain, nn::per_layer(keys));
}
NamedArray after_all(const Inputs& in, const PipelineOptions& o, const std::optional<Array>& keys = none) {
  auto y = nn::pipeline(in.blocks, layer(), in.x, o)(in.shift, nn::per_layer(std::optional(in.scale)), in.gain,
                                                     nn::per_layer(keys));
  auto loss = loss_of(in);
  return loss.of(y, loss.rows);
}
/// {the loss, its gradients}: a third of the loss is differentiated, and its square.
template <class F> Arrays loss_with_gradients(const F& f, const Inputs& in) {
  auto g = grad([&](const Inputs& x) {
    auto loss = f(x).array();
    return loss * constant(1.0 / 3, loss.dtype()) + square(loss);
  });
  return joined({f(in).array()}, tree::leaves(g(in)));
}
Arrays wanted(const Inputs& in) {
  return loss_with_gradients([](const Inputs& x) { return after_all(x, {.microbatches = 1, .stages = 1}); }, in);
}
TEST(Interleaved, IsTheLossOfAllRows) {
  auto in = inputs();
  auto want = wanted(in);
  for (auto& layout : stage_layouts()) {
    auto stages = static_cast<std::int64_t>(layout.mesh[0].size);
    // Two numbers of parts are enough if other axes split too, unless BORA_LAWS=full.
    auto numbers = layout.mesh.size() == 1 || effort() == Effort::full
                       ? std::vector{std::int64_t{1}, stages, 2 * stages, 4 * stages}
                       : std::vector{stages, 2 * stages};
    for (auto parts : numbers) {
      auto f = [&](const Inputs& x) {
        return loss_with_gradients([&](const Inputs& y) { return in_order(y, {.microbatches = parts}); }, x);
      };
      for (bool staged : {false, true})
        if (staged || parts <= stages)
          holds_on(layout, f, in, staged, want, std::to_string(parts) + " microbatches");
    }
  }
}
TEST(Interleaved, AnyNumberOfStagesAndPartsInOneProcess) {
  auto in = inputs();
  auto want = wanted(in);
  for (std::int64_t stages : {1, 2, 4})
    for (std::int64_t parts : {1, 2, 4, 8, 16})
      for (auto remat : {remat::nothing, remat::everything}) {
        bool both = parts == 4 || effort() == Effort::full;  // policies
        if (!both && (remat == remat::everything) == (stages < 4)) continue;
        PipelineOptions o{.microbatches = parts, .stages = stages, .checkpoint = remat};
        auto f = jit([&](const Inputs& x) {
          return loss_with_gradients([&](const Inputs& y) { return in_order(y, o); }, x);
        });
        close(f(in), want, 1e-12, std::to_string(stages) + " stages, " + std::to_string(parts) + " parts");
      }
  local_mesh({{"stage", 2}}, [&](const Mesh&) {  // two stages on each rank
    auto f = jit([&](const Inputs& x) {
      return loss_with_gradients([&](const Inputs& y) { return in_order(y, {.microbatches = 4, .stages = 4}); }, x);
    });
    close(gathered(f(in)), want, 1e-12, "four stages on two ranks");
  });
}
TEST(Interleaved, DrawsAsGpipeDoes) {
  auto in = inputs();
  auto keys = random::split(random::key(9), kLayers.size);
  for (std::int64_t parts : {1, 4, 8}) {
    PipelineOptions o{.microbatches = parts, .stages = 4};
    if (parts == 4) o.checkpoint = remat::everything;  // what was drawn is kept
    auto want = loss_with_gradients([&](const Inputs& x) { return after_all(x, o, keys); }, in);
    local_mesh({{"stage", 4}}, [&](const Mesh&) {
      UseMapping split({{nn::kLayers, "stage"}});
      auto f = jit([&](const Inputs& x) {
        return loss_with_gradients([&](const Inputs& y) { return in_order(y, o, keys); }, x);
      });
      close(gathered(f(sharded(in, current_mapping()))), want, 1e-12, std::to_string(parts) + " parts");
    });
  }
}
TEST(Interleaved, HalvesAreSummedInF32) {
  auto want = wanted(inputs());
  auto in = inputs(bf16);
  auto error = [&](const std::function<NamedArray(const Inputs&, const PipelineOptions&)>& f) {
    auto got = jit([&](const Inputs& x) {
      PipelineOptions o{.microbatches = 16, .stages = 2};
      return loss_with_gradients([&](const Inputs& y) { return f(y, o); }, x);
    })(in);
    double sum = 0;
    for (std::size_t i = 1; i < got.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), bf16);
      auto difference = got[i].astype(f64) - want[i];
      sum += bora::sum(square(difference)).item<double>() / bora::sum(square(want[i])).item<double>();
    }
    return std::sqrt(sum / static_cast<double>(got.size() - 1));
  };
  auto of_parts = error([](const Inputs& x, const PipelineOptions& o) { return in_order(x, o); });
  auto of_all = error([](const Inputs& x, const PipelineOptions& o) { return after_all(x, o); });
  auto at_once = error([](const Inputs& x, const PipelineOptions&) {
    return after_all(x, {.microbatches = 1, .stages = 1});
  });
  std::printf("relative errors of gradients in bf16: gpipe %.4f, 1f1b %.4f, one microbatch %.4f\n", of_all, of_parts,
              at_once);
  EXPECT_LT(of_parts, 1.2 * at_once);  // adding the microbatches loses nothing to speak of
  EXPECT_LT(of_all, 1.2 * at_once);
}
TEST(Interleaved, GradientsOfWhatIsAskedForAlone) {
  auto in = inputs();
  auto want = wanted(in);
  auto names = tree::paths(in);
  for (std::size_t k = 0; k < names.size(); ++k) {
    auto f = [&](const Array& one) {
      auto all = tree::leaves(in);
      all[k] = one;
      auto loss = in_order(tree::unflatten(in, all), {.microbatches = 4, .stages = 2}).array();
      return loss * constant(1.0 / 3, loss.dtype()) + square(loss);
    };
    close({jit([&](const Array& a) { return grad(f)(a); })(tree::leaves(in)[k])}, {want[k + 1]}, 1e-12, names[k]);
  }
}
TEST(Interleaved, MemoryGrowsWithStagesNotWithMicrobatches) {
  auto temporaries = [](const auto& f, std::int64_t parts, std::int64_t stages) {
    auto in = inputs(f32, {nn::kBatch, 8 * parts});
    auto g = [&](const Inputs& x) {
      return grad([&](const Inputs& y) { return f(y, PipelineOptions{.microbatches = parts, .stages = stages}); })(x);
    };
    return static_cast<double>(lower(g, in).compile().memory().temporaries);
  };
  auto gpipe = [](const Inputs& x, const PipelineOptions& o) { return after_all(x, o); };
  auto one = [](const Inputs& x, const PipelineOptions& o) { return in_order(x, o); };
  double microbatch = 4 * 8 * 4 * 6;  // bytes of its vectors
  for (std::int64_t stages : {2, 4}) {
    std::vector<double> few, many;
    for (std::int64_t parts : {4, 8, 16, 32}) {
      few.push_back(temporaries(one, parts, stages) / microbatch);
      many.push_back(temporaries(gpipe, parts, stages) / microbatch);
      std::printf("%2d stages, %2d microbatches: gpipe %6.1f, 1f1b %6.1f microbatches' vectors\n",
                  static_cast<int>(stages), static_cast<int>(parts), many.back(), few.back());
    }
    // x cut into microbatches, and its gradient: each row once. gpipe keeps the 4 layers' inputs beside.
    EXPECT_LE(few[3] - few[1], 24 * 3.0);
    EXPECT_GE(many[3] - many[1], 24 * 6.0);
    EXPECT_LT(few[1], many[1]);
  }
}
TEST(Interleaved, ATickPassesOneMicrobatchEachWay) {
  auto in = inputs();
  local_mesh({{"stage", 4}}, [&](const Mesh& mesh) {
    UseMapping split({{nn::kLayers, "stage"}, {nn::kBatch, "stage"}});
    auto mine = sharded(in, AxisMapping{{nn::kLayers, "stage"}});
    auto f = jit([](const Inputs& x) {
      return grad([](const Inputs& y) { return in_order(y, {.microbatches = 4}); })(x);
    });
    auto text = explain_program(program_of(f, mine), f.inputs(mine));
    if (mesh.rank() > 0) return;
    // 3 + 4 forward ticks, 4 + 3 backward ones; at both ends the rows of a microbatch, once in each direction.
    for (auto words : {"14 x ppermute stage f64[1, 4, 4, 6]", "12 x all_gather stage f64[4, 4, 6]",
                       "11 x reduce_scatter stage f64[4, 1, 6]"})
      EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  });
}
TEST(Interleaved, ErrorsNameWhatIsWrong) {
  auto in = inputs();
  auto says = [&](const nn::RowsLoss& loss, const std::string& words) {
    auto call = [&] {
      (void)nn::pipeline_loss(in.blocks, layer(), in.x, loss, {.microbatches = 2, .stages = 2})(
          in.shift, nn::per_layer(std::optional(in.scale)), in.gain, nn::per_layer(std::optional<Array>()));
    };
    test::says(call, words);
  };
  auto loss = loss_of(in);
  says({loss.of, {in.head}}, "pipeline_loss: rows 0 are");
  says({[](const NamedArray& y, const auto&) { return y; }, {}}, "it must be a floating-point scalar");
  EXPECT_THROW(nn::parse_schedule("1b1f"), ConfigError);
}
}  // namespace
}  // namespace bora::laws::interleaved_test
