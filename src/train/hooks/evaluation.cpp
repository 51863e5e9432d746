#include <algorithm>
#include <limits>
#include "bora/base/json.h"
#include "train/hooks.h"

namespace bora {
namespace training {
namespace {
/// Batches of a new run's first evaluation: enough to check an untrained model's loss, few enough to reach the first
/// step soon.
constexpr std::int64_t kFirstBatches = 4;

/// Mean loss per token over at most `most` held-out rows.
double mean_loss(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh,
                 std::int64_t most) {
  auto count = std::min(data.held_out->size(), most);
  if (s.eval.rows > 0) count = std::min(count, s.eval.rows);
  auto mine = rows_of_rank(s.batch, mesh);
  double losses = 0, tokens = 0;
  for (std::int64_t step = 0; step * s.batch < count; ++step) {
    auto rows = data::evaluation_rows(*data.held_out, data.shape, step, s.batch, mine.begin, mine.end, count);
    auto r = model.evaluate(make_batch(rows, s.batch, mesh)).to_vector<float>();
    losses += static_cast<double>(r[0]);
    tokens += static_cast<double>(r[1]);
  }
  return losses / tokens;
}
class Evaluation final : public LoopHook {
 public:
  void begin(Run& run) override {  // of a new run a small one; a continued run has this step's in its record
    auto loss = run.continued ? measure(run, false) : measure(run, true, kFirstBatches * run.settings.batch);
    run.say("val loss: " + loss);
  }
  void after_step(Run& run, const StepReport& r) override {
    auto every = run.settings.eval.every;
    if (every == 0 || r.step % every != 0 || run.last()) return;
    run.say("step " + std::to_string(r.step) + "  val loss " + measure(run, true));
  }
  void end(Run& run) override {
    if (!run.interrupted()) run.say("val loss: " + measure(run, true));
  }

 private:
  static std::string measure(Run& run, bool recorded, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    run.watchdog.at("the evaluation after step " + std::to_string(run.done));
    auto begin = Clock::now();
    auto loss = static_cast<double>(static_cast<float>(mean_loss(run.model, run.data, run.settings, run.mesh, most)));
    if (recorded) run.record({{"eval/loss", loss}, {"eval/seconds", seconds_since(begin)}});
    return number_text(loss);
  }
};
}  // namespace
LoopHookPtr evaluation_hook() { return std::make_unique<Evaluation>(); }
}  // namespace training

double evaluate(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  return training::mean_loss(model, data, s, mesh, data.held_out->size());
}
}  // namespace bora
