// pipeline.cpp -- scans whose collectives overlap with the compute of other iterations. In FSDP an iteration gathers
// the parameters of its layer, and the backward one scatters the layer's gradients: one iteration apart, network and
// cores work at the same time.
//
//   before:      early(0)
//   iteration t: the body; before the first read of a result of early(t): the wait for it, and the start of the same
//                collective in early(t + 1); before the first new write to the memory of a late collective:
//                late(t - 1), which waits for it and completes the stacked results
//   after:       late(T - 1)
//
// The structure of the Program and global shapes decide which collectives move, and early collectives start before all
// others of an iteration, so every rank starts the same collectives in the same order.
#include <algorithm>
#include <utility>
#include "ops/api/collective_primitives.h"
#include "compile/passes/graph.h"
#include "compile/api/control.h"

namespace bora::exec {
namespace {
/// Most bytes, by global shapes, that one scan may hold beyond an iteration, early and late each. Memory grows by less:
/// by a second copy of gathered values, and by memory that gradients would have shared with other temporaries.
constexpr std::size_t kMostMovedBytes = std::size_t{256} << 20;
constexpr std::size_t kMostMoved = 24;  // collectives, early and late each; the transport takes 64 at once

bool plain(const Instruction& i) { return i.primitive->traits.plain(); }

struct Splitter {
  const Program& b;
  std::size_t consts, carries;
  std::vector<int> maker;       // of each variable: its instruction, or -1
  Mask fixed;                   // of each variable: computed from the loop's constants alone
  Mask early, late;             // of each instruction: the collectives that move
  Mask before;                  // needed by the early ones
  Mask behind;                  // reads results of the late ones
  std::shared_ptr<Program> r = std::make_shared<Program>();
  std::vector<std::size_t> sections = {}, next = {};
  std::vector<int> handed = {};  // results of the early ones

  explicit Splitter(const ops::Scan& s)
      : b(*s.body), consts(idx(s.consts)), carries(idx(s.carries)), maker(b.vars.size(), -1),
        fixed(b.vars.size()), early(b.code.size()), late(b.code.size()), before(b.code.size()), behind(b.code.size()) {
    for (std::size_t k = 0; k < b.code.size(); ++k)
      for (int v : b.code[k].out) maker[idx(v)] = static_cast<int>(k);
    for (std::size_t i = 0; i < consts; ++i) fixed[idx(b.in[i])] = true;
    close(fixed);
  }
  /// Adds variables that plain instructions compute from the marked ones.
  void close(Mask& marked) const {
    for (auto& i : b.code)
      if (plain(i) && all_in(i, [&](int v) { return marked[idx(v)]; }))
        for (int v : i.out) marked[idx(v)] = true;
  }
  /// May run in two iterations. Values of constants count as well: local sizes decide whether they have been moved out
  /// of the loop, which must not matter here.
  bool repeats(const Instruction& i) const { return i.primitive->traits.moves || fixed[idx(i.out[0])]; }
  /// Chooses candidates in the order of the Program while there is room.
  template <class Ok> void choose(Mask& chosen, const Ok& ok) const {
    std::size_t bytes = 0, n = 0;
    for (std::size_t k = 0; k < b.code.size(); ++k) {
      auto& i = b.code[k];
      auto c = i.primitive->traits.collective ? ops::collective_params(*i.primitive) : std::nullopt;
      if (!c || !ok(k)) continue;
      auto& t = b.vars[idx(i.in[0])];
      if (c->of.empty() && !t.shape.empty()) continue;  // its size may differ between ranks
      auto size = static_cast<std::size_t>(volume(c->of)) * dtype_size(t.dtype);
      if (bytes + size > kMostMovedBytes || n == kMostMoved) continue;
      bytes += size;
      ++n;
      chosen[k] = true;
    }
  }
  template <class F> bool all_in(const Instruction& i, const F& f) const {
    return std::all_of(i.in.begin(), i.in.end(), f);
  }
  template <class F> bool all_out(const Instruction& i, const F& f) const {
    return std::all_of(i.out.begin(), i.out.end(), f);
  }

