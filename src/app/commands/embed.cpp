// The vectors of lines.
#include <cstdio>
#include "app/commands.h"
#include "bora/array/array.h"
#include "bora/job/texts.h"
#include "bora/job/trained_run.h"
#include "bora/text/line_filter.h"
#include "io/api/npy.h"

namespace bora::app {
namespace {
struct Embed {
  static constexpr std::string_view name = "embed";
  static constexpr std::string_view help =
      "vectors of the lines of stdin, by an encoder, as a .npy file: embed RUN < TEXTS > X.npy";
  static constexpr Row row{.place = 49};
  TrainedRun words = {};
  std::string pool = "mean";
  bool normalize = false;

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
    flags
        .add("--pool", pool,
             "the vector of a text: mean (default) of its tokens, or that of the first one, as [CLS]")
        .one_of({"mean", "first"});
    flags.add("--normalize", normalize, "vectors have length 1");
  }
  int run() const {
    EmbedOptions options{.pool = pool == "first" ? Pooling::first : Pooling::mean, .normalize = normalize};
    auto bytes = io::npy_bytes(embed_texts(words, text::lines_of_stdin(name), options, name));
    check<IoError>(std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size(),
                   "cannot write to standard output: it is full or closed");
    return 0;
  }
};
}  // namespace
template const bool added<Embed>;
}  // namespace bora::app
