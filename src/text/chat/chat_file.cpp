// chat_file.cpp -- a chat template of lines `role: text`.
#include <algorithm>
#include <set>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "text/api/chat_layout.h"

namespace bora::text {
namespace {
constexpr std::string_view kBlank = " \t\r";
std::string_view trimmed(std::string_view s) {
  auto begin = std::min(s.find_first_not_of(kBlank), s.size());
  return s.substr(begin, s.find_last_not_of(kBlank) + 1 - begin);
}
class ChatFileReader {
 public:
  ChatFileReader(const std::string& file, const std::optional<ChatTokens>& tokens) : file_(file), tokens_(tokens) {}
  ChatLayout read(std::string_view text) {
    need(first_not_utf8(text) == text.npos, "the file is not UTF-8");
    layout_.name = file_;
    for (std::size_t at = 0; at < text.size();) {
      auto end = std::min(text.find('\n', at), text.size());
      ++number_;
      auto words = trimmed(text.substr(at, end - at));
      at = end + 1;
      if (!words.empty() && words[0] != '#') line(words);
    }
    for (auto name : {"user", "assistant"})
      check<ConfigError>(seen_.count(name) > 0, file_, ": there is no line '", name, ": ...'");
    return std::move(layout_);
  }

 private:
  template <class... Parts> void need(bool ok, const Parts&... parts) const {
    check<ConfigError>(ok, file_, ":", std::max(number_, 1), ": ", parts...);
  }
  void line(std::string_view words) {
    auto colon = words.find(':');
    auto key = std::string(trimmed(words.substr(0, colon)));
    bool named = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    need(colon != words.npos && named, "expected `role: text`, got '", words, "'");
    need(seen_.insert(key).second, "there is a line '", key, "' already");
    auto value = trimmed(words.substr(colon + 1));
    if (key == "strip" || key == "alternate") {
      auto flag = parse_as<bool>(value);
      need(flag.has_value(), key, " must be yes or no, got '", value, "'");
      (key == "strip" ? layout_.strip : layout_.alternate) = *flag;
    } else if (key == "begin") {
      std::string* at = &layout_.begin;
      text(value, [&](std::string_view) -> std::string* { return nullptr; }, at);
    } else role(key, value);
  }
  void role(const std::string& key, std::string_view value) {
    ChatRole r{key, {}};
    bool said = false, stopped = false;
    auto place = [&](std::string_view name) -> std::string* {
      if (name == key) {
        need(!said, "{", key, "} stands there twice");
        said = true;
        return &r.end;
      }
      if (name != "stop") return nullptr;
      need(key == "assistant" && said && !stopped,
           "{stop} stands once, behind {assistant}, in the line of the assistant");
      stopped = true;
      return &r.after;
    };
    text(value, place, &r.before);
    need(said, "the text of '", key, "' needs {", key, "}, the place of what is said");
    layout_.roles.push_back(std::move(r));
  }
  /// Appends a text to *to; place(name) gives where it goes on behind a placeholder, or null for an unknown one.
  template <class F> void text(std::string_view s, F&& place, std::string* to) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] == '\\') {
        constexpr std::string_view from = "nts\\{}", into = "\n\t \\{}";
        auto k = ++i < s.size() ? from.find(s[i]) : from.npos;
        need(k != from.npos, "'\\", i < s.size() ? s.substr(i, 1) : "", "': there are \\n \\t \\s \\\\ \\{ \\}");
        *to += into[k];
      } else if (s[i] == '{') {
        auto end = s.find('}', i);
        need(end != s.npos, "'{' has no '}'; for a brace as it is write \\{");
        auto name = s.substr(i + 1, end - i - 1);
        i = end;
        if (name == "bos" || name == "eos") *to += token(name);
        else if (auto next = place(name)) to = next;
        else need(false, "unknown placeholder {", name, "}; for a brace as it is write \\{");
      } else *to += s[i];
    }
  }
  std::string token(std::string_view name) const {
    auto text = !tokens_ ? std::string() : name == "bos" ? tokens_->bos : tokens_->eos;
    need(!text.empty(), "{", name, "}: the tokenizer's folder has no tokenizer_config.json with ", name,
         "_token; write the token out");
    return text;
  }
  const std::string& file_;
  const std::optional<ChatTokens>& tokens_;
  ChatLayout layout_;
  std::set<std::string> seen_;
  int number_ = 0;
};
}  // namespace

ChatLayout parse_chat_file(std::string_view text, const std::string& file, const std::optional<ChatTokens>& tokens) {
  return ChatFileReader(file, tokens).read(text);
}
}  // namespace bora::text
