// chat_pieces.h -- conversations of records as the pieces of a chat template: what the tasks with turns share.
#pragma once
#include <filesystem>
#include <string>
#include <vector>
#include "bora/base/error.h"
#include "bora/text/chat.h"
#include "data/api/records.h"
#include "data/store/cache_folder.h"

namespace bora::data {
/// The template of the setting data.task.chat_template: a word, a file, or a folder with a tokenizer. date: the day for
/// templates that write one; empty: none. Throws ConfigError.
inline text::ChatTemplate open_template(const std::string& chat_template, const std::string& date) {
  std::error_code error;
  bool folder = std::filesystem::is_directory(chat_template, error);
  const std::string key = "data.task.chat_template=";
  auto t = folder ? text::chat_template_of("", chat_template, key) : text::chat_template_of(chat_template, {}, key);
  return date.empty() ? t : t.on(date);
}
/// The turns as the template writes them; its errors get the record's place.
inline std::vector<text::Piece> pieces_of(const text::ChatTemplate& t, const std::vector<text::Turn>& turns,
                                          const Record& r) {
  try {
    return t.render(turns);
  } catch (const ConfigError& e) { r.failed(std::string(e.text())); }
}
}  // namespace bora::data
