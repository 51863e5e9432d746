#include <cmath>
#include <cstdio>
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/track/metrics.h"
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include "bora/train/trainer.h"
#include "bora/transport/trace.h"
#include "run_folder.h"
#include "watchdog.h"

namespace bora {
namespace {
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// Runs f on rank 0; then all ranks go on, or all throw its error.
template <class E = IoError, class F> void on_first_rank(const Mesh& mesh, std::string_view what, const F& f) {
  std::string problem;
  try {
    if (mesh.rank() == 0) f();
  } catch (const Error& e) { problem = e.text(); }
  io::agree<E>(place_of(mesh), problem, what);
}

/// The text, indexed once: windows to train on and windows held out.
struct Texts {
  data::Windows train, held_out;
};
Texts open_texts(const Settings& s) {
  auto text = data::open_text(s.data, s.hold_out, s.model.positions + 1);
  return {{text.train, s.model.positions}, {text.held_out, s.model.positions}};
}
/// Batches of a new run's first evaluation: enough to check an untrained model's loss, few enough to reach the first
/// step soon.
constexpr std::int64_t kFirstBatches = 4;
double evaluate_on(Trainable& model, const data::Windows& windows, const Settings& s, const Mesh& mesh,
                   bool first = false) {
  auto count = (windows.stream.size() - 1) / windows.positions;
  if (s.eval_rows > 0) count = std::min(count, s.eval_rows);
  if (first) count = std::min(count, kFirstBatches * s.batch);
  auto mine = rows_of_rank(s, mesh);
  double losses = 0, tokens = 0;
  for (std::int64_t step = 0; step * s.batch < count; ++step) {
    auto r = model.evaluate(make_batch(windows.evaluation_rows(step, s.batch, mine.begin, mine.end, count), s, mesh))
                 .to_vector<float>();
    losses += static_cast<double>(r[0]);
    tokens += static_cast<double>(r[1]);
  }
  return losses / tokens;
}

class Run {
 public:
  Run(Trainable& model, const Settings& s, const Mesh& mesh, const RunOptions& options)
      : model_(model),
        s_(s),
        mesh_(mesh),
        options_(options),
        out_(s.out),
        signals_(s.steps > 0 ? std::make_unique<StopSignals>() : nullptr),
        texts_(open_texts(s)) {}
  int operator()() {
    auto at_start = resident_bytes();
    watchdog_.at("taking the folder " + out_);
    on_first_rank<ConfigError>(mesh_, "run: take the folder", [&] {
      folder_ = std::make_unique<RunFolder>(out_);
      warn(io::clean_checkpoints(root()));
    });
    watchdog_.at("the initialisation of the model");
    model_.init(random::key(s_.seed));
    watchdog_.at("the search for checkpoints in " + root());
    auto stored = to_continue();
    if (s_.digest && (!stored || s_.steps == 0))
      say("init digest " + to_string(mesh_.shape()) + " " + s_.layout + ": " +
          parameter_digest(model_.parameters(), mesh_));
    if (stored)
      watchdog_.at("reading " + stored->folder),
          offering_older([&] {
            io::restore_leaves(model_.state(), stored->folder, place_of(mesh_), {}, optim::current_names);
          });
    auto code = 0;
    if (stored && s_.steps > 0 && stored->step >= s_.steps) {  // nothing is written
      say("already at step " + std::to_string(stored->step) + ": steps=" + std::to_string(s_.steps) +
          " leaves nothing to do");
      say("checkpoint: " + stored->folder);
    } else {
      if (stored && s_.steps > 0) {
        done_ = stored->step;
        say("continuing from step " + std::to_string(done_) + " (" + stored->folder + ")");
      }
      // Only now: settings that do not fit must leave existing files as they were.
      on_first_rank(mesh_, "run: begin its files", [&] { begin_files(stored.has_value()); });
      watchdog_.at("planning a step");
      say_plan(at_start);
      if (s_.steps > 0) code = train(stored.has_value());
    }
    auto peaks = mesh_.exchange(std::to_string(peak_rss()), "run: peak memory");
    say_peak(peaks);
    for (std::size_t r = 0; r < peaks.size(); ++r) say("peak rss rank " + std::to_string(r) + ": " + peaks[r]);
    return code;
  }

