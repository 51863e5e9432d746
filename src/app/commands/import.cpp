// A folder of Hugging Face's as the beginning of a run.
#include "app/commands.h"
#include "bora/job/hugging_face.h"

namespace bora::app {
namespace {
struct Import {
  static constexpr std::string_view name = "import";
  static constexpr std::string_view help =
      "make a run of a folder of Hugging Face's: its settings, a checkpoint at step 0 and the tokenizer's files";
  static constexpr Row row{.place = 56, .launched = true};
  std::string from = {}, run_folder = {};
  std::vector<std::string> settings = {}, tokens = {};

  void declare(Flags& flags) {
    flags.add("DIR", from, "a folder with config.json and model.safetensors, or its shards and index; or FILE.gguf")
        .required()
        .names(Names::input);
    flags.add("RUN", run_folder, "folder of the run, without checkpoints")
        .required()
        .names(Names::imported);
    flags.add("settings", settings, "key=value ..., for training: data=FILE, optimizer.type=lion, ..")
        .names(Names::nothing);
    flags.add("--add-token", tokens,
              "a special token that tokenizer.json gets, such as '<|user|>'; its rows begin as the mean of the others; "
              "may be given several times")
        .one_value()
        .names(Names::nothing);
  }
  int run() const { return import_run(from, run_folder, settings, tokens); }
};
}  // namespace
template const bool added<Import>;
}  // namespace bora::app
