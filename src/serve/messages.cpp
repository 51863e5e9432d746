// messages.cpp -- prompts as ids: conversations by the chat template, texts with the tokens around them.
#include "bora/data/around.h"
#include "bora/job/prompt.h"
#include "json/api/value.h"
#include "serve/api/request.h"
#include "serve/fields.h"

namespace bora::serve {
namespace {
constexpr std::string_view kTextPart = "text";  // of contents in parts
using json::Value;
/// A text, or an array of parts that are texts, each on lines of its own as vLLM joins them.
std::string read_content(Fields& fields) {
  auto v = fields.find("content");
  auto place = fields.place("content");
  if (!v) refuse(place, "is missing");
  if (v->is_text()) return v->text();
  if (!v->is_list()) refuse(place, "must be a string or an array of parts, got ", named(*v));
  std::string all;
  for (std::size_t i = 0; i < v->list().size(); ++i) {
    auto& part = v->list()[i];
    auto where = place + "[" + std::to_string(i) + "]";
    if (!part.is_object()) refuse(where, "must be an object with type and text, got ", named(part));
    Fields of(part, where);
    auto type = of.text("type");
    if (type != kTextPart) refuse(of.place("type"), "only parts of type \"text\" are supported, got ",
                               type ? json::quoted(type->substr(0, 40)) : "none");
    auto text = of.text("text");
    if (!text) refuse(of.place("text"), "is missing");
    of.finish();
    all += (i > 0 ? "\n" : "") + *text;
  }
  return all;
}
std::vector<text::Turn> read_turns(const Value& messages) {
  if (!messages.is_list() || messages.list().empty())
    refuse("messages", "must be an array of one or more messages, got ",
           messages.is_list() ? "an empty array" : named(messages));
  std::vector<text::Turn> turns;
  for (auto& m : messages.list()) {
    auto where = "messages[" + std::to_string(turns.size()) + "]";
    if (!m.is_object()) refuse(where, "must be an object with role and content, got ", named(m));
    Fields fields(m, where);
    auto role = fields.text("role");
    if (!role) refuse(fields.place("role"), "is missing");
    bool known = *role == "system" || *role == "developer" || *role == "user" || *role == "assistant";
    if (!known)
      refuse(fields.place("role"), "must be system, developer, user or assistant, got ",
             json::quoted(role->substr(0, 40)));
    for (auto name : {"name", "tool_calls", "tool_call_id", "function_call", "audio", "refusal"}) fields.only(name);
    fields.ignore({"annotations"});
    turns.push_back({*role == "developer" ? "system" : *role, read_content(fields)});
    fields.finish();
  }
  return turns;
}
/// The pieces as one.
text::Piece joined(const std::vector<text::Piece>& pieces) {
  text::Piece all;
  for (auto& piece : pieces) {
    for (auto [begin, end] : piece.said) all.said.emplace_back(all.text.size() + begin, all.text.size() + end);
    all.text += piece.text;
  }
  return all;
}
}  // namespace

Encoded encode(const Model& m, const std::string& text, bool around) {
  if (!around || !m.around) return {m.tokenizer->encode(text), 0};
  auto ids = m.around->encode(text);
  auto before = std::ssize(ids) - std::ssize(data::Around(*m.around).without_begin(ids));
  return {std::move(ids), before};
}
Conversation read_messages(const Value& messages, const Model& m, ChatOptions how) {
  auto turns = read_turns(messages);
  if (!m.chat) refuse("messages", m.no_chat);
  Conversation c;
  try {
    auto form = m.chat->on(m.date);
    if (!how.add_generation_prompt && !how.continue_final_message) {
      c.ids = job::prompt_ids(joined(form.render(turns)), *m.tokenizer);
      return c;
    }
    std::string begun;
    if (how.continue_final_message) {
      if (turns.back().role != "assistant")
        refuse("continue_final_message", "the last message must be of the assistant, and is of the ",
               turns.back().role);
      begun = turns.back().content;
      turns.pop_back();
      if (turns.empty()) refuse("messages", "there is none before that of the assistant");
    }
    auto [prompt, end] = job::asked(form, turns);
    prompt.said.emplace_back(prompt.text.size(), prompt.text.size() + begun.size());
    if (begun.empty()) prompt.said.pop_back();
    prompt.text += begun;
    c = {job::prompt_ids(prompt, *m.tokenizer), end};
  } catch (const ConfigError& e) { refuse("messages", e.text()); }
  return c;
}
}  // namespace bora::serve
