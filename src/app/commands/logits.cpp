// The scores of all tokens after each position, for scripts and tests.
#include <filesystem>
#include "app/commands.h"
#include "bora/io/npy.h"
#include "bora/job/scoring.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
struct Logits {
  static constexpr std::string_view name = "logits",
                                    help = "scores of all tokens after each position, from ids in a .npy file";
  static constexpr Row row{.place = 44, .launched = true};
  ScoreFiles words = {};
  std::string out = {};

  void declare(Flags& flags) {
    declare_files(flags, words);
    flags.add("--out", out, "the .npy file to write: f32 [batch, position, vocabulary]")
        .required()
        .names(Names::output);
  }
  int run() const {
    if (transport::config_from_environment().rank == 0) {  // the rank that writes it
      auto place = fs::absolute(out).parent_path();
      check<ConfigError>(fs::is_directory(place), "--out ", out, ": there is no folder ", place.string());
      check<ConfigError>(!fs::is_directory(out), "--out ", out, " is a folder; give a .npy file in it");
    }
    return on_example(words, {}, name, [&](models::Scorer& model, const training::Example& e, const Mesh& mesh) {
      auto whole = all_scores(model, e);
      if (mesh.rank() == 0) save_npy(out, whole);
      return 0;
    });
  }
};
}  // namespace
template const bool added<Logits>;
}  // namespace bora::app
