#include "compile/run/executable_run.h"
#include <algorithm>
#include <cstring>
#include <utility>
#include "bora/array/communicator.h"
#include "kernels/api/loop_gaps.h"
#include "kernels/api/move.h"
#include "compile/passes/loops/loop_sums.h"

namespace bora::exec {
namespace {
constexpr std::size_t kThreadedCopy = std::size_t{1} << 20;

/// Which steps of a pipelined body run.
struct Phases {
  bool early = false, always = true, late = false;
  bool all() const { return early && always && late; }
  bool has(Node::When w) const { return w == Node::When::early ? early : w == Node::When::late ? late : always; }
};
void run_phases(const Block&, State&, Phases);

void copy(char* to, const char* from, std::size_t bytes) {
  if (to == from || bytes == 0) return;
  if (bytes < kThreadedCopy) std::memcpy(to, from, bytes);
  else kernels::copy(to, {1}, from, {1}, {static_cast<std::int64_t>(bytes)}, 1);
}

/// Views in the order in which plan numbered them: those of held blocks come first.
struct ViewMaker {
  State& s;
  void visit(const Block& b) {
    auto held = [&](const Block& inner, std::string_view) { visit(inner); };
    for (auto& step : b.steps) std::visit([&](auto& x) { each_block(x, held); }, step);
    for (auto& step : b.steps) std::visit([&](auto& x) { own(x); }, step);
  }
  void own(const EvalStep& x) {
    for (auto& t : x.in_types) s.inputs.push_back({t, nullptr});
    for (auto& t : x.out_types) s.outputs.push_back({t, nullptr});
  }
  void own(const StartStep& x) { own(x.call); }
  void own(const LoopStep& x) {
    s.loops.push_back(x.fused->args);
    if (x.gaps) s.loops.push_back(*x.gaps);
    for (auto& e : x.edges) own(e);
  }
  template <class T> void own(const T&) {}
};

struct Runner {
  State& s;
  char*& base(int slot) const { return s.base[static_cast<std::size_t>(slot)]; }
  void bind(const std::vector<Bound>& b) const {
    for (auto& x : b) base(x.slot) = s.at(x.place);
  }

  std::pair<InputViews, OutputViews> views(const EvalStep& x) const {
    auto* in = s.inputs.data() + x.first_in;
    auto* out = s.outputs.data() + x.first_out;
    for (std::size_t i = 0; i < x.in.size(); ++i) in[i].data = s.at(x.in[i]);
    for (std::size_t k = 0; k < x.out.size(); ++k) out[k].data = s.at(x.out[k]);
    return {{in, x.in.size()}, {out, x.out.size()}};
  }
  void operator()(const EvalStep& x) const {
    if (x.gemm) {
      auto g = *x.gemm;
      g.a = s.at(x.in[0]), g.b = s.at(x.in[1]), g.c = s.at(x.out[0]);
      return kernels::gemm(g);
    }
    auto [in, out] = views(x);
    x.primitive->eval(in, out);
  }
  const kernels::LoopArgs& arguments(const LoopStep& x) const {
    auto& a = s.loops[x.args];
    for (std::size_t i = 0; i < x.operands.size(); ++i) a.pointer[i] = s.at(x.operands[i]);
    if (!x.starts.empty()) {
      for (auto& f : x.fused->starts) a.linear[f.form].base = x.fused->args.linear[f.form].base;
      for (std::size_t i = 0; i < x.starts.size(); ++i) {
        std::int32_t start;
        std::memcpy(&start, s.at(x.starts[i]), sizeof start);
        a.linear[x.fused->starts[i].form].base += start * x.fused->starts[i].stride;
      }
    }
    return a;
  }
  /// Does one of its boxes read what the loop with gaps would overwrite?
  bool reads_gaps(const LoopStep& x) const {
    using kernels::memory_of, kernels::overlap;
    auto& gaps = s.loops[x.args + 1];
    auto reads = [&](const LoopStep& box, std::span<const char> written) {
      auto& a = arguments(box);
      for (std::size_t k = 0; k < box.operands.size(); ++k)
        if (!box.fused->stored[k] && overlap(memory_of(*box.kernel, a, static_cast<int>(k)), written)) return true;
      return false;
    };
    for (std::size_t k = 0; k < x.operands.size(); ++k) {
      if (!x.fused->stored[k]) continue;
      auto written = memory_of(*x.kernel, gaps, static_cast<int>(k));
      if (reads(x, written) || std::any_of(x.edges.begin(), x.edges.end(), [&](auto& e) { return reads(e, written); }))
        return true;
    }
    return false;
  }
  void operator()(const LoopStep& x) const {
    auto& a = arguments(x);
    if (x.gaps) {
      auto& gaps = s.loops[x.args + 1];
      std::copy(a.pointer, a.pointer + x.operands.size(), gaps.pointer);
      if (!reads_gaps(x)) {
        kernels::run(*x.kernel, gaps);
        for (auto& e : x.edges) (*this)(e);
        return;
      }
    }
    for (auto& e : x.edges) (*this)(e);
    if (x.sums.empty()) return kernels::run(*x.kernel, a);
    std::vector<void*> sums;
    for (auto& p : x.sums) sums.push_back(s.at(p));
    run_with_sums(*x.kernel, a, *x.fused, sums.data(), s.at(x.partials));
  }
  void operator()(const CopyStep& x) const { copy(s.at(x.to), s.at(x.from), x.bytes); }

