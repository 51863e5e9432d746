// normalizer.h -- what a tokenizer.json does to a text before anything else.
#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
struct Node;
/// The begin of a text while it changes.
struct NormalBegin {
  bool first = true;     // whether its first character is still there
  std::size_t made = 0;  // bytes that were put in front of it
  std::size_t bytes = 0;  // of the text that comes in
  void take(std::size_t bytes) {
    first = first && bytes <= made;
    made -= std::min(made, bytes);
  }
};
class Normalizer {
 public:
  /// Adds the steps of a "normalizer". Throws IoError for those that are not supported.
  void read(const Node&);
  bool empty() const { return steps_.empty(); }
  /// The normal form of UTF-8. `first`, if it is true, becomes false if the first characters are taken away.
  std::string operator()(std::string_view, bool* first = nullptr) const;

 private:
  std::vector<std::function<void(std::string&, NormalBegin&)>> steps_;
};
}  // namespace bora::text
