// Runs on ranks with shares of the rows: the same data, initial parameters and losses, and checkpoints that any shares
// read.
#include "bigram.h"

namespace shares_test {
using namespace bora;
using Axes = std::vector<MeshAxis>;

std::vector<Hook> no_hooks(const Mesh&) { return {}; }
std::string digest_in(const std::string& text) {
  auto at = text.find(": ", text.find("init digest"));
  return text.substr(at, text.find('\n', at) - at);
}
TEST_F(TrainerTest, SharesChangeWhoComputesNotWhat) {
  for (std::string layout : {"dp", "fsdp"})
    for (int parts : {1, 3}) {
      auto s = settings;
      s.layout = layout;
      s.accumulate = parts;
      auto place = folder + "/" + layout + std::to_string(parts);
      s.out = place;
      auto equal = run(s, 4);
      auto digest = digest_in(printed);
      ASSERT_EQ(equal.size(), 6U);
      int k = 0;
      for (auto& axes : {Axes{{"data", 4, {3, 3, 2, 1}}, {"model", 1}}, Axes{{"data", 2, {1, 3}}, {"model", 1}},
                         Axes{{"replica", 2, {2, 1}}, {"data", 2, {1, 2}}, {"model", 1}}}) {
        s.out = place + "_" + std::to_string(k++);
        auto got = run_on(s, axes, no_hooks);
        EXPECT_EQ(digest_in(printed), digest);
        ASSERT_EQ(got.size(), equal.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_NEAR(got[i], equal[i], 1e-6 * equal[i]) << s.out << ", step " << i;
      }
    }
}
TEST_F(TrainerTest, OtherSharesGoOnWithARun) {
  auto s = settings;
  s.layout = "fsdp";
  s.out = folder + "/whole";
  auto whole = run(s, 3);
  s.out = folder + "/moved";
  std::vector<Axes> turns{{{"data", 3, {4, 1, 1}}, {"model", 1}},
                          {{"data", 3, {1, 2, 3}}, {"model", 1}},
                          {{"data", 2, {1, 3}}, {"model", 2, {2, 1}}}};
  for (std::size_t k = 0; k < turns.size(); ++k) {
    auto last = 2 * (static_cast<std::int64_t>(k) + 1);
    (void)run_on(s, turns[k], [last](const Mesh&) {
      return std::vector<Hook>{[last](const StepReport& r, RunView& view) {
        if (r.step == last) view.stop();
      }};
    });
  }
  auto got = losses(s.out);
  ASSERT_EQ(got.size(), whole.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], whole[i], 1e-5 * whole[i]) << "step " << i;
}
/// Step s reads rows s batch to (s + 1) batch of the text's order: rank r those of its share of them.
TEST_F(TrainerTest, RowsAreSharedOutInTheirOrder) {
  local_mesh({{"data", 4, {3, 3, 2, 1}}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings({}, mesh.shape()).compute);
    constexpr std::int64_t begins[] = {0, 4, 8, 10, 12};
    auto r = static_cast<std::size_t>(mesh.rank());
    EXPECT_EQ(rows_of_rank(12, mesh), (BlockRange{begins[r], begins[r + 1]}));
  });
}
}  // namespace shares_test
