// The loss of a model that was trained on held-out text.
#include <cstdio>
#include "app/commands.h"
#include "app/job.h"
#include "app/model.h"
#include "app/options.h"
#include "app/run.h"
#include "app/settings.h"
#include "bora/base/json.h"
#include "bora/data/data.h"
#include "bora/shard/mesh.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"

namespace bora::app {
namespace {
struct Eval {
  static constexpr std::string_view name = "eval";
  static constexpr std::string_view help =
      "loss of a run's newest checkpoint, or of a folder of Hugging Face's, on held-out text";
  static constexpr Row row{.place = 40, .launched = true};
  RunWords words = {};

  void declare(Flags& flags) { words.declare(flags); }
  int run() const {
    auto s = settings_on_job(words, name);
    check_settings(s);
    auto tokenizer = s.tokenizer->open();
    check_folder_of(words, s, *tokenizer);
    check_rows(s, *tokenizer);
    return on_mesh({s, *tokenizer, "eval"}, [&](const Mesh& mesh) {
      auto folder = find_checkpoint(words, mesh);
      // Adapters are read into the weights.
      auto model = trainable_of(s, *tokenizer, mesh.shape(), {.tuned = false, .init = true});
      read_parameters(model->parameters(), folder, s, words, mesh);
      auto loop = loop_settings(s, mesh.shape(), tokenizer);
      auto values = evaluation(*model, open_data(s, tokenizer, mesh), loop, mesh);
      if (mesh.rank() != 0) return 0;
      std::printf("checkpoint: %s\nval loss: %s\n", folder.c_str(), number_text(values[0].second).c_str());
      for (auto value = values.begin() + 1; value != values.end(); ++value)
        std::printf("%s: %s\n", std::string(value->first).c_str(), number_text(value->second).c_str());
      return 0;
    });
  }
};
}  // namespace
template const bool added<Eval>;
}  // namespace bora::app
