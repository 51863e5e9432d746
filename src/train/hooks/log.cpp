#include "bora/track/metrics.h"
#include "train/hooks.h"

namespace bora::training {
namespace {
class Log final : public LoopHook {
 public:
  void begin(Run& run) override {
    on_first(run.mesh, "run: open metrics", [&] {
      for (auto& kind : run.settings.trackers)
        run.trackers.push_back(kind->open(run.out, run.continued ? run.done : -1));
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
    for (auto& [name, value] : r.optimizer) values.push_back({"optim/" + name, value});
    for (auto& [name, value] : r.meeting) values.push_back({"local/" + name, value});
    run.record(values);
    run.progress->step(r.step, r.loss, r.tokens_per_second);
  }
  void end(Run& run) override {
    write_plot(run);
  }
};
}  // namespace
void write_plot(Run& run) {
  on_first(run.mesh, "run: plot", [&] {
    auto begin = Clock::now();
    auto& plot = run.plot;
    if (!run.last() && seconds_since(plot.at) < 100 * plot.seconds) return;
    track::write_loss_plot(run.out + "/metrics.jsonl", run.out + "/loss.svg");
    plot = {Clock::now(), seconds_since(begin)};
  });
}
LoopHookPtr log_hook() { return std::make_unique<Log>(); }
}  // namespace bora::training
