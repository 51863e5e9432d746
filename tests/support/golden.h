// golden.h -- files of tests/golden.
#pragma once
#include <gtest/gtest.h>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "support/places.h"

namespace bora::test {
inline std::string golden_path(const std::string& file) {
  return test::source_dir() + "/tests/golden/" + file;
}
/// The numbers of a line "name n numbers"; none if no line has this name.
inline std::vector<double> golden_numbers(const std::string& file, const std::string& name) {
  std::ifstream in(golden_path(file));
  std::string word;
  std::size_t n = 0;
  while (in >> word && word != name) std::getline(in, word);
  if (!(in >> n)) return {};
  std::vector<double> numbers(n);
  for (auto& x : numbers) in >> x;
  EXPECT_TRUE(in) << file << ": " << name << " has less than " << n << " numbers";
  return numbers;
}
/// A line "name parameters : values".
struct GoldenLine {
  std::string name, text;  // text: all before the colon
  std::vector<std::string> parameters, values;
};
inline std::vector<GoldenLine> golden_lines(const std::string& file) {
  std::ifstream in(golden_path(file));
  std::vector<GoldenLine> lines;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    GoldenLine line;
    words >> line.name;
    line.text = text.substr(0, text.find(':'));
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
