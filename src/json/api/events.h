// events.h -- reads JSON of strangers without building its tree: values come one by one with the names that lead to
// them. Names given twice, deep nesting and broken JSON are IoErrors.
#pragma once
#include <set>
#include "json/api/value.h"

namespace bora::json {
/// As errors call it: "text", "a number", "a negative number", "a fraction", "true", "null" ..
std::string_view words_of(const Value&);

class Events {
 public:
  explicit Events(std::string file) : file_(std::move(file)) {}
  virtual ~Events() = default;
  void parse(std::string_view text);

  /// path(): the names that lead to it; empty for the outermost value.
  virtual void opened(bool list) = 0;
  virtual void closed(bool list) = 0;
  /// A value that is no object and no list; in_list: an item of one.
  virtual void value(const Value&, bool in_list) = 0;

 protected:
  const std::vector<std::string>& path() const { return path_; }
  /// "FILE", "FILE: TENSOR".
  virtual std::string where() const { return file_; }
  const std::string file_;

 private:
  friend class EventParts;
  std::vector<std::string> path_ = {};
  std::vector<bool> lists_ = {};  // the open values, outermost first: is it a list?
  std::vector<std::set<std::string>> names_ = {};
};
}  // namespace bora::json
