#include "generate/grammar/masks.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora::generate::grammar {
namespace {
constexpr std::size_t kManySets = 20'000, kMostSets = 100'000;  // 20 MB; while a mask is made
constexpr std::size_t kManyHeld = 1 << 20, kMostHeld = 2 << 20;  // 8 MB
constexpr std::size_t kMostMasks = 256;            // 5 MB of 150,000 tokens
constexpr std::int64_t kMostLocalBytes = 48 << 20;

void put(Mask& mask, std::int32_t token) {
  mask[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << (token % 64);
}
}  // namespace

// ---- stacks ---------------------------------------------------------------------------------------------------------
std::int32_t Stacks::pushed(std::int32_t state, std::int32_t below) {
  auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(state)) << 32 | static_cast<std::uint32_t>(below);
  auto [at, is_new] = known_.emplace(key, static_cast<std::int32_t>(stacks_.size()));
  if (is_new) {
    stacks_.push_back({state, below});
    seen_.push_back(0);
  }
  return at->second;
}
/// Adds the stacks that this one becomes without a byte.
void Stacks::reach(std::int32_t i) {
  std::vector<std::int32_t> todo{i};
  while (!todo.empty()) {
    i = todo.back();
    todo.pop_back();
    if (std::exchange(seen_[static_cast<std::size_t>(i)], round_) == round_) continue;
    auto [number, below] = stack(i);
    auto& s = automaton_.at(number);
    if (s.reads) tops_.push_back(i);
    if (s.last && below == kBottom) whole_ = true;
    else if (s.last) todo.push_back(below);
    for (auto& e : s.edges) {
      if (e.kind == Edge::Kind::nothing) todo.push_back(pushed(e.to, below));
      if (e.kind != Edge::Kind::rule) continue;
      // A state at the end of its rule is not put on the stack: what is below goes on.
      auto& back = automaton_.at(e.to);
      bool ends = back.last && back.edges.empty();
      todo.push_back(pushed(automaton_.rule_at(e.rule).first, ends ? below : pushed(e.to, below)));
    }
  }
}
std::int32_t Stacks::reached() {
  std::sort(tops_.begin(), tops_.end());
  ++round_;
  return set(std::exchange(tops_, {}), std::exchange(whole_, false));
}
std::int32_t Stacks::set(std::vector<std::int32_t> tops, bool whole) {
  bora::check<ValueError>(held_ + tops.size() <= kMostHeld && sets_.size() < kMostSets,
                          "grammar: a text may stand at too many places at once; a simpler pattern or schema helps");
  auto n = tops.size();
  auto [at, is_new] = known_sets_.emplace(std::pair{std::move(tops), whole}, static_cast<std::int32_t>(sets_.size()));
  if (is_new) {
    held_ += n;
    sets_.push_back({at->first.first, whole});
    sets_.back().next.fill(at->second == kNowhere ? kNowhere : kUnknown);
  }
  return at->second;
}
bool Stacks::full() const { return sets_.size() > kManySets || held_ > kManyHeld || stacks_.size() > kManyHeld; }
std::int32_t Stacks::begin(std::int32_t state, std::int32_t below) {
  reach(pushed(state, below));
  return reached();
}
std::int32_t Stacks::begin_below(std::int32_t i) {
  if (stack(i).below == kBottom) return kNowhere;
  reach(stack(i).below);
  return reached();
}
std::int32_t Stacks::step(std::int32_t from, std::uint8_t byte) {
  for (auto top : at(from).tops) {
    auto [number, below] = stack(top);
    for (auto& e : automaton_.at(number).edges)
      if (e.kind == Edge::Kind::bytes && e.low <= byte && byte <= e.high) reach(pushed(e.to, below));
  }
  auto to = reached();
  return sets_[static_cast<std::size_t>(from)].next[byte] = to;
}
std::int32_t Stacks::copy(const Stacks& from, std::int32_t i) {
  std::vector<std::int32_t> tops;
  for (auto top : from.at(i).tops) {
    std::vector<std::int32_t> states;
    for (; top != kBottom; top = from.stack(top).below) states.push_back(from.stack(top).state);
    auto mine = kBottom;
    for (; !states.empty(); states.pop_back()) mine = pushed(states.back(), mine);
    tops.push_back(mine);
  }
  std::sort(tops.begin(), tops.end());
  return set(std::move(tops), from.at(i).whole);
}

// ---- masks ----------------------------------------------------------------------------------------------------------
Masks::Masks(Automaton a, std::int32_t rule, std::shared_ptr<const Vocabulary> v)
    : automaton_(std::move(a)), rule_(rule), vocabulary_(std::move(v)),
      stacks_(std::make_shared<Stacks>(automaton_)), path_(static_cast<std::size_t>(vocabulary_->longest()) + 1) {}
