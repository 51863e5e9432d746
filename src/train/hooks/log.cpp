#include <algorithm>
#include <cmath>
#include <filesystem>
#include "base/api/file.h"
#include "bora/track/metrics.h"
#include "track/api/loss_plot.h"
#include "train/monitor/histograms.h"
#include "train/hooks.h"

namespace bora::training {
namespace {
/// What the record of earlier processes of the run says: its curves, and the seconds of its steps. A checkpoint has no
/// times, so that equal runs have equal ones.
void read_record(Run& run) {
  auto path = run.out + "/metrics.jsonl";
  if (std::error_code error; !std::filesystem::exists(path, error)) return;
  const std::vector<std::string> names = {"train/loss", "eval/loss", "throughput/step_seconds", "time"};
  track::each_point(path, names, [&](std::size_t which, track::Point p) {
    if (which < 2) run.losses->add(std::llround(p.x), names[which], p.y);
    else if (which == 2) run.goodput.useful += p.y;
    else if (run.goodput.begun == 0) run.goodput.begun = p.y;
  });
}
class Log final : public LoopHook {
 public:
  void begin(Run& run) override {
    on_first(run.mesh, "run: open metrics", [&] {
      for (auto& kind : run.settings.trackers)
        run.trackers.push_back(kind->open(run.out, run.continued ? run.done : -1));
      for (auto& tracker : run.trackers)
        if (!run.settings.settings.empty()) tracker->settings(run.settings.settings);
      run.losses = std::make_shared<track::LossPlot>();
      if (run.continued) read_record(run);
    });
  }
  void after_step(Run& run, const StepReport& r) override {
    auto tokens = run.cursor.before(r.step) * run.data.shape.positions;
    track::Values values{{"train/loss", r.loss},
                         {"train/grad_norm", r.gradient_norm},
                         {"optim/learning_rate", r.learning_rate},
                         {"throughput/tokens_per_second", r.tokens_per_second},
                         {"throughput/step_seconds", r.seconds},
                         {"throughput/total_tokens", static_cast<double>(tokens)},
                         {"data/wait_seconds", r.data_wait},
                         {"data/filled", r.filled}};
    auto& parts = run.data.train.parts();
    for (std::size_t p = 0; parts.size() > 1 && p < parts.size(); ++p)
      values.push_back({"data/tokens/" + parts[p].name, static_cast<double>(r.tokens_by_source[p])});
    auto losses = run.model.losses_by_source();
    for (std::size_t p = 0; p < losses.size(); ++p)
      if (auto [loss, weight] = losses[p]; weight > 0)
        values.push_back({"train/loss/" + parts[p].name, static_cast<double>(static_cast<float>(loss / weight))});
    for (auto& [name, value] : r.optimizer) values.push_back({"optim/" + name, value});
    for (auto& [name, value] : r.meeting) values.push_back({"local/" + name, value});
    for (auto& number : run.monitored) values.push_back(number);
    auto norms = run.settings.norms.every;
    bool due = norms > 0 && r.step % norms == 0;
    if (due)
      for (auto& number : run.model.leaf_norms()) values.push_back(number);
    run.record(values);
    if (due) write_histograms(run);
    run.progress->step(r.step, r.loss, r.tokens_per_second);
  }
  void end(Run& run) override {
    for (auto& tracker : run.trackers) try {
        if (run.done == run.settings.steps) tracker->finish();
        tracker->flush();
      } catch (const IoError& e) { run.warn(e.what()); }
    write_plot(run);
  }
};
}  // namespace
void write_histograms(Run& run) {
  auto takes = [](auto& kind) { return kind->histograms(); };
  auto& kinds = run.settings.trackers;
  if (!std::any_of(kinds.begin(), kinds.end(), takes)) return;
  for (auto& [name, h] : leaf_histograms(run.model, run.mesh))
    for (auto& tracker : run.trackers) tracker->histogram(run.done, "params/" + name, h);
}
void write_plot(Run& run) {
  on_first(run.mesh, "run: plot", [&] {
    auto begin = Clock::now();
    auto& plot = run.plot;
    if (!run.last() && seconds_since(plot.at) < 100 * plot.seconds) return;
    if (std::error_code error; !std::filesystem::exists(run.out + "/metrics.jsonl", error)) return;
    try {
      write_file(run.out + "/loss.svg", run.losses->svg());
    } catch (const NoRoom& e) { run.warn(e.what()); }  // the run does not end for that
    plot = {Clock::now(), seconds_since(begin)};
  });
}
LoopHookPtr log_hook() { return std::make_unique<Log>(); }
}  // namespace bora::training
