// The fingerprint of a Program before it is partitioned: its operations as lines of text.
#include "compile/api/global_lines.h"
#include <algorithm>
#include "compile/api/control.h"
#include "compile/program/idx.h"
#include "ops/api/blocks.h"

namespace bora {
namespace {
/// A held Program that gets its holder's operands and gives its holder's results, from these places on.
struct Inside {
  ProgramPtr program;
  std::size_t first_operand;
};
/// Empty where operands and results do not correspond so.
std::vector<Inside> programs_inside(const Primitive& p) {
  if (p.traits.calls) return {{p.programs().front(), 0}};
  std::vector<Inside> r;
  ops::visit_control(
      p, [&](const ops::Scan& s) { r = {{s.body, 0}}; },
      [&](const ops::Cond& c) {
        r = {{c.on_true, 1}, {c.on_false, 1}};  // behind the predicate
      },
      [](const ops::While&) {});
  return r;
}
/// Does anything in it, or in a Program that it holds, begin, end or belong to a region of blocks?
bool has_blocks(const Program& p) {
  return std::any_of(p.code.begin(), p.code.end(), [](auto& i) {
    auto& t = i.primitive->traits;
    if (t.blocks || t.collective || t.opaque) return true;
    auto held = i.primitive->programs();
    return t.holds && std::any_of(held.begin(), held.end(), [](auto& h) { return has_blocks(*h); });
  });
}

/// The variables of a Program that every rank has alike, and those that are blocks of each rank's own, as inside of
/// shard_map: whatever is connected with an end of it or a collective, on their side.
struct BlockRegions {
  Mask constant;  // made of constants alone: regions may share it, so it connects nothing
  Mask block;
};
class Marking {
 public:
  Marking(const Program& p, const Mask& in, const Mask& out) : p_(p), r_{Mask(p.vars.size()), Mask(p.vars.size())} {
    for (auto& i : p.code) {
      auto& t = i.primitive->traits;
      bool constant = !t.blocks && !t.collective && !t.opaque && !t.effect &&
                      std::all_of(i.in.begin(), i.in.end(), [&](int v) { return r_.constant[idx(v)]; });
      for (int v : i.out) r_.constant[idx(v)] = constant;
    }
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k]) mark(p.in[k]);
    for (std::size_t k = 0; k < out.size(); ++k)
      if (out[k]) mark(p.out[k]);
    do {
      more_ = false;
      for (auto& i : p_.code) visit(i);
    } while (more_);
  }
  BlockRegions regions() && { return std::move(r_); }

 private:
  bool marked(int v) const { return r_.block[idx(v)]; }
  void mark(int v) {
    if (r_.constant[idx(v)] || marked(v)) return;
    r_.block[idx(v)] = more_ = true;
  }
  void visit(const Instruction& i) {
    auto& t = i.primitive->traits;
    if (t.blocks) {
      mark(gives_blocks(*i.primitive) ? i.out[0] : i.in[0]);
      return;
    }
    auto is_marked = [&](int v) { return marked(v); };
    bool touched = std::any_of(i.in.begin(), i.in.end(), is_marked) ||
                   std::any_of(i.out.begin(), i.out.end(), is_marked);
    if (auto held = t.holds ? programs_inside(*i.primitive) : std::vector<Inside>(); !held.empty()) {
      for (auto& h : held) visit_held(i, h, touched);
      return;
    }
    if (!touched && !t.collective && !t.opaque && !holds_open_region(i)) return;
    for (int v : i.in) mark(v);
    for (int v : i.out) mark(v);
  }
  /// Does a Program that it holds take or give blocks?
  static bool holds_open_region(const Instruction& i) {
    if (!i.primitive->traits.holds) return false;
    auto held = i.primitive->programs();
    return std::any_of(held.begin(), held.end(), [](auto& q) {
      if (!has_blocks(*q)) return false;
      auto r = Marking(*q, {}, {}).regions();
      auto block = [&](int v) { return r.block[idx(v)]; };
      return std::any_of(q->in.begin(), q->in.end(), block) || std::any_of(q->out.begin(), q->out.end(), block);
    });
  }
  void visit_held(const Instruction& i, const Inside& h, bool touched) {
    auto& q = *h.program;
    if (!touched && !has_blocks(q)) return;
    Mask in, out;
    for (std::size_t k = 0; k < q.in.size(); ++k) in.push_back(marked(i.in[h.first_operand + k]));
    for (int v : i.out) out.push_back(marked(v));
    auto r = Marking(q, in, out).regions();
    for (std::size_t k = 0; k < q.in.size(); ++k)
      if (r.block[idx(q.in[k])]) mark(i.in[h.first_operand + k]);
    for (std::size_t k = 0; k < q.out.size(); ++k)
      if (r.block[idx(q.out[k])]) mark(i.out[k]);
  }
  const Program& p_;
  BlockRegions r_;
  bool more_ = false;
};

