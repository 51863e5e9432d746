// normalizer.h -- what a tokenizer.json does to a text before anything else.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
struct Node;
class Normalizer {
 public:
  /// Adds the steps of a "normalizer". Throws IoError for those that are not supported.
  void read(const Node&);
  bool empty() const { return steps_.empty(); }
  /// Of UTF-8. `first`, if it is true, becomes false if the first characters are taken away.
  std::string operator()(std::string_view, bool* first = nullptr) const;

 private:
  std::vector<std::function<void(std::string&, bool& first)>> steps_;
};
}  // namespace bora::text