  void operator()(const ScanStep& x) const {
    auto& b = *x.body;
    if (x.length == 0) {
      for (auto& c : x.carries) copy(s.at(c.result), s.at(c.init), c.bytes);
      return;
    }
    base(b.slab) = s.at(x.workspace);
    bind(x.consts);
    for (auto& c : x.copies) (*this)(c);
    for (auto& c : x.carries) {
      char* result = s.at(c.result);
      if (c.in_place) {
        copy(result, s.at(c.init), c.bytes);
        base(c.in_slot) = base(c.out_slot) = result;
      } else {
        base(c.in_slot) = s.at(c.init);  // the last iteration writes the result
        base(c.out_slot) = x.length % 2 == 1 ? result : s.at(c.other);
      }
    }
    // A pipelined body: its early part runs once before the first iteration, its late part once after the last.
    bool piped = !b.when.empty();
    if (piped) {
      move_slices(x, -1);
      for (auto& h : x.handed) base(h.next) = s.at(h.first);
      run_phases(b, s, {.early = true, .always = false});
    }
    if (!x.steps.empty() && !tracing::on()) {
      move_slices(x, 0);
      auto& loop = std::get<LoopStep>(b.steps[0]);
      return kernels::run_in_turn(*loop.kernel, arguments(loop), x.length, x.steps);
    }
    for (std::int64_t t = 0; t < x.length; ++t) {
      move_slices(x, t);
      if (t > 0)
        for (auto& c : x.carries)
          if (!c.in_place) flip(c);
      for (auto& h : x.handed) {
        base(h.now) = base(h.next);
        base(h.next) = s.at(t % 2 == 0 ? h.second : h.first);
      }
      if (piped) run_phases(b, s, {.early = t + 1 < x.length, .late = t > 0});
      else run(b, s);
    }
    if (!piped) return;
    move_slices(x, x.length);
    run_phases(b, s, {.always = false, .late = true});
  }
  void move_slices(const ScanStep& x, std::int64_t t) const {
    for (auto& v : x.slices)
      if (auto i = t + v.ahead; 0 <= i && i < x.length)
        base(v.slot) = s.at(v.place) + static_cast<std::size_t>(x.reverse ? x.length - 1 - i : i) * v.stride;
  }
  void flip(const Carry& c) const {
    char* made = base(c.out_slot);
    char* result = s.at(c.result);
    base(c.in_slot) = made;
    base(c.out_slot) = made == result ? s.at(c.other) : result;
  }
  void operator()(const CondStep& x) const {
    bool on;
    std::memcpy(&on, s.at(x.predicate), sizeof on);
    auto& b = on ? *x.on_true : *x.on_false;
    base(b.slab) = s.at(x.workspace);
    bind(on ? x.bound_true : x.bound_false);
    run(b, s);
  }
  void operator()(const WhileStep& x) const {
    base(x.cond->slab) = s.at(x.workspace_cond);
    base(x.body->slab) = s.at(x.workspace_body);
    base(x.predicate_slot) = s.at(x.predicate);
    bind(x.consts);
    for (auto& c : x.carries) {
      char* result = s.at(c.result);
      char* init = s.at(c.init);
      if (c.in_place) {
        copy(result, init, c.bytes);
        base(c.in_slot) = base(c.out_slot) = result;
      } else {
        base(c.in_slot) = init;
        base(c.out_slot) = init == result ? s.at(c.other) : result;
      }
    }
    for (;;) {
      for (std::size_t i = 0; i < x.carries.size(); ++i) base(x.cond_slots[i]) = base(x.carries[i].in_slot);
      run(*x.cond, s);
      bool on;
      std::memcpy(&on, base(x.predicate_slot), sizeof on);
      if (!on) break;
      run(*x.body, s);
      for (auto& c : x.carries)
        if (!c.in_place) flip(c);
    }
    for (auto& c : x.carries) copy(s.at(c.result), base(c.in_slot), c.bytes);
  }
  void operator()(const StartStep& x) const {
    auto& c = x.call;
    auto [in, out] = views(c);
    s.under_way[x.handle] = ops::start_collective(*c.primitive, x.words, in, out, s.at(x.scratch));
  }
  void operator()(const WaitStep& x) const {
    auto started = std::exchange(s.under_way[x.handle], {});
    started.wait();
  }
};
/// The trace label of a step.
std::shared_ptr<const tracing::Label> label_of(const Node& n, State& s) {
  auto& l = s.labels[&n];
  if (l) return l;
  tracing::Label label{names_of(n)};
  if (n.source) {
    label.subject = n.source;
    label.place = [](const void* source) { return describe(*static_cast<const Source*>(source)); };
  }
  l = std::make_shared<const tracing::Label>(std::move(label));
  return l;
}
tracing::Kind trace_kind(const Step& step) {
  if (std::holds_alternative<StartStep>(step) || std::holds_alternative<WaitStep>(step)) return tracing::Kind::pack;
  bool whole = std::holds_alternative<ScanStep>(step) || std::holds_alternative<CondStep>(step) ||
               std::holds_alternative<WhileStep>(step);
  return whole ? tracing::Kind::loop : tracing::Kind::kernel;
}
/// Runs one step with its trace span. The collective traces its own wait; here the span covers only the work on
/// received data.
void run_traced(const Runner& r, const Step& step, const Node& n) {
  auto begin = tracing::now();
  if (auto* wait = std::get_if<WaitStep>(&step)) {
    auto started = std::exchange(r.s.under_way[wait->handle], {});
    started.handle->wait();
    begin = tracing::now();
    if (!started.finish) return;
    started.finish();
  } else {
    std::visit(r, step);
  }
  tracing::add(trace_kind(step), here().rank, label_of(n, r.s), begin, tracing::now());
}
}  // namespace

State::State(const Block& b, const Table& t) : base(static_cast<std::size_t>(t.bases)), under_way(t.handles) {
  ViewMaker{*this}.visit(b);
}
void State::settle() noexcept {
  for (auto& c : under_way) {
    try {
      if (c.handle) c.handle->wait();
    } catch (...) {  // the error that led here is reported instead
    }
  }
}

void run(const Block& b, State& s) { run_phases(b, s, {.early = true, .late = true}); }
namespace {
void run_phases(const Block& b, State& s, Phases phases) {
  Runner r{s};
  const Step* step = b.steps.data();
  const Step* end = step + b.steps.size();
  const Node::When* when = phases.all() ? nullptr : b.when.data();
  try {
    for (; step != end; ++step) {
      if (when && !phases.has(when[step - b.steps.data()])) continue;
      if (s.given_up && s.given_up->load(std::memory_order_relaxed)) s.halts->halt_if_given_up();
      if (tracing::on()) run_traced(r, *step, b.nodes[static_cast<std::size_t>(step - b.steps.data())]);
      else if (auto* loop = std::get_if<LoopStep>(step)) r(*loop);
      else if (auto* eval = std::get_if<EvalStep>(step)) r(*eval);
      else std::visit(r, *step);
    }
  } catch (Error& e) {
    e.add_place(where(b.nodes[static_cast<std::size_t>(step - b.steps.data())]));
    throw;
  }
}
}  // namespace

std::string names_of(const Node& n) {
  if (n.kind == Node::Kind::copy) return "copy";
  if (!n.fused) return std::string(n.primitive->name());
  std::string r;
  for (auto& m : n.fused->members) r += (r.empty() ? "" : " ") + std::string(m->name());
  return r;
}
std::string where(const Node& n) {
  auto place = n.source ? describe(*n.source) : std::string();
  return "in " + names_of(n) + (place.empty() ? "" : ", " + place);
}
}  // namespace bora::exec
