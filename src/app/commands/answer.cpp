// Answers to questions, of texts.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/job/texts.h"
#include "bora/job/trained_run.h"
#include "bora/text/line_filter.h"

namespace bora::app {
namespace {
struct Answer {
  static constexpr std::string_view name = "answer";
  static constexpr std::string_view help =
      "answers that stand in texts, to questions on stdin, by an encoder: answer RUN < QUESTIONS.jsonl";
  static constexpr Row row{.place = 47};
  TrainedRun words = {};
  std::int64_t overlap = 128;

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
    flags.add("--overlap", overlap, "tokens that two parts of a long context share, at most half of a row's")
        .not_negative();
  }
  int run() const {
    auto all = find_answers(words, read_questions(text::lines_of_stdin(name), name), overlap, name);
    JsonWriter w;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto& a = all[i];
      w.object()("index", i)("answer", a.text)("start", a.start)("end", a.end)("score", a.score).end();
      auto line = w.take();
      check<IoError>(std::fwrite(line.data(), 1, line.size(), stdout) == line.size(),
                     "cannot write to standard output: it is full or closed");
    }
    return 0;
  }
};
}  // namespace
template const bool added<Answer>;
}  // namespace bora::app
