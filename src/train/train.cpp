#include <cmath>
#include <cstdio>
#include "bora/train/metrics.h"
#include "bora/train/trainer.h"
#include "bora/transport/trace.h"
#include "io/files.h"
#include "run_folder.h"

namespace bora {
namespace {
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// Rank 0 does it; all go on, or all throw its error.
template <class F> void on_first_rank(const Mesh& mesh, std::string_view what, const F& f) {
  std::string problem;
  try {
    if (mesh.rank() == 0) f();
  } catch (const Error& e) { problem = e.text(); }
  io::agree<IoError>(place_of(mesh), problem, what);
}

/// The text, indexed once: windows to train on and windows held out.
struct Texts {
  data::Windows train, held_out;
};
Texts open_texts(const Settings& s) {
  auto text = data::open_text(s.data, s.hold_out, s.model.positions + 1);
  return {{text.train, s.model.positions}, {text.held_out, s.model.positions}};
}
/// Batches of a new run's first evaluation: enough to see what an untrained model must have, and the first step is soon.
constexpr std::int64_t kFirstBatches = 4;
double evaluate_on(Trainable& model, const data::Windows& windows, const Settings& s, const Mesh& mesh, bool first = false) {
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
        signals_(s.steps > 0 ? std::make_unique<StopSignals>() : nullptr),
        texts_(open_texts(s)) {}
  int operator()() {
    auto at_start = resident_bytes();
    on_first_rank(mesh_, "run: take the folder", [&] { folder_ = std::make_unique<RunFolder>(s_.out); });
    model_.init(random::key(s_.seed));
    auto root = s_.out + "/checkpoints";
    auto stored = newest(root);
    if (s_.digest && (!stored || s_.steps == 0))
      say("init digest " + to_string(mesh_.shape()) + " " + s_.layout + ": " +
          parameter_digest(model_.parameters(), mesh_));
    if (stored) restore_tree(model_.state(), stored->folder, mesh_);
    // Only now: settings that do not fit what is there leave it as it was.
    on_first_rank(mesh_, "run: write the settings", [&] { io::write_file(s_.out + "/config.yaml", to_yaml(s_)); });
    if (stored && s_.steps > 0) {
      done_ = stored->step;
      say("continuing from step " + std::to_string(done_) + " (" + stored->folder + ")");
    }
    say_plan(at_start);
    auto code = s_.steps == 0 ? 0 : train(root, stored.has_value());
    auto peaks = mesh_.exchange(std::to_string(peak_rss()), "run: peak memory");
    for (std::size_t r = 0; r < peaks.size(); ++r) say("peak rss rank " + std::to_string(r) + ": " + peaks[r]);
    return code;
  }

 private:
  bool first() const { return mesh_.rank() == 0; }
  void say(const std::string& text) const {
    if (first()) std::printf("%s\n", text.c_str()), std::fflush(stdout);
  }
  /// Rank 0 looks, so that all agree whatever a file system shows to whom.
  std::optional<io::Checkpoint> newest(const std::string& root) const {
    std::string mine;
    on_first_rank(mesh_, "run: find the newest checkpoint", [&] {
      if (auto found = io::newest_checkpoint(root)) mine = std::to_string(found->step);
    });
    auto step = mesh_.exchange(mine, "run: newest checkpoint")[0];
    if (step.empty()) return std::nullopt;
    return io::Checkpoint{std::stoll(step), root + "/step-" + step};
  }
  data::Rows read(std::int64_t step) const {
    auto mine = rows_of_rank(s_, mesh_);
    return texts_.train.training_rows(step, s_.batch, mine.begin, mine.end, s_.seed);
  }
  void say_plan(std::int64_t at_start) {
    auto text = plan_text(model_, make_batch(read(done_), s_, mesh_), s_, mesh_, at_start);
    if (first()) std::printf("%s", text.c_str()), std::fflush(stdout);
  }
  double evaluate_now(Metrics* metrics, bool first = false) {
    auto begin = Clock::now();
    auto loss = evaluate_on(model_, texts_.held_out, s_, mesh_, first);
    if (metrics && metrics->evaluated() != done_)
      metrics->write(done_, {{"eval/loss", static_cast<float>(loss)}, {"eval/seconds", seconds_since(begin)}});
    return loss;
  }
  void say_loss(double loss) const { say("val loss: " + number_text(static_cast<double>(static_cast<float>(loss)))); }
  void save(const std::string& root, Progress& progress) {
    Arrays keep;
    auto leaves = leaves_of(model_.state(), "", keep);
    auto folder = io::save_checkpoint(
        root, done_, leaves, place_of(mesh_),
        {{"step", std::to_string(done_)}, {"seed", std::to_string(s_.seed)}, {"settings", to_yaml(s_)}}, s_.keep);
    saved_ = done_;
    progress.line("checkpoint: " + folder);
  }

  int train(const std::string& root, bool continued) {
    std::unique_ptr<Metrics> metrics;
    on_first_rank(mesh_, "run: open metrics",
                  [&] { metrics = std::make_unique<Metrics>(s_.out + "/metrics.jsonl", continued ? done_ : -1); });
    saved_ = continued ? done_ : -1;
    say_loss(evaluate_now(continued ? nullptr : metrics.get(), !continued));
    Progress progress(
        {.first = done_, .total = s_.steps, .every = s_.log_every, .columns = terminal_columns(), .quiet = !first()});
    bool stopped = false;
    auto first_traced = std::max(done_, std::min(done_ + 2, s_.steps - s_.trace_steps));  // the first step compiles
    {
      data::Prefetch rows([this](std::int64_t step) { return read(step); }, done_);
      while (done_ < s_.steps && !stopped) {
        if (!s_.trace.empty() && done_ == first_traced) trace::start();
        auto r = step(rows.next(), metrics.get(), progress, stopped);
        if (trace::on() && (done_ == first_traced + s_.trace_steps || done_ == s_.steps || stopped)) write_trace(progress);
        for (auto& hook : options_.hooks) hook(r);
        bool last = done_ == s_.steps || stopped;
        if (s_.eval_every > 0 && done_ % s_.eval_every == 0 && !last) {
          auto loss = evaluate_now(metrics.get());
          progress.line("step " + std::to_string(done_) + "  eval loss " +
                        number_text(static_cast<double>(static_cast<float>(loss))));
        }
        if (s_.checkpoint_every > 0 && done_ % s_.checkpoint_every == 0 && !last) save(root, progress);
      }
    }
    progress.end();
    if (saved_ != done_) save(root, progress);
    else say("checkpoint: " + root + "/step-" + std::to_string(saved_));
    if (stopped && done_ < s_.steps) {
      say("stopped after step " + std::to_string(done_) + " of " + std::to_string(s_.steps) +
          "; the same command continues");
    } else {
      say_loss(evaluate_now(metrics.get()));
      stopped = false;
    }
    on_first_rank(mesh_, "run: plot", [&] { write_loss_plot(s_.out + "/metrics.jsonl", s_.out + "/loss.svg"); });
    return stopped ? 130 : 0;
  }
  void write_trace(Progress& progress) const {
    auto all = transport::write_trace(mesh_.context(), s_.trace);
    trace::Totals t;
    for (auto& x : all) t.steps += x.steps, t.step += x.step, t.kernel += x.kernel, t.collective += x.collective, t.wait += x.wait;
    auto ms = [&](double seconds) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2f", seconds * 1e3 / static_cast<double>(t.steps));
      return std::string(text);
    };
    progress.line("trace: " + s_.trace + " (a step " + ms(t.step) + " ms: kernels " + ms(t.kernel) + ", collectives under way " +
                  ms(t.collective) + ", waiting " + ms(t.wait) + "; mean of the ranks)");
  }
  StepReport step(data::Rows rows, Metrics* metrics, Progress& progress, bool& stopped) {
    auto begin = Clock::now();
    auto r = [&] {
      trace::Scope span(trace::Kind::step, mesh_.rank(), "step");
      return model_.step(make_batch(rows, s_, mesh_, StopSignals::requested())).to_vector<float>();
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
    if (metrics)
      metrics->write(done_, {{"train/loss", report.loss},
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
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<RunFolder> folder_;  // on the first rank
  Texts texts_;
  std::int64_t done_ = 0, saved_ = -1;
};
}  // namespace

int run_training(Trainable& model, const Settings& s, const Mesh& mesh, const RunOptions& options) {
  return Run(model, s, mesh, options)();
}
double evaluate(Trainable& model, const Settings& s, const Mesh& mesh) {
  return evaluate_on(model, open_texts(s).held_out, s, mesh);
}
}  // namespace bora
