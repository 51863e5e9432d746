#include "bora/job/auto_sync_period.h"
#include <algorithm>
#include <filesystem>
#include "bora/io/checkpoint.h"
#include "bora/job/job.h"
#include "bora/job/plan_run.h"
#include "bora/job/settings.h"
#include "bora/shard/link_speed.h"
#include "bora/train/local_settings.h"

namespace bora::job {
bool has_replicas(const MeshShape& mesh) {
  AxisName axis(mesh_axes::kReplica);
  return mesh.has(axis) && mesh.axis_size(axis) > 1;
}
MeetingPrediction meetings_of(const Settings& s, const PlannedRun& run, const MeshLinks& links, const HostModel& host) {
  auto& mesh = run.mesh.shape();
  check<ConfigError>(has_replicas(mesh), "local: mesh ", to_string(mesh),
                     " has no ranks along an axis replica");
  return predict_meetings(run.classes, mesh, links, host, AxisName(mesh_axes::kReplica),
                          bora::training::replicas_of(*s.local, mesh), s.local->wire());
}
Settings without_auto(Settings s) {
  constexpr std::int64_t never = 1 << 30;
  if (s.local->automatic()) s.local.edit().set_every(never);
  return s;
}
std::int64_t planned_every(const Settings& s, const text::Tokenizer& tokenizer, int ranks, Resume resume) {
  auto file = s.out + "/config.yaml";
  auto root = s.checkpoint.below(s.out) + "/checkpoints";
  if (resume != Resume::none && std::filesystem::exists(file) && !io::list_checkpoints(root).empty())
    if (auto before = load_settings(file, {}); before.local->on() && !before.local->automatic()) {
      auto kept = s;
      kept.local.edit().set_every(before.local->every());
      check_settings_without_data(kept);  // other fragments or another delay may not fit
      return kept.local->every();
    }
  auto links = read_link(s.local->link(), "local.link");
  links.ranks_per_host = 1;
  auto process = [] { return [] { return 0; }; };
  auto run = plan_run(without_auto(s), tokenizer, checked_mesh(s, tokenizer, ranks), links, true, process);
  auto p = meetings_of(s, run, links, host_of(s));
  check<ConfigError>(p.every > 0, "local.every: auto: on local.link ", s.local->link(),
                     " no number of steps makes 90 % of the time compute; without meetings it is ",
                     static_cast<int>(100 * p.alone), " %; set a number");
  return std::max(p.every, s.local->least_every());
}
}  // namespace bora::job
