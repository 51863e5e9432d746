// pre_tokenizer.h -- the words that a tokenizer.json cuts a text into; no token spans two of them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "text/tokenizers/pattern.h"

namespace bora::text {
class PreTokenizer {
 public:
  using Word = std::function<void(std::string_view)>;
  /// Adds the steps of a "pre_tokenizer". Throws IoError for those that are not supported.
  void read(const Node&);
  /// Calls f with the words of UTF-8, in order, without empty ones. first: whether the text begins here.
  void split(std::string_view text, bool first, const Word& f) const { split(text, first, 0, f); }
  /// Whether words are for a model of bytes.
  bool byte_level() const { return byte_level_; }
  /// Whether the words together are the text.
  bool keeps_text() const;

 private:
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  enum class Prefix { never, first, always };
  struct Step {
    Prefix prefix = Prefix::never;        // when `space` goes in front of pieces without one
    std::string space = " ";              // stands for a space from here on
    std::optional<Pattern> pattern = {};  // pieces are cut by its matches
    Behavior behavior = Behavior::isolated;
    bool invert = false;  // what lies between matches counts as the match
  };
  static Step metaspace(const Node&);
  static Step split_step(const Node&);
  static Behavior behavior(const Node&);
  static void cut(const Step&, std::string_view, const Word&);
  void split(std::string_view, bool first, std::size_t step, const Word&) const;
  std::vector<Step> steps_;
  bool byte_level_ = false;
};
}  // namespace bora::text
