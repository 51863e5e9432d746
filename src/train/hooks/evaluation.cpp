#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include "base/api/json.h"
#include "bora/train/batch.h"
#include "bora/train/placement.h"
#include "train/api/not_finite.h"
#include "train/at_once.h"
#include "train/metrics.h"
#include "train/hooks.h"

namespace bora {
namespace training {
namespace {
/// Batches of a new run's first evaluation: enough to check an untrained model's loss, few enough to reach the first
/// step soon.
constexpr std::int64_t kFirstBatches = 4;

constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
/// Sums over the targets of some rows.
struct Sums {
  double loss = 0, tokens = 0, bytes = 0;
  std::vector<double> numbers = {};  // of Trainable::measured
  Predictions predictions = {};
  Sums& operator+=(const Sums& o) {
    loss += o.loss, tokens += o.tokens, bytes += o.bytes;
    numbers.resize(std::max(numbers.size(), o.numbers.size()));
    for (std::size_t i = 0; i < o.numbers.size(); ++i) numbers[i] += o.numbers[i];
    predictions.add(o.predictions);
    return *this;
  }
  double mean() const { return loss / tokens; }
};
/// Bytes of the targets' text in these rows.
double bytes_of(const data::Rows& rows, const LoopSettings& s) {
  std::int64_t n = 0;
  auto positions = static_cast<std::size_t>(rows.shape.positions);
  for (std::size_t begin = 0; begin < rows.targets.size(); begin += positions)
    for (std::size_t i = begin, from = begin; i <= begin + positions; ++i) {
      if (i < begin + positions && rows.weights[i] > 0) continue;
      if (i > from) n += s.text_bytes({rows.targets.data() + from, i - from});
      from = i + 1;
    }
  return static_cast<double>(n);
}
Sums sums_of(Trainable& model, const data::Dataset& set, const data::RowShape& shape, const LoopSettings& s,
             const Mesh& mesh, std::int64_t most) {
  auto count = std::min(set.size(), most);
  if (s.eval.rows > 0) count = std::min(count, s.eval.rows);
  auto mine = rows_of_rank(s.batch, mesh);
  Sums sums;
  for (std::int64_t step = 0; step * s.batch < count; ++step) {
    auto rows = data::evaluation_rows(set, shape, step, s.batch, mine.begin, mine.end, count);
    auto r = model.evaluate(make_batch(rows, s.batch, mesh)).to_vector<float>();
    bool text = s.text_bytes && shape.prediction == data::Prediction::tokens;
    Sums one{static_cast<double>(r[0]), static_cast<double>(r[1]), text ? bytes_of(rows, s) : 0};
    auto numbers = std::span(r).subspan(2, model.measured().size());
    one.numbers.assign(numbers.begin(), numbers.end());
    one.predictions.add(std::span(r).subspan(2 + numbers.size()));
    sums += one;
  }
  if (!s.text_bytes || shape.prediction != data::Prediction::tokens) return sums;
  bool tells = true;  // one rank of those that read the same rows
  auto over = batch_axes(current_mapping(), mesh.shape());
  for (auto& axis : mesh.shape().axes)
    tells = tells && (over.has(axis.first) || mesh.shape().coordinate(mesh.rank(), axis.first) == 0);
  auto texts = mesh.exchange(tells ? std::to_string(std::llround(sums.bytes)) : "0", "evaluation: bytes of the text");
  sums.bytes = 0;
  for (auto& text : texts) sums.bytes += std::stod(text);
  return sums;
}
/// As f32, the precision of the losses that were summed.
track::Values rounded(track::Values values) {
  for (auto& [name, x] : values) x = static_cast<double>(static_cast<float>(x));
  return values;
}
void add_more(track::Values& to, const std::string& name, const Sums& sums, const Trainable& model,
              const data::RowShape& shape) {
  auto names = model.measured();
  for (std::size_t i = 0; i < sums.numbers.size(); ++i) to.push_back({name + names[i], sums.numbers[i] / sums.tokens});
  if (sums.bytes > 0) to.push_back({name + "bits_per_byte", sums.loss / std::numbers::ln2 / sums.bytes});
  sums.predictions.append(shape.prediction, name, to);
}
/// Over at most `most` rows of each set. "eval/loss" is first.
track::Values measured(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh,
                       std::int64_t most) {
  check<ConfigError>(data.held_out || !data.sets.empty(), "eval: nothing is held out of ", data.name,
                     "; set data.hold_out above 0, or name another text (data.path)");
  track::Values values, of_sets;
  Sums all;
  double learnt = 0;  // sets with something to learn; an empty one has no loss
  struct Group {
    Sums sums;
    double means = 0;
    double sets = 0;
  };
  std::map<std::string, Group> tags;
  double means = 0;
  for (auto& set : data.sets) {
    auto sums = sums_of(model, *set.rows, data.shape, s, mesh, most);
    if (sums.tokens == 0) continue;
    all += sums;
    learnt += 1;
    means += sums.mean();
    of_sets.push_back({"eval/" + set.name + "/loss", sums.mean()});
    add_more(of_sets, "eval/" + set.name + "/", sums, model, data.shape);
    for (auto& tag : set.tags) {
      auto& group = tags[tag];
      group.sums += sums, group.means += sums.mean(), group.sets += 1;
    }
  }
  if (data.sets.empty()) all = sums_of(model, *data.held_out, data.shape, s, mesh, most);
  check<ConfigError>(all.tokens > 0, "eval: nothing is learnt in the held-out rows that are read, as where all of them "
                     "are prompts; raise eval.rows (", s.eval.rows, ") or data.hold_out");
  values.push_back({"eval/loss", all.mean()});
  add_more(values, "eval/", all, model, data.shape);
  if (data.sets.empty()) return values;
  values.push_back({"eval/macro_loss", means / learnt});
  values.insert(values.end(), of_sets.begin(), of_sets.end());
  for (auto& [tag, group] : tags) {
    auto name = "eval/tag/" + tag + "/";
    values.push_back({name + "micro_loss", group.sums.mean()});
    values.push_back({name + "macro_loss", group.means / group.sets});
    add_more(values, name, group.sums, model, data.shape);
  }
  return values;
}
/// Throws ConfigError: the evaluation has no such number.
double value_of(const track::Values& values, const std::string& metric, std::string_view key = "eval.metric") {
  std::string names;
  for (auto& [name, x] : values) {
    auto word = name.substr(name.find('/') + 1);  // behind "eval/"
    if (word == metric) {
      check<ConfigError>(!grows(metric), key, ": ", metric, " grows as the model learns, and the lowest number is "
                         "watched; choose loss");
      return x;
    }
    names += (names.empty() ? "" : ", ") + word;
  }
  fail<ConfigError>(key, ": an evaluation has no '", metric, "'; it has ", names);
}
class Evaluation final : public LoopHook {
 public:
  /// A new run makes a small one. A continued run makes up for one that a signal kept it from; else it has this step's
  /// in its record and only prints it again, which ranks that go on after a loss leave out.
  void begin(Run& run) override {
    if (run.unevaluated) {
      evaluate_step(run, !in_record(run));
      run.stored = -1;  // that checkpoint does not know of it
      run.say("val loss: " + last_);
      return end_if_due(run);
    }
    if (run.continued && (run.met_before() || run.last())) return;  // the end measures it
    auto loss = run.continued ? measure(run, false) : measure(run, true, kFirstBatches * run.settings.batch);
    for (auto part : {run.model.parameters(), run.model.base()})
      if (auto bad = finite_ ? std::nullopt : first_not_finite(part))
        fail<ValueError>("training: the validation loss before the first step is not finite: ", to_string(*bad));
    run.say("val loss: " + loss);
  }
  void after_step(Run& run, const StepReport& r) override {
    auto& eval = run.settings.eval;
    run.is_best = false;
    run.meet_last();
    run.moved = run.moved || !r.meeting.empty();
    if (eval.every == 0 || r.step % eval.every != 0) return;
    run.unevaluated = run.interrupted();  // a stop is to be quick, and so is leaving: a host may be drained
    if (run.unevaluated) return;
    bool last = run.last();
    if (last && run.settings.checkpoint.needs_evaluations().empty()) return;  // the end measures it
    evaluate_step(run, true);
    if (!last) run.say("step " + std::to_string(r.step) + "  val loss " + last_);
    if (!last) end_if_due(run);
  }
  void end(Run& run) override {
    if (run.interrupted()) return;
    bool known = at_ == run.done && of_last_meeting_ == run.met_last;
    run.say("val loss: " + (known ? last_ : measure(run, !in_record(run))));
  }

