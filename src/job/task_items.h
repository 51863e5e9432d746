// task_items.h -- the items of a task that a model is scored on, from a file of lines of JSON. Private.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bora::job {
/// A question with choices, or one whose answer is generated.
struct TaskItem {
  std::string where = {};  // "FILE: line N"
  std::string context = {};
  // With choices: the model chooses the likeliest one.
  std::vector<std::string> choices = {};
  std::size_t answer = 0;       // the right one
  std::string delimiter = " ";  // between the context and a choice
  // Without choices: the model writes on, and must write one of these.
  std::vector<std::string> answers = {};
  std::vector<std::string> until = {"\n\n"};  // texts that end what it writes
  std::int64_t length = 256;                  // tokens at most
  bool ignore_case = false, ignore_punctuation = false;
};
/// The items of a file. Throws ConfigError "FILE: line N: .." for a line that is none, IoError for a file that cannot
/// be read.
std::vector<TaskItem> read_items(const std::string& file);
/// Whether a text that was written is one of the item's answers.
bool matches(const TaskItem&, const std::string& written);
/// The number of characters of UTF-8, as Python counts them.
std::int64_t characters(const std::string& text);
}  // namespace bora::job
