// Generates text from a trained model, one token at a time.
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include "app/commands.h"
#include "bora/data/around.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/prompt.h"
#include "bora/job/sampling.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"

namespace bora::app {
namespace {
struct Generate {
  static constexpr std::string_view name = "generate",
                                    help = "text from a run's newest checkpoint, or from a folder of Hugging Face's";
  static constexpr Row row{.place = 50, .launched = true};
  TrainedRun words = {};
  std::string prompt = {}, system = {}, chat_template = {}, date = "now";
  std::int64_t length = 300, seed = 0;
  Sampling sampling = {};
  bool chat = false, no_special = false;

  void declare(Flags& flags) {
    declare_run(flags, words);
    flags.add("--prompt", prompt, "text to begin with; of a model with an encoder, its input").names(Names::nothing);
    flags.add("--length", length, "tokens to add at most; the tokenizer's end of text is the end");
    flags.add("--temperature", sampling.temperature, "0: the most likely token each time");
    flags.add("--top-k", sampling.top_k, "choose among the k most likely; 0: all");
    flags.add("--top-p", sampling.top_p, "choose among the fewest that have this part of the probability; 1: all");
    flags.add("--seed", seed, "another seed, another text");
    flags.add("--no-special", no_special, "a folder's prompt without the tokens that its tokenizer puts around a text");
    flags.add("--chat", chat,
              "the prompt is what a user says, in the run's chat template; without one, each line of stdin");
    flags.add("--system", system, "with --chat: what is said before the first turn").names(Names::nothing);
    flags.add("--chat-template", chat_template, "its name, a file, or a folder with a tokenizer; means --chat")
        .names(Names::input);
    flags.add("--date", date, "the day for chat templates that write one, YYYY-MM-DD, or now")
        .names(Names::nothing);
  }
  void settle() {
    chat = chat || !chat_template.empty();
    check<ConfigError>(sampling.temperature >= 0, "--temperature: must be 0 or more, got ", sampling.temperature);
    check<ConfigError>(sampling.top_p > 0 && sampling.top_p <= 1, "--top-p: must be above 0, and at most 1, got ",
                       sampling.top_p);
    check<ConfigError>(chat || system.empty(), "--system: belongs to --chat");
    constexpr auto most = std::numeric_limits<std::int64_t>::max();  // CLI11 gives this for larger numbers too
    for (auto [flag, value] : {std::pair{"--top-k", sampling.top_k}, {"--length", length}, {"--seed", seed}})
      check<ConfigError>(value >= 0 && value < most, flag, ": must be 0 or more, and below 2^63 - 1");
  }
  int run() const;
};

/// Writes texts of one model, token by token.
class Writer {
 public:
  Writer(const Generate& g, const Settings& s, const Mesh& mesh, std::shared_ptr<const text::Tokenizer> tokenizer)
      : g_(g), settings_(s), mesh_(mesh), tokenizer_(std::move(tokenizer)), ends_(end_ids(g.words, *tokenizer_)) {
    auto folder = find_checkpoint(g.words, mesh);
    auto pick = g.sampling;
    pick.tokens = tokenizer_->size();
    model_ = generator_of(s, *tokenizer_, mesh.shape(), pick);
    read_parameters(*model_, folder, s, g.words, mesh);
    positions_ = s.model->positions();
  }
  void write(const std::string& text) {
    if (mesh_.rank() != 0) return;
    wrote_ = true;
    bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    check<IoError>(written, "cannot write to standard output: it is full or closed");
  }
  /// The encoder's inputs.
  void read(std::vector<std::int32_t> ids) {
    auto end = tokenizer_->end_of_text();
    if (end && (ids.empty() || ids.back() != *end)) ids.push_back(*end);
    model_->read(ids);
    has_inputs_ = true;
  }
  /// Writes what follows these tokens, up to `until`. Returns it.
  std::string go_on(std::vector<std::int32_t> ids, Until until) {
    text::StreamDecoder decoder(tokenizer_);
    if (!has_inputs_)
      for (auto id : ids) (void)decoder.next(id);  // the prompt, before which a decoder may drop a space
    std::string all;
    auto give = [&](const std::string& text) {
      write(text);
      all += text;
    };
    std::int64_t seen = 0;  // tokens that the model has seen since it began
    for (std::int64_t i = 0; i < g_.length && !until.ended(); ++i) {
      auto n = std::min(positions_, static_cast<std::int64_t>(ids.size()));
      if (seen == positions_ && has_inputs_) break;
      if (seen == positions_) model_->restart(), seen = 0;  // the window moves: every token gets another position
      std::vector<std::int32_t> unseen(seen ? ids.end() - 1 : ids.end() - n, ids.end());
      seen += static_cast<std::int64_t>(unseen.size());
      auto token = model_->next(unseen, draw_key(g_.seed, drawn_++, n - 1));
      ids.push_back(token.item<std::int32_t>());
      if (ids.back() == Sampling::kNotFinite) {
        if (wrote_) write("\n");
        fail_not_finite("generate: the scores of the next token are not finite", *model_, settings_);
      }
      if (ends_.contains(ids.back())) break;
      give(until.next(decoder.next(ids.back())));
    }
    give(until.next(decoder.finish()));
    give(until.finish());
    write("\n");
    return all;
  }
  /// Answers turns; returns the answer to the last one.
  std::string answer(const text::ChatTemplate& layout, const std::vector<text::Turn>& turns) {
    auto a = asked(layout, turns);
    data::Around around(*tokenizer_);
    std::vector<std::int32_t> ids;
    for (auto& part : a.parts) {
      auto more = around.without_begin(around.without_end(tokenizer_->encode(part.text, {.said = part.said})));
      ids.insert(ids.end(), more.begin(), more.end());
    }
    model_->restart();
    return go_on(std::move(ids), Until(a.end));
  }

