// lines.h -- many requests at once, without a server: those of a file, one on each line, and a line of JSON for each.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "serve/api/answers.h"
#include "serve/api/request.h"
#include "serve/api/service.h"

namespace bora::serve {
/// What a line has where it does not say otherwise; max_tokens: at most, where fewer fit behind the prompt.
struct LineDefaults {
  generate::Request request = {};
  bool around = true;  // prompts with the tokens that stand around a text
};
/// The requests of a text: each line is an object with `prompt` or `messages` and any other fields of a request. Empty
/// lines are none. Throws ConfigError "FILE:LINE: ..".
std::vector<Call> read_lines(std::string_view text, const std::string& file, const Model&, const LineDefaults&);
/// A completion of one prompt, of which the text is known or not.
Call one_call(generate::Request, std::string text);
/// {"index", "choices": [{"index", "text", "finish_reason", "logprobs"}], "usage", "seed"}
std::string answer_line(std::int64_t index, const Call&, std::shared_ptr<const Model>, std::shared_ptr<const Names>,
                        const std::vector<Choice>&, const Usage&);
/// Answers calls with an engine, some at a time. Lines come in the order of the calls, on threads of its own.
class Lines {
 public:
  /// ended: all have been written, or one has failed.
  Lines(Model, Answering, std::vector<Call>, std::function<void(const std::string& line)> write,
        std::function<void()> ended);
  /// After the engine.
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  /// Why it has ended early; empty: it has not.
  std::string error() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};
}  // namespace bora::serve
