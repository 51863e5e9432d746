// vocabulary.h -- the bytes of all tokens as a tree, so that tokens that begin alike are looked at together.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bora::text {
class Tokenizer;
}  // namespace bora::text
namespace bora::generate::grammar {
class Vocabulary {
 public:
  /// Special tokens, and those without bytes, are left out. Throws ValueError for a tokenizer that has no token of its
  /// own for a character that JSON is written with.
  explicit Vocabulary(const text::Tokenizer&);
  explicit Vocabulary(std::vector<std::string> tokens);
  /// Nodes come before those below them, which come before all others. 0: the root, which has no byte.
  struct Node {
    std::uint8_t byte = 0;
    std::uint16_t depth = 0;
    std::int32_t end = 0;                   // behind the last node below
    std::int32_t first = 0, behind = 0;     // tokens with these bytes
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  std::span<const std::int32_t> tokens(const Node& n) const {
    return std::span(order_).subspan(static_cast<std::size_t>(n.first), static_cast<std::size_t>(n.behind - n.first));
  }
  /// Of a token that fits nowhere: none.
  const std::string& bytes(std::int32_t id) const { return bytes_[static_cast<std::size_t>(id)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  std::int64_t longest() const { return longest_; }  // token, in bytes

 private:
  void grow();
  std::vector<std::string> bytes_;
  std::vector<std::int32_t> order_ = {};
  std::vector<Node> nodes_ = {};
  std::int64_t longest_ = 0;
};
}  // namespace bora::generate::grammar
