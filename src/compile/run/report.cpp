#include "compile/run/report.h"
#include <algorithm>
#include <sstream>
#include "kernels/api/loop_report.h"
#include "kernels/api/reduce.h"
#include "ops/api/exchange.h"
#include "compile/run/executable_run.h"

namespace bora::exec {
namespace {
struct Counter {
  ExecutableInfo& info;
  const Block* block = nullptr;
  const Node* node = nullptr;
  double times = 1;

  void visit(const Block& b, double n) {
    Counter inner{info, &b, nullptr, times * n};
    for (std::size_t k = 0; k < b.steps.size(); ++k) {
      inner.node = &b.nodes[k];
      std::visit([&](auto& x) { inner.add(x); }, b.steps[k]);
    }
  }
  void work(const Primitive& p, const Types& in, const Types& out) {
    info.flops += times * p.cost(in, out).flops;
    if (p.traits.collective) use(p, in, out);
  }
  void use(const Primitive& p, const Types& in, const Types& out) {
    ++info.collectives;
    ExecutableInfo::CollectiveUse u;
    u.what = std::string(p.name()) + " " + to_string(p.named_axes()) + " " +
             to_string(out.empty() ? in.front() : out.front());
    u.bytes = ops::collective_bytes(p, in, out);
    u.received = ops::received_bytes(p, in, out);
    u.times = static_cast<std::size_t>(times);
    auto same = std::find_if(info.collective_uses.begin(), info.collective_uses.end(),
                             [&](auto& o) { return o.what == u.what && o.bytes == u.bytes; });
    if (same != info.collective_uses.end()) same->times += u.times;
    else info.collective_uses.push_back(std::move(u));
  }
  void moves(const Types& all) {
    for (auto& t : all) info.moved_bytes += times * static_cast<double>(t.nbytes());
  }
  void add(const EvalStep& x) {
    ++info.kernels;
    moves(x.in_types);
    moves(x.out_types);
    work(*x.primitive, x.in_types, x.out_types);
  }
  void add(const StartStep& x) { work(*x.call.primitive, x.call.in_types, x.call.out_types); }
  void add(const LoopStep& x) {
    ++info.kernels;
    info.fused += x.fused->members.size() > 1;
    loop_work(x);
  }
  void loop_work(const LoopStep& x) {
    for (auto& e : x.edges) loop_work(e);
    auto& a = x.fused->args;
    double rows = 1, columns = static_cast<double>(a.extent[a.ndim - 1]);
    for (int d = 0; d + 1 < a.ndim; ++d) rows *= static_cast<double>(a.extent[d]);
    for (std::size_t k = 0; k < x.fused->kept(); ++k) {
      auto bytes = static_cast<double>(dtype_size(x.fused->loop.operands[k].dtype));
      for (int d = 0; d < a.ndim; ++d)
        if (a.stride[k][d] != 0) bytes *= static_cast<double>(a.extent[d]);
      info.moved_bytes += times * bytes;
    }
    for (auto& i : x.fused->loop.code) {
      using K = kernels::Instr::Kind;
      if (i.kind == K::op || i.kind == K::cast || i.kind == K::reduce) info.flops += times * rows * columns;
    }
    for (auto& s : x.fused->sums) {
      info.flops += times * rows * columns;
      info.moved_bytes += times * rows / static_cast<double>(x.fused->sum_rows) * columns *
                          static_cast<double>(dtype_size(x.fused->loop.operands[s.operand].dtype));
    }
  }
  void add(const CopyStep& x) {
    ++info.kernels;
    info.moved_bytes += times * 2 * static_cast<double>(x.bytes);
  }
  void add(const ScanStep& x) {
    info.overlap_bytes += x.body->stays;
    if (x.body->ahead)
      for (auto bytes : x.body->ahead->results) info.overlap_bytes += 2 * bytes;
    visit(*x.body, static_cast<double>(x.length));
  }
  template <class S> void add(const S& x) {
    each_block(x, [&](const Block& b, std::string_view) { visit(b, 1); });
  }
};

struct Printer {
  std::string text = {};
  int indent = 0;
  const Block* block = nullptr;
  std::string tab() const { return std::string(static_cast<std::size_t>(indent), ' '); }
  std::string place(Place p) const {
    auto& b = *block;
    auto offset = p.offset ? "+" + std::to_string(p.offset) : std::string();
    if (p.base == 0) return "constant";
    if (p.base == b.slab) return "slab+" + std::to_string(p.offset);
    if (p.base >= b.out && p.base < b.out + static_cast<int>(b.out_vars.size()))
      return "out" + std::to_string(p.base - b.out) + offset;
    return "in" + std::to_string(p.base - b.in) + offset;
  }
  std::string operand(int v) const {
    return "%" + std::to_string(v) + " " + to_string(block->vars[idx(v)]) + " @" + place(block->places[idx(v)]);
  }
  void line(const Node& n) {
    text += tab();
    for (std::size_t k = 0; k < n.out.size(); ++k) text += (k ? ", " : "") + operand(n.out[k]);
    text += n.out.empty() ? "" : " = ";
    text += (n.when == Node::When::early  ? "(next iteration) "
             : n.when == Node::When::late ? "(iteration before) "
                                          : "");
    text += std::string(n.fused                       ? "loop"
                        : n.kind == Node::Kind::wait  ? "wait "
                        : n.kind == Node::Kind::start ? "start "
                                                      : "") +
            (n.fused ? "" : names_of(n));
    for (int v : n.in) text += " %" + std::to_string(v) + "@" + place(block->places[idx(v)]);
    if (n.fused) text += "   {" + names_of(n) + "}";
    else if (n.primitive && !n.primitive->traits.holds && !n.primitive->params().empty())
      text += "   [" + n.primitive->params() + "]";
    text += "\n";
  }
  void held(std::string_view what, const Block& b) {
    text += tab() + "  " + std::string(what) + ": slab " + std::to_string(b.bytes) + " bytes\n";
    Printer p{{}, indent + 4, &b};
    p.block_text();
    text += p.text;
  }
  void block_text() {
    for (std::size_t k = 0; k < block->steps.size(); ++k) {
      line(block->nodes[k]);
      std::visit([&](auto& x) { more(x); }, block->steps[k]);
      auto inner = [&](const Block& b, std::string_view what) { held(what, b); };
      std::visit([&](auto& x) { each_block(x, inner); }, block->steps[k]);
    }
    text += tab() + "return";
    for (std::size_t k = 0; k < block->out_vars.size(); ++k) {
      int v = block->out_vars[k];
      text += (k ? ", %" : " %") + std::to_string(v) + "@" + place(block->places[idx(v)]);
      if (block->out_input[k] >= 0 && block->overwritten[static_cast<std::size_t>(block->out_input[k])])
        text += " (in place)";
    }
    text += "\n";
  }
  /// "[0:1, 1:64]": the part of its results that a loop computes.
  static std::string box(const Fused& f) {
    std::string r = "[";
    for (std::size_t d = 0; d < f.begin.size(); ++d)
      r += (d ? ", " : "") + std::to_string(f.begin[d]) + ":" + std::to_string(f.end[d]);
    return r + "]";
  }
  /// Operands of which the loop does not read or write all, one element after the other.
  void windows(const Fused& f) {
    for (std::size_t k = 0; k < f.kept(); ++k) {
      std::int64_t touched = 1;
      for (int d = 0; d < f.args.ndim; ++d) touched *= f.args.stride[k][d] ? f.args.extent[d] : 1;
      if (f.offsets[k] == 0 && touched == block->vars[idx(f.operands[k])].size()) continue;
      text += tab() + "  | #" + std::to_string(k) + " is %" + std::to_string(f.operands[k]) + " from element " +
              std::to_string(f.offsets[k]) + ", strides";
      for (int d = 0; d < f.args.ndim; ++d) text += " " + std::to_string(f.args.stride[k][d]);
      text += "\n";
    }
  }
  /// Which rows a sum adds up, if not all.
  static std::string groups(const Fused& f) {
    std::int64_t rows = 1;
    for (int d = 0; d + 1 < f.args.ndim; ++d) rows *= f.args.extent[d];
    return f.sum_rows < rows ? "groups of " + std::to_string(f.sum_rows) + " " : "";
  }
  void more(const LoopStep& x) {
    auto& a = x.fused->args;
    text += tab() + "  " + (x.fused->begin.empty() ? "" : box(*x.fused) + " ") + "over";
    for (int d = 0; d < a.ndim; ++d) text += (d ? " x " : " ") + std::to_string(a.extent[d]);
    text += ", " + kernels::code_report(*x.kernel) + "\n";
    std::istringstream lines(kernels::print(x.fused->loop));
    for (std::string l; std::getline(lines, l);) text += tab() + "  | " + l + "\n";
    windows(*x.fused);
    for (auto& e : x.edges)
      text += tab() + "  edge " + box(*e.fused) + ", " + kernels::code_report(*e.kernel) + "\n";
    for (auto& a : x.fused->breaks)
      text += tab() + "  apart from the loop that makes or reads %" + std::to_string(a.var) + ": " + a.why + "\n";
    for (auto& s : x.fused->sums)
      text += tab() + "  | %" + std::to_string(s.var) + " = " + std::string(word(s.kind)) + " of #" +
              std::to_string(s.operand) + " over " + groups(*x.fused) + "rows" +
              (s.operand >= x.fused->kept() ? ", which is not kept" : "") + "\n";
  }
  template <class T> void more(const T&) {}
};
}  // namespace

ExecutableInfo info_of(const Block& b) {
  ExecutableInfo i;
  i.slab_bytes = b.bytes;
  i.arena.assign(b.arena.begin(), b.arena.end());
  std::stable_sort(i.arena.begin(), i.arena.end(), [](auto& x, auto& y) { return x.second > y.second; });
  for (int v : b.in_vars) i.input_bytes += b.vars[idx(v)].nbytes();
  for (std::size_t k = 0; k < b.out_vars.size(); ++k) {
    auto bytes = b.vars[idx(b.out_vars[k])].nbytes();
    i.output_bytes += bytes;
    if (auto in = b.out_input[k]; in >= 0 && b.overwritten[static_cast<std::size_t>(in)]) i.donated_bytes += bytes;
  }
  Counter{i}.visit(b, 1);
  return i;
}
std::string explain(const Block& b, const ExecutableInfo& i) {
  std::ostringstream o;
  o << "slab " << i.slab_bytes << " bytes";
  if (i.overlap_bytes) o << " (" << i.overlap_bytes << " for collectives beside other iterations)";
  o << ", inputs " << i.input_bytes << ", outputs " << i.output_bytes << " ("
    << i.donated_bytes << " in donated memory); " << i.kernels << " kernels, " << i.fused << " fused, " << i.collectives
    << " collectives, " << i.flops << " flops, " << i.moved_bytes << " bytes moved\n";
  for (auto& [kind, bytes] : i.arena) o << "  " << bytes << " of the slab, where it holds most: " << kind << "\n";
  for (auto& u : i.collective_uses) o << "  " << u.times << " x " << u.what << ", " << u.bytes << " bytes\n";
  Printer p{{}, 0, &b};
  p.block_text();
  return o.str() + p.text;
}
}  // namespace bora::exec
