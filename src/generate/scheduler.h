// scheduler.h -- which tokens of which sequences a step computes, and in which pages their keys lie. It knows numbers
// alone: no model, no thread, no clock.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>
#include "bora/models/stepper.h"
#include "generate/lookup.h"
#include "generate/prefix_tree.h"

namespace bora::generate::engine {
/// A request's number and one of its choices: requests that came first are before others.
using Key = std::pair<std::uint64_t, std::int64_t>;
/// The tokens of one choice, and how far the model is with them.
struct Sequence {
  std::vector<std::int32_t> tokens = {};
  std::int64_t done = 0;    // tokens whose keys are in the pages
  std::int64_t scored = 0;  // the first token after which scores are wanted
  std::int64_t inputs = -1;
  bool shares = true;  // pages with others whose tokens are the same
  bool begun = false;  // its request has begun
  std::int64_t input_pages = 0;  // that its encoder's result takes until free_inputs()
  std::int64_t most = 0;         // tokens that it may come to have: drafts reach no further
  std::int64_t cached = 0;  // tokens that it found in others' pages when it began
  std::vector<std::int32_t> pages = {};  // -1: before the window
  std::int64_t dropped = 0;              // pages that are -1, which are the first ones
  PrefixTree::Node* node = nullptr;  // of the last page that is in the tree
  std::int64_t entered = 0;          // pages that are in the tree
  Lookup lookup = {};
};
/// Some tokens of a sequence in a step: `count` after the first `before`, with the scores of the last `wanted`. The
/// last ones may be drafts, which are none of its tokens yet.
struct Part {
  Key key;
  std::int64_t before = 0, count = 0, wanted = 0;
  std::vector<std::int32_t> drafts = {};
};
struct Plan {
  std::vector<Part> parts = {};
  std::vector<Key> begun = {};  // sequences that no step had before
};
class Scheduler {
 public:
  struct Limits {
    std::int64_t pages = 1, step_tokens = 256, rows = 32;
    std::int64_t scores = 256;  // rows of scores in a step, at least `rows`
    std::int64_t window = 1 << 30;  // tokens that a token sees, its own included
    std::int64_t lookup = 0;        // drafts of a sequence in a step at most
    std::int64_t drafted_step = 16;  // tokens of a step with drafts at most
  };
  struct Counts {
    std::int64_t preemptions = 0, asked = 0, found = 0;  // tokens that began, and those of them in others' pages
  };
  explicit Scheduler(const Limits&);
  /// It waits behind those with smaller keys.
  void add(const Key&, Sequence);
  /// Frees what it uses, if it is there.
  void remove(const Key&);
  Sequence& at(const Key& key) { return all_.at(key); }
  /// The encoder's result of a request is forgotten.
  void free_inputs(std::int64_t pages) { input_pages_ -= pages; }
  /// The next step: first the sequences with one more token, then those that read, which share the other tokens of the
  /// step evenly. A sequence without a free page takes one from before the window of a sequence, else those of the
  /// newest one behind it, which waits again and is computed again. Drafts take what is left: tokens, scores and free
  /// pages. begin: whether requests may begin that have not. Empty: none may go on.
  Plan plan(bool begin);
  /// Adds the plan to a model's step, with pages that begin at `first`.
  void add_to(models::Step&, const Plan&, std::int64_t first = 0) const;
  /// The step has been computed, its drafts aside: append() says which of them are right.
  void done(const Plan&);
  /// Its next token. computed: it was a draft of the last step, after right ones, so that its keys are there.
  void append(const Key&, std::int32_t token, bool computed);
  /// Forgets all pages that no sequence uses.
  void forget() { tree_.clear(); }
  std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(all_.size()); }
  std::int64_t used_pages() const { return tree_.size() - tree_.available(); }
  const Counts& counts() const { return counts_; }
  /// Pages that a sequence of so many tokens needs at least, if it is alone.
  static std::int64_t least_pages(std::int64_t tokens, std::int64_t window, std::int64_t step_tokens);
  static std::int64_t pages_of(std::int64_t tokens) { return (tokens + PrefixTree::kPage - 1) / PrefixTree::kPage; }

 private:
  void admit(Plan&, bool begin);
  bool has_room(const Sequence&) const;
  std::int64_t cover(const Key&, std::int64_t tokens, Plan&);
  bool add_part(const Key&, std::int64_t count, std::int64_t& scores, Plan&);
  void add_drafts(std::int64_t tokens, std::int64_t scores, Plan&);
  void enter(Sequence&);
  void preempt(Key, Plan&);
  bool leave_window();
  void release(Sequence&);
  Limits limits_;
  PrefixTree tree_;
  std::map<Key, Sequence> all_ = {};
  std::set<Key> waiting_ = {}, running_ = {};
  std::int64_t input_pages_ = 0;
  std::int64_t plans_ = 0;
  Counts counts_;
};
}  // namespace bora::generate::engine
