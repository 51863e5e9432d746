// The plan of a mesh without ranks, against ranks: the same text, and the bytes that they send.
#include <gtest/gtest.h>
#include "bora/job/host_table.h"
#include "bora/job/job.h"
#include "bora/job/plan_run.h"
#include "bora/shard/link_speed.h"
#include "bora/transport/forecast.h"
#include "job/plan_of_ranks.h"
#include "laws/effort.h"

namespace plan_test {
using namespace bora;
using namespace bora::job;

namespace {
struct Case {
  std::string layout, mesh;
  int ranks;
};
std::string yaml(const std::string& model) {
  return "batch: 9\ndata: no/text/is/read\nmodel: " + model;
}
const std::string kGpt2 = "{type: gpt2, layers: 3, embed: 20, heads: 5, positions: 12}\n";
const std::string kLlama = "{type: llama, layers: 2, embed: 24, heads: 4, kv_heads: 4, positions: 8}\n";

void check_plan(const std::string& model, const Case& c, std::vector<std::string> settings = {"wire=f32"}) {
  SCOPED_TRACE(model + c.layout + " " + c.mesh + " " + settings[0]);
  settings.push_back("layout=" + c.layout);
  settings.push_back("mesh=" + c.mesh);
  auto s = parse_settings(yaml(model), "a test", settings);
  auto tokenizer = s.tokenizer->open();
  auto shape = checked_mesh(s, *tokenizer, c.ranks);
  auto [text, sent] = plan_of_ranks::with_ranks(s, *tokenizer, shape);
  auto plan = plan_run(s, *tokenizer, shape, {}, true, [] { return [] { return 1000; }; });
  EXPECT_EQ(plan.text, text);
  int ranks = 0;
  for (auto& k : plan.classes) {
    ranks += static_cast<int>(k.ranks.size());
    EXPECT_EQ(bytes_sent(k.work, plan.mesh.shape(), {}, k.ranks[0]).all, sent[static_cast<std::size_t>(k.ranks[0])])
        << "rank " << k.ranks[0];
  }
  EXPECT_EQ(ranks, c.ranks);
}
}  // namespace

TEST(PlanTest, BytesOfEveryWireAreThoseThatRanksSend) {
  using Settings = std::vector<std::string>;
  std::size_t turn = 0;
  for (auto& wire : {Settings{"wire=bf16"}, {"wire=int8"}, {"wire=int4"}, {"wire=int4", "wire.block=256"}}) {
    for (auto& c : {Case{"dp", "data=2", 2}, Case{"fsdp", "data=3", 3}, Case{"fsdp+tp", "data=2,model=2", 4},
                    Case{"fsdp", "replica=2,data=2", 4}})
      if (laws::tried(turn++, 3)) check_plan(kGpt2, c, wire);
  }
}
TEST(PlanTest, BytesOfWhatCarriesItsLossesAreThoseThatRanksSend) {
  using Settings = std::vector<std::string>;
  std::size_t turn = 0;
  for (auto& wire : {Settings{"wire={gradients: int4, error_feedback: true}"}, {"wire={gradients: powersgd, rank: 2}"}})
    for (auto& c : {Case{"dp", "data=2", 2}, Case{"dp", "data=3", 3}, Case{"dp", "replica=2,data=2", 4}})
      if (laws::tried(turn++, 2)) check_plan(kGpt2, c, wire);
}
TEST(PlanTest, AnAbstractMeshHasThePlanOfARealOne) {
  std::size_t turn = 0;
  for (auto& model : {kGpt2, kLlama})
    for (auto& c : {Case{"dp", "data=1", 1}, Case{"dp", "data=2", 2}, Case{"fsdp", "data=2", 2},
                    Case{"fsdp", "data=3", 3}, Case{"tp", "model=2", 2}, Case{"fsdp+tp", "data=2,model=2", 4},
                    Case{"fsdp", "replica=2,data=2", 4}, Case{"fsdp", "data=5", 5}, Case{"dp", "data=6", 6},
                    Case{"fsdp+tp", "data=3,model=2", 6}, Case{"fsdp", "data=7", 7}, Case{"fsdp", "data=8", 8},
                    Case{"fsdp+tp", "data=2,model=4", 8}, Case{"dp", "context=2", 2},
                    Case{"fsdp", "data=2,context=2", 4}})
      if (laws::tried(turn++, 2)) check_plan(model, c);  // 15 meshes: each with one model
}
TEST(PlanTest, SnapshotsOfElasticJobsCount) {
  std::vector<std::string> elastic{"checkpoint.every=5", "elastic.min=1", "elastic.max=8", "elastic.snapshot=5"};
  check_plan(kGpt2, {"fsdp", "data=4", 4}, elastic);
  check_plan(kGpt2, {"dp", "data=3", 3}, elastic);
  auto planned = [&](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"layout=fsdp", "mesh=data=4"});
    auto s = parse_settings(yaml(kGpt2), "a test", settings);
    auto tokenizer = s.tokenizer->open();
    auto p = plan_run(s, *tokenizer, checked_mesh(s, *tokenizer, 4), {}, true, [] { return [] { return 1000; }; });
    return p.classes[0].plan.needs;
  };
  auto without = planned({"steps=10"});
  auto one = elastic, more = elastic;
  one.push_back("steps=5"), more.push_back("steps=6");
  // Blocks of its own and of another rank; twice, while those before are still there.
  auto state = without.parameters + without.optimizer;
  EXPECT_EQ(without.snapshots, 0);
  EXPECT_NEAR(static_cast<double>(planned(one).snapshots), 2.0 * static_cast<double>(state),
              0.3 * static_cast<double>(state));
  EXPECT_EQ(planned(more).snapshots, 2 * planned(one).snapshots);
  EXPECT_EQ(planned(more).peak(), without.peak() + planned(more).snapshots);
}
TEST(PlanTest, ArraysOfAnAbstractMeshHaveTypesAndNoNumbers) {
  auto mesh = Mesh::abstract({{"data", 1000}, {"model", 3}}, {}, 2);
  ASSERT_NE(mesh.links(), nullptr);
  EXPECT_EQ(mesh.size(), 3000);
  UseMesh scope(mesh);
  auto x = shard(zeros({3000, 7}), Spec{"data", "model"});
  auto y = sum(x * 2 + 1, 0);
  EXPECT_EQ(x.shape(), (Shape{3000, 7}));
  EXPECT_EQ(y.shape(), (Shape{7}));
  EXPECT_EQ(spec_of(x), (Spec{"data", "model"}));
  EXPECT_THROW((void)y.to_vector<float>(), TraceError);
  EXPECT_THROW((void)mesh.exchange("", "a test"), ShardError);
  EXPECT_THROW((void)mesh.context(), ShardError);
}
TEST(PlanTest, EvaluationsOfWholeBatchesCount) {
  auto s = parse_settings(yaml(kGpt2), "a test", {"layout=dp", "mesh=data=1", "batch=512", "accumulate=512"});
  auto tokenizer = s.tokenizer->open();
  auto plan = plan_run(s, *tokenizer, checked_mesh(s, *tokenizer, 1), {}, true, [] { return [] { return 0; }; });
  auto& needs = plan.classes[0].plan.needs;
  // A step takes row by row; the layers of an evaluation have f32 [512 rows, 12 positions, 4 x 20] all the same.
  EXPECT_GT(needs.gradients + needs.activations, 512 * 12 * 4 * 20 * 4);
  check_plan(kGpt2, {"dp", "data=2", 2}, {"batch=8", "accumulate=4"});
}
TEST(PlanTest, BadMeshesAndLinks) {
  EXPECT_THROW((void)Mesh::abstract({{"data", 0}}), ConfigError);
  EXPECT_THROW((void)Mesh::abstract({{"data", -1}}), ConfigError);
  EXPECT_THROW((void)Mesh::abstract({{"data", 4}}, {}, 4), ConfigError);
  EXPECT_THROW((void)Mesh::abstract({{"data", 4}}, {.ranks_per_host = 3}), ConfigError);
  EXPECT_THROW((void)Mesh::abstract({{"data", 1 << 15}, {"model", 1 << 15}}), ConfigError);
  EXPECT_DOUBLE_EQ(read_link("1G").bytes_per_s, 112.5e6);
  EXPECT_DOUBLE_EQ(read_link("10G,50us").latency_s, 50e-6);
  for (auto bad : {"", "G", "1", "-1G", "1g", "nanG", "1G,", "1G,50", "0M", "infG", "ten"})
    EXPECT_THROW((void)read_link(bad), ConfigError) << bad;
}
TEST(PlanTest, HostsOfManyRowsAreListedAtOnce) {
  MeshShape mesh{{{AxisName("data"), 2}, {AxisName("model"), 4096}}};
  EXPECT_NE(host_table(mesh, {"data"}, 1 << 30, 0).find("0 to 8191       0, 1            0 to 1073741823 (1073741824)"),
            std::string::npos);
  EXPECT_NE(host_table(mesh, {"data"}, 5, 4096).find("1     4096 to 8191    1               2 to 4 (3)"),
            std::string::npos);
}
TEST(PlanTest, LocalStepsCostWhatIsPublished) {
  EXPECT_NEAR(local_steps_penalty(2, 124'000'000), 0.010, 0.001);
  EXPECT_NEAR(local_steps_penalty(8, 124'000'000), 0.029, 0.001);
  EXPECT_NEAR(local_steps_penalty(64, 1'100'000'000), 0.035, 0.001);
  EXPECT_EQ(local_steps_penalty(1, 124'000'000), 0);
}
TEST(PlanTest, AFasterLinkIsNoSlowerAndAllBytesLeaveARankThatIsAHost) {
  auto s = parse_settings(yaml(kLlama), "a test", {"layout=dp", "batch=64", "mesh=replica=8,data=4"});
  auto tokenizer = s.tokenizer->open();
  auto shape = checked_mesh(s, *tokenizer, 32);
  double before = 1e9;
  for (std::string link : {"100M", "1G", "10G", "25G"})
    for (int ranks_per_host : {1, 4}) {
      auto links = read_link(link);
      links.ranks_per_host = ranks_per_host;
      auto plan = plan_run(s, *tokenizer, shape, links, true, [] { return [] { return 0; }; });
      auto& mesh = plan.mesh.shape();
      MeshAxes over{"replica", "data"};
      auto p = predict(plan.classes, {{{}, plan.classes}}, mesh, links, {.cores = 4}, over, plan.parameters,
                       plan.tokens, 100);
      EXPECT_EQ(p.hosts, 32 / ranks_per_host);
      EXPECT_EQ(p.axis, "replica");
      EXPECT_EQ(p.replicas, 8);
      ASSERT_EQ(p.wires.size(), 1U);
      for (auto& w : p.wires) {
        EXPECT_GE(w.step.hidden, 0);
        EXPECT_LE(w.step.hidden, 1);
        EXPECT_GE(w.step.step, w.step.compute);
        EXPECT_LE(w.step.efficiency(), 1);
        EXPECT_LE(w.step.wired, w.step.sent);
      }
      EXPECT_NE(p.json(plan.classes).find("\"wires\": ["), std::string::npos);
      if (ranks_per_host > 1) continue;
      EXPECT_EQ(p.now.wired, p.now.sent);
      EXPECT_LT(p.now.wire, before);
      before = p.now.wire;
    }
}
TEST(PlanTest, RowsOfABatchCount) {
  auto s = parse_settings(yaml(kGpt2), "a test", {"layout=dp", "mesh=data=2", "batch=40000", "accumulate=20"});
  auto tokenizer = s.tokenizer->open();
  auto plan = plan_run(s, *tokenizer, checked_mesh(s, *tokenizer, 2), {}, true, [] { return [] { return 0; }; });
  // Tokens, targets and weights, three times: as rows, as arrays, and of the next step.
  EXPECT_GE(plan.classes[0].plan.needs.start, 3 * 20000 * 12 * 3 * 4);
}
TEST(PlanTest, ForcedAlgorithmsAndSharedWiresCount) {
  auto predicted = [](const std::string& mesh, int ranks, const MeshLinks& links, const std::string& algorithms = {}) {
    auto s = parse_settings(yaml(kLlama), "a test", {"layout=fsdp+tp", "batch=64", "mesh=" + mesh});
    auto tokenizer = s.tokenizer->open();
    auto shape = checked_mesh(s, *tokenizer, ranks);
    auto plan = plan_run(s, *tokenizer, shape, links, true, [] { return [] { return 0; }; });
    HostModel host{.cores = 4};
    host.algorithms = algorithms;
    auto p = predict(plan.classes, {}, plan.mesh.shape(), links, host, {"data"}, plan.parameters, plan.tokens, 100);
    double starts = 0;
    for (auto& e : plan.classes[0].work.events) starts += e.kind == Work::Event::Kind::start;
    return std::pair{p, starts};
  };
  // Rank 0's pair along model lies on a host of 3, but that of ranks 2 and 3 does not: all collectives cross.
  auto [apart, starts] = predicted("data=6,model=2", 12, {.ranks_per_host = 3, .bytes_per_s = 1e9, .latency_s = 1});
  EXPECT_GE(apart.now.wire, starts);
  // Four ranks of a host send at the same time what rank 0 does.
  auto shared = predicted("data=2,model=4", 8, {.ranks_per_host = 4, .bytes_per_s = 1e7, .latency_s = 1e-9}).first;
  EXPECT_GT(shared.now.wired, 0);
  EXPECT_GE(shared.now.wire, 0.9 * 4 * static_cast<double>(shared.now.wired) / 1e7);
  // Work that takes long inside of a host is not named as a bottleneck of the wire.
  auto fast = predicted("data=2,model=4", 8, {.ranks_per_host = 4, .bytes_per_s = 1e15, .latency_s = 1e-15}).first;
  EXPECT_NE(fast.now.slowest, "");
  EXPECT_EQ(fast.now.slowest.find(" model "), std::string::npos) << fast.now.slowest;

  MeshLinks links{.ranks_per_host = 1};
  auto best = predicted("data=6,model=2", 12, links).first;
  auto forced = predicted("data=6,model=2", 12, links, "all_reduce=chain,all_gather=ring").first;
  EXPECT_GT(forced.now.wire, best.now.wire);
}
TEST(PlanTest, ThreadsOfARankBoundItsCores) {
  auto compute = [](std::int64_t threads) {
    auto s = parse_settings(yaml(kLlama), "a test", {"layout=dp", "batch=64", "mesh=data=2",
                                                     "mesh.threads=" + std::to_string(threads)});
    auto tokenizer = s.tokenizer->open();
    MeshLinks links{.ranks_per_host = 1};
    auto plan = plan_run(s, *tokenizer, checked_mesh(s, *tokenizer, 2), links, true, [] { return [] { return 0; }; });
    auto host = host_of(s);
    host.cores = 64;
    return predict(plan.classes, {}, plan.mesh.shape(), links, host, {"data"}, plan.parameters, plan.tokens, 100)
        .now.compute;
  };
  // Timings of kernels differ, by far less than this.
  auto all = compute(0), one = compute(1);
  EXPECT_GT(one, 8 * all);
  EXPECT_LT(compute(1000), one / 8);
}
TEST(PlanTest, GroupsOfAHostShareItsWire) {
  transport::Group pair{{0, 8}, "axis data"};
  CollectiveCall call{.kind = CollectiveKind::all_reduce};
  call.send_counts = {1 << 20};
  transport::Wiring wiring{.ranks_per_host = 8, .bytes_per_s = 1e8};
  auto alone = transport::forecast(pair, call, wiring, 0);
  wiring.sharing = 8;
  auto shared = transport::forecast(pair, call, wiring, 0);
  EXPECT_EQ(shared.sent, alone.sent);
  EXPECT_NEAR(shared.seconds, 8 * alone.seconds, 0.2 * shared.seconds);
}
}  // namespace plan_test
