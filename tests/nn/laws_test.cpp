// Laws over the registry of layers: a layer is tested the day it is written (src/nn/core/samples.h).
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include "bora/ops/contractions.h"
#include "nn/core/samples.h"
#include "laws/laws.h"
#include "support/places.h"

namespace bora::laws::laws_test {
namespace {
using nn::LayerSample;
/// The layouts that training uses: storage and compute mapping.
struct Layout {
  std::string name;
  std::vector<MeshAxis> mesh;
  AxisMapping storage, compute;
};
std::vector<Layout> layouts() {
  std::vector<Rule> tp{{nn::kHeads, "model"}, {nn::kMlp, "model"}, {nn::kVocab, "model"}}, both = tp;
  Rule batch{nn::kBatch, "data"}, embed{nn::kEmbed, "data"};
  both.insert(both.begin(), batch);
  auto stored = tp;
  stored.push_back(embed);
  return {{"data parallel", {{"data", 2}}, {}, {batch}},
          {"FSDP", {{"data", 3}}, {embed}, {batch}},
          {"TP", {{"model", 2}}, AxisMapping(tp), AxisMapping(tp)},
          {"FSDP x TP", {{"data", 2}, {"model", 2}}, AxisMapping(stored), AxisMapping(both)},
          {"shares", {{"data", 2, {1, 2}}, {"model", 2, {3, 1}}}, AxisMapping(stored), AxisMapping(both)}};
}
/// (parameters, x) -> the result.
FlatFn flat(const LayerSample& s) {
  return [&s](const Arrays& a) {
    auto x = tree::unflatten(s.x, {a.back()});
    return Arrays{s.call(Arrays(a.begin(), a.end() - 1), x).array()};
  };
}
Arrays arguments(const LayerSample& s, Dtype d = f32) {
  Arrays r;
  for (auto& p : joined(s.init(random::key(5)), {s.x.array()})) r.push_back(p.astype(d));
  return r;
}
/// One number from the result, with a different weight for each element.
Array loss(const LayerSample& s, const Arrays& in) {
  auto y = flat(s)(in)[0];
  return sum(y * rnd(y.shape(), 3).astype(y.dtype()));
}
Arrays gradients(const LayerSample& s, const Arrays& in) {
  return grad([&](const Arrays& a) { return loss(s, a); })(in);
}

class Layers : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<LayerSample> samples() {
    for (auto& row : nn::layer_rows())
      if (row.name == GetParam()) return row.samples();
    return {};
  }
};
TEST_P(Layers, StagedIsAsRunDirectly) {
  for (auto& s : samples()) {
    auto in = arguments(s);
    close(run_staged(flat(s), in), flat(s)(in), 0, s.what);
    close(jit([&](const Arrays& a) { return gradients(s, a); })(in), gradients(s, in), 1e-6, s.what + ": gradients");
  }
}
/// Layers that do not round between steps: gradients pass a rounding (quantization_test.cpp), differences do not.
class SmoothLayers : public Layers {};
TEST_P(SmoothLayers, GradientsAreDifferences) {
  for (auto& s : samples()) {
    auto in = arguments(s, f64);
    EXPECT_EQ(flat(s)(in)[0].dtype(), f64) << s.what << ": f64 stays";
    Arrays v, hi, lo;
    for (std::size_t i = 0; i < in.size(); ++i) {
      v.push_back(rnd(in[i].shape(), 11 + static_cast<int>(i)));
      hi.push_back(in[i] + v[i] * 1e-6);
      lo.push_back(in[i] - v[i] * 1e-6);
    }
    auto want = ((loss(s, hi) - loss(s, lo)) / 2e-6).item<double>(), got = inner(gradients(s, in), v);
    EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::abs(want))) << s.what;
  }
}
TEST_P(Layers, VmapIsALoop) {
  for (auto& s : samples()) {
    auto in = arguments(s);
    Arrays xs;
    for (int i = 0; i < 3; ++i) xs.push_back(rnd(in.back().shape(), 21 + i).astype(f32));
    auto mapped = in;
    mapped.back() = stack(xs);
    std::vector<std::optional<std::int64_t>> where(in.size());
    where.back() = 0;
    auto all = fx::vmap_flat(flat(s), mapped, {where, {0}, 3, ""});
    for (std::int64_t i = 0; i < 3; ++i) {
      in.back() = xs[static_cast<std::size_t>(i)];
      close({view(all[0], i)}, flat(s)(in), 1e-5, s.what + ", x " + std::to_string(i));
    }
  }
}
TEST_P(Layers, ABf16LayerIsTheLayerRounded) {
  for (auto& s : samples()) {
    Arrays narrow = arguments(s, bf16), wide;
    for (auto& a : narrow) wide.push_back(a.astype(f32));
    auto y = flat(s)(narrow)[0];
    ASSERT_EQ(y.dtype(), bf16) << s.what;
    close({y.astype(f32)}, flat(s)(wide), 0.02, s.what);
  }
}
TEST_P(Layers, AreTheSameOnEveryLayout) {
  for (auto& s : samples()) {
    auto in = arguments(s);
    auto want = flat(s)(in), slopes = gradients(s, in);
    for (auto& layout : layouts())
      for (bool staged : {false, true})
        local_mesh(layout.mesh, [&](const Mesh& mesh) {
          auto what = s.what + " " + layout.name + (staged ? ", staged" : "");
          Arrays parameters;
          {
            UseMapping scope(layout.storage);
            parameters = jit([&](const Array& key) { return s.init(key); })(random::key(5));
          }
          close(gathered(parameters), Arrays(in.begin(), in.end() - 1), 0, what + ": first values");
          UseMapping scope(layout.compute);
          auto mine = joined(parameters, {auto_sharded(s.x).array()});
          auto run = [&](const FlatFn& f) { return gathered(staged ? jit(f)(mine) : f(mine)); };
          close(run(flat(s)), want, 1e-5, what);
          close(run([&](const Arrays& a) { return gradients(s, a); }), slopes, 1e-5, what + ": gradients");
          if (staged) {
            auto t = stage(flat(s), types_of(mine));
            same_everywhere(mesh, *fx::local_program(t.program, joined(mine, t.captures)), what);
          }
        });
  }
}
TEST_P(Layers, AStackHasTheLayersOfItsKeys) {
  for (auto& s : samples()) {
    auto keys = random::split(random::key(9), 3);
    auto all = fx::vmap_flat([&](const Arrays& k) { return s.init(k[0]); }, {keys}, {{0}, {0}, 3, ""});
    for (std::int64_t i = 0; i < 3; ++i) {
      Arrays one;
      for (auto& a : all) one.push_back(view(a, i));
      close(one, s.init(view(keys, i)), 0, s.what);
    }
  }
}
/// Checkpoints and optimizers find parameters by path.
TEST_P(Layers, PathsStay) {
  std::ifstream file(test::source_dir() + "/tests/golden/layer_paths.txt");
  std::set<std::string> known;
  for (std::string line; std::getline(file, line);) known.insert(line);
  for (auto& s : samples()) {
    auto line = GetParam() + ":";
    for (auto& p : s.paths) line += " " + p;
    EXPECT_TRUE(known.count(line)) << "tests/golden/layer_paths.txt lacks\n" << line;
  }
}
std::vector<std::string> names(bool smooth_only) {
  std::vector<std::string> r;
  for (auto& row : nn::layer_rows())
    if (!smooth_only || row.kind == nn::LayerKind::smooth) r.push_back(row.name);
  std::sort(r.begin(), r.end());
  return r;
}
INSTANTIATE_TEST_SUITE_P(All, Layers, testing::ValuesIn(names(false)), [](auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(All, SmoothLayers, testing::ValuesIn(names(true)), [](auto& i) { return i.param; });

TEST(LayerRegistry, HoldsEveryLayer) {
  auto known = names(false);
  std::size_t layers = 0;
  for (auto& header : std::filesystem::directory_iterator(test::source_dir() + "/include/bora/nn")) {
    std::ifstream in(header.path());
    std::stringstream text;
    text << in.rdbuf();
    auto all = text.str();
    std::regex layer("\n(?:template <[^\n]*> )?struct (\\w+) \\{\n((?:  [^\n]*\n)*)\\}");
    for (std::sregex_iterator i(all.begin(), all.end(), layer), end; i != end; ++i) {
      auto name = (*i)[1].str(), body = (*i)[2].str();
      if (body.find("NamedArray operator()(const NamedArray&") == body.npos &&
          body.find("static " + name + " init(") == body.npos)
        continue;
      std::vector<std::string> its;  // a template may be known by its aliases
      std::regex alias("\nusing (\\w+) = " + name + "<");
      for (std::sregex_iterator a(all.begin(), all.end(), alias); a != end; ++a) its.push_back((*a)[1].str());
      if (its.empty()) its = {name};
      layers += its.size();
      for (auto& one : its)
        EXPECT_TRUE(std::binary_search(known.begin(), known.end(), one))
            << one << " (" << header.path().filename() << ") has no samples: its source specializes nn::samples";
    }
  }
  EXPECT_EQ(layers, known.size());
}
}  // namespace
}  // namespace bora::laws::laws_test
