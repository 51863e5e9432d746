#include "generate/scheduler.h"
#include <algorithm>
#include <utility>
#include "bora/base/error.h"

namespace bora::generate::engine {
namespace {
constexpr auto kPage = PrefixTree::kPage;
constexpr std::int64_t kTries = 16;  // steps from one to the next
std::int64_t left(const Sequence& s) { return size_of(s.tokens) - s.done; }
std::span<const std::int32_t> from(const Sequence& s, std::int64_t i) {
  return std::span(s.tokens).subspan(static_cast<std::size_t>(i));
}
}  // namespace
Scheduler::Scheduler(const Limits& l) : limits_(l), tree_(l.pages) {
  limits_.rows = std::min(l.rows, l.step_tokens);  // each of them has a token in each step
  limits_.scores = std::max(l.scores, limits_.rows);
}
void Scheduler::add(const Key& key, Sequence s) {
  auto needed = least_pages(size_of(s.tokens), limits_.window, limits_.step_tokens);
  bora::check<ValueError>(!s.tokens.empty() && needed <= tree_.size(), "scheduler: ", size_of(s.tokens),
                          " tokens for ", tree_.size(), " pages of ", kPage);
  s.node = tree_.root();
  all_.emplace(key, std::move(s));
  waiting_.insert(key);
}
void Scheduler::remove(const Key& key) {
  auto found = all_.find(key);
  if (found == all_.end()) return;
  release(found->second);
  all_.erase(key);
  waiting_.erase(key);
  running_.erase(key);
}
void Scheduler::release(Sequence& s) {
  for (auto page = s.pages.rbegin(); page != s.pages.rend() - s.dropped; ++page) tree_.release(*page);
  s.pages.clear();
  s.done = s.entered = s.dropped = 0;
  s.node = tree_.root();
}
void Scheduler::preempt(Key key, Plan& p) {  // a copy: it may be that of the set
  release(at(key));
  running_.erase(key);
  waiting_.insert(key);
  std::erase_if(p.parts, [&](auto& part) { return part.key == key; });
  ++counts_.preemptions;
}
/// Frees a page that lies before a sequence's window; false: there is none.
bool Scheduler::leave_window() {
  auto before = tree_.available();
  for (auto& key : running_) {
    auto& s = at(key);
    auto out = (s.done - limits_.window + 1) / kPage;
    if (s.shares) out = std::min(out, s.entered - 1);  // that of its node stays
    for (; s.dropped < out; ++s.dropped) tree_.drop(std::exchange(s.pages[static_cast<std::size_t>(s.dropped)], -1));
    if (tree_.available() > before) return true;
  }
  return false;
}
std::int64_t Scheduler::least_pages(std::int64_t tokens, std::int64_t window, std::int64_t step_tokens) {
  return std::min(pages_of(tokens), pages_of(std::min(window, tokens)) + pages_of(step_tokens) + 2);
}
/// Takes pages for the first so many tokens, from newer ones if none is free; returns the number that have pages.
std::int64_t Scheduler::cover(const Key& key, std::int64_t tokens, Plan& p) {
  auto& s = at(key);
  while (size_of(s.pages) * kPage < tokens) {
    auto page = tree_.take();
    if (page) s.pages.push_back(*page);
    else if (leave_window()) continue;
    else if (*running_.rbegin() > key) preempt(*running_.rbegin(), p);
    else break;
  }
  return std::min(tokens, size_of(s.pages) * kPage);
}
/// Whether it has pages for a token at least. scores: those that are left.
bool Scheduler::add_part(const Key& key, std::int64_t count, std::int64_t& scores, Plan& p) {
  auto& s = at(key);
  auto to = cover(key, s.done + count, p);
  auto wanted = [&] { return std::max<std::int64_t>(0, to - std::max(s.done, s.scored)); };
  to -= std::max<std::int64_t>(0, wanted() - scores);
  if (to <= s.done) return false;
  scores -= wanted();
  p.parts.push_back({key, s.done, to - s.done, wanted()});
  return true;
}
/// Whether its pages are left beside those that the running ones need for the tokens that they have, and one for each
/// of them to go on.
bool Scheduler::has_room(const Sequence& s) const {
  if (!s.begun && input_pages_ + s.input_pages > tree_.size()) return false;
  auto needed = pages_of(size_of(s.tokens)) - size_of(s.pages);
  for (auto& key : running_) {
    auto& other = all_.at(key);
    needed += pages_of(size_of(other.tokens)) - size_of(other.pages) + 1;
  }
  return running_.empty() || needed <= tree_.available();
}
void Scheduler::admit(Plan& p, bool begin) {
  for (auto next = waiting_.begin(); next != waiting_.end() && running() < limits_.rows;) {
    auto key = *next;
    auto& s = at(key);
    if (!s.begun && !begin) {
      ++next;
      continue;
    }
    // Scores need the keys of a token computed, not found.
    if (s.shares) s.node = tree_.find(s.tokens, std::min(s.scored, size_of(s.tokens) - 1) / kPage, s.pages);
    if (!has_room(s)) return release(s);
    s.entered = size_of(s.pages);
    s.done = s.entered * kPage;
    if (!s.begun) {
      s.begun = true;
      input_pages_ += s.input_pages;
      s.cached = s.done;
      counts_.asked += size_of(s.tokens);
      counts_.found += s.cached;
      p.begun.push_back(key);
    }
    next = waiting_.erase(next);
    running_.insert(key);
  }
}
Plan Scheduler::plan(bool begin) {
  Plan p;
  auto scores = limits_.scores;
  // Copies of keys: a sequence may send a newer one back to those that wait.
  const std::vector<Key> before(running_.begin(), running_.end());
  const auto preempted = counts_.preemptions;
  for (auto& key : before)
    if (running_.contains(key) && left(at(key)) == 1 && !add_part(key, 1, scores, p)) preempt(key, p);
  if (counts_.preemptions == preempted) admit(p, begin);
  std::vector<Key> readers;
  for (auto& key : running_)
    if (std::none_of(p.parts.begin(), p.parts.end(), [&](auto& part) { return part.key == key; }))
      readers.push_back(key);
  // Shares: those with fewer tokens than an even share leave the rest to the others.
  auto order = readers;
  std::stable_sort(order.begin(), order.end(), [&](auto& a, auto& b) { return left(at(a)) < left(at(b)); });
  std::map<Key, std::int64_t> share;
  auto tokens = limits_.step_tokens - size_of(p.parts);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto even = tokens / static_cast<std::int64_t>(order.size() - i);
    tokens -= share[order[i]] = std::min(left(at(order[i])), even);
  }
  for (auto& key : readers)
    if (running_.contains(key) && share[key] > 0) (void)add_part(key, share[key], scores, p);
  if (limits_.lookup > 0) add_drafts(std::min(limits_.step_tokens, limits_.drafted_step), scores, p);
  return p;
}
/// A step of a few tokens takes hardly longer with a few more, as it reads the weights once; others take none.
void Scheduler::add_drafts(std::int64_t tokens, std::int64_t scores, Plan& p) {
  std::int64_t rows = 0;
  // Of many rows those that are not sure try at the same time: most steps stay as small as they are.
  bool tries = size_of(p.parts) == 1 || plans_++ % kTries == 0;
  for (auto& part : p.parts) tokens -= part.count, rows += part.wanted == 1 ? 1 : 0;
  for (auto& part : p.parts) {
    if (part.wanted != 1) continue;
    auto& s = at(part.key);
    // The last token of all needs no keys, and the one before it chooses it.
    auto most = std::min({limits_.lookup, tokens / rows--, scores, s.most - size_of(s.tokens) - 1});
    if (most <= 0 || left(s) != part.count || !(tries || s.lookup.sure())) continue;
    part.drafts = s.lookup.draft(s.tokens, most);
    auto end = part.before + part.count;
    while (size_of(s.pages) * kPage < end + size_of(part.drafts)) {
      if (auto page = tree_.take()) s.pages.push_back(*page);
      else part.drafts.resize(static_cast<std::size_t>(size_of(s.pages) * kPage - end));
    }
    auto n = size_of(part.drafts);
    part.count += n, part.wanted += n, tokens -= n, scores -= n;
  }
}
void Scheduler::add_to(models::Step& step, const Plan& p, std::int64_t first) const {
  for (auto& part : p.parts) {
    auto& s = all_.at(part.key);
    auto begin = s.tokens.begin() + part.before;
    step.tokens.insert(step.tokens.end(), begin, begin + part.count - size_of(part.drafts));
    step.tokens.insert(step.tokens.end(), part.drafts.begin(), part.drafts.end());
    step.rows.push_back({.before = part.before, .count = part.count, .pages = s.pages, .wanted = part.wanted,
                         .inputs = s.inputs});
    auto& pages = step.rows.back().pages;
    pages.resize(static_cast<std::size_t>(pages_of(part.before + part.count)));
    for (auto& page : pages) page += page < 0 ? 0 : static_cast<std::int32_t>(first);
  }
}
void Scheduler::done(const Plan& p) {
  for (auto& part : p.parts) {
    auto& s = at(part.key);
    s.done += part.count - size_of(part.drafts);
    enter(s);
  }
}
/// Its full pages enter the tree.
void Scheduler::enter(Sequence& s) {
  s.shares = s.shares && tree_.known(*s.node);
  for (; s.shares && s.entered < s.done / kPage; ++s.entered)
    s.node = tree_.add(s.node, from(s, s.entered * kPage), s.pages[static_cast<std::size_t>(s.entered)]);
}
void Scheduler::append(const Key& key, std::int32_t token, bool computed) {
  auto& s = at(key);
  s.tokens.push_back(token);
  ++s.scored;
  if (!computed) return;
  ++s.done;
  enter(s);
}
}  // namespace bora::generate::engine
