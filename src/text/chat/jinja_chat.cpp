// jinja_chat.cpp -- chat templates in Jinja, with the variables of `transformers`' apply_chat_template.
#include <algorithm>
#include <array>
#include "base/api/bytes.h"
#include "bora/base/error.h"
#include "text/api/jinja.h"
#include "text/chat/chat_form.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
using jinja::Marked, jinja::Value, jinja::kLearnt, jinja::kSaid;
constexpr std::array<std::string_view, 8> kTokens = {"bos_token", "eos_token", "unk_token",  "sep_token",
                                                     "pad_token", "cls_token", "mask_token", "eot_token"};
// Roles that published templates name; what else stands there is somebody's word.
constexpr std::array<std::string_view, 9> kRoles = {"system",    "user",     "assistant", "tool",  "developer",
                                                    "ipython",   "function", "model",     "human"};
/// Which turn a byte is from, beside its marks, up to a multiple of 63.
char mark_of(std::size_t turn) { return static_cast<char>(kSaid | static_cast<int>(turn % 63 + 1) << 2); }
bool is_from(char mark, std::size_t turn) { return (mark & ~kLearnt) == mark_of(turn); }
bool has(char mark, char bit) { return (mark & bit) != 0; }

class JinjaChat final : public ChatForm {
 public:
  JinjaChat(std::string_view source, const std::string& place, const json::Value& config)
      : source_(source), place_(place), template_(source, place) {
    for (auto name : kTokens) {
      auto found = config.find(name);  // a text, or an object with its text and how it is found
      if (!found || found->is_null()) continue;
      if (auto content = found->find("content")) found = content;
      check<ConfigError>(found->is_text(), "tokenizer_config.json: ", name, ": expected a text");
      tokens_.emplace_back(name, found->text());
    }
  }
  std::vector<Piece> pieces(std::span<const Turn> turns, bool ask, std::optional<std::int64_t> now) const override {
    check<ConfigError>(!turns.empty(), "chat template ", place_, ": a conversation without turns");
    auto all = rendered(turns, ask, now);
    for (std::size_t i = 0; i < turns.size(); ++i) need_said(turns, i, all);
    if (!ask) find_answers(turns, all, now);
    return pieces_of(all);
  }
  const std::string& name() const override { return place_; }
  std::string identity() const override {
    ByteWriter w;
    w.text("jinja 1").text(source_);
    for (auto& [name, token] : tokens_) w.text(name).text(token);
    return w.take();
  }

 private:
  Marked rendered(std::span<const Turn> turns, bool ask, std::optional<std::int64_t> now) const {
    jinja::Values messages;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      auto& [role, content] = turns[i];
      bool known = std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
      messages.push_back(Value::dict({{"role", Marked(role, known ? jinja::kPlain : kSaid)},
                                      {"content", Marked(content, mark_of(i))}}));
    }
    Jinja::Names names{{"messages", Value::list(std::move(messages))}, {"add_generation_prompt", ask},
                       {"tools", nullptr}, {"documents", nullptr}};
    for (auto& [name, token] : tokens_) names.emplace_back(name, Marked(token));
    return template_.render(names, now);
  }
  /// A template that does not know a role passes over what it says. Thoughts of an assistant may go, and a system turn
  /// may wait for the user's.
  void need_said(std::span<const Turn> turns, std::size_t i, const Marked& all) const {
    auto& [role, content] = turns[i];
    const bool waits = role == "system" && i + 1 == turns.size();
    if (role == "assistant" || waits || space_at_begin(content) == content.size()) return;
    bool said = std::any_of(all.marks.begin(), all.marks.end(), [&](char m) { return is_from(m, i); });
    check<ConfigError>(said, "chat template ", place_, ": turn ", i + 1, " has the role '", role,
                       "', of which the template writes nothing");
  }
  /// Marks what the assistant says: {% generation %}, else what its turn adds to the text in which it is asked to
  /// answer: its words, and behind them what follows them both here and where the conversation ends with them, which is
  /// the token that ends a turn; white space behind it is not learnt.
  void find_answers(std::span<const Turn> turns, Marked& all, std::optional<std::int64_t> now) const {
    if (std::any_of(all.marks.begin(), all.marks.end(), [](char m) { return has(m, kLearnt); })) return;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].role != "assistant") continue;
      std::vector<Turn> until(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      auto begin = begin_of(turns, i, all, now), last = behind(all, i);
      const bool empty = last == 0;
      if (empty) until[i].content = "\a";  // what stands around some answer
      auto with = rendered(until, false, now);
      auto here = behind(with, i);
      if (empty) {
        auto before = std::string_view(with.text).substr(0, here > 0 ? here - 1 : 0);
        last = before.size() >= begin && all.text.starts_with(before) ? before.size() : begin;
      }
      check<ConfigError>(begin <= last, "chat template ", place_, ": the words of turn ", i + 1, " stand before the ",
                         "place where the assistant is asked for them; put {% generation %} and {% endgeneration %} ",
                         "around them in a copy of the template");
      auto end = last;
      for (; end < all.size() && here < with.size() && all.text[end] == with.text[here]; ++here) ++end;
      auto stop = end;
      while (stop > last && space_at_end(std::string_view(all.text).substr(stop - 1, 1)) > 0) --stop;
      if (stop > last) end = stop;
      for (auto k = begin; k < end; ++k) all.marks[k] = static_cast<char>(all.marks[k] | kLearnt);
    }
  }
  /// Where the last byte from turn i ends; 0 without one.
  static std::size_t behind(const Marked& text, std::size_t i) {
    auto at = text.marks.size();
    while (at > 0 && !is_from(text.marks[at - 1], i)) --at;
    return at;
  }
  /// Where the answer of turn i begins in the whole text.
  std::size_t begin_of(std::span<const Turn> turns, std::size_t i, const Marked& all,
                       std::optional<std::int64_t> now) const {
    if (i > 0) {
      auto before = rendered(turns.first(i), true, now);
      if (all.text.starts_with(before.text)) return before.size();
    }
    // The template does not begin an answer, or not like this one (with an empty thought, say): at its first word.
    for (std::size_t k = 0; k < all.size(); ++k)
      if (is_from(all.marks[k], i)) return k;
    return all.size();
  }
  static std::vector<Piece> pieces_of(const Marked& all) {
    std::vector<Piece> pieces;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const bool learnt = has(all.marks[k], kLearnt), said = has(all.marks[k], kSaid);
      if (pieces.empty() || pieces.back().learnt != learnt) pieces.push_back({{}, learnt});
      auto& piece = pieces.back();
      const auto at = piece.text.size();
      if (said && !piece.said.empty() && piece.said.back().second == at) ++piece.said.back().second;
      else if (said) piece.said.emplace_back(at, at + 1);
      piece.text += all.text[k];
    }
    return pieces;
  }
  std::string source_, place_;
  Jinja template_;
  std::vector<std::pair<std::string, std::string>> tokens_;
};
}  // namespace

std::shared_ptr<const ChatForm> jinja_chat(std::string_view source, const std::string& place,
                                           const json::Value& config) {
  return std::make_shared<JinjaChat>(source, place, config);
}
}  // namespace bora::text
