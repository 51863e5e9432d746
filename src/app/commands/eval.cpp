// The loss of a model that was trained on held-out text.
#include <cmath>
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/job.h"
#include "bora/job/trained_run.h"

namespace bora::app {
namespace {
struct Eval {
  static constexpr std::string_view name = "eval";
  static constexpr std::string_view help =
      "loss, perplexity and bits per byte of a run, or of a folder of Hugging Face's, on held-out text";
  static constexpr Row row{.place = 40, .launched = true};
  TrainedRun words = {};

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
  }
  int run() const {
    auto e = evaluate(words);
    if (e.rank != 0) return 0;
    auto loss = e.values[0].second;
    std::printf("checkpoint: %s\nval loss: %s\n", e.checkpoint.c_str(), number_text(loss).c_str());
    if (auto perplexity = static_cast<float>(std::exp(loss)); std::isfinite(perplexity) && !e.pairs)
      std::printf("perplexity: %s\n", number_text(static_cast<double>(perplexity)).c_str());
    for (auto value = e.values.begin() + 1; value != e.values.end(); ++value)
      std::printf("%s: %s\n", std::string(value->first).c_str(), number_text(value->second).c_str());
    return 0;
  }
};
}  // namespace
template const bool added<Eval>;
}  // namespace bora::app
