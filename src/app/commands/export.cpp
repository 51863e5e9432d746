// A model that was trained as a folder for other programs.
#include "app/commands.h"
#include "bora/job/hugging_face.h"
#include "bora/job/trained_run.h"

namespace bora::app {
namespace {
struct Export {
  static constexpr std::string_view name = "export";
  static constexpr std::string_view help =
      "write a run's newest checkpoint as a folder of Hugging Face's, which transformers loads";
  static constexpr Row row{.place = 58, .launched = true};
  TrainedRun words = {};
  ExportOptions options = {};

  void declare(Flags& flags) {
    flags.add("RUN", words.run, "folder of the run, or of Hugging Face's, or FILE.gguf").required().names(Names::input);
    flags.add("DIR", options.to, "folder to write; it must be empty if it exists")
        .required()
        .names(Names::folder);
    flags.add("settings", words.settings, "key=value ...").names(Names::nothing);
    flags
        .add("--format", options.format,
             "hf: config.json, safetensors, the tokenizer's files; peft: the adapters alone (lora)")
        .one_of({"hf", "peft"});
    flags.add("--dtype", options.dtype, "of all tensors: f32 or bf16; unless given, that of the run's parameters")
        .one_of({"f32", "bf16"});
    flags.add("--shard-bytes", options.shard_bytes, "most bytes of tensors in a file; 0: one file").not_negative();
    declare_resume(flags, words.resume, {"latest", "good"},
                   "which checkpoint: latest (default), good: the newest that is whole");
    declare_ema(flags, words);
  }
  int run() const { return export_run(words, options); }
};
}  // namespace
template const bool added<Export>;
}  // namespace bora::app