 private:
  std::string last_;    // the loss of step at_
  double watched_ = 0;  // its number that is to become lower
  std::int64_t at_ = -1;
  bool of_last_meeting_ = false;  // Run::met_last then
  bool finite_ = true;  // the last loss
  /// True if the run was lost after it had recorded this step's evaluation, and before its next checkpoint or its end:
  /// the ranks measure again, as they know nothing of the numbers, but their row stands there.
  static bool in_record(const Run& run) {
    return run.continued && run.mesh.rank() == 0 && run.recorded("eval/seconds") == run.done;
  }
  void evaluate_step(Run& run, bool recorded) {
    last_ = measure(run, recorded);
    at_ = run.done;
    of_last_meeting_ = run.met_last;
    run.unevaluated = false;
    // Between two meetings of replicas their model stays as it is, which is no sign that they learn no more.
    if (run.moved) run.is_best = run.best.see(watched_, run.done, run.settings.eval.min_delta);
    run.moved = !run.model.notes(run.done).contains("local.every");
  }
  void end_if_due(Run& run) {
    auto& eval = run.settings.eval;
    if (eval.patience == 0 || run.best.since < eval.patience) return;
    run.say("no lower " + (eval.metric == "loss" ? "validation loss" : eval.metric) + " in " +
            std::to_string(run.best.since) + " evaluations since step " + std::to_string(run.best.step) + " (" +
            number_text(run.best.loss) + "): the run ends");
    run.wants_stop = true;
    run.meet_last();
    if (of_last_meeting_ != run.met_last) evaluate_step(run, true);
  }
  std::string measure(Run& run, bool recorded, std::int64_t most = kAll) {
    run.watchdog.at("the evaluation after step " + std::to_string(run.done));
    auto begin = Clock::now();
    if (run.at_once) run.at_once->begin_evaluation();
    auto values = rounded(measured(run.model, run.data, run.settings, run.mesh, most));
    if (run.at_once) run.at_once->end_evaluation();
    auto loss = values[0].second;
    finite_ = std::isfinite(loss);
    watched_ = value_of(values, run.settings.eval.metric);
    if (std::isfinite(watched_)) watched_ = std::stod(number_text(watched_));  // as its record is read again
    if (auto& kept = run.settings.checkpoint.keep.best; kept.n > 0)
      (void)value_of(values, kept.metric.substr(kept.metric.find('/') + 1), "checkpoint.keep.best.metric");
    run.note_numbers(values);
    values.insert(values.begin() + 1, {"eval/seconds", seconds_since(begin)});
    if (recorded) run.record(values);
    if (!finite_)
      run.alert("not_finite", "the validation loss after step " + std::to_string(run.done) + " is not finite");
    return number_text(loss);
  }
};
}  // namespace
LoopHookPtr evaluation_hook() { return std::make_unique<Evaluation>(); }
}  // namespace training

double evaluate(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  return training::measured(model, data, s, mesh, training::kAll)[0].second;
}
track::Values evaluation(Trainable& model, const data::Datasets& data, const LoopSettings& s, const Mesh& mesh) {
  return training::rounded(training::measured(model, data, s, mesh, training::kAll));
}
}  // namespace bora
