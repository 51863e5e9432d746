#include <cmath>
#include <cstdio>
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/track/metrics.h"
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include "bora/data/prefetch.h"
#include "bora/train/loop.h"
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

/// Batches of a new run's first evaluation: enough to check an untrained model's loss, few enough to reach the first
/// step soon.
constexpr std::int64_t kFirstBatches = 4;
double evaluate_on(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh,
                   bool first = false) {
  auto count = data.held_out->size();
  if (s.eval.rows > 0) count = std::min(count, s.eval.rows);
  if (first) count = std::min(count, kFirstBatches * s.batch);
  auto mine = rows_of_rank(s.batch, mesh);
  double losses = 0, tokens = 0;
  for (std::int64_t step = 0; step * s.batch < count; ++step) {
    auto rows = data::evaluation_rows(*data.held_out, data.positions, step, s.batch, mine.begin, mine.end, count);
    auto r = model.evaluate(make_batch(rows, s.batch, mesh)).to_vector<float>();
    losses += static_cast<double>(r[0]);
    tokens += static_cast<double>(r[1]);
  }
  return losses / tokens;
}

class Run final : public RunView {
 public:
  Run(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh)
      : model_(model),
        data_(data),
        s_(s),
        mesh_(mesh),
        out_(s.out),
        signals_(s.steps > 0 ? std::make_unique<StopSignals>() : nullptr) {}
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
    if (s_.log.digest && (!stored || s_.steps == 0))
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
  tree::Node state() const override { return model_.state(); }
  void save() override { wants_save_ = true; }
  void stop() override { wants_stop_ = true; }

