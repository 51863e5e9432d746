// The rules of T5X's dims against the tables of T5X and flaxlm, own rules, and what a plan says of them.
#include "bora/train/placement.h"
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <tuple>
#include "bora/nn/axes.h"
#include "support/throws.h"

namespace placement_test {
using namespace bora;
namespace {
using Settings = training::MeshSettings;
MeshShape mesh(std::vector<std::pair<std::string, int>> axes) {
  MeshShape m;
  for (auto& [name, size] : axes) m.axes.emplace_back(AxisName(name), size);
  return m;
}
Settings dims(int activation, int parameter) { return {.activation_dims = activation, .parameter_dims = parameter}; }
/// The models' names of T5X's and flaxlm's axes. joined_kv is heads and their size in one dimension.
std::vector<Axis> axes_of(const std::string& names) {
  const std::map<std::string, std::string> ours{
      {"length", nn::kPosition}, {"kv", nn::kHeadSize}, {"joined_kv", nn::kHeads}};
  std::vector<Axis> axes;
  std::istringstream words(names);
  for (std::string word; words >> word;) axes.push_back({ours.count(word) ? ours.at(word) : word, 8});
  return axes;
}
/// "M,D,-" for a Spec.
std::string letters(const Spec& spec) {
  std::string r;
  for (auto& dim : spec) {
    r += r.empty() ? "" : ",";
    for (auto& m : dim) r += m.str() == "data" ? "D" : m.str() == "model" ? "M" : m.str() == "replica" ? "R" : "?";
    r += dim.empty() ? "-" : "";
  }
  return r;
}
std::string placed(const std::string& axes, const AxisMapping& mapping, const MeshShape& m) {
  return letters(placement_of(axes_of(axes), mapping, m).spec);
}
struct Row {
  std::string axes;
  std::vector<std::string> specs;  // of (1, 1), (2, 1), (1, 2), (2, 2)
};
const std::vector<std::pair<int, int>> pairs = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
const std::vector<Row> parameters = {
    // T5X: embedding, wi, wo, q / k / v, out, scale of a norm, relative positions
    {"vocab embed", {"M,-", "M,-", "M,D", "M,D"}},
    {"embed mlp", {"-,M", "-,M", "D,M", "D,M"}},
    {"mlp embed", {"M,-", "M,-", "M,D", "M,D"}},
    {"embed heads kv", {"-,M,-", "-,M,-", "D,M,-", "D,M,-"}},
    {"heads kv embed", {"M,-,-", "M,-,-", "M,-,D", "M,-,D"}},
    {"embed", {"-", "M", "D", "M"}},
    {"heads relpos_buckets", {"M,-", "M,-", "M,-", "M,-"}},
    // flaxlm: attention of GPT-J, OPT and T5, biases, a head of its own, T5's relative positions
    {"embed joined_kv", {"-,M", "-,M", "D,M", "D,M"}},
    {"joined_kv embed", {"M,-", "M,-", "M,D", "M,D"}},
    {"joined_kv", {"M", "M", "M", "M"}},
    {"mlp", {"M", "M", "M", "M"}},
    {"embed vocab", {"-,M", "-,M", "D,M", "D,M"}},
    {"vocab", {"M", "M", "M", "M"}},
    {"buckets heads", {"-,M", "-,M", "-,M", "-,M"}},
};
const std::vector<Row> activations = {
    {"batch length embed", {"D,-,-", "D,-,M", "D,-,-", "D,-,M"}},
    {"batch length mlp", {"D,-,M", "D,-,M", "D,-,M", "D,-,M"}},
    {"batch length heads kv", {"D,-,M,-", "D,-,M,-", "D,-,M,-", "D,-,M,-"}},  // flaxlm gathers the heads of (1, 1)
};
using bora::test::error_of;
Settings rules(std::vector<std::vector<std::string>> storage, std::vector<std::vector<std::string>> compute) {
  return {.rules = {std::move(storage), std::move(compute)}};
}
}  // namespace

TEST(Placement, TablesOfT5xAndFlaxlm) {
  auto m = mesh({{"data", 2}, {"model", 2}});
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    auto where = mappings_of(dims(pairs[k].first, pairs[k].second), m);
    auto name = std::to_string(pairs[k].first) + "," + std::to_string(pairs[k].second) + " ";
    for (auto& row : parameters) {
      EXPECT_EQ(placed(row.axes, where.storage, m), row.specs[k]) << name << row.axes;
      // flaxlm's compute rules: what is split over data is gathered for its use.
      auto& computed = row.specs[pairs[k].first == 2 ? 1 : 0];
      EXPECT_EQ(placed(row.axes, where.compute, m), computed) << name << "computed " << row.axes;
    }
    for (auto& row : activations) EXPECT_EQ(placed(row.axes, where.compute, m), row.specs[k]) << name << row.axes;
  }
  for (int batch : {0, 1}) {
    auto where = mappings_of(dims(batch, 0), m);
    for (auto& row : parameters)
      for (auto* mapping : {&where.storage, &where.compute})
        EXPECT_EQ(placed(row.axes, *mapping, m).find_first_not_of("-,"), std::string::npos) << row.axes;
    for (auto& row : activations)
      EXPECT_EQ(placed(row.axes, where.compute, m).substr(0, 3), batch ? "D,-" : "-,-") << row.axes;
  }
}
TEST(Placement, ReplicaSplitsTheBatchAlone) {
  auto m = mesh({{"replica", 2}, {"data", 2}, {"model", 2}});
  for (auto [a, p] : {std::pair{1, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    auto where = mappings_of(dims(a, p), m);
    EXPECT_EQ(placed("batch length", where.compute, m), "RD,-");
    EXPECT_EQ(to_string(batch_axes(where.compute, m)), "replica*data");
    for (auto& row : parameters)
      for (auto* mapping : {&where.storage, &where.compute})
        EXPECT_EQ(placed(row.axes, *mapping, m).find('R'), std::string::npos) << row.axes;
  }
  auto where = layout_mappings(parse_layout("fsdp"), m);
  EXPECT_EQ(placed("batch length", where.compute, m), "RD,-");
  EXPECT_EQ(placed("embed mlp", where.storage, m), "D,-");
  EXPECT_TRUE(batch_axes(mappings_of(dims(0, 0), m).compute, m).empty());
  EXPECT_EQ(to_string(batch_axes({}, m)), "replica*data") << "a program without rules of its own";
}
TEST(Placement, LayoutsAreDims) {
  for (auto& shape : {mesh({{"data", 2}, {"model", 2}}), mesh({{"data", 2}, {"model", 1}})})
    for (auto& [layout, a, p] : {std::tuple{"dp", 1, 0}, {"tp", 1, 1}, {"fsdp+tp", 1, 2}}) {
      auto one = mappings_of({.layout = layout}, shape), other = mappings_of(dims(a, p), shape);
      for (auto* table : {&parameters, &activations})
        for (auto& row : *table) {
          EXPECT_EQ(placed(row.axes, one.storage, shape), placed(row.axes, other.storage, shape)) << row.axes;
          EXPECT_EQ(placed(row.axes, one.compute, shape), placed(row.axes, other.compute, shape)) << row.axes;
        }
    }
}
TEST(Placement, PairsThatDoNotExist) {
  for (auto [a, p] : {std::pair{0, 1}, {0, 2}, {2, 0}, {3, 1}, {1, -1}})
    EXPECT_EQ(error_of<ConfigError>([&] { dims(a, p).check(); }),
              "activation_dims: there is no pair (activation_dims, parameter_dims) = (" + std::to_string(a) + ", " +
                  std::to_string(p) + "); there are (0, 0), (1, 0), (1, 1), (2, 1), (1, 2), (2, 2)");
  EXPECT_EQ(placement_name({.parameter_dims = 2}), "activation_dims=1,parameter_dims=2");
  EXPECT_EQ(placement_name({}), "fsdp");
  auto both = rules({{"embed", "data"}}, {});
  both.activation_dims = 1;
  EXPECT_TRUE(error_of<ConfigError>([&] { both.check(); }).starts_with("rules: rules and dims (activation_dims"));
}
TEST(Placement, SharesAreText) {
  for (auto text : {"", "auto", "data=3:3:2:1", "data=1:2,model=7:1"})
    EXPECT_EQ(to_string(MeshShares::parse(text)), text);
  auto error = [](auto text) { return error_of<ConfigError>([&] { (void)MeshShares::parse(text); }); };
  EXPECT_EQ(error("3:3"), "mesh.shares: expected data=3:3:2:1, or auto, got '3:3'");
  EXPECT_EQ(error("data=3:0"), "mesh.shares: each share of axis 'data' must be from 1 to 9999999, got '0' in '3:0'");
  EXPECT_EQ(error("data=3:-1"), "mesh.shares: each share of axis 'data' must be from 1 to 9999999, got '-1' in '3:-1'");
  EXPECT_EQ(error("data=3:"), "mesh.shares: each share of axis 'data' must be from 1 to 9999999, got '' in '3:'");
  EXPECT_EQ(error("data=1:2,data=1:2"), "mesh.shares: axis 'data' is given twice in 'data=1:2,data=1:2'");
  auto on = [](const std::string& shares, int ranks) {
    return error_of<ConfigError>([&] { (void)resolve_mesh({.shares = shares}, ranks); });
  };
  EXPECT_EQ(on("replica=1:2", 2), "mesh.shares: there is no axis 'replica' in the mesh data=2,model=1");
  EXPECT_TRUE(on("data=1:2", 3).starts_with("mesh: axis 'data' has 3 ranks, but 2 shares (1:2)"));
}
TEST(Placement, MeshesOfAnyAxes) {
  auto mesh_of = [](const Settings& s, int ranks) { return to_string(resolve_mesh(s, ranks)); };
  EXPECT_EQ(mesh_of({.axes = "model=2,replica=2,data=-1", .layout = "fsdp+tp"}, 12), "replica=2,data=3,model=2");
  EXPECT_EQ(mesh_of({.axes = "replica=2"}, 2), "replica=2,data=1,model=1");
  EXPECT_EQ(mesh_of({.shares = "data=3:3:2:1"}, 4), "data=4(3:3:2:1),model=1");
  EXPECT_EQ(mesh_of({.axes = "model=2", .shares = "model=1:2", .layout = "tp"}, 2), "data=1,model=2(1:2)");
  EXPECT_EQ(mesh_of({.shares = "auto"}, 4), "data=4,model=1") << "not measured yet";
  auto s = dims(1, 2);
  EXPECT_EQ(mesh_of(s, 3), "data=3,model=1");
  s.axes = "model=2,data=2";
  EXPECT_EQ(mesh_of(s, 4), "data=2,model=2");
  s.axes = "seq=2,data=2";
  EXPECT_EQ(error_of<ConfigError>([&] { resolve_mesh(s, 4); }),
            "mesh: unknown axis 'seq'; the axes of activation_dims and parameter_dims are replica, "
            "stage, data, context and model, others need mesh.rules");
  auto own = rules({{"embed", "data"}}, {{"batch", "data"}, {"position", "seq"}});
  own.axes = "model=2,seq=-1,data=2";
  EXPECT_EQ(mesh_of(own, 8), "data=2,seq=2,model=2");
  EXPECT_EQ(error_of<ConfigError>([&] { resolve_mesh(own, 6); }),
            "mesh: model=2,seq=-1,data=2 does not divide 6 ranks");
  own.axes = "data=2";
  EXPECT_EQ(
      error_of<ConfigError>([&] { resolve_mesh(own, 2); }),
      "mesh.rules.compute: rule 2 maps 'position' to unknown mesh axis 'seq'; the mesh axes are replica, stage, data, "
      "context and model");
  auto of_storage = [&](std::vector<std::vector<std::string>> storage) {
    return error_of<ConfigError>([&] { resolve_mesh(rules(std::move(storage), {}), 1); });
  };
  EXPECT_EQ(of_storage({{"embed", "model"}, {"mlp", "model"}, {"embed", "data", "model"}}),
            "mesh.rules.storage: axis 'embed' is mapped to mesh axis 'model' twice: by rule 1 and rule 3");
  EXPECT_EQ(of_storage({{"embed", "data", "data"}}),
            "mesh.rules.storage: axis 'embed' is mapped to mesh axis 'data' twice: by rule 1 and rule 1");
  EXPECT_TRUE(of_storage({{"embed"}, {}}).starts_with("mesh.rules.storage: rule 2 is empty"));
}
TEST(Placement, OwnRulesInTheirOrder) {
  auto m = mesh({{"data", 2}, {"seq", 2}, {"model", 1}});
  auto s = rules({{"mlp", "data"}, {"embed", "data", "seq"}}, {{"batch", "data"}, {"position", "seq", "model"}});
  auto where = mappings_of(s, m);
  EXPECT_EQ(to_string(placement_of(axes_of("embed mlp"), where.storage, m).spec), "{seq, data}");
  EXPECT_EQ(to_string(placement_of(axes_of("embed"), where.storage, m).spec), "{data*seq}");
  EXPECT_EQ(to_string(placement_of(axes_of("batch length"), where.compute, m).spec), "{data, seq}");
  // A rule without mesh axes is the last word, one whose mesh axes are taken or have one rank is not.
  AxisMapping order{{"mlp", "data"},  {"embed", "model"}, {"embed", "data"},
                    {"embed", "seq"}, {"vocab", none},    {"vocab", "seq"}};
  auto p = placement_of(axes_of("embed mlp vocab"), order, m);
  EXPECT_EQ(to_string(p.spec), "{seq, data, -}");
  EXPECT_EQ(p.rules, (std::vector<std::optional<std::size_t>>{3, 0, 4}));
  EXPECT_EQ(to_string(placement_of(axes_of("embed"), order, m).spec), "{data}");
  // Nothing splits a batch that the rules do not name.
  EXPECT_TRUE(batch_axes(mappings_of(rules({{"embed", "data"}}, {}), m).compute, m).empty());
}
}  // namespace placement_test
