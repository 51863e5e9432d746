// answers.h -- answers of OpenAI's interface: whole ones, and the events of a stream.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
#include "bora/generate/engine.h"
#include "serve/api/request.h"

namespace bora::serve {
/// Tokens as log-probabilities name them. No two tokens have the same name: it is the token's text, else `bytes:\xe2`
/// of a part of a character, else `token_id:17`.
class Names {
 public:
  explicit Names(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
  /// The first call looks at all tokens.
  std::string name(std::int32_t id) const;
  std::string bytes(std::int32_t id) const;  // empty for scores beyond the tokens

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  mutable std::once_flag once_ = {};
  mutable std::unordered_map<std::int32_t, std::string> others_ = {};  // names that are not the token's text
};
/// A token with its numbers. offset: characters of the choice's text before it.
struct Logged {
  generate::Chosen chosen = {};
  std::int64_t offset = 0;
  bool known = true;  // false: the first token of a prompt, which has no numbers
};
/// A choice, or a part of one in a stream.
struct Choice {
  std::int64_t index = 0;
  std::string text = {};
  std::vector<Logged> tokens = {};
  std::optional<generate::Finish> finish = {};
  std::string stop = {};  // the stop string that ended it
};
struct Usage {
  std::int64_t prompt = 0, answer = 0, cached = 0;  // tokens
};
/// The forms of the answers to one call.
class Forms {
 public:
  Forms(const Call&, std::shared_ptr<const Model>, std::shared_ptr<const Names>, std::string id, std::int64_t created);
  std::string whole(const std::vector<Choice>&, const Usage&) const;
  /// The data of events. first: the role of a chat's answer.
  std::string first(std::int64_t index) const;
  std::string part(const Choice&) const;
  std::string usage(const Usage&) const;
  /// Of the weights that answer, which are known when it begins.
  void fingerprint(std::string f) { fingerprint_ = std::move(f); }

 private:
  bool chat_, logprobs_, include_usage_;
  std::uint64_t seed_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Names> names_;
  std::string id_, fingerprint_;
  std::int64_t created_;
};
/// cmpl-.. or chatcmpl-.., another one each time.
std::string new_id(Kind);
/// The number of characters in a text that is UTF-8.
std::int64_t characters(std::string_view text);
}  // namespace bora::serve
