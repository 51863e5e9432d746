// plan.cpp -- liveness, memory and addresses. Values that may share memory form a buffer: an operation in place, a
// donated input and the output that takes it, a carry that is updated in place. Buffers of the slab are placed largest
// first, each in the tightest gap.
#include "compile/run/plan.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include "compile/api/control.h"
#include "compile/run/plan_steps.h"

namespace bora::exec {
Place Table::constant(std::uint64_t bits) {
  auto it = std::find(pool.begin(), pool.end(), bits);
  auto k = static_cast<std::size_t>(it - pool.begin());
  if (it == pool.end()) pool.push_back(bits);
  return {0, k * sizeof bits};
}

namespace {
constexpr std::size_t kLine = 64;
/// Large buffers start at different offsets in a 4 KiB page: else loads would wait for stores to another buffer.
std::size_t padded(std::size_t bytes) {
  auto n = (bytes + kLine - 1) / kLine * kLine;
  return n >= 32768 && n % 4096 == 0 ? n + 5 * kLine : n;
}
struct PlanBuffer {
  std::size_t bytes;
  int first, last;  // nodes between which it is in use
  int input = -1, output = -1;
  bool taken = false;  // an input's memory that other values are written to
  Place place = {};
};

class Planner {
 public:
  Planner(Graph g, const std::vector<int>& may_take, Table& t) : g_(std::move(g)), may_take_(may_take), table_(t) {}
  BlockPtr run() {
    auto b = std::make_unique<Block>();
    b->slab = table_.bases++;
    b->in = table_.bases;
    table_.bases += static_cast<int>(g_.in.size());
    b->out = table_.bases;
    table_.bases += static_cast<int>(g_.out.size());
    find_lives();
    for (std::size_t t = 0; t < g_.nodes.size(); ++t) held_.push_back(hold(g_.nodes[t], sliced_last(t), table_));
    for (auto& n : g_.nodes) {
      if (n.kind == Node::Kind::start) ++handles_;
      n.handle += table_.handles;
    }
    table_.handles += handles_;
    share();
    for (std::size_t t = 0; t < g_.nodes.size(); ++t)
      for (auto bytes : held_[t].workspaces) workspace_[t].push_back(add({bytes, at(t), at(t)}));
    b->bytes = place(*b);
    b->arena = fullest(b->bytes);
    emit(*b);
    return b;
  }

 private:
  static int at(std::size_t t) { return static_cast<int>(t); }
  int end() const { return at(g_.nodes.size()); }
  int add(PlanBuffer x) {
    buffers_.push_back(x);
    return static_cast<int>(buffers_.size()) - 1;
  }
  PlanBuffer& buffer(int v) { return buffers_[idx(buffer_of_[g_.at(v)])]; }

