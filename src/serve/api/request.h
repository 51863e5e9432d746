// request.h -- requests of OpenAI's interface as requests to an engine. A field that would change the answer and is not
// honoured is refused by name; so are wrong types, and values outside their domain.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "bora/generate/engine.h"
#include "serve/api/model.h"
#include "serve/api/refused.h"

namespace bora::json {
class Value;
}  // namespace bora::json
namespace bora::serve {
enum class Kind : std::uint8_t { completion, chat };
struct Prompt {
  generate::Request request = {};
  std::string text = {};    // of a completion: as it is echoed
  std::int64_t before = 0;  // tokens in front of the text's own
};
struct Call {
  Kind kind = Kind::completion;
  bool stream = false, include_usage = false, echo = false;
  bool special = false;                       // whether an answer's text has its special tokens
  std::int64_t n = 1;                         // choices of each prompt
  std::uint64_t seed = 0;                     // of all of them
  std::optional<std::int64_t> logprobs = {};  // of each token, and of so many others
  std::vector<Prompt> prompts = {};
};
/// The body of a request, a JSON object. Without a kind it is that of `prompt` or of `messages`. seed: draws one for a
/// request without. Throws Refused.
Call read_call(std::optional<Kind>, std::string_view body, const Model&, const std::function<std::uint64_t()>& seed);
/// A seed that JavaScript's numbers hold, from the system's random numbers.
std::uint64_t drawn_seed();
/// The ids of `messages`, as apply_chat_template gives them: only the template's own text becomes special tokens. end:
/// what ends an answer in the template's text; empty: nothing. Throws Refused.
struct Conversation {
  std::vector<std::int32_t> ids = {};
  std::string end = {};
};
struct ChatOptions {
  bool add_generation_prompt = true, continue_final_message = false;
};
Conversation read_messages(const json::Value& messages, const Model&, ChatOptions = {});
/// Ids of a list of whole numbers. Throws Refused with this field.
std::vector<std::int32_t> read_ids(const json::Value& list, const std::string& field, const Model&);
/// The object of a request's body. Throws Refused for other documents, and for what is no JSON.
json::Value read_body(std::string_view body);
}  // namespace bora::serve
