// The training loop: batches, steps, and the hooks around them.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include "bora/base/text.h"
#include "bora/base/trace.h"
#include "bora/data/sequence.h"
#include "bora/train/batch.h"
#include "bora/train/membership.h"
#include "bora/train/process.h"
#include "hooks.h"

namespace bora {
namespace training {
namespace {
// Kubernetes, Slurm and pkill send SIGTERM to all processes of a job that they end, not quite at once.
constexpr std::chrono::seconds kSigtermForAll{2};
/// True if this rank asks the others to end the run, or its generation, after this step.
bool asks_to_end(const Run& run, std::int64_t step) {
  auto* job = run.settings.membership;
  return run.asked_to_stop || (job && (job->must_leave(step) || job->drained(kSigtermForAll)));
}
/// After a step at whose end some rank asked to end: decides whether the job goes on, and whether without this rank.
/// If all ranks are drained, it is a stop. All ranks.
void decide_leaving(Run& run) {
  if (!run.settings.membership || run.done == run.settings.steps) return;
  bool drained = run.is_drained();
  auto all = run.mesh.exchange(run.asked_to_stop ? "stop" : drained ? "drained" : "", "run: why it stops");
  auto say = [&](std::string_view word) { return std::count(all.begin(), all.end(), word); };
  bool goes_on = say("stop") == 0 && say("drained") < run.mesh.size();
  run.leaving = !goes_on ? Leaving::none : drained ? Leaving::for_good : Leaving::for_next_generation;
}
double skipped_steps(const track::Values& numbers) {
  double sum = 0;
  for (auto& [name, value] : numbers) sum += name == "skipped_steps" ? value : 0;
  return sum;
}
StepReport make_step(Run& run, const data::Rows& rows, double waited) {
  auto& s = run.settings;
  auto begin = Clock::now();
  auto r = [&] {
    tracing::Scope span(tracing::Kind::step, run.mesh.rank(), "step");
    auto asks = asks_to_end(run, run.done + 1) ? Request::stop : run.asks_for_save ? Request::save : Request::none;
    return run.model.step(make_batch(rows, s.batch, run.mesh, asks)).to_vector<float>();
  }();
  StepReport report{.step = ++run.done,
                    .loss = static_cast<double>(r[0]),
                    .gradient_norm = static_cast<double>(r[1]),
                    .learning_rate = static_cast<double>(r[2]),
                    .seconds = seconds_since(begin),
                    .data_wait = waited,
                    .filled = static_cast<double>(r[4]) / static_cast<double>(s.batch * run.data.shape.positions)};
  for (auto n = r.begin() + 5; n != r.end(); ++n) report.tokens_by_source.push_back(std::llround(*n));
  report.optimizer = run.optimizer_numbers();
  report.meeting = run.model.meeting();
  auto before = std::exchange(run.skipped, skipped_steps(report.optimizer));
  report.skipped = run.skipped > before;
  auto fits = [&](double x) { return std::isfinite(x) || report.skipped; };
  if (report.skipped)
    run.say("step " + std::to_string(run.done) + " is left out: its gradient is not finite (" +
            std::to_string(std::llround(run.skipped)) + " so far)");
  check<ValueError>(fits(report.loss), "training: the loss of step ", run.done, " is ", report.loss,
                    "; lower lr, raise warmup, or clip gradients (optimizer.clip)");
  check<ValueError>(fits(report.gradient_norm), "training: the gradient norm of step ", run.done, " is ",
                    report.gradient_norm, "; lower lr or raise warmup");
  report.tokens_per_second = static_cast<double>(s.batch * run.data.shape.positions) / report.seconds;
  run.stopped = request_of(r[3]) == Request::stop;
  run.wants_save = request_of(r[3]) == Request::save;
  run.leaving = Leaving::none;
  if (run.stopped) decide_leaving(run);
  return report;
}
int train(Run& run, const std::vector<LoopHookPtr>& hooks) {
  auto& s = run.settings;
  bool first = run.mesh.rank() == 0;
  run.skipped = skipped_steps(run.optimizer_numbers());
  for (auto& hook : hooks) hook->begin(run);
  run.progress.emplace(Progress::Options{
      .first = run.done, .total = s.steps, .every = s.log.every, .columns = terminal_columns(), .quiet = !first});
  {
    auto read = [&run, rules = current_mapping()](std::int64_t step) {  // in another thread
      UseMapping split(rules);
      return run.read(step);
    };
    auto rows = data::range(s.steps).map(read).iterate({.from = run.done, .ahead = 1, .threads = 1});
    for (auto step = run.done + 1; !run.last(); ++step) {
      run.watchdog.at("reading the text of step " + std::to_string(step) + " from " + run.data.name);
      auto begin = Clock::now();
      auto mine = *rows.next();
      auto waited = seconds_since(begin);
      run.watchdog.at("step " + std::to_string(step));
      for (auto& hook : hooks) hook->before_step(run);
      auto report = make_step(run, mine, waited);
      for (auto& hook : hooks) hook->after_step(run, report);
      if (run.wants_stop && run.leaves()) run.stopped = false, run.leaving = Leaving::none;  // nobody needs to
    }
  }
  run.meet_last();
  run.progress->end();
  for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) (*hook)->end(run);
  return run.leaves() ? run.leaving == Leaving::for_good ? kDrained : kNextGeneration : run.interrupted() ? 130 : 0;
}
/// In the order in which they run; in reverse at the end: the last checkpoint first, the plot last.
std::vector<LoopHookPtr> all_hooks(bool evaluates) {
  std::vector<LoopHookPtr> hooks;
  for (auto make : {log_hook, stop_hook, trace_hook, user_hooks, evaluation_hook, checkpoint_hook, snapshot_hook})
    if (evaluates || make != evaluation_hook) hooks.push_back(make());
  return hooks;
}
/// One line for people; the lines in bytes below it are for scripts.
void say_peak(Run& run) {
  auto peaks = run.mesh.exchange(std::to_string(peak_rss()), "run: peak memory");
  std::vector<std::int64_t> bytes;
  for (auto& rank : peaks) bytes.push_back(std::stoll(rank));
  auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  run.say("peak memory: " +
          (bytes.size() > 1 ? bytes_text(*least) + " to " + bytes_text(*most) + " a rank" : bytes_text(*most)));
  for (std::size_t r = 0; r < peaks.size(); ++r) run.say("peak rss rank " + std::to_string(r) + ": " + peaks[r]);
}
}  // namespace
}  // namespace training

int run_training(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  bool evaluates = data.held_out || !data.sets.empty();
  check<ConfigError>(evaluates || (!s.checkpoint.best && s.eval.patience == 0),
                     s.checkpoint.best ? "checkpoint.best" : "eval.patience", ": nothing is held out of ", data.name,
                     ", so there is no validation loss; set data.hold_out above 0");
  training::Run run(model, data, s, mesh);
  // Made before the model is initialised: a signal meanwhile stops the run after its first step.
  auto hooks = s.steps > 0 ? training::all_hooks(evaluates) : std::vector<training::LoopHookPtr>();
  auto code = training::prepare(run) ? training::train(run, hooks) : 0;
  if (run.leaves()) return code;
  if (run.folder) run.folder->give_up();
  training::say_peak(run);
  return code;
}
}  // namespace bora