 private:
  const Generate& g_;
  const Settings& settings_;
  const Mesh& mesh_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::set<std::int32_t> ends_;
  std::unique_ptr<models::Generator> model_;
  std::int64_t positions_ = 0, drawn_ = 0;
  bool has_inputs_ = false, wrote_ = false;
};
/// A conversation: a user's turns line by line, and the answers.
void converse(Writer& writer, const text::ChatTemplate& layout, std::vector<text::Turn> turns) {
  bool asks = ::isatty(STDIN_FILENO) == 1;
  for (std::string line;;) {
    if (asks) std::fputs("> ", stderr);
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    turns.push_back({"user", line});
    turns.push_back({"assistant", writer.answer(layout, turns)});
  }
}

int Generate::run() const {
  auto s = settings_on_job(words, name);
  auto tokenizer = s.tokenizer->open();
  check_folder_of(words, s, *tokenizer);
  auto start = s.model->decoder_start();
  std::optional<text::ChatTemplate> layout;
  std::vector<text::Turn> turns;
  std::vector<std::int32_t> ids;
  if (chat) {
    check<ConfigError>(!start, "--chat: a model with an encoder has no turns");
    layout = chat_template_for(words, s, chat_template).on(date);
    if (!system.empty()) turns.push_back({"system", system});
    auto first = turns;
    first.push_back({"user", prompt});
    (void)asked(*layout, first);
  } else {
    ids = prompt_ids(words, s, *tokenizer, prompt, !no_special);
    check<ConfigError>(!ids.empty(), "--prompt: it has no token; a model begins with one or more");
  }
  return on_mesh({s, tokenizer, "generate"}, [&](const Mesh& mesh) {
    check<ConfigError>(!chat || !prompt.empty() || mesh.size() == 1,
                       "--chat: turns from standard input need one process; with more of them give --prompt");
    Writer writer(*this, s, mesh, tokenizer);
    if (chat && prompt.empty()) converse(writer, *layout, turns);
    else if (chat) {
      turns.push_back({"user", prompt});
      writer.answer(*layout, turns);
    } else if (start) {
      writer.read(ids);
      writer.go_on({*start}, Until(""));
    } else {
      if (!prompt.empty()) writer.write(prompt);
      writer.go_on(ids, Until(""));
    }
    return 0;
  });
}
}  // namespace
template const bool added<Generate>;
}  // namespace bora::app
