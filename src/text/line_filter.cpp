#include "bora/text/line_filter.h"
#include <cstdio>
#include <iostream>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "json/api/value.h"

namespace bora::text {
namespace {
constexpr std::size_t kBytesAtOnce = 4 << 20;  // of lines that are changed together: enough for all threads
}  // namespace

void change_lines(std::string_view what, const std::function<std::string(const std::string& line)>& f) {
  std::ios::sync_with_stdio(false);
  std::int64_t done = 0;
  for (bool more = true; more;) {
    std::vector<std::string> lines, problems;
    std::size_t bytes = 0;
    for (std::string line; bytes < kBytesAtOnce && (more = static_cast<bool>(std::getline(std::cin, line)));) {
      bytes += line.size() + 1;
      lines.push_back(std::move(line));
    }
    problems.resize(lines.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), grain_for(2000), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) try {
          lines[i] = f(lines[i]);
        } catch (const Error& e) { problems[i] = e.text(); }
    });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      check<ConfigError>(problems[i].empty(), what, ": line ", done + static_cast<std::int64_t>(i) + 1, ": ",
                         problems[i]);
      lines[i] += '\n';
      std::fwrite(lines[i].data(), 1, lines[i].size(), stdout);
    }
    done += static_cast<std::int64_t>(lines.size());
    if (std::ferror(stdout)) return;  // nobody reads on; the command's end says it
  }
  check<IoError>(!std::cin.bad(), what, ": standard input cannot be read after line ", done);
}
std::vector<std::string> lines_of_stdin(std::string_view what) {
  std::ios::sync_with_stdio(false);
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(std::move(line));
  check<IoError>(!std::cin.bad(), what, ": standard input cannot be read after line ", lines.size());
  return lines;
}
std::string text_of_json(const std::string& line) {
  auto j = json::parse_or_null(line);
  check<ValueError>(j.is_text(), "expected a JSON string, such as \"two\\nlines\"");
  return j.text();
}
std::vector<std::int32_t> ids_of_json(const std::string& line) {
  auto j = json::parse_or_null(line);
  std::vector<std::int32_t> ids;
  bool right = j.is_list();
  if (right)
    for (auto& id : j.list()) {
      right = right && id.is_natural() && id.natural() <= 0x7fffffff;
      if (right) ids.push_back(static_cast<std::int32_t>(id.natural()));
    }
  check<ValueError>(right, "expected a JSON array of ids, such as [17, 4]");
  return ids;
}
std::string json_of_text(const std::string& text) { return json::quoted(text); }
}  // namespace bora::text
