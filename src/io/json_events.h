// json_events.h -- reads JSON of strangers without building its tree: values come one by one with the names that lead
// to them. Names given twice, deep nesting and broken JSON are IoErrors.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bora::io {
/// Either text or a natural number, or another value, named by its kind.
struct JsonValue {
  const std::string* text = nullptr;
  const std::uint64_t* number = nullptr;
  std::string_view kind;  // "text", "a number", "null" ..
  bool in_list = false;
};
class JsonEvents {
 public:
  explicit JsonEvents(std::string file) : file_(std::move(file)) {}
  virtual ~JsonEvents() = default;
  void parse(std::string_view json);

  /// path(): the names that lead to it; empty for the outermost value.
  virtual void opened(bool list) = 0;
  virtual void closed(bool list) = 0;
  virtual void value(const JsonValue&) = 0;

 protected:
  const std::vector<std::string>& path() const { return path_; }
  /// "FILE", "FILE: TENSOR".
  virtual std::string where() const { return file_; }
  const std::string file_;

 private:
  friend struct JsonSink;
  std::vector<std::string> path_ = {};
  std::vector<bool> lists_ = {};  // the open values, outermost first: is it a list?
  std::vector<std::set<std::string>> names_ = {};
};
}  // namespace bora::io
