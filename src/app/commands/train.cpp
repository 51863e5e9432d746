// Trains a model; this process is one rank.
#include "app/commands.h"
#include "app/launcher_channel.h"
#include "app/page_server.h"
#include "bora/job/job.h"
#include "bora/job/trained_run.h"
#include "bora/train/local_settings.h"
#include "bora/train/membership.h"

namespace bora::app {
namespace {
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
    auto membership = membership_from_environment();
    auto s = config.load();
    if (every > 0 && s.local->automatic()) s.local.edit().set_every(every);
    return train(Job::open(s, {resume_of(resume), pipeline, transport, membership.get(), page_server(s.page)}));
  }
};
}  // namespace
template const bool added<Train>;
}  // namespace bora::app