 private:
  using Trackers = std::vector<std::unique_ptr<track::Tracker>>;
  bool first() const { return mesh_.rank() == 0; }
  void say(const std::string& text) const {
    if (first()) std::printf("%s\n", text.c_str()), std::fflush(stdout);
  }
  void write_settings() const {
    if (!s_.write_settings) return;
    for (auto& line : s_.write_settings(out_)) say(one_line(line));
  }
  void warn(const std::string& problem) const {
    if (!problem.empty()) say("warning: " + one_line(problem));
  }
  std::string root() const { return out_ + "/checkpoints"; }
  /// The checkpoint to continue from. Rank 0 looks, so that all agree even if ranks see different files.
  std::optional<io::Checkpoint> to_continue() {
    if (s_.resume == Resume::none) return std::nullopt;
    std::string mine;
    offering_older([&] {
      on_first_rank<CheckpointError>(mesh_, "run: find the checkpoint", [&] {
        auto found = s_.resume == Resume::good ? newest_good() : io::newest_checkpoint(root());
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
    check<CheckpointError>(found.checkpoint || damaged_.empty(), "no checkpoint in ", root(),
                           " is whole: ", damaged_.empty() ? "" : damaged_[0].second);
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
      if (s_.resume == Resume::none) aside("checkpoints");
      for (auto& tracker : config::rows<track::TrackerKind>()) aside(std::string(tracker.make(nullptr)->file()));
      aside("loss.svg");
    }
    for (auto& [checkpoint, why] : damaged_) {
      auto kept = free_path(root() + "/damaged-step-" + std::to_string(checkpoint.step));
      rename_folder(checkpoint.folder, kept);
      say("passed over, and kept as " + kept + ": " + one_line(why));
    }
    write_settings();
  }
  /// Before a checkpoint is written: if the run's folder is gone, makes a new one beside it. All ranks.
  void look_after_folder() {
    on_first_rank(mesh_, "run: look after its folder", [&] {
      if (folder_->there()) return;
      out_ = free_path(s_.out + ".rescued");
      folder_ = std::make_unique<RunFolder>(out_);
      write_settings();
    });
    out_ = mesh_.exchange(out_, "run: its folder")[0];
  }
  data::Rows read(std::int64_t step) const {
    auto mine = rows_of_rank(s_.batch, mesh_);
    return data::training_rows(*data_.train, data_.positions, step, s_.batch, mine.begin, mine.end, s_.seed);
  }
  void say_plan(std::int64_t at_start) {
    auto text = plan_text(model_, make_batch(read(done_), s_.batch, mesh_), s_, mesh_, at_start);
    if (first()) std::printf("%s", text.c_str()), std::fflush(stdout);
  }
  void record(const Trackers& trackers, const track::Values& values) const {
    for (auto& tracker : trackers) tracker->write(done_, values);
  }
  double evaluate_now(const Trackers& trackers, bool first = false) {
    watchdog_.at("the evaluation after step " + std::to_string(done_));
    auto begin = Clock::now();
    auto loss = evaluate_on(model_, data_, s_, mesh_, first);
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
  void write_checkpoint(Progress& progress) {
    look_after_folder();
    watchdog_.at("writing the checkpoint of step " + std::to_string(done_) + " into " + root());
    Arrays keep;
    std::string warning;
    auto leaves = io::leaves_of(model_.state(), "", keep);
    auto folder = io::save_checkpoint(root(), done_, leaves, place_of(mesh_),
                                      {{"seed", std::to_string(s_.seed)}, {"settings", s_.settings}},
                                      s_.checkpoint.keep, &warning);
    progress.line("checkpoint: " + folder);
    if (!warning.empty()) progress.line("warning: " + one_line(warning));
    check<IoError>(out_ == s_.out, "out: ", s_.out, " was moved or removed while this run wrote into it; step ", done_,
                   " is saved as ", folder, " (--out ", out_, " continues from there)");
  }

  int train(bool continued) {
    Trackers trackers, none;  // on the first rank
    on_first_rank(mesh_, "run: open metrics", [&] {
      for (auto& kind : s_.trackers) trackers.push_back(kind->open(out_, continued ? done_ : -1));
    });
    say_loss(evaluate_now(continued ? none : trackers, !continued));
    Progress progress(
        {.first = done_, .total = s_.steps, .every = s_.log.every, .columns = terminal_columns(), .quiet = !first()});
    bool stopped = false;
    auto first_traced = std::max(done_, std::min(done_ + 2, s_.steps - s_.trace.steps));  // the first step compiles
    {
      data::Prefetch rows([this](std::int64_t step) { return read(step); }, done_);
      while (done_ < s_.steps && !stopped) {
        if (!s_.trace.path.empty() && done_ == first_traced) trace::start();
        watchdog_.at("reading the text of step " + std::to_string(done_ + 1) + " from " + data_.name);
        auto r = step(rows.next(), trackers, progress, stopped);
        if (trace::on() && (done_ == first_traced + s_.trace.steps || done_ == s_.steps || stopped))
          write_trace(progress);
        wants_save_ = wants_stop_ = false;
        for (auto& hook : s_.hooks) hook(r, *this);
        bool last = done_ == s_.steps || stopped || wants_stop_;
        if (s_.eval.every > 0 && done_ % s_.eval.every == 0 && !last) {
          auto loss = evaluate_now(trackers);
          progress.line("step " + std::to_string(done_) + "  val loss " +
                        number_text(static_cast<double>(static_cast<float>(loss))));
        }
        bool due = s_.checkpoint.every > 0 && done_ % s_.checkpoint.every == 0;
        if ((due || wants_save_) && !last) write_checkpoint(progress);
        if (wants_stop_) break;
      }
    }
    progress.end();
    write_checkpoint(progress);
    if (stopped && done_ < s_.steps) {
      say("stopped after step " + std::to_string(done_) + " of " + std::to_string(s_.steps) +
          "; the same command continues");
    } else {
      say_loss(evaluate_now(trackers));
      stopped = false;
    }
    look_after_folder();
    if (out_ != s_.out) write_checkpoint(progress);
    on_first_rank(mesh_, "run: plot", [&] { track::write_loss_plot(out_ + "/metrics.jsonl", out_ + "/loss.svg"); });
    return stopped ? 130 : 0;
  }
  void write_trace(Progress& progress) const {
    auto all = transport::write_trace(mesh_.context(), s_.trace.path);
    trace::Totals t;
    for (auto& x : all)
      t.steps += x.steps, t.step += x.step, t.kernel += x.kernel, t.collective += x.collective, t.wait += x.wait;
    auto ms = [&](double seconds) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2f", seconds * 1e3 / static_cast<double>(t.steps));
      return std::string(text);
    };
    progress.line("trace: " + s_.trace.path + " (a step " + ms(t.step) + " ms: kernels " + ms(t.kernel) +
                  ", collectives under way " + ms(t.collective) + ", waiting " + ms(t.wait) + "; mean of the ranks)");
  }
  StepReport step(data::Rows rows, const Trackers& trackers, Progress& progress, bool& stopped) {
    watchdog_.at("step " + std::to_string(done_ + 1));
    auto begin = Clock::now();
    bool stop = StopSignals::requested() || (folder_ && !folder_->there());
    auto r = [&] {
      trace::Scope span(trace::Kind::step, mesh_.rank(), "step");
      return model_.step(make_batch(rows, s_.batch, mesh_, stop)).to_vector<float>();
    }();
    ++done_;
    StepReport report{
        done_, static_cast<double>(r[0]), static_cast<double>(r[1]), static_cast<double>(r[2]), seconds_since(begin),
        0};
    check<ValueError>(std::isfinite(report.loss), "training: the loss of step ", done_, " is ", report.loss,
                      "; lower lr, raise warmup, or clip gradients (optimizer.clip)");
    check<ValueError>(std::isfinite(report.gradient_norm), "training: the gradient norm of step ", done_, " is ",
                      report.gradient_norm, "; lower lr or raise warmup");
    report.tokens_per_second = static_cast<double>(s_.batch * data_.positions) / report.seconds;
    stopped = r[3] > 0;
    record(trackers, {{"train/loss", report.loss},
                      {"train/grad_norm", report.gradient_norm},
                      {"optim/learning_rate", report.learning_rate},
                      {"throughput/tokens_per_second", report.tokens_per_second},
                      {"throughput/step_seconds", report.seconds},
                      {"throughput/total_tokens", static_cast<double>(done_ * s_.batch * data_.positions)}});
    progress.step(done_, report.loss, report.tokens_per_second);
    return report;
  }

  Trainable& model_;
  const data::Datasets& data_;
  const LoopSettings& s_;
  const Mesh& mesh_;
  std::string out_;
  Watchdog watchdog_{"rank " + std::to_string(mesh_.rank()), s_.quiet_s};
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<RunFolder> folder_;  // on the first rank
  // newer than the checkpoint that the run continues; on the first rank
  std::vector<std::pair<io::Checkpoint, std::string>> damaged_ = {};
  std::int64_t done_ = 0;
  bool wants_save_ = false, wants_stop_ = false;  // asked for by a hook
};
}  // namespace

int run_training(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  return Run(model, data, s, mesh)();
}
double evaluate(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  return evaluate_on(model, data, s, mesh);
}
}  // namespace bora
