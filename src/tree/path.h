// path.h -- the path of a walk over a tree.
#pragma once
#include <string>
#include <vector>
#include "bora/tree/node.h"

namespace bora::tree {
class Path {
 public:
  void enter(const Name& n) {
    marks_.push_back(text_.size());
    append(text_, n);
  }
  void leave() {
    text_.resize(marks_.back());
    marks_.pop_back();
  }
  /// The path of a part of what the walk is in.
  std::string at(const Name& n) const {
    auto r = text_;
    append(r, n);
    return r;
  }
  const std::string& text() const { return text_; }

 private:
  static void append(std::string& to, const Name& n) {
    if (n.kind == Name::Kind::none) return;
    if (!to.empty()) to += '.';
    if (n.kind == Name::Kind::index) to += std::to_string(n.index);
    else to += n.text;
  }
  std::string text_ = {};
  std::vector<std::size_t> marks_ = {};
};
}  // namespace bora::tree
