// The law of elastic jobs (elastic_history.h), of processes and hosts that are killed and stopped.
#include "elastic_history.h"

namespace elastic_history_test {
using namespace bora;

namespace {
struct LossesTest : HistoryTest {
  Hosts all{folder, "h1 slots=2\nh2 slots=1\nh3 slots=1\n", true};

  Hosts& hosts() override { return all; }
  void begins() override {
    for (auto host : {"h1", "h2", "h3"}) all.come_back(host);
  }
  void happens(const Kind& kind, pid_t launcher) override {
    auto what = below(10);
    std::vector<std::string> up;
    for (std::string host : {"h1", "h2", "h3"})
      if (!all.down.contains(host)) up.push_back(host);
    if (kind.hosts && what == 7 && stops) {
      auto host = one_of(up);
      story.back() += host + " sleeps";
      return sleep(all.on(host), 25'000);
    }
    if (!kind.hosts || what >= 6) return happens_to_ranks(launcher, what == 9, what == 8);
    if (!all.down.empty() && (up.size() == 1 || what < 3)) {
      auto host = *std::next(all.down.begin(), static_cast<std::ptrdiff_t>(below(all.down.size())));
      all.come_back(host);
      story.back() += host + " comes back";
      return;
    }
    auto host = one_of(up);
    all.lose(host);
    story.back() += host + " is lost";
  }
};
}  // namespace

TEST_F(LossesTest, NothingThatIsLostChangesARun) {
  histories({{"disk", "--layout dp ", false, true},
             {"memory", "--layout fsdp elastic.snapshot=3 ", false, true},
             {"every_step", "--layout dp reproducible=4 elastic.snapshot=1 checkpoint_every=1000 ", false, true},
             {"replicas", "--mesh replica=-1 local=diloco local.every=7 local.replicas=4 elastic.snapshot=4 ", true,
              true},
             {"replicas_disk", "--mesh replica=-1 local=diloco local.every=7 local.replicas=4 ", true, true},
             {"virtual", "--layout dp reproducible=4 elastic.snapshot=5 ", true, true},
             {"virtual_disk", "--layout dp reproducible=4 ", true, true},
             {"shrinking", "--layout dp elastic.snapshot=5 ", true, false}});
}
}  // namespace elastic_history_test
