// fuse.cpp -- decides which instructions become one loop: greedily, in program order, each with the producers of its
// operands. A set may grow only if no path leaves it and comes back, if the iteration spaces agree, and if a loop of
// the whole set exists (fuse_loop.cpp).
#include "compile/passes/fuse/fuse.h"
#include <algorithm>
#include "compile/passes/fuse/fuse_group.h"

namespace bora::exec {
namespace {
constexpr std::int64_t kShortestRow = 16;  // below, computing a value once per row and repeating it does not pay
constexpr std::int64_t kLittle = 4096;     // elements that cost less than a call or two
constexpr std::int64_t kCall = 400;        // instructions, one waiting for the other, that cost more than a call
constexpr std::size_t kNeighbours = 32;    // sets further apart are not joined: values would live longer

class Fuser {
 public:
  Fuser(Graph& g, const std::vector<const Instruction*>& code)
      : g_(g), scene_(g, code), group_of_(scene_.items.size(), -1) {}

  std::vector<Node> run() {
    int last_effect = -1;
    for (std::size_t k = 0; k < scene_.items.size(); ++k) {
      auto& it = scene_.items[k];
      if (it.kind == Item::Kind::lazy) continue;
      int me = add(static_cast<int>(k));
      if (communicates(*it.code) || has_effect(*it.code)) {
        if (last_effect >= 0) {
          sets_[idx(me)].before.push_back(last_effect);
          sets_[idx(last_effect)].behind.push_back(me);
        }
        last_effect = me;
      }
      if (it.kind != Item::Kind::other) join_makers(me, it);
    }
    join_neighbours();
    return nodes();
  }

 private:
  struct Set {
    Group group;
    std::int64_t order;  // ascending along every dependence between sets
    bool loop;           // may be part of a loop
    bool alive = true;
    std::vector<int> before = {}, behind = {};  // order of effects
  };

  int add(int k) {
    auto& it = scene_.items[idx(k)];
    Set s{{{k}, {it.kind == Item::Kind::reduce}, it.elements, it.columns}, next_++, it.kind != Item::Kind::other};
    sets_.push_back(std::move(s));
    return group_of_[idx(k)] = static_cast<int>(sets_.size()) - 1;
  }
  int set_making(int variable) const {
    int m = scene_.maker[idx(variable)];
    return m < 0 || scene_.items[idx(m)].kind == Item::Kind::lazy ? -1 : group_of_[idx(m)];
  }
  void join_makers(int me, const Item& it) {
    std::vector<int> makers;
    auto k = sets_[idx(me)].group.members[0];
    for (int v : it.code->in) {
      for (int b : scene_.read(v).bottoms)
        if (int s = set_making(b);
            s >= 0 && sets_[idx(s)].loop && std::find(makers.begin(), makers.end(), s) == makers.end())
          makers.push_back(s);
    }
    // Sets with rows first: a value per row must join the rows that it came from, so that they can use it again.
    std::stable_sort(makers.begin(), makers.end(), [&](int a, int b) { return rank(a) > rank(b); });
    for (int s : makers) {
      if (!sets_[idx(s)].alive || s == me) continue;
      auto joined = join(s, me);
      if (sets_[idx(s)].alive && sets_[idx(me)].alive)
        for (int v : it.code->in)
          for (int b : scene_.read(v).bottoms)
            if (set_making(b) == s) apart_[{b, k}] = why_;
      me = joined;
    }
  }
  std::vector<int> in_order() const {
    std::vector<int> r;
    for (std::size_t s = 0; s < sets_.size(); ++s)
      if (sets_[s].alive) r.push_back(static_cast<int>(s));
    std::sort(r.begin(), r.end(), [&](int a, int b) { return sets_[idx(a)].order < sets_[idx(b)].order; });
    return r;
  }
  /// Joins sets that do not read each other's values: one call instead of two where there is little work, one read of a
  /// common operand.
  void join_neighbours() {
    std::map<std::int64_t, std::pair<int, std::size_t>> small;  // by elements: the last set, and its position
    std::map<int, std::pair<int, std::size_t>> reader;          // by operand
    auto order = in_order();
    for (std::size_t k = 0; k < order.size(); ++k) {
      int s = order[k];
      if (!sets_[idx(s)].alive || !sets_[idx(s)].loop) continue;
      auto n = sets_[idx(s)].group.elements;
      auto meet = [&](const std::pair<int, std::size_t>& other) {
        auto [t, at] = other;
        if (t == s || !sets_[idx(t)].alive || k - at > kNeighbours || sets_[idx(t)].group.elements != n) return;
        auto &x = sets_[idx(t)].group, &y = sets_[idx(s)].group;
        if (auto both = united(x, y); both && boxes(*both) > boxes(x) + boxes(y)) return;
        s = join(t, s);
      };
      if (n <= kLittle) {
        if (auto it = small.find(n); it != small.end()) meet(it->second);
        small[n] = {s, k};
      }
      std::vector<std::pair<int, int>> read;  // variable, reader
      for (int m : sets_[idx(s)].group.members)
        for (int v : scene_.items[idx(m)].code->in)
          if (auto& r = scene_.read(v);
              r.kind == Read::Kind::memory && set_making(r.root) != s && g_.vars[idx(r.root)].size() == n)
            read.push_back({r.root, m});
      for (auto [r, m] : read)
        if (auto it = reader.find(r); it != reader.end()) {
          why_ = nullptr;
          meet(it->second);
          if (why_) apart_.try_emplace({r, m}, why_);
        }
      for (auto [r, m] : read) reader[r] = {s, k};
    }
  }
  /// Calls of the kernel layer that the loop of a group would make.
  std::size_t boxes(const Group& g) const {
    auto r = regions_of(scene_, g);
    return r ? std::max<std::size_t>(1, r->boxes.size()) : 1;
  }
  std::pair<bool, std::int64_t> rank(int s) const { return {sets_[idx(s)].group.columns > 0, sets_[idx(s)].order}; }

