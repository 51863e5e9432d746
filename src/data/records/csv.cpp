#include "data/records/csv.h"
#include <algorithm>

namespace bora::data {
std::size_t CsvScan::take(std::string_view s) {
  std::size_t i = 0;
  while (i < s.size() && !ended_) {
    auto c = s[i];
    switch (state_) {
      case State::begin:
        state_ = c == '"' ? State::quoted : c == ',' ? State::begin : State::plain;
        quote_line_ = c == '"' ? lines_ : quote_line_;
        break;
      case State::plain:
        while (c != ',' && c != '\n' && i + 1 < s.size()) c = s[++i];
        if (c == ',') state_ = State::begin;
        break;
      case State::quoted: {
        auto end = std::min(s.find('"', i), s.size() - 1);
        lines_ += std::count(s.begin() + static_cast<std::ptrdiff_t>(i),
                             s.begin() + static_cast<std::ptrdiff_t>(end) + 1, '\n');
        if (s[end] == '"') state_ = State::closed;
        i = end + 1;
        continue;
      }
      case State::closed:
        state_ = c == '"' ? State::quoted : c == ',' ? State::begin : c == '\r' ? State::carriage : State::broken;
        if (c == '\n') state_ = State::closed;
        break;
      case State::carriage:
        if (c != '\n') state_ = State::broken;
        break;
      case State::broken:
        i = std::min(s.find('\n', i), s.size() - 1);
        c = s[i];
        break;
    }
    ++i;
    ended_ = c == '\n';
    lines_ += ended_;
  }
  return i;
}

std::vector<std::string_view> csv_fields(std::string_view row) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0;; ++at) {
    auto end = at;
    if (at < row.size() && row[at] == '"')  // to the quote that is not doubled
      for (++end; end < row.size(); ++end)
        if (row[end] == '"' && row.substr(++end, 1) != "\"") break;
    end = std::min(row.find(',', end), row.size());
    fields.push_back(row.substr(at, end - at));
    if (end == row.size()) return fields;
    at = end;
  }
}
std::string csv_text(std::string_view field) {
  if (!field.starts_with('"')) return std::string(field);
  auto s = std::string(field.substr(1, field.size() - 1 - field.ends_with('"')));
  // Two quotes stand for one.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    s[kept++] = s[i];
    if (s[i] == '"' && i + 1 < s.size() && s[i + 1] == '"') ++i;
  }
  s.resize(kept);
  return s;
}
}  // namespace bora::data
