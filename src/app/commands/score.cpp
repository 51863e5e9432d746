// Log-likelihoods of continuations.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/pairs.h"
#include "bora/job/trained_run.h"

namespace bora::app {
namespace {
struct Score {
  static constexpr std::string_view name = "score",
                                    help = "log-likelihoods of continuations, a pair a line of JSON";
  static constexpr Row row{.place = 42, .launched = true};
  TrainedRun words = {};
  std::string pairs = {};

  void declare(Flags& flags) {
    flags.add("RUN", words.run, "folder of the run, or of Hugging Face's, or FILE.gguf").required().names(Names::input);
    flags
        .add("PAIRS", pairs,
             "a file with a line {\"context\": .., \"continuation\": ..} a pair, which become tokens as "
             "lm-evaluation-harness makes them")
        .required()
        .names(Names::input);
    flags.add("settings", words.settings, "key=value ...").names(Names::nothing);
    declare_weights(flags, words);
    declare_resume(flags, words.resume, {"latest", "good", "best"},
                   "which checkpoint: latest (default), good: the newest that is whole, best: of the lowest validation "
                   "loss (checkpoint.best)");
  }
  int run() const {
    auto scores = score_pairs(words, pairs, name);
    if (scores.rank != 0) return 0;
    JsonWriter w;
    for (std::size_t i = 0; i < scores.all.size(); ++i) {
      auto& s = scores.all[i];
      w.object()("index", i)("logprob", s.logprob)("tokens", s.tokens)("greedy", s.greedy);
      w("bits_per_byte", s.bits_per_byte).end();
      auto line = w.take();
      check<IoError>(std::fwrite(line.data(), 1, line.size(), stdout) == line.size(),
                     "cannot write to standard output: it is full or closed");
    }
    return 0;
  }
};
}  // namespace
template const bool added<Score>;
}  // namespace bora::app
