// sums_into_scans.cpp -- sums over ranks of results that a scan stacks move into its body. The gradients of a model's
// layers are such results: their sums would begin when the whole backward pass has ended; in the body a layer's sum is
// on its way while the next layer computes (pipeline.cpp). A sum over ranks adds numbers one by one in group order, so
// the bits stay. The structure of the Program and global shapes decide, so every rank gets the same collectives in the
// same order.
#include <optional>
#include "ops/api/collective_primitives.h"
#include "compile/passes/loops/into_scan.h"
#include "compile/passes/pass_list.h"
#include "compile/api/control.h"

namespace bora::exec {
namespace {
/// Bytes of a sum, by its global shape: smaller ones are packed into one behind the loop (coalesce.cpp).
constexpr std::size_t kLeastSum = std::size_t{256} << 10;

/// For each variable of a body the place, among all products and held Programs, of the last one that it comes from; 0:
/// of none. Products of the loop's constants alone do not count: local sizes decide whether they are in the body still.
std::vector<std::size_t> levels(const Program& body, std::size_t consts) {
  std::vector<std::size_t> level(body.vars.size());
  Mask fixed(body.vars.size());
  for (std::size_t i = 0; i < consts; ++i) fixed[idx(body.in[i])] = true;
  std::size_t products = 0;
  for (auto& i : body.code) {
    std::size_t at = 0;
    bool same = i.primitive->traits.plain();
    for (int v : i.in) same = same && fixed[idx(v)];
    if (!same && (i.primitive->traits.holds || i.primitive->saved(Saveable::dots, {}))) at = ++products;
    else
      for (int v : i.in) at = std::max(at, level[idx(v)]);
    for (int v : i.out) level[idx(v)] = at, fixed[idx(v)] = same;
  }
  return level;
}
/// A collective that moves.
struct Sum {
  std::size_t at;                       // its instruction
  std::size_t output = 0;               // of the scan
  std::vector<std::size_t> steps = {};  // elementwise instructions from that output to its operand
};

class SumsIntoScan : public IntoScan {
 public:
  SumsIntoScan(const Program& p, std::size_t k, const ops::Scan& s) : IntoScan(p, k, s), reads_(p.vars.size()) {
    for (auto& i : p.code)
      for (int v : i.in) ++reads_[idx(v)];
    for (int v : p.out) ++reads_[idx(v)];
  }
  /// The Program with all sums of the scan's results that can be in its body there; null if there are none.
  std::shared_ptr<Program> run() {
    for (std::size_t j = k_ + 1; j < p_.code.size(); ++j)
      if (auto sum = sum_at(j)) sums_.push_back(std::move(*sum));
    if (sums_.empty()) return nullptr;
    return with_sums();
  }

 private:
  std::optional<Sum> sum_at(std::size_t j) {
    auto& i = p_.code[j];
    auto c = i.primitive->traits.collective ? ops::collective_params(*i.primitive) : std::nullopt;
    if (!c || (c->kind != CollectiveKind::all_reduce && c->kind != CollectiveKind::reduce_scatter)) return std::nullopt;
    auto& t = type(i.in[0]);
    bool fits = depends_[idx(i.in[0])] && stacked(i.in[0]) && !c->of.empty() && c->of[0] == s_.length &&
                (c->kind == CollectiveKind::all_reduce || c->dim > 0) &&
                idx(volume(c->of)) * dtype_size(t.dtype) >= kLeastSum;
    // Blocks that share a scale must be the same in a slice as in the whole.
    if (fits && c->wire.blocks())
      fits = c->kind == CollectiveKind::all_reduce && c->of == t.shape && volume(slice(t.shape)) % c->wire.block == 0;
    Sum sum{j};
    if (!fits || !follow(i.in[0], sum)) return std::nullopt;
    std::sort(sum.steps.begin(), sum.steps.end());
    return sum;
  }
  /// Does v come from one stacked result alone, which nothing else reads, by elementwise operations?
  bool follow(int v, Sum& sum) {
    if (reads_[idx(v)] != 1 || !stacked(v)) return false;
    auto m = static_cast<std::size_t>(maker_[idx(v)]);
    auto& i = p_.code[m];
    if (m == k_) {
      sum.output = static_cast<std::size_t>(std::find(i.out.begin(), i.out.end(), v) - i.out.begin());
      return sum.output >= idx(s_.carries);
    }
    auto role = i.primitive->traits.loop;
    if ((role != LoopRole::op && role != LoopRole::cast) || i.out.size() != 1) return false;
    int from = -1;  // the operand that the scan computes
    for (int u : i.in) {
      if (type(u).shape != type(v).shape) return false;
      if (!depends_[idx(u)]) {
        if (!ready(u)) return false;
        continue;
      }
      if (from >= 0) return false;
      from = u;
    }
    sum.steps.push_back(m);
    return follow(from, sum);
  }
  /// Can v be computed in front of the scan? Marks what has to move there.
  bool ready(int v) {
    auto m = maker_[idx(v)];
    if (m < static_cast<int>(k_) || earlier_.contains(idx(m))) return true;
    auto& i = p_.code[idx(m)];
    if (!i.primitive->traits.plain() || !std::all_of(i.in.begin(), i.in.end(), [&](int u) { return ready(u); }))
      return false;
    earlier_.insert(idx(m));
    return true;
  }

