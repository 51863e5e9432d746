// A model with weights of 8 or 4 bits as a folder for other programs.
#include "app/commands.h"
#include "bora/job/hugging_face.h"
#include "bora/job/trained_run.h"

namespace bora::app {
namespace {
struct Quantize {
  static constexpr std::string_view name = "quantize";
  static constexpr std::string_view help =
      "write a run or folder with weights of 8 or 4 bits, as compressed-tensors (pack-quantized), which transformers "
      "loads";
  static constexpr Row row{.place = 59, .launched = true};
  TrainedRun words = {};
  ExportOptions options = {.dtype = "bf16", .weights = "int4"};

  void declare(Flags& flags) {
    flags.add("RUN", words.run, "folder of a run, or of Hugging Face's").required().names(Names::input);
    flags.add("DIR", options.to, "folder to write; it must be empty if it exists").required().names(Names::folder);
    flags.add("settings", words.settings, "key=value ...").names(Names::nothing);
    flags
        .add("--weights", options.weights,
             "of linear layers: integers of 8 or 4 bits with a scale for each 32 (128) inputs; tables of tokens and "
             "the head are bf16")
        .one_of({"int8", "int4", "int4:128"});
    flags.add("--shard-bytes", options.shard_bytes, "most bytes of tensors in a file; 0: one file").not_negative();
    declare_resume(flags, words.resume, {"latest", "good", "best"}, "which checkpoint: latest (default), good, best");
  }
  int run() const { return export_run(words, options); }
};
}  // namespace
template const bool added<Quantize>;
}  // namespace bora::app
