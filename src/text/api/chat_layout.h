// chat_layout.h -- what chat templates differ in, as plain data.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
/// A turn of a role is the text before + lead + CONTENT + end + after. Of the assistant's, lead + CONTENT + end is
/// learnt.
struct ChatRole {
  std::string name;  // "*": every role that has no entry of its own; "{role}" in `before` stands for its name
  std::string before, lead = {}, end = {}, after = {};
};
struct ChatLayout {
  std::string name;
  std::vector<ChatRole> roles;
  std::string begin = {};                            // before the first turn
  std::optional<std::string> system = std::nullopt;  // what a conversation without a system turn begins with
  bool strip = false, alternate = false;
  bool system_in_user = false;  // whether the first user turn says what the system turn says, in front
};
/// The tokens at the begin and end of texts.
struct ChatTokens {
  std::string bos, eos;
};
/// The layout of a known name; nothing for others. tokens: instead of the family's.
std::optional<ChatLayout> known_layout(std::string_view name, const std::optional<ChatTokens>& tokens);
/// From the lines of a file.
ChatLayout parse_chat_file(std::string_view text, const std::string& file, const std::optional<ChatTokens>& tokens);
}  // namespace bora::text
