// prefix_tree.h -- full pages by the exact tokens whose keys they hold and all tokens before them.
#pragma once
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>
#include "bora/models/stepper.h"
#include "generate/pages.h"

namespace bora::generate::engine {
/// The tree is one of the users of a page that it knows. A page that nobody else uses stays, until its place is needed:
/// the least recently used one goes first, and none before those that follow it.
class PrefixTree {
 public:
  static constexpr auto kPage = models::Stepper::kPagePositions;
  using Tokens = std::array<std::int32_t, kPage>;
  struct Node;
  using After = std::map<Tokens, Node*>;
  struct Node {
    Node* before = nullptr;  // null: the root, or a page that the tree does not know
    After::iterator place = {};  // in before->after
    After after = {};
    std::int32_t page = -1;
    std::uint64_t used = 0;  // a number that grows with each use
  };
  explicit PrefixTree(std::int64_t pages);
  Node* root() { return &root_; }
  /// A page that is free, or becomes so; none: others use all of them.
  std::optional<std::int32_t> take();
  /// The number of pages that take() could give.
  std::int64_t available() const { return pool_.free() + unused_; }
  std::int64_t size() const { return pool_.size(); }
  /// The last node of the longest beginning of these tokens that is known, at most `most` pages long. Its pages are
  /// appended, and used by the caller.
  Node* find(std::span<const std::int32_t> tokens, std::int64_t most, std::vector<std::int32_t>& pages);
  /// Enters the caller's page of these tokens, which follow those of `before`. If the tree has one with the same
  /// tokens, the caller uses that one in place of its own.
  Node* add(Node* before, std::span<const std::int32_t> tokens, std::int32_t& page);
  void release(std::int32_t page);
  /// The caller uses a page no more, and neither needs those that follow it to be found: if nobody else uses it, it is
  /// free, and its node and those after it are forgotten (known() tells).
  void drop(std::int32_t page);
  bool known(const Node& n) const { return n.before != nullptr || &n == &root_; }
  /// Forgets all tokens. Pages that are used stay with their users.
  void clear();

 private:
  Node& node(std::int32_t page) { return of_page_[static_cast<std::size_t>(page)]; }
  void retain(Node&);
  void forget(Node&);
  PagePool pool_;
  Node root_;
  std::vector<Node> of_page_;
  std::set<std::pair<std::uint64_t, Node*>> leaves_ = {};  // used by nobody, and followed by none
  std::int64_t unused_ = 0;     // pages that the tree alone uses
  std::uint64_t now_ = 0;
};
}  // namespace bora::generate::engine