  void find_lives() {
    buffer_of_.assign(g_.vars.size(), -1);
    reads_.assign(g_.vars.size(), -1);
    workspace_.resize(g_.nodes.size());
    for (std::size_t i = 0; i < g_.in.size(); ++i) {
      auto r = g_.at(g_.in[i]);
      buffer_of_[r] = add({g_.vars[r].nbytes(), -1, -1, static_cast<int>(i)});
    }
    for (std::size_t t = 0; t < g_.nodes.size(); ++t) {
      for (int v : g_.nodes[t].out) {
        auto r = g_.at(v);
        if (buffer_of_[r] < 0) buffer_of_[r] = add({g_.vars[r].nbytes(), at(t), at(t)});
      }
      for (int v : g_.nodes[t].in) touch(v, t);
    }
    for (std::size_t k = 0; k < g_.out.size(); ++k) {
      auto& x = buffer(g_.out[k]);
      x.last = end();
      reads_[g_.at(g_.out[k])] = end();
      if (x.input < 0 && x.output < 0) x.output = static_cast<int>(k);
    }
    for (std::size_t r = 0; r < g_.stays.size(); ++r) {
      if (!g_.stays[r] || buffer_of_[r] < 0) continue;
      auto& x = buffers_[idx(buffer_of_[r])];
      x.first = -1;
      x.last = reads_[r] = end();
    }
  }
  void touch(int v, std::size_t t) {
    auto r = g_.at(v);
    if (buffer_of_[r] < 0) return;  // a constant
    reads_[r] = std::max(reads_[r], at(t));
    auto& x = buffers_[idx(buffer_of_[r])];
    x.last = std::max(x.last, at(t));
  }
  bool may_take(const PlanBuffer& input, const PlanBuffer& by) const {
    if (by.output < 0 || by.input >= 0) return false;
    int allowed = may_take_[idx(input.input)];
    if (allowed < kAnyOutput) return by.output >= any_from(0) - allowed;
    return allowed == kAnyOutput || allowed == by.output;
  }
  /// For each operand of a scan that it slices and nobody reads later, the results that may be written over it.
  std::vector<int> sliced_last(std::size_t t) {
    auto& n = g_.nodes[t];
    if (!n.primitive || n.kind != Node::Kind::eval) return {};
    std::vector<int> r;
    auto scan = [&](const ops::Scan& s) {
      r.assign(n.in.size(), kNever);
      for (auto i = idx(s.consts + s.carries); i < n.in.size(); ++i) {
        auto from = g_.at(n.in[i]);
        if (buffer_of_[from] < 0 || reads_[from] != at(t)) continue;
        auto& x = buffers_[idx(buffer_of_[from])];
        for (auto k = idx(s.carries); k < n.out.size() && r[i] == kNever; ++k) {
          auto& y = buffer(n.out[k]);
          if (x.bytes != y.bytes || (x.input >= 0 && !may_take(x, y))) continue;
          bool only = x.input >= 0 && may_take_[idx(x.input)] >= 0;
          r[i] = only ? static_cast<int>(k) : any_from(idx(s.carries));
        }
      }
    };
    ops::visit_control(*n.primitive, scan, [](const ops::Cond&) {}, [](const ops::While&) {});
    return r;
  }
  /// Is the node, with the one that computes its edges, the last that reads the variable?
  bool ends_at(std::size_t variable, std::size_t t) const {
    auto& n = g_.nodes[t];
    auto last = reads_[variable];
    if (!n.rest || last <= at(t) || last == end() || g_.nodes[idx(last)].fused != n.rest) return last == at(t);
    return std::none_of(&n + 1, &g_.nodes[idx(last)], [&](auto& x) {
      return std::any_of(x.in.begin(), x.in.end(), [&](int v) { return g_.at(v) == variable; });
    });
  }
  void merge(std::size_t from, std::size_t into) {  // variable `from` joins the buffer of variable `into`
    int a = buffer_of_[from], b = buffer_of_[into];
    auto &x = buffers_[idx(a)], &y = buffers_[idx(b)];
    y.first = std::min(y.first, x.first);
    y.last = std::max(y.last, x.last);
    y.input = std::max(y.input, x.input);
    y.taken = y.taken || x.taken || x.input >= 0;
    for (auto& v : buffer_of_)
      if (v == a) v = b;
    x.bytes = 0;
  }
  /// From the last node to the first: the result of a node may take the memory of a value whose life ends there.
  void share() {
    Mask addressed(g_.vars.size());  // the address is in use before the value exists: it must not be a slot that moves
    for (auto& n : g_.nodes)
      if (n.later >= 0) addressed[g_.at(n.later)] = true;
    for (std::size_t t = g_.nodes.size(); t-- > 0;) {
      auto& n = g_.nodes[t];
      std::vector<int> taken;
      for (bool inputs : {true, false})  // donated memory first, so that outputs do not leave it unused
        for (auto [i, o] : in_place(n, held_[t], g_)) {
          auto from = g_.at(n.in[i]), into = g_.at(n.out[o]);
          if (addressed[from] || buffer_of_[from] < 0 || buffer_of_[from] == buffer_of_[into] || !ends_at(from, t))
            continue;
          auto &x = buffers_[idx(buffer_of_[from])], &y = buffers_[idx(buffer_of_[into])];
          if ((x.input >= 0) != inputs || x.bytes != y.bytes || x.bytes == 0 || y.first != at(t)) continue;
          if (x.input >= 0 && !may_take(x, y)) continue;
          if (std::find(taken.begin(), taken.end(), n.in[i]) != taken.end()) continue;
          taken.push_back(n.in[i]);
          merge(from, into);
        }
    }
    // Outputs that are first written after the last read of a donated input.
    for (int v : g_.out) {
      auto& y = buffer(v);
      if (y.input >= 0 || y.output < 0 || y.bytes == 0) continue;
      for (int w : g_.in) {
        auto& x = buffer(w);
        if (x.input < 0 || x.output >= 0 || x.bytes != y.bytes || x.first != -1 || x.last >= y.first || !may_take(x, y))
          continue;
        merge(g_.at(w), g_.at(v));
        break;
      }
    }
  }
  std::size_t place(const Block& b) {
    std::vector<PlanBuffer*> slab;
    for (auto& x : buffers_) {
      if (x.input >= 0) x.place = {b.in + x.input, 0};
      else if (x.output >= 0) x.place = {b.out + x.output, 0};
      else {
        x.place = {b.slab, 0};
        if (x.bytes) slab.push_back(&x);
      }
    }
    std::stable_sort(slab.begin(), slab.end(), [](auto* x, auto* y) { return x->bytes > y->bytes; });
    std::vector<PlanBuffer*> placed;  // ascending by offset
    std::size_t total = 0;
    for (auto* x : slab) {
      auto need = padded(x->bytes);
      std::size_t from = 0, best = 0, slack = std::numeric_limits<std::size_t>::max();
      bool found = false;
      for (auto* y : placed) {
        if (y->last < x->first || x->last < y->first) continue;
        if (y->place.offset >= from + need && y->place.offset - from - need < slack) {
          best = from;
          slack = y->place.offset - from - need;
          found = true;
        }
        from = std::max(from, y->place.offset + padded(y->bytes));
      }
      x->place.offset = found ? best : from;
      total = std::max(total, x->place.offset + need);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), x,
                                     [](auto* p, auto* q) { return p->place.offset < q->place.offset; }),
                    x);
    }
    return total;
  }
  /// The node of a buffer's first value, and the number of the workspace if it is one, else -1.
  std::pair<int, int> works_for(int buffer) const {
    for (std::size_t t = 0; t < workspace_.size(); ++t)
      for (std::size_t w = 0; w < workspace_[t].size(); ++w)
        if (workspace_[t][w] == buffer) return {at(t), static_cast<int>(w)};
    return {buffers_[idx(buffer)].first, -1};
  }
  /// Contents of the slab at the node of its peak. A held block's memory counts as its contents at its own peak.
  Arena fullest(std::size_t total) const {
    std::vector<std::ptrdiff_t> change(g_.nodes.size() + 3);  // at node -1, 0, .. end
    auto temporary = [](const PlanBuffer& x) { return x.input < 0 && x.output < 0 && x.bytes > 0; };
    for (auto& x : buffers_)
      if (temporary(x)) {
        auto n = static_cast<std::ptrdiff_t>(padded(x.bytes));
        change[idx(x.first + 1)] += n;
        change[idx(x.last + 2)] -= n;
      }
    std::partial_sum(change.begin(), change.end(), change.begin());
    int t = static_cast<int>(std::max_element(change.begin(), change.end()) - change.begin()) - 1;
    Arena r;
    auto gap = total;
    for (std::size_t k = 0; k < buffers_.size(); ++k) {
      auto& x = buffers_[k];
      if (!temporary(x) || t < x.first || x.last < t) continue;
      auto n = padded(x.bytes);
      gap -= n;
      auto [node, number] = works_for(static_cast<int>(k));
      if (node < 0) {
        r["handed on"] += n;
        continue;
      }
      auto& h = held_[idx(node)];
      const Block* inner = number == 0 && h.first && h.first->bytes == x.bytes ? h.first.get() : nullptr;
      if (!inner && (number == 0 || number == 1) && h.second && h.second->bytes == x.bytes) inner = h.second.get();
      if (inner) {
        for (auto& [kind, bytes] : inner->arena) r[kind] += bytes;
        if (n > x.bytes) r["gaps"] += n - x.bytes;
      } else {
        r[number >= 0 && h.first ? "carried" : kind_of(g_.nodes[idx(node)])] += n;
      }
    }
    if (gap) r["gaps"] += gap;
    return r;
  }
  void emit(Block& b) {
    b.places.resize(g_.vars.size());
    for (std::size_t v = 0; v < g_.vars.size(); ++v) {
      auto r = g_.at(static_cast<int>(v));
      if (buffer_of_[r] >= 0) b.places[v] = buffers_[idx(buffer_of_[r])].place;
      else if (auto c = g_.constants.find(static_cast<int>(r)); c != g_.constants.end())
        b.places[v] = table_.constant(c->second);
    }
    for (int v : g_.in) b.overwritten.push_back(buffer(v).taken);
    for (std::size_t k = 0; k < g_.out.size(); ++k) {
      int same = -1, r = static_cast<int>(g_.at(g_.out[k]));
      for (std::size_t j = 0; j < k && same < 0; ++j)
        if (static_cast<int>(g_.at(g_.out[j])) == r) same = static_cast<int>(j);
      b.out_same.push_back(same);
      b.out_input.push_back(buffer(g_.out[k]).input);
    }
    for (std::size_t t = 0; t < g_.nodes.size(); ++t) {
      std::vector<Place> work;
      for (int w : workspace_[t]) work.push_back(buffers_[idx(w)].place);
      b.steps.push_back(make_step(g_.nodes[t], std::move(held_[t]), g_, b.places, work, table_));
      if (g_.ahead) b.when.push_back(g_.nodes[t].when);
    }
    b.ahead = g_.ahead;
    for (std::size_t r = 0; r < g_.stays.size(); ++r)
      if (g_.stays[r] && buffer_of_[r] >= 0)
        if (auto& x = buffers_[idx(buffer_of_[r])]; x.input < 0 && x.output < 0) b.stays += padded(x.bytes);
    b.nodes = std::move(g_.nodes);
    b.vars = std::move(g_.vars);
    b.in_vars = g_.in;
    b.out_vars = g_.out;
  }

  Graph g_;
  const std::vector<int>& may_take_;
  Table& table_;
  std::vector<Held> held_;
  std::vector<PlanBuffer> buffers_;
  std::vector<int> buffer_of_, reads_;  // by root variable: its buffer, the last node that reads it
  std::vector<std::vector<int>> workspace_;
  std::size_t handles_ = 0;
};
}  // namespace

BlockPtr plan(Graph g, const std::vector<int>& may_take, Table& t) { return Planner(std::move(g), may_take, t).run(); }
BlockPtr compile_block(const Program& p, bool nested, const std::vector<int>& may_take, Table& t) {
  auto g = lower(p, nested, t.options.fuse);
  cut_edges(g);
  schedule(g);
  return plan(std::move(g), may_take, t);
}
BlockPtr compile_body(const ops::Scan& s, std::vector<int> may_take, Table& t) {
  auto g = t.options.pipeline ? pipelined(s, t.options.fuse) : std::nullopt;
  if (!g) return compile_block(*s.body, true, may_take, t);
  // Iterations overlap: slices of operands may still be read, or results come late.
  may_take.resize(idx(s.consts + s.carries));
  may_take.resize(g->in.size(), kNever);
  return plan(std::move(*g), may_take, t);
}
}  // namespace bora::exec
