// The training loop: batches, steps, and the hooks around them.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/base/trace.h"
#include "bora/data/sequence.h"
#include "bora/train/batch.h"
#include "bora/train/membership.h"
#include "bora/train/process.h"
#include "at_once.h"
#include "hooks.h"

namespace bora {
namespace training {
namespace {
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
std::string number(double x) {
  return std::isnan(x) ? "nan" : std::isinf(x) ? (x > 0 ? "inf" : "-inf") : number_text(x);
}
StepReport make_step(Run& run, const data::Rows& rows, double waited) {
  auto batch = run.cursor.batch_of(run.done);
  auto begin = Clock::now();
  if (run.at_once) run.at_once->begin_step();
  auto r = [&] {
    tracing::Scope span(tracing::Kind::step, run.mesh.rank(), "step");
    run.tells.stop = asks_to_end(run, run.done + 1);
    return step_result(run.model.step(make_batch(rows, batch, run.mesh, run.tells)));
  }();
  if (run.at_once) run.at_once->end_step();
  StepReport report{.step = ++run.done,
                    .loss = r.loss,
                    .gradient_norm = r.gradient_norm,
                    .learning_rate = r.learning_rate,
                    .seconds = seconds_since(begin),
                    .data_wait = waited,
                    .filled = r.filled / static_cast<double>(batch * run.data.shape.positions),
                    .tokens_by_source = std::move(r.by_source)};
  report.optimizer = run.optimizer_numbers();
  report.meeting = run.model.meeting();
  auto before = std::exchange(run.skipped, skipped_steps(report.optimizer));
  report.skipped = run.skipped > before;
  auto fits = [&](double x) { return std::isfinite(x) || report.skipped; };
  if (report.skipped)
    run.say("step " + std::to_string(run.done) + " is left out: its gradient is not finite (" +
            std::to_string(std::llround(run.skipped)) + " so far)");
  if (!fits(report.loss) || !fits(report.gradient_norm))
    run.alert("not_finite", "step " + std::to_string(run.done) + " has the loss " + number(report.loss) +
                                " and the gradient norm " + number(report.gradient_norm) + ", and the run ends");
  check<ValueError>(fits(report.loss), "training: the loss of step ", run.done, " is ", number(report.loss),
                    "; lower lr, raise warmup, or clip gradients (optimizer.clip)");
  check<ValueError>(fits(report.gradient_norm), "training: the gradient norm of step ", run.done, " is ",
                    number(report.gradient_norm), "; lower lr or raise warmup");
  report.tokens_per_second = static_cast<double>(batch * run.data.shape.positions) / report.seconds;
  run.heard = r.notes;
  run.stopped = r.notes.stop > 0;
  run.wants_save = r.notes.save > 0;
  run.leaving = Leaving::none;
  if (run.stopped) decide_leaving(run);
  return report;
}
/// Steps until none follows.
void make_steps(Run& run, const std::vector<LoopHookPtr>& hooks) {
  auto read = [&run, rules = current_mapping()](std::int64_t step) {  // in another thread
    UseMapping split(rules);
    return run.read(step);
  };
  auto rows = data::range(run.settings.steps).map(read).iterate({.from = run.done, .ahead = 1, .threads = 1});
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
int train(Run& run, const std::vector<LoopHookPtr>& hooks) {
  auto& s = run.settings;
  bool first = run.mesh.rank() == 0;
  run.skipped = skipped_steps(run.optimizer_numbers());
  for (auto& hook : hooks) hook->begin(run);
  run.progress.emplace(Progress::Options{
      .first = run.done, .total = s.steps, .every = s.log.every, .columns = terminal_columns(), .quiet = !first,
      .log = [&run](const std::string& line) { run.log.line(line); }});
  run.at_once = AtOnce::of(run);
  try {
    make_steps(run, hooks);
  } catch (const transport::Halted& e) {
    run.at_once->go_back(e);
    decide_leaving(run);
  }
  run.at_once.reset();
  run.meet_last();
  run.progress->end();
  for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) (*hook)->end(run);
  return run.leaves() ? run.leaving == Leaving::for_good ? kDrained : kNextGeneration : run.interrupted() ? 130 : 0;
}
/// In the order in which they run; in reverse at the end: the last checkpoint first, the plot last.
std::vector<LoopHookPtr> all_hooks(bool evaluates) {
  std::vector<LoopHookPtr> hooks;
  for (auto make : {monitor_hook, log_hook, page_hook, stop_hook, deadline_hook, trace_hook, user_hooks,
                    evaluation_hook, checkpoint_hook, snapshot_hook})
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
  auto watcher = s.eval.patience > 0 ? "eval.patience" : s.checkpoint.needs_evaluations();
  check<ConfigError>(evaluates || watcher.empty(), watcher, ": nothing is held out of ", data.name,
                     ", so there is no validation loss; set data.hold_out above 0");
  training::Run run(model, data, s, mesh);
  try {
    // Made before the model is initialised: a signal meanwhile stops the run after its first step.
    auto hooks = s.steps > 0 ? training::all_hooks(evaluates) : std::vector<training::LoopHookPtr>();
    auto code = training::prepare(run) ? training::train(run, hooks) : 0;
    if (run.leaves()) return code;
    for (auto* folder : {run.folder.get(), run.local.get()})
      if (folder) folder->give_up();
    training::say_peak(run);
    return code;
  } catch (const std::exception& e) {
    run.log.line("error: " + one_line(e.what()));
    throw;
  }
}
}  // namespace bora
