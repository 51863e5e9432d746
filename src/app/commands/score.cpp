// Log-likelihoods of continuations, and answers to the questions of tasks.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/pairs.h"
#include "bora/job/task_scores.h"
#include "bora/job/trained_run.h"

namespace bora::app {
namespace {
void print(JsonWriter& w) {
  auto line = w.take();
  check<IoError>(std::fwrite(line.data(), 1, line.size(), stdout) == line.size(),
                 "cannot write to standard output: it is full or closed");
}
struct Score {
  static constexpr std::string_view name = "score",
                                    help = "log-likelihoods of continuations, or the scores of tasks, as lines of JSON";
  static constexpr Row row{.place = 42, .launched = true};
  TrainedRun words = {};
  std::string pairs = {};
  std::vector<std::string> tasks = {};

  void declare(Flags& flags) {
    flags.add("RUN", words.run, "folder of the run, or of Hugging Face's, or FILE.gguf").required().names(Names::input);
    flags
        .add("PAIRS", pairs,
             "a file with a line {\"context\": .., \"continuation\": ..} a pair, which become tokens as "
             "lm-evaluation-harness makes them; not with --tasks")
        .names(Names::input);
    flags.add("settings", words.settings, "key=value ...").names(Names::nothing);
    flags
        .add("--tasks", tasks,
             "a file with a line {\"context\": .., \"choices\": [..], \"answer\": 0} or {\"context\": .., \"answer\": "
             "..} a question; several times: several. A line a file: acc, acc_norm, exact_match")
        .names(Names::input)
        .one_value();
    declare_weights(flags, words);
    declare_resume(flags, words.resume, {"latest", "good", "best"},
                   "which checkpoint: latest (default), good: the newest that is whole, best: of the lowest validation "
                   "loss (checkpoint.best)");
    declare_ema(flags, words);
  }
  void settle() {
    if (!tasks.empty() && is_setting(pairs)) {  // it stands where PAIRS could
      words.settings.insert(words.settings.begin(), pairs);
      pairs.clear();
    }
    check<ConfigError>(!pairs.empty() || !tasks.empty(), "score: PAIRS is required, or --tasks FILE");
    check<ConfigError>(pairs.empty() || tasks.empty(), "score: give PAIRS or --tasks, not both");
  }
  int run() const { return tasks.empty() ? run_pairs() : run_tasks(); }
  int run_pairs() const {
    auto scores = score_pairs(words, pairs, name);
    if (scores.rank != 0) return 0;
    JsonWriter w;
    for (std::size_t i = 0; i < scores.all.size(); ++i) {
      auto& s = scores.all[i];
      w.object()("index", i)("logprob", s.logprob)("tokens", s.tokens)("greedy", s.greedy);
      w("bits_per_byte", s.bits_per_byte).end();
      print(w);
    }
    return 0;
  }
  int run_tasks() const {
    auto scores = score_tasks(words, tasks, name);
    JsonWriter w;
    for (auto& s : scores.all) {  // on rank 0
      w.object()("task", s.task)("items", s.items);
      for (auto& m : s.metrics) {
        w(m.name, m.value);
        w(m.name + "_stderr", m.standard_error);
      }
      w.end();
      print(w);
    }
    return 0;
  }
};
}  // namespace
template const bool added<Score>;
}  // namespace bora::app