 private:
  using Trackers = std::vector<std::unique_ptr<track::Tracker>>;
  bool first() const { return mesh_.rank() == 0; }
  void say(const std::string& text) const {
    if (first()) std::printf("%s\n", text.c_str()), std::fflush(stdout);
  }
  void warn(const std::string& problem) const {
    if (!problem.empty()) say("warning: " + one_line(problem));
  }
  std::string root() const { return out_ + "/checkpoints"; }
  /// The checkpoint to continue from. Rank 0 looks, so that all agree even if ranks see different files.
  std::optional<io::Checkpoint> to_continue() {
    if (options_.resume == Resume::none) return std::nullopt;
    std::string mine;
    offering_older([&] {
      on_first_rank<CheckpointError>(mesh_, "run: find the checkpoint", [&] {
        auto found = options_.resume == Resume::good ? newest_good() : io::newest_checkpoint(root());
        if (found) mine = std::to_string(found->step);
      });
    });
    auto step = mesh_.exchange(mine, "run: the checkpoint")[0];
    if (step.empty()) return std::nullopt;
    return io::Checkpoint{std::stoll(step), root() + "/step-" + step};
  }
  std::optional<io::Checkpoint> newest_good() {
    auto found = io::good_checkpoint(root());
    damaged_ = found.damaged;
    check<CheckpointError>(found.checkpoint || damaged_.empty(), "no checkpoint in ", root(), " is whole: ",
                           damaged_.empty() ? "" : damaged_[0].second);
    return found.checkpoint;
  }
  /// Runs f on all ranks. The error for a damaged checkpoint names an older whole one, if there is one.
  template <class F> void offering_older(const F& f) const {
    std::string text, older;
    try {
      return f();
    } catch (const CheckpointError& e) { text = e.text(); }
    if (first()) try {
        auto found = io::good_checkpoint(root());
        if (found.checkpoint && !found.damaged.empty()) older = found.checkpoint->folder;
      } catch (const Error&) {}
    older = mesh_.exchange(older, "run: an older checkpoint")[0];
    throw CheckpointError(older.empty() ? text : text + "; " + older + " is whole: --resume good continues from there");
  }
  /// On the first rank. Files that an earlier run left here are kept under other names.
  void begin_files(bool continued) {
    auto aside = [&](const std::string& name) {
      if (auto kept = put_aside(out_ + "/" + name); !kept.empty()) say(name + " of an earlier run is kept as " + kept);
    };
    if (!continued && s_.steps > 0) {
      if (options_.resume == Resume::none) aside("checkpoints");
      for (auto& tracker : config::rows<track::TrackerKind>()) aside(std::string(tracker.make(nullptr)->file()));
      aside("loss.svg");
    }
    for (auto& [checkpoint, why] : damaged_) {
      auto kept = free_path(root() + "/damaged-step-" + std::to_string(checkpoint.step));
      rename_folder(checkpoint.folder, kept);
      say("passed over, and kept as " + kept + ": " + one_line(why));
    }
    for (auto& line : write_config(out_, s_)) say(one_line(line));
  }
  /// Before a checkpoint is written: if the run's folder is gone, makes a new one beside it. All ranks.
  void look_after_folder() {
    on_first_rank(mesh_, "run: look after its folder", [&] {
      if (folder_->there()) return;
      out_ = free_path(s_.out + ".rescued");
      folder_ = std::make_unique<RunFolder>(out_);
      auto settings = s_;
      settings.out = out_;
      write_config(out_, settings);
    });
    out_ = mesh_.exchange(out_, "run: its folder")[0];
  }
  data::Rows read(std::int64_t step) const {
    auto mine = rows_of_rank(s_, mesh_);
    return texts_.train.training_rows(step, s_.batch, mine.begin, mine.end, s_.seed);
  }
  void say_plan(std::int64_t at_start) {
    auto text = plan_text(model_, make_batch(read(done_), s_, mesh_), s_, mesh_, at_start);
    if (first()) std::printf("%s", text.c_str()), std::fflush(stdout);
  }
  void record(const Trackers& trackers, const track::Values& values) const {
    for (auto& tracker : trackers) tracker->write(done_, values);
  }
  double evaluate_now(const Trackers& trackers, bool first = false) {
    watchdog_.at("the evaluation after step " + std::to_string(done_));
    auto begin = Clock::now();
    auto loss = evaluate_on(model_, texts_.held_out, s_, mesh_, first);
    record(trackers, {{"eval/loss", static_cast<float>(loss)}, {"eval/seconds", seconds_since(begin)}});
    return loss;
  }
  void say_loss(double loss) const { say("val loss: " + number_text(static_cast<double>(static_cast<float>(loss)))); }
  /// For people; the lines in bytes below it are for scripts.
  void say_peak(const std::vector<std::string>& bytes) const {
    std::int64_t least = std::stoll(bytes[0]), most = least;
    for (auto& rank : bytes)
      least = std::min<std::int64_t>(least, std::stoll(rank)), most = std::max<std::int64_t>(most, std::stoll(rank));
    say("peak memory: " +
        (bytes.size() > 1 ? bytes_text(least) + " to " + bytes_text(most) + " a rank" : bytes_text(most)));
  }
  void save(Progress& progress) {
    look_after_folder();
    watchdog_.at("writing the checkpoint of step " + std::to_string(done_) + " into " + root());
    Arrays keep;
    std::string warning;
    auto leaves = io::leaves_of(model_.state(), "", keep);
    auto folder =
        io::save_checkpoint(root(), done_, leaves, place_of(mesh_),
                            {{"seed", std::to_string(s_.seed)}, {"settings", to_yaml(s_)}}, s_.keep, &warning);
    progress.line("checkpoint: " + folder);
    if (!warning.empty()) progress.line("warning: " + one_line(warning));
    check<IoError>(out_ == s_.out, "out: ", s_.out, " was moved or removed while this run wrote into it; step ", done_,
                   " is saved as ", folder, " (--out ", out_, " continues from there)");
  }

