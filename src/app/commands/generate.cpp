// Generates text from a trained model, one token at a time.
#include <algorithm>
#include <cstdio>
#include <limits>
#include "app/commands.h"
#include "app/job.h"
#include "app/run.h"
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "bora/ops/view.h"

namespace bora::app {
namespace {
/// Scores of the next token, f32 [vocab] -> a token, i32.
Array choose(const Array& scores, const Array& key, double temperature, std::int64_t k) {
  if (temperature < 1e-6) return argmax(scores, -1);  // the limit; dividing by less overflows f32
  auto s = scores / temperature;
  if (k > 0 && k < scores.shape()[0]) {
    auto least = view(top_k(s, k).values, -1);
    s = where(s < least, -1e30, s);
  }
  return random::categorical(key, s);
}

struct Generate {
  static constexpr std::string_view name = "generate",
                                    help = "text from a run's newest checkpoint, or from a folder of Hugging Face's";
  RunWords words = {};
  std::string prompt = {};
  std::int64_t length = 300, top_k = 0, seed = 0;
  double temperature = 1;

  void declare(Flags& flags) {
    words.declare(flags);
    flags.add("--prompt", prompt, "text to begin with; of a model with an encoder, its input");
    flags.add("--length", length, "tokens to add at most; the tokenizer's end of text is the end");
    flags.add("--temperature", temperature, "0: the most likely token each time");
    flags.add("--top-k", top_k, "choose among the k most likely; 0: all");
    flags.add("--seed", seed, "another seed, another text");
  }
  void settle() const {
    check<ConfigError>(temperature >= 0, "--temperature: must be 0 or more, got ", temperature);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();  // CLI11 gives this for larger numbers too
    for (auto [flag, value] : {std::pair{"--top-k", top_k}, {"--length", length}, {"--seed", seed}})
      check<ConfigError>(value >= 0 && value < most, flag, ": must be 0 or more, and below 2^63 - 1");
  }
  int run() const;
};

int Generate::run() const {
  auto s = settings_on_job(words, name);
  auto tokenizer = s.tokenizer->open();
  check_folder_of(words, s, *tokenizer);
  return on_mesh({s, *tokenizer, "generate"}, [&](const Mesh& mesh) {
    auto folder = find_checkpoint(words, mesh);
    auto storage = mappings_of(s.mesh, mesh.shape()).storage;
    auto known = tokenizer->size();  // the model may have more
    auto pick = [=, this](const Array& scores, const Array& key) {
      return choose(scores.shape()[0] > known ? view(scores, range(0, known)) : scores, key, temperature, top_k);
    };
    auto model = s.model->generator(model_options(s, *tokenizer, mesh.shape()), storage, parameter_key(s), pick);
    read_parameters(model->parameters(), folder, s, words, mesh);
    auto write = [&](const std::string& text) {
      if (mesh.rank() != 0) return;
      bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
      check<IoError>(written, "cannot write to standard output: it is full or closed");
    };
    auto end = tokenizer->end_of_text();
    auto start = s.model->decoder_start();
    auto ids = tokenizer->encode(prompt.empty() ? "\n" : prompt);
    check<ConfigError>(!ids.empty(), "--prompt: it has no token; a model begins with one or more");
    text::StreamDecoder decoder(tokenizer);
    if (start) {  // the prompt is an encoder's
      if (end) ids.push_back(*end);
      model->read(ids);
      ids = {*start};
    } else {
      if (!prompt.empty()) write(prompt);
      for (auto id : ids) (void)decoder.next(id);  // the prompt, before which a decoder may drop a space
    }
    auto positions = s.model->positions();
    auto key = random::key(seed);
    std::int64_t seen = 0;  // tokens that the model has seen since it began
    for (std::int64_t i = 0; i < length; ++i) {
      auto n = std::min(positions, static_cast<std::int64_t>(ids.size()));
      if (seen == positions && start) break;
      if (seen == positions) model->restart(), seen = 0;  // the window moves: every token gets another position
      std::vector<std::int32_t> unseen(seen ? ids.end() - 1 : ids.end() - n, ids.end());
      seen += static_cast<std::int64_t>(unseen.size());
      auto last = array(static_cast<std::int32_t>(n - 1));
      auto token = model->next(unseen, random::fold_in(random::fold_in(key, i), last));
      ids.push_back(token.item<std::int32_t>());
      if (ids.back() == end) break;
      write(decoder.next(ids.back()));
    }
    write(decoder.finish() + "\n");
    return 0;
  });
}
[[maybe_unused]] const bool added = add<Generate>({.place = 50, .launched = true});
}  // namespace
}  // namespace bora::app