Masks::Place Masks::begin() { return {stacks_, stacks_->begin(automaton_.rule_at(rule_).first)}; }
/// There are other stacks where there were too many.
void Masks::refresh(Place& p, bool anyway) {
  if (anyway || stacks_->full()) {
    stacks_ = std::make_shared<Stacks>(automaton_);
    masks_.clear();
  }
  if (p.stacks == stacks_) return;
  p.set = stacks_->copy(*p.stacks, p.set);
  p.stacks = stacks_;
}
void Masks::take(Place& p, std::string_view bytes) {
  refresh(p);
  auto set = p.set;
  for (char c : bytes) set = stacks_->next(set, static_cast<std::uint8_t>(c));
  p.set = set;
}
/// Looks at all nodes below one to which bytes lead, and calls token() with each such node, and end() where the rule
/// may end as well.
template <class Token, class End>
void Masks::walk(Stacks& stacks, std::int32_t node, std::int32_t set, const Token& token, const End& end) {
  auto& nodes = vocabulary_->nodes();
  auto top = nodes[static_cast<std::size_t>(node)].depth;
  path_[top] = set;
  for (auto i = node + 1; i < nodes[static_cast<std::size_t>(node)].end;) {
    auto& n = nodes[static_cast<std::size_t>(i)];
    auto to = stacks.next(path_[n.depth - 1U], n.byte);
    if (to == Stacks::kNowhere) {
      i = n.end;
      continue;
    }
    path_[n.depth] = to;
    if (n.first != n.behind) token(n);
    if (stacks.at(to).whole) end(i);
    ++i;
  }
}
/// Over stacks of its own: whether there are too many depends on the state alone.
const Masks::Local& Masks::local(std::int32_t state) {
  state = automaton_.at(state).alike;
  if (auto known = locals_.find(state); known != locals_.end()) return known->second;
  if (local_bytes_ > kMostLocalBytes) locals_.clear(), local_bytes_ = 0;
  Local l;
  Stacks stacks(automaton_);
  walk(stacks, 0, stacks.begin(state),
       [&](const Vocabulary::Node& n) {
         for (auto token : vocabulary_->tokens(n)) l.few.push_back(token);
       },
       [&](std::int32_t node) { l.ends.push_back(node); });
  if (std::ssize(l.few) > vocabulary_->size() / 32) {
    l.many.resize((static_cast<std::size_t>(vocabulary_->size()) + 63) / 64);
    for (auto token : std::exchange(l.few, {})) put(l.many, token);
  }
  local_bytes_ += std::ssize(l.many) * 8 + (std::ssize(l.few) + std::ssize(l.ends)) * 4 + 100;
  return locals_.emplace(state, std::move(l)).first->second;
}
void Masks::prepare(std::int64_t most) {
  constexpr int kPrintable = 0x5F;
  for (std::int32_t i = 0; i < automaton_.size() && most > 0; ++i) {
    auto& s = automaton_.at(i);
    int width = 0;
    for (auto& e : s.edges)
      if (e.kind == Edge::Kind::bytes) width += std::max(0, std::min<int>(e.high, '~') - std::max<int>(e.low, ' ') + 1);
    if (s.alike != i || width < kPrintable / 2) continue;
    (void)local(i);
    --most;
  }
}
Mask Masks::mask_at(std::int32_t set) {
  auto& nodes = vocabulary_->nodes();
  Mask mask((static_cast<std::size_t>(vocabulary_->size()) + 63) / 64);
  for (auto top : std::vector(stacks_->at(set).tops)) {
    auto& l = local(stacks_->stack(top).state);
    for (auto token : l.few) put(mask, token);
    for (std::size_t k = 0; k < l.many.size(); ++k) mask[k] |= l.many[k];
    auto below = l.ends.empty() ? Stacks::kNowhere : stacks_->begin_below(top);
    if (below == Stacks::kNowhere) continue;
    for (auto node : l.ends)
      if (nodes[static_cast<std::size_t>(node)].end > node + 1)
        walk(*stacks_, node, below,
             [&](const Vocabulary::Node& n) {
               for (auto token : vocabulary_->tokens(n)) put(mask, token);
             },
             [](std::int32_t) {});
  }
  return mask;
}
std::shared_ptr<const Mask> Masks::mask(Place& p) {
  refresh(p);
  if (auto known = masks_.find(p.set); known != masks_.end()) return known->second;
  if (masks_.size() >= kMostMasks) masks_.clear();
  Mask mask;
  try {
    mask = mask_at(p.set);
  } catch (const ValueError&) {  // too many, of which some are left from others
    refresh(p, true);
    mask = mask_at(p.set);
  }
  return masks_.emplace(p.set, std::make_shared<const Mask>(std::move(mask))).first->second;
}
}  // namespace bora::generate::grammar