  void choose_early() {
    Mask known(b.vars.size());  // computed from constants of the loop and scanned inputs
    for (std::size_t i = 0; i < b.in.size(); ++i) known[idx(b.in[i])] = i < consts || i >= consts + carries;
    close(known);
    choose(early, [&](std::size_t k) { return all_in(b.code[k], [&](int v) { return known[idx(v)]; }); });
    for (bool changed = true; changed;) {
      changed = false;
      auto stays = needed([&](std::size_t k) { return !early[k] && !plain(b.code[k]); }, true);
      for (std::size_t g = 0; g < b.code.size(); ++g) {
        if (!early[g]) continue;
        before = needed([&](std::size_t k) { return k == g; }, false);
        for (std::size_t k = 0; k < g; ++k)
          if (before[k] && stays[k] && !repeats(b.code[k]) && early[g]) {
            early[g] = false;
            changed = true;
          }
      }
    }
    before = needed([&](std::size_t k) { return early[k]; }, false);
  }
  /// The instructions with first(k), and those that they (and the outputs, if asked) depend on, other than through
  /// early collectives.
  template <class F> Mask needed(const F& first, bool outputs) const {
    Mask read(b.vars.size()), need(b.code.size());
    if (outputs)
      for (int v : b.out) read[idx(v)] = true;
    for (std::size_t k = b.code.size(); k-- > 0;) {
      auto& i = b.code[k];
      bool root = first(k);
      if (!root && (early[k] || all_out(i, [&](int v) { return !read[idx(v)]; }))) continue;
      need[k] = true;
      for (int v : i.in) read[idx(v)] = true;
    }
    return need;
  }

  void choose_late() {
    Mask stacked(b.vars.size(), true);  // reaches stacked outputs only
    for (std::size_t i = 0; i < carries; ++i) stacked[idx(b.out[i])] = false;
    for (std::size_t k = b.code.size(); k-- > 0;) {
      auto& i = b.code[k];
      if (plain(i) && all_out(i, [&](int v) { return stacked[idx(v)]; })) continue;
      for (int v : i.in) stacked[idx(v)] = false;
    }
    choose(late, [&](std::size_t k) { return !early[k] && stacked[idx(b.code[k].out[0])]; });
    for (bool changed = true; changed;) {
      changed = false;
      follow_late();
      Mask stays(b.vars.size());  // used together with values of the iteration itself
      for (std::size_t k = b.code.size(); k-- > 0;) {
        auto& i = b.code[k];
        if (late[k] && stays[idx(i.out[0])]) {
          late[k] = false;
          changed = true;
        }
        if (!behind[k]) continue;
        bool ok = all_out(i, [&](int v) { return !stays[idx(v)]; }) &&
                  all_in(i, [&](int v) { return is_late(v) || fixed[idx(v)]; });
        if (!ok)
          for (int v : i.in) stays[idx(v)] = true;
      }
    }
  }
  bool is_late(int v) const {
    auto m = maker[idx(v)];
    return m >= 0 && (late[idx(m)] || behind[idx(m)]);
  }
  void follow_late() {
    for (std::size_t k = 0; k < b.code.size(); ++k)
      behind[k] = std::any_of(b.code[k].in.begin(), b.code[k].in.end(), [&](int v) { return is_late(v); });
  }
  int fresh(int like) {
    r->vars.push_back(r->vars[idx(like)]);
    return static_cast<int>(r->vars.size()) - 1;
  }
  void copy(const Instruction& i, std::vector<int>& number) {
    auto j = i;
    for (int& v : j.in) v = number[idx(v)];
    for (int& v : j.out) {
      auto w = fresh(v);
      number[idx(v)] = w;
      v = w;
    }
    r->code.push_back(std::move(j));
  }
  void repeat(int v, std::vector<int>& number) {
    if (number[idx(v)] >= 0) return;
    auto& i = b.code[idx(maker[idx(v)])];
    for (int w : i.in) repeat(w, number);
    copy(i, number);
  }
  /// Builds one Program of early instructions, on variables of their own, the body, and late instructions; their timing
  /// comes later.
  bool split() {
    choose_early();
    choose_late();
    auto any = [](const Mask& m) { return std::find(m.begin(), m.end(), true) != m.end(); };
    if (!any(early) && !any(late)) return false;
    r->vars = b.vars;
    r->in = b.in;
    r->out = b.out;
    r->local = b.local;
    std::vector<int> number(b.vars.size(), -1), results, inputs;
    for (std::size_t i = 0; i < consts; ++i) number[idx(b.in[i])] = b.in[i];
    for (std::size_t k = 0; k < b.code.size(); ++k) {
      if (!before[k]) continue;
      for (int v : b.code[k].in)
        if (number[idx(v)] < 0) {
          next.push_back(idx(std::find(b.in.begin(), b.in.end(), v) - b.in.begin()));
          inputs.push_back(number[idx(v)] = fresh(v));
        }
      copy(b.code[k], number);
      if (!early[k]) continue;
      handed.push_back(b.code[k].out[0]);
      results.push_back(number[idx(handed.back())]);
    }
    sections.push_back(r->code.size());
    for (std::size_t k = 0; k < b.code.size(); ++k)
      if (!early[k] && !behind[k]) r->code.push_back(b.code[k]);
    sections.push_back(r->code.size());
    std::vector<int> after(b.vars.size(), -1);
    for (std::size_t i = 0; i < consts; ++i) after[idx(b.in[i])] = b.in[i];
    for (std::size_t k = 0; k < b.code.size(); ++k) {
      if (!behind[k]) continue;
      auto i = b.code[k];
      for (int& v : i.in)
        if (!is_late(v)) {
          repeat(v, after);
          v = after[idx(v)];
        }
      r->code.push_back(std::move(i));
    }
    r->in.insert(r->in.end(), handed.begin(), handed.end());
    r->in.insert(r->in.end(), inputs.begin(), inputs.end());
    r->out.insert(r->out.end(), results.begin(), results.end());
    return true;
  }
};

using When = Node::When;
bool has(const Graph& g, const std::vector<int>& vars, std::size_t root) {
  return std::any_of(vars.begin(), vars.end(), [&](int v) { return g.at(v) == root; });
}

/// Orders the nodes as an iteration runs them.
struct Arranger {
  Graph& g;
  const Mask& late_result;  // by variable