  int train(bool continued) {
    Trackers trackers, none;  // on the first rank
    on_first_rank(mesh_, "run: open metrics", [&] {
      for (auto& kind : options_.trackers) trackers.push_back(kind->open(out_, continued ? done_ : -1));
    });
    say_loss(evaluate_now(continued ? none : trackers, !continued));
    Progress progress(
        {.first = done_, .total = s_.steps, .every = s_.log_every, .columns = terminal_columns(), .quiet = !first()});
    bool stopped = false;
    auto first_traced = std::max(done_, std::min(done_ + 2, s_.steps - s_.trace_steps));  // the first step compiles
    {
      data::Prefetch rows([this](std::int64_t step) { return read(step); }, done_);
      while (done_ < s_.steps && !stopped) {
        if (!s_.trace.empty() && done_ == first_traced) trace::start();
        watchdog_.at("reading the text of step " + std::to_string(done_ + 1) + " from " + s_.data);
        auto r = step(rows.next(), trackers, progress, stopped);
        if (trace::on() && (done_ == first_traced + s_.trace_steps || done_ == s_.steps || stopped))
          write_trace(progress);
        for (auto& hook : options_.hooks) hook(r);
        bool last = done_ == s_.steps || stopped;
        if (s_.eval_every > 0 && done_ % s_.eval_every == 0 && !last) {
          auto loss = evaluate_now(trackers);
          progress.line("step " + std::to_string(done_) + "  val loss " +
                        number_text(static_cast<double>(static_cast<float>(loss))));
        }
        if (s_.checkpoint_every > 0 && done_ % s_.checkpoint_every == 0 && !last) save(progress);
      }
    }
    progress.end();
    save(progress);
    if (stopped && done_ < s_.steps) {
      say("stopped after step " + std::to_string(done_) + " of " + std::to_string(s_.steps) +
          "; the same command continues");
    } else {
      say_loss(evaluate_now(trackers));
      stopped = false;
    }
    look_after_folder();
    if (out_ != s_.out) save(progress);
    on_first_rank(mesh_, "run: plot", [&] { track::write_loss_plot(out_ + "/metrics.jsonl", out_ + "/loss.svg"); });
    return stopped ? 130 : 0;
  }
  void write_trace(Progress& progress) const {
    auto all = transport::write_trace(mesh_.context(), s_.trace);
    trace::Totals t;
    for (auto& x : all)
      t.steps += x.steps, t.step += x.step, t.kernel += x.kernel, t.collective += x.collective, t.wait += x.wait;
    auto ms = [&](double seconds) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2f", seconds * 1e3 / static_cast<double>(t.steps));
      return std::string(text);
    };
    progress.line("trace: " + s_.trace + " (a step " + ms(t.step) + " ms: kernels " + ms(t.kernel) +
                  ", collectives under way " + ms(t.collective) + ", waiting " + ms(t.wait) + "; mean of the ranks)");
  }
  StepReport step(data::Rows rows, const Trackers& trackers, Progress& progress, bool& stopped) {
    watchdog_.at("step " + std::to_string(done_ + 1));
    auto begin = Clock::now();
    bool stop = StopSignals::requested() || (folder_ && !folder_->there());
    auto r = [&] {
      trace::Scope span(trace::Kind::step, mesh_.rank(), "step");
      return model_.step(make_batch(rows, s_, mesh_, stop)).to_vector<float>();
    }();
    ++done_;
    StepReport report{
        done_, static_cast<double>(r[0]), static_cast<double>(r[1]), static_cast<double>(r[2]), seconds_since(begin),
        0};
    check<ValueError>(std::isfinite(report.loss), "training: the loss of step ", done_, " is ", report.loss,
                      "; lower lr, raise warmup, or clip gradients (optimizer.clip)");
    check<ValueError>(std::isfinite(report.gradient_norm), "training: the gradient norm of step ", done_, " is ",
                      report.gradient_norm, "; lower lr or raise warmup");
    report.tokens_per_second = static_cast<double>(s_.batch * s_.model.positions) / report.seconds;
    stopped = r[3] > 0;
    record(trackers, {{"train/loss", report.loss},
                      {"train/grad_norm", report.gradient_norm},
                      {"optim/learning_rate", report.learning_rate},
                      {"throughput/tokens_per_second", report.tokens_per_second},
                      {"throughput/step_seconds", report.seconds},
                      {"throughput/total_tokens", static_cast<double>(done_ * s_.batch * s_.model.positions)}});
    progress.step(done_, report.loss, report.tokens_per_second);
    return report;
  }

  Trainable& model_;
  const Settings& s_;
  const Mesh& mesh_;
  const RunOptions& options_;
  std::string out_;
  Watchdog watchdog_{"rank " + std::to_string(mesh_.rank()), options_.quiet_s};
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<RunFolder> folder_;  // on the first rank
  Texts texts_;
  // newer than the checkpoint that the run continues; on the first rank
  std::vector<std::pair<io::Checkpoint, std::string>> damaged_ = {};
  std::int64_t done_ = 0;
};
}  // namespace

int run_training(Trainable& model, const Settings& s, const Mesh& mesh, const RunOptions& options) {
  return Run(model, s, mesh, options)();
}
double evaluate(Trainable& model, const Settings& s, const Mesh& mesh) {
  return evaluate_on(model, open_texts(s).held_out, s, mesh);
}
}  // namespace bora
