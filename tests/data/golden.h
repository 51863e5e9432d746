// golden.h -- lines of tests/golden/*.txt: a name, parameters, ':', values.
#pragma once
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace bora::test {
struct GoldenLine {
  std::string name;
  std::vector<std::string> parameters, values;
};
inline std::vector<GoldenLine> golden_lines(const std::string& file) {
  std::ifstream in(std::string(BORA_SOURCE_DIR) + "/tests/golden/" + file);
  std::vector<GoldenLine> lines;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    GoldenLine line;
    words >> line.name;
    bool values = false;
    for (std::string word; words >> word;)
      if (word == ":") values = true;
      else (values ? line.values : line.parameters).push_back(word);
    lines.push_back(line);
  }
  return lines;
}
/// The parts of "a,b,c"; none of "-".
inline std::vector<std::string> parts(const std::string& text, char at = ',') {
  std::vector<std::string> result;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string part; std::getline(in, part, at);) result.push_back(part);
  return result;
}
inline std::vector<std::int64_t> numbers(const std::string& text, char at = ',') {
  std::vector<std::int64_t> result;
  for (auto& part : parts(text, at)) result.push_back(std::stoll(part));
  return result;
}
}  // namespace bora::test
