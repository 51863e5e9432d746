// Generates texts from a trained model.
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include "app/commands.h"
#include "bora/job/trained_run.h"
#include "serve/api/texts.h"

namespace bora::app {
namespace {
/// Flags of Choosing.
struct Picking {
  double temperature = 1, top_p = 1, min_p = 0, typical_p = 1, repetition_penalty = 1, presence_penalty = 0,
         frequency_penalty = 0;
  std::int64_t top_k = 0;

  void declare(Flags& flags) {
    flags.add("--temperature", temperature, "0: the most likely token each time");
    flags.add("--top-k", top_k, "choose among the k most likely; 0: all");
    flags.add("--top-p", top_p, "choose among the fewest that have this part of the probability; 1: all");
    flags.add("--min-p", min_p, "choose among those with this part of the likeliest one's probability; 0: all");
    flags.add("--typical-p", typical_p, "choose among the most typical that have this part of the probability; 1: all");
    flags.add("--repetition-penalty", repetition_penalty, "above 1: less of the tokens of prompt and text");
    flags.add("--presence-penalty", presence_penalty, "above 0: less of the tokens of the text");
    flags.add("--frequency-penalty", frequency_penalty, "the same, for each time that a token is there");
  }
  generate::Choosing choosing() const {
    return {.temperature = temperature,
            .top_k = top_k,
            .top_p = top_p,
            .min_p = min_p,
            .typical_p = typical_p,
            .repetition_penalty = repetition_penalty,
            .presence_penalty = presence_penalty,
            .frequency_penalty = frequency_penalty};
  }
  void check() const {
    try {
      generate::check(choosing());
    } catch (const ValueError& e) {  // it begins with the field's name
      auto text = e.text();
      std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(':')), '_', '-');
      fail<ConfigError>("--", text);
    }
  }
};
struct Generate {
  static constexpr std::string_view name = "generate",
                                    help = "text from a run's newest checkpoint, or from a folder of Hugging Face's";
  static constexpr Row row{.place = 50, .launched = true};
  TrainedRun words = {};
  std::string prompt = {}, prompts = {}, system = {}, chat_template = {}, date = "now";
  std::int64_t length = 300, seed = 0, n = 1, beams = 0, cache_bytes = 0, step_tokens = 256, rows = 32,
               lookup = 0;
  std::optional<int> logprobs = {};
  Picking sampling = {};
  std::vector<std::string> stop = {};
  bool chat = false, no_special = false, json = false, shift = false;

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
    flags.add("--prompt", prompt, "text to begin with; of a model with an encoder, its input").names(Names::nothing);
    flags.add("--prompts", prompts,
              "a file of many: each line an object of JSON with prompt or messages, and any field of a request to "
              "`bora serve`; flags are for lines that do not say otherwise")
        .names(Names::input);
    flags.add("--json", json, "a line of JSON for each prompt: index, choices, usage, seed; with --prompts always");
    flags.add("--length", length, "tokens to add at most; the tokenizer's end of text is the end, and the window's is");
    sampling.declare(flags);
    flags.add("--seed", seed, "another seed, another text");
    flags.add("--n", n, "texts for each prompt, with --json");
    flags.add("--beams", beams, "search the likeliest text, with so many beams; 0: draw it");
    flags.add("--stop", stop, "a text that ends the answer, and is not in it; several times: several")
        .names(Names::nothing)
        .one_value();
    flags.add("--logprobs", logprobs, "with --json: log-probabilities of each token, and of so many others")
        .between(0, 20);
    flags.add("--no-special", no_special, "a folder's prompt without the tokens that its tokenizer puts around a text");
    flags.add("--chat", chat,
              "the prompt is what a user says, in the run's chat template; without one, each line of stdin");
    flags.add("--system", system, "with --chat: what is said before the first turn").names(Names::nothing);
    flags.add("--chat-template", chat_template, "its name, a file, or a folder with a tokenizer; means --chat")
        .names(Names::input);
    flags.add("--date", date, "the day for chat templates that write one, YYYY-MM-DD, or now")
        .names(Names::nothing);
    flags.add("--shift", shift, "beyond the model's window the text goes on: the window moves, for each token anew");
    declare_cache(flags, words, cache_bytes);
    flags.add("--step-tokens", step_tokens, "of a step at most: what decodes, and pieces of prompts");
    flags.add("--rows", rows, "texts that grow at the same time, at most");
    flags.add("--lookup", lookup, "tokens that a step may guess from the text so far, where it repeats itself; 0: none")
        .between(0, 64);
  }
  void settle() {
    json = json || !prompts.empty();
    chat = chat || (!chat_template.empty() && prompts.empty());
    sampling.check();
    check<ConfigError>(chat || system.empty(), "--system: belongs to --chat");
    constexpr auto most = std::numeric_limits<std::int64_t>::max();  // CLI11 gives this for larger numbers too
    for (auto [flag, value] : {std::pair{"--length", length}, {"--seed", seed}, {"--cache-bytes", cache_bytes}})
      check<ConfigError>(value >= 0 && value < most, flag, ": must be 0 or more, and below 2^63 - 1");
    for (auto [flag, value, least] : {std::tuple{"--n", n, 1}, {"--beams", beams, 0}})
      check<ConfigError>(value >= least && value <= 128, flag, ": must be from ", least, " to 128, got ", value);
    for (auto [flag, value] : {std::pair{"--step-tokens", step_tokens}, {"--rows", rows}})
      check<ConfigError>(value >= 1 && value < 1 << 20, flag, ": must be from 1 to 2^20 - 1, got ", value);
    for (auto& text : stop) check<ConfigError>(!text.empty(), "--stop: an empty text ends nothing");
    check<ConfigError>(prompts.empty() || (prompt.empty() && !chat), "--prompts: its lines are the prompts; leave out ",
                       chat ? "--chat" : "--prompt");
    check<ConfigError>(json || (n == 1 && !logprobs), n == 1 ? "--logprobs" : "--n", ": is written with --json");
    check<ConfigError>(!json || !chat || !prompt.empty(), "--json: give --prompt, or --prompts with messages");
    check<ConfigError>(!shift || (!json && beams == 0 && stop.empty() && sampling.choosing().min_p == 0 &&
                                  sampling.typical_p == 1 && sampling.repetition_penalty == 1 &&
                                  sampling.presence_penalty == 0 && sampling.frequency_penalty == 0),
                       "--shift: takes --temperature, --top-k, --top-p, --seed and --chat, and no other way to choose "
                       "or to write");
    check<ConfigError>(lookup == 0 || (beams == 0 && !shift), "--lookup: not with ", shift ? "--shift" : "--beams",
                       ", which computes a text in another way");
    check<ConfigError>(beams == 0 || !chat || !prompt.empty(), "--beams: give --prompt");
  }
  int run() const;
};
int Generate::run() const {
  serve::TextOptions o{.prompt = prompt,
                       .prompts = prompts,
                       .system = system,
                       .chat_template = chat_template,
                       .date = date,
                       .choosing = sampling.choosing(),
                       .length = length,
                       .n = n,
                       .beams = beams,
                       .seed = static_cast<std::uint64_t>(seed),
                       .stop = stop,
                       .chat = chat,
                       .special = !no_special,
                       .json = json,
                       .shift = shift,
                       .cache_bytes = cache_bytes,
                       .step_tokens = step_tokens,
                       .rows = rows,
                       .lookup = lookup};
  if (logprobs) o.logprobs = *logprobs;
  auto write = [](const std::string& text) {
    bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    check<IoError>(written, "cannot write to standard output: it is full or closed");
  };
  auto turn = [asks = ::isatty(STDIN_FILENO) == 1](std::string& line) {
    if (asks) std::fputs("> ", stderr);
    return static_cast<bool>(std::getline(std::cin, line));
  };
  return serve::write_texts(words, o, {write, turn});
}
}  // namespace
template const bool added<Generate>;
}  // namespace bora::app
