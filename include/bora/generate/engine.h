// engine.h -- answers requests with one model: rows that decode and pieces of prompts share each step.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "bora/generate/choosing.h"

namespace bora {
class Mesh;
namespace models {
class Stepper;
}  // namespace models
namespace text {
class Tokenizer;
}  // namespace text
}  // namespace bora
namespace bora::generate {
struct Request {                              // a prompt, and how it goes on
  std::vector<std::int32_t> prompt = {};      // ids of its tokens
  std::vector<std::int32_t> inputs = {};      // of a model with an encoder
  Choosing choosing = {};                     // how each token is chosen
  std::int64_t max_tokens = 16;               // 0: none, for the prompt's log-probabilities
  std::int64_t n = 1, best_of = 0;            // choices; best_of: of so many, 0: n
  std::vector<std::string> stop = {};         // texts that end an answer
  std::vector<std::int32_t> stop_ids = {};    // tokens that end an answer
  bool ignore_eos = false;                    // the engine's `ends` do not end it
  bool special = false;                       // special tokens are in the answer's text, but for those that end it
  std::uint64_t seed = 0;                     // of the draws
  std::optional<std::int64_t> logprobs = {};  // of each token, and of so many others
  std::optional<std::int64_t> prompt_logprobs = {};  // of the prompt's tokens; the first one has none
  std::optional<std::chrono::steady_clock::time_point> deadline = {};  // after it: Finish::failed, waiting or not
};
/// By an end or a stop, by max_tokens, by cancel(), by an error.
enum class Finish : std::uint8_t { stop, length, cancelled, failed };
/// What a request is told, on the engine's thread, in the order of the tokens. Functions return at once and throw
/// nothing; they may call submit and cancel. With best_of above n all is told after the last token, the best choice
/// first: that of the highest mean log-probability.
struct Listener {
  /// Once, before all else, where prompt_logprobs are asked for; none for the first token of the prompt.
  std::function<void(const std::vector<std::optional<Chosen>>&)> prompt = {};
  /// A token and the text that may leave with it, which is often empty. The token that ends an answer is told too.
  std::function<void(std::int64_t choice, const Chosen&, const std::string& text)> token = {};
  struct End {
    Finish finish = Finish::stop;
    std::string text = {};         // what was held back
    std::string stop = {};         // the stop string that ended it
    std::int64_t tokens = 0;       // of the answer
    std::string error = {};        // of Finish::failed
  };
  std::function<void(std::int64_t choice, const End&)> end = {};
  /// After the last end: the request holds nothing any more.
  std::function<void(std::int64_t cached_tokens)> done = {};
};
struct EngineOptions {               // of an Engine
  std::int64_t cache_bytes = 0;      // of pages on this rank; 0: half of what is left
  std::int64_t step_tokens = 256;    // of a step at most, prompts in pieces
  std::int64_t rows = 32;            // that decode at the same time, on each replica
  std::int64_t queue = 64;           // requests that wait
  std::int64_t replicas = 1;         // copies of the model, if the stepper is one of replicas.h
  std::set<std::int32_t> ends = {};  // tokens that end an answer
  bool encoder = false;              // of the model, to which requests give `inputs` then
  /// Drafts of an answer's next tokens in a step at most, from its prompt and its own text: where it repeats itself a
  /// step gives several tokens. The answers are the same, bit by bit.
  std::int64_t lookup = 0;
  /// Replaces the weights by those of `from`, all or none: if it throws, the old ones stay. Every rank calls it.
  std::function<void(models::Stepper&, const std::string& from)> exchange = {};
};
struct EngineReport {  // for /metrics
  std::int64_t running = 0, waiting = 0, pages = 0, used_pages = 0, prefix_queries = 0, prefix_hits = 0,
               prompt_tokens = 0, generation_tokens = 0, preemptions = 0, steps = 0,
               drafted_tokens = 0, accepted_tokens = 0;
  bool failed = false;  // run() has ended by an error, such as a lost rank; set before listeners hear of it
};
/// Several threads may call submit, cancel and report; one thread of each rank calls run.
class Engine {
 public:
  using Id = std::uint64_t;
  Engine(models::Stepper&, std::shared_ptr<const text::Tokenizer>, const Mesh&, EngineOptions);
  ~Engine();
  /// Rank 0. none: the queue is full, or the engine has been stopped or has failed. Throws ValueError for a request
  /// that can never be answered, naming the field: a prompt and max_tokens that exceed the positions or all pages, no
  /// token, an id out of range.
  std::optional<Id> submit(Request, Listener);
  /// Frees its pages within a step; its ends are told as cancelled. Unknown and ended requests: nothing.
  void cancel(Id);
  /// Answers requests until stop(), or, where `until_idle`, until there are none. The other ranks return with rank 0.
  /// An error of the model or of the transport ends it, and all requests as failed.
  void run(bool until_idle = false);
  /// No new requests; running ones get so long, then run() returns. Called again with 0: at once.
  void stop(std::chrono::milliseconds drain);
  /// Waits until those requests have ended that have begun, which others do not meanwhile; then every rank calls
  /// EngineOptions::exchange, and all pages are forgotten. Not on the engine's thread. Throws the first rank's error.
  void exchange(const std::string& from);
  EngineReport report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::generate
