// texts.h -- texts of a trained model without a server: the work of `bora generate`.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "bora/generate/choosing.h"

namespace bora::job {
struct TrainedRun;
}  // namespace bora::job
namespace bora::serve {
struct TextOptions {
  std::string prompt = {};   // of a model with an encoder, its input; of a chat, what the user says; empty: turns
  std::string prompts = {};  // a file of lines (lines.h) in place of the prompt
  std::string system = {}, chat_template = {}, date = "now";
  generate::Choosing choosing = {};
  std::int64_t length = 300, n = 1, beams = 0;  // beams: 0: drawn
  std::uint64_t seed = 0;
  std::optional<std::int64_t> logprobs = {};
  std::vector<std::string> stop = {};
  bool chat = false, special = true;  // special: the tokens around a prompt
  bool json = false;                  // a line for each prompt, not the text as it comes
  bool shift = false;                 // beyond the window a text goes on
  std::int64_t cache_bytes = 0, step_tokens = 256, rows = 32, lookup = 0;
};
struct TextStreams {
  std::function<void(const std::string&)> write;  // on rank 0; throws IoError
  std::function<bool(std::string& line)> turn;    // the next thing that a user says; false: there is none
};
/// Joins the job, and writes the texts. Throws ConfigError for options that do not fit the model, before anything is
/// computed; what ServedModel throws; ValueError where scores are not finite.
int write_texts(const job::TrainedRun&, const TextOptions&, const TextStreams&);
}  // namespace bora::serve