  bool is_late_result(int v) const {
    auto r = g.at(v);
    return r < late_result.size() && late_result[r];
  }
  /// The slots of inputs and outputs move on while a late collective is in flight: its operand must stay in place, and
  /// its result can no longer be read through the output's slot.
  void mark_late() {
    std::vector<Node> r;
    Mask made(g.vars.size()), made_late(g.vars.size());
    for (auto& n : g.nodes)
      for (int v : n.out) (n.when == When::late ? made_late : made)[g.at(v)] = n.when != When::early;
    for (auto& n : g.nodes) {
      if (n.kind == Node::Kind::copy && (is_late_result(n.in[0]) || made_late[g.at(n.in[0])])) n.when = When::late;
      if (n.kind == Node::Kind::eval && n.primitive->traits.collective && is_late_result(n.out[0])) {
        n.when = When::late;
        auto operand = g.at(n.in[0]);
        bool packed = ops::collective_packs_operand(*n.primitive, {g.type(n.in[0])});
        if (!packed && (!made[operand] || has(g, g.out, operand))) {
          int copy = g.fresh(g.type(n.in[0]));
          r.push_back({Node::Kind::copy, nullptr, {n.in[0]}, {copy}, n.source, {}});
          n.in[0] = copy;
        }
      }
      r.push_back(std::move(n));
    }
    g.nodes = std::move(r);
    for (int& v : g.out) {
      auto root = g.at(v);
      bool read = std::any_of(g.nodes.begin(), g.nodes.end(),
                              [&](auto& n) { return n.when == When::late && has(g, n.in, root); });
      if (!is_late_result(v) || !read) continue;
      int copy = g.fresh(g.type(v));
      g.nodes.push_back({Node::Kind::copy, nullptr, {v}, {copy}, {}, {}, 0, When::late});
      v = copy;
    }
  }
  /// Starts each early collective, with the nodes it needs, where its result for this iteration is first read, after
  /// the wait for that result; in Program order, and before the iteration's other collectives. Memory of starts is held
  /// until the waits. A result that only the wait writes needs no second memory: it is no longer handed over.
  void place_early(std::vector<int>& handed, std::size_t inputs, std::size_t outputs) {
    std::vector<Node> early, body;
    for (auto& n : g.nodes) (n.when == When::early ? early : body).push_back(std::move(n));
    auto groups = by_first_start(std::move(early));
    auto place = static_cast<std::size_t>(std::find_if(body.begin(), body.end(), talks) - body.begin());
    std::vector<std::size_t> places(groups.size());
    std::vector<Node> waits(groups.size());
    auto starts = static_cast<std::size_t>(
        std::count_if(body.begin(), body.end(), [](auto& n) { return n.kind == Node::Kind::start; }));
    for (std::size_t k = groups.size(); k-- > 0;) {
      for (std::size_t t = place; t-- > 0;)
        if (has(g, body[t].in, g.at(handed[k]))) place = t;
      places[k] = place;
      auto [start, wait] = start_and_wait(g, groups[k].back(), starts + k);
      if (ops::collective_unpacks_result(*start.primitive, {g.type(start.out[0])})) {
        start.later = handed[k];
        wait.out = {handed[k]};
        std::erase(wait.in, start.out[0]);
        start.out.erase(start.out.begin());
        g.in.erase(g.in.begin() + static_cast<std::ptrdiff_t>(inputs + k));
        g.out.erase(g.out.begin() + static_cast<std::ptrdiff_t>(outputs + k));
        handed.erase(handed.begin() + static_cast<std::ptrdiff_t>(k));
      }
      for (int v : wait.in) stay(v);
      groups[k].back() = std::move(start);
      waits[k] = std::move(wait);
    }
    // An earlier start may need the same operand: the wait comes before the operand is computed again.
    for (std::size_t k = groups.size(); k-- > 0;) {
      auto makes = [&](const Node& n) {
        return std::any_of(n.out.begin(), n.out.end(), [&](int v) { return has(g, waits[k].in, g.at(v)); });
      };
      auto first =
          std::find_if(groups.begin(), groups.end(), [&](auto& x) { return std::any_of(x.begin(), x.end(), makes); });
      auto at = std::min(k, static_cast<std::size_t>(first - groups.begin()));
      groups[at].insert(groups[at].begin(), std::move(waits[k]));
    }
    g.nodes.clear();
    for (std::size_t t = 0, k = 0; t <= body.size(); ++t) {
      for (; k < groups.size() && places[k] == t; ++k)
        g.nodes.insert(g.nodes.end(), std::make_move_iterator(groups[k].begin()),
                       std::make_move_iterator(groups[k].end()));
      if (t < body.size()) g.nodes.push_back(std::move(body[t]));
    }
  }
  /// Groups nodes by collective: each group ends in one and holds the nodes that no earlier group needs.
  std::vector<std::vector<Node>> by_first_start(std::vector<Node> nodes) const {
    std::vector<std::vector<Node>> groups;
    Mask taken(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (!nodes[k].primitive || !nodes[k].primitive->traits.collective) continue;
      Mask needed(g.vars.size());
      std::vector<Node> group;
      for (std::size_t i = k + 1; i-- > 0;) {
        auto& n = nodes[i];
        if (i != k && std::none_of(n.out.begin(), n.out.end(), [&](int v) { return needed[g.at(v)]; })) continue;
        for (int v : n.in) needed[g.at(v)] = true;
        if (taken[i]) continue;
        taken[i] = true;
        group.push_back(n);
      }
      groups.emplace_back(group.rbegin(), group.rend());
    }
    return groups;
  }
  static bool talks(const Node& n) {
    return n.kind != Node::Kind::wait && n.primitive && communicates({n.primitive, n.in, n.out});
  }
  void stay(int v) {
    g.stays.resize(g.vars.size());
    g.stays[g.at(v)] = true;
  }
  /// Places the waits for late collectives, and the readers of their results, before the next write to their memory.
  /// Collectives without readers wait each at its own place.
  void place_late() {
    std::vector<Node> late, body;
    for (auto& n : g.nodes) (n.when == When::late ? late : body).push_back(std::move(n));
    std::vector<std::vector<Node>> at(body.size() + 1);
    auto first = body.size();  // for collectives with readers
    std::vector<std::pair<std::size_t, Node>> alone;
    for (auto& n : late) {
      if (n.kind != Node::Kind::wait) continue;
      auto place = body.size();
      for (std::size_t t = body.size(); t-- > 0;)
        for (int v : body[t].out)
          if (body[t].when == When::always && has(g, n.in, g.at(v))) place = t;
      bool read = std::any_of(late.begin(), late.end(), [&](auto& o) {
        return o.kind != Node::Kind::wait &&
               std::any_of(o.in.begin(), o.in.end(), [&](int v) { return has(g, n.in, g.at(v)); });
      });
      for (int v : n.in) stay(v);
      if (read) first = std::min(first, place);
      else alone.emplace_back(place, n);
    }
    for (auto& n : late)
      if (n.kind != Node::Kind::wait ||
          std::none_of(alone.begin(), alone.end(), [&](auto& a) { return a.second.handle == n.handle; }))
        at[first].push_back(std::move(n));
    for (auto& [place, n] : alone) at[place].push_back(std::move(n));
    g.nodes.clear();
    for (std::size_t t = 0; t <= body.size(); ++t) {
      for (auto& n : at[t]) g.nodes.push_back(std::move(n));
      if (t < body.size()) g.nodes.push_back(std::move(body[t]));
    }
  }
};
}  // namespace

std::optional<Graph> pipelined(const ops::Scan& scan, bool fused) {
  if (scan.length < 2 || std::none_of(scan.body->code.begin(), scan.body->code.end(), communicates))
    return std::nullopt;
  Splitter s(scan);
  if (!s.split()) return std::nullopt;
  auto g = lower(*s.r, true, fused, s.sections);
  Mask late_result(g.vars.size());
  for (std::size_t k = 0; k < s.late.size(); ++k)
    if (s.late[k]) late_result[g.at(s.b.code[k].out[0])] = true;
  Arranger a{g, late_result};
  a.mark_late();
  schedule(g);
  a.place_early(s.handed, s.b.in.size(), s.b.out.size());
  a.place_late();
  PipelineInput ahead{{}, std::move(s.next), {}};
  for (int v : s.handed) ahead.results.push_back(g.type(v).nbytes());
  for (int v : g.out)
    ahead.late.push_back(std::any_of(g.nodes.begin(), g.nodes.end(), [&](auto& n) {
      return n.when == When::late && n.kind != Node::Kind::wait && has(g, n.out, g.at(v));
    }));
  g.ahead = std::make_shared<const PipelineInput>(std::move(ahead));
  return g;
}
}  // namespace bora::exec
