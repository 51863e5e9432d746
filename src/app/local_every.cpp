#include "app/local_every.h"
#include <algorithm>
#include <filesystem>
#include "app/job.h"
#include "app/link.h"
#include "bora/io/checkpoint.h"

namespace bora::app {
MeetingPrediction meetings_of(const Settings& s, const PlannedRun& run, const Links& links, const HostModel& host) {
  auto& mesh = run.mesh.shape();
  AxisName axis(local::kReplica);
  check<ConfigError>(mesh.has(axis) && mesh.axis_size(axis) > 1, "local: mesh ", to_string(mesh),
                     " has no ranks along an axis replica");
  return predict_meetings(run.classes, mesh, links, host, axis, bora::training::replicas_of(*s.local, mesh),
                          s.local->wire());
}
Settings without_auto(Settings s) {
  constexpr std::int64_t never = 1 << 30;
  if (s.local->automatic()) s.local.edit().set_every(never);
  return s;
}
std::int64_t planned_every(const Settings& s, const text::Tokenizer& tokenizer, int ranks, Resume resume) {
  auto file = s.out + "/config.yaml";
  if (resume != Resume::none && std::filesystem::exists(file) && !io::list_checkpoints(s.out + "/checkpoints").empty())
    if (auto before = load_settings(file, {}); before.local->on() && !before.local->automatic()) {
      auto kept = s;
      kept.local.edit().set_every(before.local->options(1.0, 0).every);
      check_settings_without_data(kept);  // other fragments or another delay may not fit
      return kept.local->options(1.0, 0).every;
    }
  auto links = read_link(s.local->link(), "local.link");
  links.ranks_per_host = 1;
  auto process = [] { return [] { return 0; }; };
  auto run = plan_run(without_auto(s), tokenizer, mesh_axes(s, tokenizer, ranks), links, true, process);
  auto p = meetings_of(s, run, links, host_of(s));
  check<ConfigError>(p.every > 0, "local.every: auto: on local.link ", s.local->link(),
                     " no number of steps makes 90 % of the time compute; without meetings it is ",
                     static_cast<int>(100 * p.alone), " %; set a number");
  return std::max(p.every, s.local->least_every());
}
}  // namespace bora::app
