// The classes of lines.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/texts.h"
#include "bora/job/trained_run.h"
#include "bora/text/line_filter.h"

namespace bora::app {
namespace {
struct Classify {
  static constexpr std::string_view name = "classify",
                                    help = "the class of each line of stdin, by an encoder: classify RUN < TEXTS";
  static constexpr Row row{.place = 48};
  TrainedRun words = {};

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
  }
  int run() const {
    auto all = classify_texts(words, text::lines_of_stdin(name), name);
    JsonWriter w;
    for (std::size_t i = 0; i < all.texts.size(); ++i) {
      auto& said = all.texts[i];
      w.object()("index", i);
      if (all.of_words) {
        w("labels").list();
        for (auto& word : said) w.add(word.label);
        w.end();
      } else if (all.numbers) w("value", said.at(0).value);
      else w("label", said.at(0).label)("probability", said.at(0).probability);
      w.end();
      auto line = w.take();
      check<IoError>(std::fwrite(line.data(), 1, line.size(), stdout) == line.size(),
                     "cannot write to standard output: it is full or closed");
    }
    return 0;
  }
};
}  // namespace
template const bool added<Classify>;
}  // namespace bora::app