  /// The variable of the body for an operand that was computed in front of the loop: a constant of the loop that is
  /// broadcast, or a scanned input.
  int operand(int v) {
    auto* i = maker_[idx(v)] < 0 ? nullptr : &p_.code[idx(maker_[idx(v)])];
    auto* made = i ? broadcast(*i) : nullptr;
    if (made && std::find(made->dims.begin(), made->dims.end(), 0) == made->dims.end())
      return broadcast_slice(*i, *made, constant(i->in[0]));
    return scanned(v);
  }
  void append(const Sum& sum) {
    std::map<int, int> number{{p_.code[k_].out[sum.output], body_->out[sum.output]}};
    for (auto m : sum.steps) {
      auto& i = p_.code[m];
      auto in = i.in;
      for (int& u : in) u = depends_[idx(u)] ? number.at(u) : operand(u);
      number[i.out[0]] = add(i.primitive, in, i.source);
    }
    auto& i = p_.code[sum.at];
    auto c = *ops::collective_params(*i.primitive);
    auto whole = slice(c.of);
    auto part = [&](const Arrays& x) -> Arrays {
      if (c.kind == CollectiveKind::all_reduce) return {ops::all_reduce(x[0], c.axes, c.reduce, whole, c.wire)};
      return {ops::reduce_scatter(x[0], c.axes, c.dim - 1, c.sizes, whole, c.wire)};
    };
    auto x = number.at(i.in[0]);
    auto first = body_->code.size();
    auto out = inline_into(*body_, *stage(part, {body_->vars[idx(x)]}).program, {x});
    for (auto n = first; n < body_->code.size(); ++n) body_->code[n].source = i.source;
    body_->out[sum.output] = out[0];
  }
  /// Moves work that sums need besides the scan's own results up behind its last operand, before other products.
  void move_up(std::size_t from) {
    auto code = std::exchange(body_->code, {});
    for (std::size_t k = 0; k < code.size(); ++k) {
      auto& all = body_->code;
      auto place = all.end();
      if (k >= from && code[k].primitive->traits.plain())
        while (place != all.begin() && !feeds(*(place - 1), code[k])) --place;
      all.insert(place, std::move(code[k]));
    }
  }
  static bool feeds(const Instruction& a, const Instruction& b) {
    return std::any_of(b.in.begin(), b.in.end(),
                       [&](int v) { return std::find(a.out.begin(), a.out.end(), v) != a.out.end(); });
  }
  std::shared_ptr<Program> with_sums() {
    body_ = std::make_shared<Program>(*s_.body);
    auto own = body_->code.size();
    auto loop = p_.code[k_];
    Mask gone(p_.code.size());
    // On their way in the order in which they are ready.
    auto level = levels(*body_, idx(s_.consts));
    auto at = [&](const Sum& sum) { return level[idx(body_->out[sum.output])]; };
    std::stable_sort(sums_.begin(), sums_.end(), [&](auto& a, auto& b) { return at(a) < at(b); });
    for (auto& sum : sums_) {
      append(sum);
      for (auto m : sum.steps) gone[m] = true;
      gone[sum.at] = true;
      loop.out[sum.output] = p_.code[sum.at].out[0];
    }
    move_up(own);
    return rewritten(std::move(loop), [&](std::size_t k) { return gone[k]; });
  }

  std::vector<std::size_t> reads_;  // of each variable
  std::vector<Sum> sums_ = {};
};
}  // namespace

ProgramPtr sums_into_scans(const ProgramPtr& p) {
  return std::any_of(p->code.begin(), p->code.end(), communicates) ? into_scans<SumsIntoScan>(p, sums_into_scans) : p;
}
}  // namespace bora::exec
