#include "serve/api/answers.h"
#include <algorithm>
#include <cstdio>
#include <random>
#include <unordered_set>
#include "bora/base/text.h"
#include "json/api/value.h"
#include "text/api/utf8.h"

namespace bora::serve {
namespace {
using json::Value;
using Members = std::vector<Value::Member>;

Value object(Members members) { return Value::object(std::move(members), json::Order::as_written); }
Value text_value(std::string_view text) {
  std::string copy;
  return text::valid_utf8(text, copy);
}
Value finish_value(const Choice& c) {
  if (!c.finish) return {};
  return *c.finish == generate::Finish::length ? "length" : "stop";
}
/// The most likely tokens; the chosen one is among them, with the number that it has itself.
std::vector<std::pair<std::int32_t, float>> with_chosen(const generate::Chosen& c) {
  auto top = c.top;
  if (std::ranges::none_of(top, [&](auto& t) { return t.first == c.id; })) top.emplace_back(c.id, c.logprob);
  return top;
}
Value completion_logprobs(const std::vector<Logged>& tokens, const Names& names) {
  Value::List texts, numbers, tops, offsets;
  for (auto& t : tokens) {
    texts.emplace_back(names.name(t.chosen.id));
    numbers.push_back(t.known ? Value(static_cast<double>(t.chosen.logprob)) : Value());
    Members top;
    if (t.known)
      for (auto [id, number] : with_chosen(t.chosen)) top.emplace_back(names.name(id), static_cast<double>(number));
    tops.push_back(t.known ? object(std::move(top)) : Value());
    offsets.emplace_back(t.offset);
  }
  return object({{"tokens", std::move(texts)},
                 {"token_logprobs", std::move(numbers)},
                 {"top_logprobs", std::move(tops)},
                 {"text_offset", std::move(offsets)}});
}
Value chat_token(std::int32_t id, float number, const Names& names) {
  Value::List bytes;
  for (unsigned char c : names.bytes(id)) bytes.emplace_back(static_cast<int>(c));
  return object(
      {{"token", names.name(id)}, {"logprob", static_cast<double>(number)}, {"bytes", std::move(bytes)}});
}
Value chat_logprobs(const std::vector<Logged>& tokens, const Names& names) {
  Value::List all;
  for (auto& t : tokens) {
    Value::List top;
    for (auto [id, number] : t.chosen.top) top.push_back(chat_token(id, number, names));
    all.push_back(chat_token(t.chosen.id, t.chosen.logprob, names));
    all.back().set("top_logprobs", std::move(top));
  }
  return object({{"content", std::move(all)}, {"refusal", Value()}});
}
Value usage_value(const Usage& u) {
  return object({{"prompt_tokens", u.prompt},
                 {"completion_tokens", u.answer},
                 {"total_tokens", u.prompt + u.answer},
                 {"prompt_tokens_details", object({{"cached_tokens", u.cached}})}});
}
}  // namespace

std::string Names::name(std::int32_t id) const {
  std::call_once(once_, [&] {
    std::unordered_set<std::string> taken;
    for (std::int32_t i = 0; i < tokenizer_->size(); ++i) {
      auto bytes = tokenizer_->bytes_of(i);
      bool is_text = first_not_utf8(bytes) == bytes.npos && !bytes.starts_with("bytes:") &&
                     !bytes.starts_with("token_id:");
      if (is_text && taken.insert(bytes).second) continue;
      auto other = is_text ? std::string() : std::string("bytes:");
      for (unsigned char c : is_text ? std::string() : bytes) {
        char hex[5];
        std::snprintf(hex, sizeof hex, "\\x%02x", c);
        other += hex;
      }
      if (other.empty() || !taken.insert(other).second) other = "token_id:" + std::to_string(i);
      others_.emplace(i, std::move(other));
    }
  });
  if (id >= tokenizer_->size()) return "token_id:" + std::to_string(id);
  auto found = others_.find(id);
  return found == others_.end() ? tokenizer_->bytes_of(id) : found->second;
}
std::string Names::bytes(std::int32_t id) const {
  return id < tokenizer_->size() ? tokenizer_->bytes_of(id) : std::string();
}

Forms::Forms(const Call& call, std::shared_ptr<const Model> model, std::shared_ptr<const Names> names, std::string id,
             std::int64_t created)
    : chat_(call.kind == Kind::chat), logprobs_(call.logprobs.has_value()),
      include_usage_(call.include_usage), seed_(call.seed), model_(std::move(model)), names_(std::move(names)),
      id_(std::move(id)), fingerprint_(model_->fingerprint), created_(created) {}
namespace {
struct Head {
  const std::string& id;
  std::string_view object;
  std::int64_t created;
  const std::string& model;
  const std::string& fingerprint;
  std::uint64_t seed;
};
Value with_head(const Head& h, Value::List choices) {
  return object({{"id", h.id},
                 {"object", h.object},
                 {"created", h.created},
                 {"model", text_value(h.model)},
                 {"system_fingerprint", h.fingerprint},
                 {"seed", h.seed},
                 {"choices", std::move(choices)}});
}
}  // namespace
std::string Forms::whole(const std::vector<Choice>& choices, const Usage& u) const {
  Value::List list;
  for (auto& c : choices) {
    Members m{{"index", c.index}};
    if (chat_)
      m.emplace_back("message", object({{"role", "assistant"}, {"content", text_value(c.text)}, {"refusal", Value()}}));
    else m.emplace_back("text", text_value(c.text));
    m.emplace_back("logprobs", !logprobs_ ? Value()
                               : chat_    ? chat_logprobs(c.tokens, *names_)
                                          : completion_logprobs(c.tokens, *names_));
    m.emplace_back("finish_reason", finish_value(c));
    m.emplace_back("stop_reason", c.stop.empty() ? Value() : text_value(c.stop));
    list.push_back(object(std::move(m)));
  }
  auto kind = chat_ ? "chat.completion" : "text_completion";
  auto v = with_head({id_, kind, created_, model_->name, fingerprint_, seed_}, std::move(list));
  v.set("usage", usage_value(u));
  return v.dump();
}
std::string Forms::first(std::int64_t index) const {
  auto choice = object({{"index", index},
                        {"delta", object({{"role", "assistant"}, {"content", ""}})},
                        {"logprobs", Value()},
                        {"finish_reason", Value()}});
  auto v = with_head({id_, "chat.completion.chunk", created_, model_->name, fingerprint_, seed_},
                     {std::move(choice)});
  if (include_usage_) v.set("usage", Value());
  return v.dump();
}
std::string Forms::part(const Choice& c) const {
  Members m{{"index", c.index}};
  if (!chat_) m.emplace_back("text", text_value(c.text));
  else if (c.text.empty() && c.tokens.empty()) m.emplace_back("delta", Value::object());
  else m.emplace_back("delta", object({{"content", text_value(c.text)}}));
  m.emplace_back("logprobs", !logprobs_ || c.tokens.empty() ? Value()
                             : chat_                        ? chat_logprobs(c.tokens, *names_)
                                                            : completion_logprobs(c.tokens, *names_));
  m.emplace_back("finish_reason", finish_value(c));
  if (c.finish) m.emplace_back("stop_reason", c.stop.empty() ? Value() : text_value(c.stop));
  auto kind = chat_ ? "chat.completion.chunk" : "text_completion";
  auto v = with_head({id_, kind, created_, model_->name, fingerprint_, seed_}, {object(std::move(m))});
  if (include_usage_) v.set("usage", Value());
  return v.dump();
}
std::string Forms::usage(const Usage& u) const {
  auto kind = chat_ ? "chat.completion.chunk" : "text_completion";
  auto v = with_head({id_, kind, created_, model_->name, fingerprint_, seed_}, {});
  v.set("usage", usage_value(u));
  return v.dump();
}
std::string new_id(Kind kind) {
  std::random_device draw;
  char hex[33];
  std::snprintf(hex, sizeof hex, "%08x%08x%08x%08x", draw(), draw(), draw(), draw());
  return (kind == Kind::chat ? "chatcmpl-" : "cmpl-") + std::string(hex);
}
std::int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}
}  // namespace bora::serve
