// Each reader of a draw gets one of its own, so that one Spec does not tie them together.
#include "shard/own_draws.h"
#include <algorithm>
#include <iterator>
#include "shard/interpreter.h"

namespace bora::fx {
namespace {
constexpr std::size_t kMostCopies = 2;  // times the Program's length
class Copying {
 public:
  Copying(const Program& p, const std::vector<Sharded>& values) : p_(p), values_(values), made_by_(p.vars.size(), -1) {
    for (std::size_t k = 0; k < p.code.size(); ++k) {
      auto& i = p.code[k];
      for (int v : i.out) made_by_[at(v)] = static_cast<int>(k);
      if (follows_a_draw(i)) chain_.insert(i.out[0]);
    }
  }
  OwnDraws run() {
    OwnDraws r{p_, values_};
    if (chain_.empty()) return r;
    std::map<std::size_t, std::vector<Instruction>> added;  // behind the instruction
    std::size_t count = 0;
    auto own = [&](int& v) {
      if (!chain_.count(v)) return;
      std::vector<std::size_t> whole;
      collect(v, whole);
      std::sort(whole.begin(), whole.end());
      if (std::none_of(whole.begin(), whole.end(), [&](auto k) { return used_.count(k); })) {
        used_.insert(whole.begin(), whole.end());
        return;
      }
      if ((count += whole.size()) > kMostCopies * p_.code.size()) return;
      auto behind = static_cast<std::size_t>(made_by_[at(v)]);
      std::map<int, int> copy;
      for (auto k : whole) {
        auto i = p_.code[k];
        for (int& x : i.in)
          if (copy.count(x)) x = copy[x];
        auto fresh = static_cast<int>(r.program.vars.size());
        r.program.vars.push_back(p_.vars[at(i.out[0])]);
        r.values.push_back(values_[at(i.out[0])]);
        i.out[0] = copy[i.out[0]] = fresh;
        added[behind].push_back(std::move(i));
      }
      v = copy[v];
      r.copies.push_back(std::move(copy));
    };
    for (auto& i : r.program.code) {
      if (i.out.size() == 1 && chain_.count(i.out[0])) continue;
      std::map<int, int> seen;  // an operand that is read twice is one reader
      for (int& v : i.in) {
        auto [it, fresh] = seen.try_emplace(v, v);
        if (fresh) own(it->second);
        v = it->second;
      }
    }
    for (int& v : r.program.out) own(v);
    if (r.copies.empty()) return r;
    std::vector<Instruction> code;
    for (std::size_t k = 0; k < p_.code.size(); ++k) {
      code.push_back(std::move(r.program.code[k]));
      for (auto& i : added[k]) code.push_back(std::move(i));
    }
    r.program.code = std::move(code);
    drop_unread(r.program);
    for (auto& i : r.program.code)
      if (i.out.size() == 1 && chain_.count(i.out[0])) r.kept.insert(i.out[0]);
    for (int v : chain_)
      for (int x : p_.code[at(made_by_[at(v)])].in)
        if (auto& read = r.operands_of[v]; chain_.count(x)) read.push_back(x);
    return r;
  }

 private:
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }
  bool whole(int v) const { return values_[at(v)].spec.trivial() && values_[at(v)].partial.empty(); }
  /// A draw, or what is computed from draws and numbers element by element.
  bool follows_a_draw(const Instruction& i) const {
    if (i.out.size() != 1 || !whole(i.out[0])) return false;
    if (i.primitive->traits.random) return i.in.size() == 1;
    auto drawn = [&](int v) { return chain_.count(v) > 0; };
    auto number = [&](int v) {
      return values_[at(v)].symbolic || (made_by_[at(v)] >= 0 && p_.code[at(made_by_[at(v)])].in.empty());
    };
    return is_elementwise(*i.primitive) && std::any_of(i.in.begin(), i.in.end(), drawn) &&
           std::all_of(i.in.begin(), i.in.end(), [&](int v) { return drawn(v) || number(v); });
  }
  void collect(int v, std::vector<std::size_t>& to) const {
    auto k = static_cast<std::size_t>(made_by_[at(v)]);
    if (std::find(to.begin(), to.end(), k) != to.end()) return;
    to.push_back(k);
    for (int x : p_.code[k].in)
      if (chain_.count(x)) collect(x, to);
  }
  /// What was read by a reader of a copy alone.
  void drop_unread(Program& q) const {
    std::set<int> read(q.out.begin(), q.out.end());
    std::vector<Instruction> kept;
    for (auto k = q.code.size(); k-- > 0;) {
      auto& i = q.code[k];
      if (i.out.size() == 1 && chain_.count(i.out[0]) && !read.count(i.out[0])) continue;
      read.insert(i.in.begin(), i.in.end());
      kept.push_back(std::move(i));
    }
    q.code.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }
  const Program& p_;
  const std::vector<Sharded>& values_;
  std::vector<int> made_by_;
  std::set<int> chain_;
  std::set<std::size_t> used_;
};
}  // namespace

OwnDraws own_draws(const Program& p, const std::vector<Sharded>& values) { return Copying(p, values).run(); }
std::map<int, int> OwnDraws::merged(const std::vector<Spec>& made) const {
  std::map<int, int> r;
  auto stays = [&](int v) { return r.count(v) ? r.at(v) : v; };
  std::vector<const std::map<int, int>*> before;
  for (auto& copy : copies) {
    for (auto& [from, to] : copy) {  // operands come before results
      auto same = [&, from = from, to = to](const std::map<int, int>* other) {  // null: the variables of p themselves
        auto named = [&](int v) { return other ? other->at(v) : v; };
        if (other ? !other->count(from) : !kept.count(from)) return false;
        if (made[static_cast<std::size_t>(named(from))] != made[static_cast<std::size_t>(to)]) return false;
        auto& read = operands_of.at(from);
        return std::all_of(read.begin(), read.end(), [&](int v) { return stays(copy.at(v)) == stays(named(v)); });
      };
      if (same(nullptr)) r[to] = from;
      else if (auto it = std::find_if(before.begin(), before.end(), same); it != before.end())
        r[to] = stays((*it)->at(from));
    }
    before.push_back(&copy);
  }
  return r;
}
}  // namespace bora::fx