  /// The union of both sets, or `b` if they cannot be joined.
  int join(int a, int b) {
    auto& x = sets_[idx(a)];
    auto& y = sets_[idx(b)];
    auto g = united(x.group, y.group);
    why_ = !g                   ? "neither has a value for each element, or for each row, of the other"
           : waits(a, b)        ? "computing a value in each of its short rows takes longer than an array of them"
           : path_outside(a, b) ? "a kernel between them needs the one and is needed by the other"
                                : nullptr;
    if (why_ || !make_loop(scene_, *g, why_, false)) return b;
    auto keep = x.order > y.order ? a : b, gone = keep == a ? b : a;
    auto &k = sets_[idx(keep)], &o = sets_[idx(gone)];
    k.group = std::move(*g);
    for (int m : k.group.members) group_of_[idx(m)] = keep;
    o.alive = false;
    o.group = {};
    move_behind(keep);
    return keep;
  }
  /// Would the loop of both compute much once per row, one value at a time, where rows are short? A loop of its own
  /// computes a vector of such values in the same time. Values made of the sums of rows wait for these anyway; only in
  /// small arrays of very short rows do they wait longer than a loop takes.
  bool waits(int a, int b) const {
    if (sets_[idx(a)].group.elements > sets_[idx(b)].group.elements) std::swap(a, b);
    auto &small = sets_[idx(a)].group, &large = sets_[idx(b)].group;
    if (small.elements == large.elements) return false;
    std::int64_t cost = 0;
    bool behind = false;
    for (int m : small.members) {
      cost += scene_.items[idx(m)].cost;
      for (int v : scene_.items[idx(m)].code->in)
        for (int made : scene_.read(v).bottoms) behind = behind || set_making(made) == b;
    }
    if (behind && (large.columns > 8 || large.elements > kLittle)) return false;
    return small.elements * cost >= kCall && large.elements / small.elements <= 16 * cost;
  }
  static std::optional<Group> united(const Group& a, const Group& b) {
    Group r;
    bool a_rows = false, b_rows = false;  // are all of its values one per row of the other?
    if (a.elements == b.elements) {
      if (a.columns && b.columns && a.columns != b.columns) return std::nullopt;
      r.columns = std::max(a.columns, b.columns);
    } else {
      auto &small = a.elements < b.elements ? a : b, &large = a.elements < b.elements ? b : a;
      auto columns = large.elements / small.elements;
      if (large.elements % small.elements != 0 || small.columns || (large.columns && large.columns != columns))
        return std::nullopt;
      if (!large.columns && columns < kShortestRow) return std::nullopt;
      r.columns = columns;
      (&small == &a ? a_rows : b_rows) = true;
    }
    r.elements = std::max(a.elements, b.elements);
    std::vector<std::pair<int, bool>> all;
    for (std::size_t m = 0; m < a.members.size(); ++m) all.push_back({a.members[m], a_rows || a.per_row[m]});
    for (std::size_t m = 0; m < b.members.size(); ++m) all.push_back({b.members[m], b_rows || b.per_row[m]});
    std::sort(all.begin(), all.end());
    for (auto& [m, row] : all) {
      r.members.push_back(m);
      r.per_row.push_back(row);
    }
    return r;
  }

