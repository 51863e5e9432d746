#include "job/task_items.h"
#include <algorithm>
#include <cctype>
#include "base/api/file.h"
#include "bora/base/error.h"
#include "json/api/value.h"

namespace bora::job {
namespace {
/// The members of a line, each of which is read once.
struct Line {
  json::Value j;
  const std::string& where;

  template <class... W> [[noreturn]] void failed(const W&... words) const { fail<ConfigError>(where, ": ", words...); }
  std::string text_of(const char* name, const json::Value& v) const {
    if (!v.is_text()) failed(name, ": expected a text, got ", v.type_name());
    return v.text();
  }
  std::vector<std::string> texts(const char* name, const json::Value& v) const {
    if (v.is_text()) return {v.text()};
    if (!v.is_list() || v.list().empty()) failed(name, ": expected a text or a list of texts, got ", v.type_name());
    std::vector<std::string> all;
    for (auto& item : v.list()) all.push_back(text_of(name, item));
    return all;
  }
  bool flag(const char* name) const {
    auto v = j.find(name);
    if (v && !v->is_boolean()) failed(name, ": expected true or false, got ", v->type_name());
    return v && v->boolean();
  }
  void only(std::initializer_list<std::string_view> known) const {
    std::string list;
    for (auto name : known) list += (list.empty() ? "" : ", ") + std::string(name);
    for (auto& [name, value] : j.members())
      if (std::find(known.begin(), known.end(), name) == known.end())
        failed("'", name, "' is no field of this item; there are ", list);
  }
};
void read_choices(const Line& line, TaskItem& item) {
  line.only({"context", "choices", "answer", "delimiter"});
  auto& choices = *line.j.find("choices");
  if (!choices.is_list() || choices.list().size() < 2) line.failed("choices: expected a list of two texts or more");
  item.choices = line.texts("choices", choices);
  for (auto& c : item.choices)
    if (c.empty()) line.failed("choices: one is empty");
  if (auto d = line.j.find("delimiter")) item.delimiter = line.text_of("delimiter", *d);
  auto answer = line.j.find("answer");
  auto n = item.choices.size();
  if (answer && answer->is_text()) {
    auto found = std::find(item.choices.begin(), item.choices.end(), answer->text());
    if (found == item.choices.end()) line.failed("answer: '", answer->text(), "' is none of the choices");
    item.answer = static_cast<std::size_t>(found - item.choices.begin());
  } else if (answer && answer->is_natural() && answer->natural() < n) {
    item.answer = static_cast<std::size_t>(answer->natural());
  } else {
    line.failed("answer: expected the number of a choice, 0 to ", n - 1, ", or its text");
  }
}
void read_answers(const Line& line, TaskItem& item) {
  line.only({"context", "answer", "until", "length", "ignore_case", "ignore_punctuation"});
  auto answer = line.j.find("answer");
  if (!answer) line.failed("answer: there is none, and there are no choices");
  item.answers = line.texts("answer", *answer);
  if (auto until = line.j.find("until")) item.until = line.texts("until", *until);
  for (auto& u : item.until)
    if (u.empty()) line.failed("until: an empty text ends nothing");
  if (auto length = line.j.find("length")) {
    if (!length->is_natural() || length->natural() < 1 || length->natural() > 1 << 20)
      line.failed("length: expected a number of tokens from 1 to 2^20");
    item.length = length->integer();
  }
  item.ignore_case = line.flag("ignore_case");
  item.ignore_punctuation = line.flag("ignore_punctuation");
}
TaskItem read_item(std::string_view text, const std::string& where) {
  Line line{{}, where};
  try {
    line.j = json::parse(text, where);
  } catch (const IoError& e) { throw ConfigError(e.text()); }
  if (!line.j.is_object()) line.failed("expected an object with context, got ", line.j.type_name());
  TaskItem item{.where = where};
  auto context = line.j.find("context");
  if (!context) line.failed("context: there is none");
  item.context = line.text_of("context", *context);
  if (line.j.find("choices")) read_choices(line, item);
  else read_answers(line, item);
  return item;
}
/// ASCII alone: what Python's str.lower and string.punctuation do to it.
std::string normal(const TaskItem& item, std::string text) {
  if (item.ignore_case)
    for (auto& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (item.ignore_punctuation)
    std::erase_if(text, [](unsigned char c) { return c < 0x80 && std::ispunct(c) != 0; });
  return text;
}
}  // namespace

std::vector<TaskItem> read_items(const std::string& file) {
  auto text = read_file(file);
  std::vector<TaskItem> items;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    auto end = std::min(text.find('\n', begin), text.size());
    auto line = std::string_view(text).substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != line.npos)
      items.push_back(read_item(line, file + ": line " + std::to_string(number)));
    begin = end + 1;
  }
  check<ConfigError>(!items.empty(), file, ": it has no item");
  return items;
}
bool matches(const TaskItem& item, const std::string& written) {
  auto begin = std::min(written.find_first_not_of(" \t\n\r\f\v"), written.size());
  auto mine = normal(item, written.substr(begin));
  return std::any_of(item.answers.begin(), item.answers.end(), [&](auto& a) { return normal(item, a) == mine; });
}
std::int64_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}
}  // namespace bora::job
