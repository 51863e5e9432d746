// Trains a model; this process is one rank.
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include "app/commands.h"
#include "app/epochs.h"
#include "app/local_every.h"
#include "app/model.h"
#include "app/options.h"
#include "app/settings.h"
#include "bora/data/data.h"
#include "bora/models/peft.h"
#include "bora/models/pretrained.h"
#include "bora/shard/mesh.h"
#include "bora/train/local_settings.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "launch/epoch.h"
#include "train/leaving.h"
#include "train/snapshots.h"

namespace bora::app {
namespace {
/// What the ranks of an elastic job continue from after a loss: what the run has written. One that is to begin anew
/// does so until a rank knows that it has. All ranks.
Resume after_loss(const Mesh& mesh, Resume asked, bool begun) {
  auto all = mesh.exchange(asked == Resume::none && !begun ? "anew" : "", "run: what it continues from");
  return std::count(all.begin(), all.end(), "anew") == mesh.size() ? Resume::none : Resume::good;
}
std::string taken_away(int rank) {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  return "rank " + std::to_string(rank) + " (host " + host + ") got SIGTERM and has left";
}
struct Train {
  static constexpr std::string_view name = "train";
  static constexpr std::string_view help =
      "train a model: this process is one rank (BORA_RANK, BORA_SIZE, BORA_ROOT), "
      "or all there is";
  static constexpr Row row{.place = 10, .launched = true};
  ConfigWords config = {};
  std::string resume = {};
  std::vector<transport::Option> transport = {};
  bool pipeline = true;
  std::int64_t every = 0;  // of local.every: auto; 0: this process measures

  void declare(Flags& flags) {
    config.declare(flags);
    declare_resume(flags, resume);
    declare_insecure(flags, transport);
    declare_pipeline(flags, pipeline);
    flags.add("--measured-every", every, "of local.every: auto, as the launcher has measured").hidden();
  }
  void settle() { config.settle(); }
  int run() const {
    auto s = config.load();
    if (every > 0 && s.local->automatic()) s.local.edit().set_every(every);
    check_job(s, transport::config_from_environment().size);
    auto tokenizer = s.tokenizer->open();
    check_rows(s, *tokenizer);
    check_init_from(s, *tokenizer, resume_of(resume));
    auto config = transport::config_from_environment();
    std::string settled;  // of local.every: auto, by rank 0
    if (s.local->automatic() && config.rank == 0)
      settled = std::to_string(planned_every(s, *tokenizer, config.size, resume_of(resume)));
    bora::training::Snapshots snapshots;  // of all epochs of the job in this process
    bool begun = false;                   // steps were made in one of them
    std::string gone;  // why this rank ends while the job goes on
    auto hand_over = [&](const Mesh& mesh, const std::vector<int>& heirs) { snapshots.hand_over(mesh, heirs); };
    auto code = on_meshes({s, *tokenizer, "train", transport}, hand_over, [&](const Mesh& mesh) {
      if (s.elastic.max > 0 && !launch::can_go_on() && mesh.rank() == 0)
        std::printf("elastic: nothing here would replace a lost rank; bora launch does\n");
      if (s.local->automatic())
        s.local.edit().set_every(*parse_as<std::int64_t>(mesh.exchange(settled, "run: local.every")[0]));
      auto model = trainable_of(s, *tokenizer, mesh.shape(), {.pipeline = pipeline});
      auto loop = loop_settings(s, mesh.shape(), tokenizer);
      loop.resume = resume_of(resume);
      if (s.elastic.max > 0 && !launch::in_first_epoch()) loop.resume = after_loss(mesh, loop.resume, begun);
      if (!s.init_from.path.empty() || !s.lora.from.empty())
        loop.initial = [&](tree::Node parameters) {
          std::vector<std::string> said;
          if (!s.init_from.path.empty())
            said = models::load_pretrained(parameters, s.init_from.path, *s.model, vocabulary_of(s, *tokenizer),
                                           s.init_from.options());
          if (!s.lora.from.empty()) models::load_adapters(model->parameters(), s.lora.from, *s.model, s.lora);
          return said;
        };
      std::optional<bora::training::UseSnapshots> in_memory;
      if (s.elastic.snapshot > 0 && launch::can_go_on()) in_memory.emplace(snapshots, s.elastic.snapshot);
      loop.hooks.emplace_back([&begun](const StepReport& r, RunView&) { begun = true, launch::reached(r.step); });
      std::optional<bora::training::UseLeaving> may_leave;
      auto job = std::getenv("BORA_ELASTIC_JOB");
      if (launch::can_go_on())
        may_leave.emplace(launch::asked_to_meet_again, !launch::in_first_epoch(), job ? job : "");
      auto done = run_training(*model, open_data(s, tokenizer, mesh), loop, mesh);
      if (bora::training::UseLeaving::for_good()) return gone = taken_away(mesh.rank()), done;
      return bora::training::UseLeaving::leaves() ? kMeetAgain : done;
    });
    if (!gone.empty()) throw transport::RankLost(gone, -1);
    return code;
  }
};
}  // namespace
template const bool added<Train>;
}  // namespace bora::app