  template <class F> void each_before(int s, F&& f) const {
    for (int m : sets_[idx(s)].group.members)
      for (int v : scene_.items[idx(m)].code->in)
        for (int b : scene_.read(v).bottoms)
          if (int t = set_making(b); t >= 0 && t != s) f(t);
    for (int t : sets_[idx(s)].before) f(t);
  }
  template <class F> void each_behind(int s, F&& f) const {
    for (int m : sets_[idx(s)].group.members)
      for (int v : scene_.items[idx(m)].code->out)
        for (int r : scene_.readers[g_.at(v)])
          if (int t = group_of_[idx(r)]; t >= 0 && t != s) f(t);
    for (int t : sets_[idx(s)].behind) f(t);
  }
  /// Is there a path from one to the other through a third?
  bool path_outside(int a, int b) {
    if (sets_[idx(a)].order > sets_[idx(b)].order) std::swap(a, b);
    auto first = sets_[idx(a)].order;
    std::vector<int> todo;
    mark_.resize(sets_.size());
    ++stamp_;
    auto push = [&](int t) {
      if (mark_[idx(t)] == stamp_ || sets_[idx(t)].order < first) return;
      mark_[idx(t)] = stamp_;
      todo.push_back(t);
    };
    each_before(b, [&](int t) {
      if (t != a) push(t);
    });
    while (!todo.empty()) {
      int t = todo.back();
      todo.pop_back();
      if (t == a) return true;
      each_before(t, push);
    }
    return false;
  }
  /// Moves sets that depend on s behind it again.
  void move_behind(int s) {
    std::vector<int> found{s};
    mark_.resize(sets_.size());
    mark_[idx(s)] = ++stamp_;
    for (std::size_t k = 0; k < found.size(); ++k)
      each_behind(found[k], [&](int t) {
        if (mark_[idx(t)] == stamp_) return;
        mark_[idx(t)] = stamp_;
        found.push_back(t);
      });
    std::sort(found.begin() + 1, found.end(), [&](int a, int b) { return sets_[idx(a)].order < sets_[idx(b)].order; });
    for (int t : found) sets_[idx(t)].order = next_++;
  }

  std::vector<Node> nodes() {
    for (int s : in_order()) emit(sets_[idx(s)].group, sets_[idx(s)].loop);
    for (int v : g_.out) make(v);
    return std::move(nodes_);
  }
  /// Emits lazy instructions that are read from memory.
  void make(int v) {
    auto root = g_.at(v);
    int m = scene_.maker[root];
    if (m < 0 || group_of_[idx(m)] >= 0 || scene_.items[idx(m)].kind != Item::Kind::lazy) return;
    group_of_[idx(m)] = static_cast<int>(sets_.size());
    auto& code = *scene_.items[idx(m)].code;
    for (int u : code.in) make(u);
    nodes_.push_back({Node::Kind::eval, code.primitive, code.in, code.out, code.source, {}});
  }
  void emit(const Group& g, bool loop) {
    auto& code = *scene_.items[idx(g.members.back())].code;
    bool alone = g.members.size() == 1 && scene_.items[idx(g.members[0])].kind != Item::Kind::op &&
                 scene_.items[idx(g.members[0])].kind != Item::Kind::cast;
    auto fused = loop && !alone ? make_loop(scene_, g, why_, true) : nullptr;
    if (!fused) {
      for (int m : g.members) {  // several where a box that was not tried has no loop
        auto& each = *scene_.items[idx(m)].code;
        for (int v : each.in) make(v);
        nodes_.push_back({Node::Kind::eval, each.primitive, each.in, each.out, each.source, {}});
      }
      return;
    }
    for (int m : g.members)
      for (int v : scene_.items[idx(m)].code->in)
        for (int r : scene_.read(v).bottoms) {
          auto known = [&](auto& a) { return a.var == r; };
          if (set_making(r) == group_of_[idx(m)] || std::any_of(fused->breaks.begin(), fused->breaks.end(), known))
            continue;
          if (auto it = apart_.find({r, m}); it != apart_.end()) fused->breaks.push_back({r, it->second});
        }
    Node n{Node::Kind::loop, code.primitive, {}, {}, code.source, fused};
    for (std::size_t k = 0; k < fused->kept(); ++k) (fused->stored[k] ? n.out : n.in).push_back(fused->operands[k]);
    for (auto& e : fused->edges)
      for (std::size_t k = 0; k < e->operands.size(); ++k)
        if (int v = e->operands[k]; !e->stored[k] && std::find(n.in.begin(), n.in.end(), v) == n.in.end())
          n.in.push_back(v);
    for (auto& s : fused->sums) n.out.push_back(s.var);
    for (auto& s : fused->starts) n.in.push_back(s.var);
    for (int v : n.in) make(v);
    nodes_.push_back(std::move(n));
  }

  Graph& g_;
  Scene scene_;
  std::vector<int> group_of_;  // of each item: its set
  std::vector<Set> sets_;
  std::int64_t next_ = 0;
  const char* why_ = nullptr;                         // why the last two sets were not joined
  std::map<std::pair<int, int>, const char*> apart_;  // why an item reads this variable from memory
  std::vector<std::int64_t> mark_;
  std::int64_t stamp_ = 0;
  std::vector<Node> nodes_;
};
}  // namespace

std::vector<Node> fuse(Graph& g, const std::vector<const Instruction*>& code) { return Fuser(g, code).run(); }
}  // namespace bora::exec
