// The loss of labels, for scripts and tests.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/scoring.h"
#include "bora/shard/mesh.h"

namespace bora::app {
namespace {
struct Loss {
  static constexpr std::string_view name = "loss", help = "mean loss of labels, from ids and labels in .npy files";
  static constexpr Row row{.place = 46, .launched = true};
  ScoreFiles words = {};
  std::string labels = {};

  void declare(Flags& flags) {
    declare_files(flags, words);
    flags
        .add("--labels", labels,
             "a .npy file, i32 or i64 [batch, position]; -100 does not count. A decoder alone predicts each "
             "label from the positions before it, an encoder alone where it stands")
        .required()
        .names(Names::input);
  }
  int run() const {
    return on_example(words, labels, name, [&](models::Scorer& model, const training::Example& e, const Mesh& mesh) {
      auto loss = mean_loss(model, e);
      if (mesh.rank() == 0) std::printf("loss: %s\n", number_text(loss).c_str());
      return 0;
    });
  }
};
}  // namespace
template const bool added<Loss>;
}  // namespace bora::app