class Listing {
 public:
  Listing(const Program& p, const Mask& in, const Mask& out, bool speaks_of_blocks, std::string where,
          std::vector<GlobalLine>& to)
      : p_(p), out_(out), speaks_(speaks_of_blocks), where_(std::move(where)), to_(to), number_(p.vars.size(), -1),
        made_by_(p.vars.size(), -1) {
    if (speaks_) r_ = Marking(p, in, out).regions();
    else r_ = {Mask(p.vars.size()), Mask(p.vars.size())};
  }
  bool has_blocks_at_its_ends() const {
    auto block = [&](int v) { return r_.block[idx(v)]; };
    return std::any_of(p_.in.begin(), p_.in.end(), block) || std::any_of(p_.out.begin(), p_.out.end(), block);
  }
  void run() {
    int inputs = 0;
    for (int v : p_.in)
      if (!r_.block[idx(v)]) number_[idx(v)] = inputs++;
    next_ = inputs_ = inputs;
    for (std::size_t k = 0; k < p_.code.size(); ++k)
      for (int v : p_.code[k].out) made_by_[idx(v)] = static_cast<int>(k);
    for (auto& i : p_.code)
      if (is_listed(i)) add(i);
    std::string results = "returns";
    for (std::size_t k = 0; k < p_.out.size(); ++k)
      results += (k ? ", " : " ") + (k < out_.size() && out_[k] ? "a block" : operand(p_.out[k]));
    to_.push_back({where_ + results, {}});
  }

 private:
  /// A constant is listed where something that is needs it: blocks' constants may have sizes of blocks.
  bool is_listed(const Instruction& i) const {
    if (i.primitive->traits.blocks) return true;
    auto global = [&](int v) { return !r_.block[idx(v)] && !r_.constant[idx(v)]; };
    return std::any_of(i.in.begin(), i.in.end(), global) || std::any_of(i.out.begin(), i.out.end(), global) ||
           (i.out.empty() && i.in.empty());
  }
  std::string operand(int v) {
    if (r_.block[idx(v)]) return "a block";
    if (number_[idx(v)] < 0 && made_by_[idx(v)] >= 0) add(p_.code[idx(made_by_[idx(v)])]);
    auto n = number_[idx(v)];
    return n < inputs_ ? "input " + std::to_string(n) : "%" + std::to_string(n - inputs_);
  }
  void add(const Instruction& i) {
    auto& t = i.primitive->traits;
    bool mixed = t.blocks;
    std::string operands, results;
    for (int v : i.in) {
      operands += (operands.empty() ? "" : ", ") + operand(v);
      mixed = mixed || r_.block[idx(v)];
    }
    for (int v : i.out) {
      bool block = r_.block[idx(v)];
      mixed = mixed || block;
      results += (results.empty() ? "" : ", ") + (block ? "a block" : to_string(p_.vars[idx(v)]));
      number_[idx(v)] = next_++;
    }
    auto words = where_ + std::string(i.primitive->name()) + "(" + operands + ")";
    if (!results.empty()) words += " -> " + results;
    if (!mixed || t.blocks) {
      auto parameters = mixed || t.holds ? i.primitive->facts() : " " + i.primitive->params();
      if (parameters.size() > 1) words += " [" + parameters.substr(1) + "]";
    }
    to_.push_back({std::move(words), i.source});
    if (t.holds) add_held(i);
  }
  void add_held(const Instruction& i) {
    auto where = where_ + "in " + std::string(i.primitive->name()) + ": ";
    auto listed = programs_inside(*i.primitive);
    auto block = [&](int v) { return r_.block[idx(v)]; };
    bool touched = std::any_of(i.in.begin(), i.in.end(), block) || std::any_of(i.out.begin(), i.out.end(), block);
    if (!touched) {
      for (auto& q : i.primitive->programs()) Listing(*q, {}, {}, speaks_ && has_blocks(*q), where, to_).run();
      return;
    }
    for (auto& h : listed) {
      Mask in, out;
      for (std::size_t k = 0; k < h.program->in.size(); ++k) in.push_back(block(i.in[h.first_operand + k]));
      for (int v : i.out) out.push_back(block(v));
      Listing(*h.program, in, out, true, where, to_).run();
    }
  }
  const Program& p_;
  const Mask out_;
  const bool speaks_;
  const std::string where_;
  std::vector<GlobalLine>& to_;
  BlockRegions r_;
  std::vector<int> number_, made_by_;
  int next_ = 0, inputs_ = 0;
};
}  // namespace

std::vector<GlobalLine> global_lines(const Program& p) {
  std::vector<GlobalLine> r;
  Listing all(p, {}, {}, has_blocks(p), {}, r);
  if (!all.has_blocks_at_its_ends()) all.run();
  return r;
}
}  // namespace bora
