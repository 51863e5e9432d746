// batch_work.h -- the law of work on batches: a function under a vmap whose lanes are split does the work of its own
// lanes on each rank, and holds the memory that they need alone; nothing is sent. Its gradient too.
#pragma once
#include <algorithm>
#include <map>
#include "bora/ops/sharding.h"
#include "laws/work.h"

namespace bora::laws {
/// A function of one lane.
struct Batched {
  std::string name;
  FlatFn f;
  Types in;          // of one lane
  Types fixed = {};  // of operands that all lanes share; they follow the others
  bool smooth = true;  // it has a derivative
};
/// How lanes come to be split: as operands, or because the results are wanted so.
enum class Split : std::uint8_t { operands, results };
/// Complaints about f's work on these meshes, and about its gradient's.
class BatchWork {
 public:
  explicit BatchWork(Batched b) : b_(std::move(b)), lanes_(enough(b_)) {}
  /// One split of the function (or its gradient by the mapped operands) on one mesh; "" if it keeps the law.
  std::string broken(bool gradient, Split split, const std::vector<MeshAxis>& axes) {
    auto most = static_cast<std::int64_t>(std::lround(largest_share(lanes_, axes) * static_cast<double>(lanes_)));
    auto& alone = of_one_rank(gradient, most);
    auto mesh = last_of(axes);
    UseMesh on(mesh);
    auto all = names_of(axes);
    auto spec_of = [&](std::size_t ndim) {
      auto s = Spec::replicated(ndim);
      s[0] = all;
      return s;
    };
    Arrays in;
    for (auto& t : operands(lanes_)) {
      auto x = any_of(t);
      bool mapped = in.size() < b_.in.size() && split == Split::operands;
      in.push_back(mapped ? with_sharding_constraint(x, spec_of(t.shape.size())) : x);
    }
    auto f = function(gradient, lanes_);
    auto staged = stage([&](const Arrays& x) {
      auto y = f(x);
      if (split == Split::results)
        for (auto& r : y) r = with_sharding_constraint(r, spec_of(static_cast<std::size_t>(r.ndim())));
      return y;
    }, types_of(in));
    auto local = fx::local_program(staged.program, joined(in, staged.captures));
    auto mine = work_of(local);
    std::ostringstream o;
    auto check = [&](const char* what, double got, double most_of_it, double of) {
      if (got > most_of_it + 1000) o << "\n  " << got << " " << what << ", " << of << " for its lanes alone";
    };
    check("flops", mine.flops, alone.flops * 1.01, alone.flops);
    // Places in memory leave gaps, other ones in another Program. With split results it also holds the blocks that it
    // cuts out of whole operands.
    check("bytes of temporaries", mine.temporaries,
          alone.temporaries * 1.2 + (split == Split::results ? bytes_of(operands(most)) : 0), alone.temporaries);
    if (mine.received > 0) o << "\n  " << mine.received << " bytes received:" << mine.sent;
    for (auto& t : computed(*local))
      if (t.shape[0] > most) o << "\n  a result is whole: " << to_string(t);
    if (o.str().empty()) return {};
    std::string head = b_.name + (gradient ? ", gradient" : "") + ", split " +
                       (split == Split::operands ? "operands" : "results") + " on " + laws::name(axes) + ":";
    for (auto& t : operands(lanes_)) head += " " + to_string(t);
    return head + o.str();
  }

 private:
  /// The types of the results that depend on the mapped operands.
  Types computed(const Program& p) const {
    std::vector<bool> depends(p.vars.size());
    auto at = [](int v) { return static_cast<std::size_t>(v); };
    for (std::size_t k = 0; k < b_.in.size(); ++k) depends[at(p.in[k])] = true;
    for (auto& i : p.code)
      if (std::any_of(i.in.begin(), i.in.end(), [&](int v) { return depends[at(v)]; }))
        for (int v : i.out) depends[at(v)] = true;
    Types r;
    for (int v : p.out)
      if (depends[at(v)]) r.push_back(p.vars[at(v)]);
    return r;
  }
  Types operands(std::int64_t lanes) const {
    Types r;
    for (auto& t : b_.in) r.push_back(t), r.back().shape.insert(0, lanes);
    r.insert(r.end(), b_.fixed.begin(), b_.fixed.end());
    return r;
  }
  /// So many lanes that their work shows.
  static std::int64_t enough(const Batched& b) {
    Types in = b.in;
    in.insert(in.end(), b.fixed.begin(), b.fixed.end());
    std::int64_t elements = 1;
    for (auto& t : b.in) elements = std::max(elements, t.size());
    auto work = work_of(stage(b.f, in).program).flops;
    return 26 + static_cast<std::int64_t>(40000 / std::max(work, static_cast<double>(elements)));
  }
  FlatFn mapped(std::int64_t lanes) const {
    std::vector<std::optional<std::int64_t>> where(b_.in.size() + b_.fixed.size());
    std::fill_n(where.begin(), b_.in.size(), 0);
    return [f = b_.f, where, lanes](const Arrays& x) { return fx::vmap_flat(f, x, {where, {0}, lanes, ""}); };
  }
  FlatFn function(bool gradient, std::int64_t lanes) const {
    auto f = mapped(lanes);
    if (!gradient) return f;
    return [f, n = b_.in.size()](const Arrays& x) {
      std::vector<std::size_t> by;
      Arrays floats;
      for (std::size_t k = 0; k < n; ++k)
        if (floating(x[k]) && !is_complex(x[k].dtype())) by.push_back(k), floats.push_back(x[k]);
      return grad([&](const Arrays& some) {
        auto in = x;
        for (std::size_t j = 0; j < by.size(); ++j) in[by[j]] = some[j];
        Array total = constant(0., f32);
        for (auto& y : f(in))
          if (floating(y)) total = total + real(sum(y * y)).astype(f32);  // of a linear function too, the slope differs
        return total;
      })(floats);
    };
  }
  const Work& of_one_rank(bool gradient, std::int64_t lanes) {
    auto [at, fresh] = known_.try_emplace({gradient, lanes});
    if (fresh) at->second = work_of(stage(function(gradient, lanes), operands(lanes)).program);
    return at->second;
  }
  Batched b_;
  std::int64_t lanes_;
  std::map<std::pair<bool, std::int64_t>, Work> known_;
};
/// Tries all of a function, or one in `of` below full effort, counting in turn. Returns the complaints.
inline std::vector<std::string> broken_batches(const Batched& b, std::size_t& turn, std::size_t of) {
  std::vector<std::string> r;
  std::optional<BatchWork> work;
  for (bool gradient : {false, true})
    for (auto split : {Split::operands, Split::results})
      for (auto& axes : abstract_meshes()) {
        if (!tried(turn++, of) || (gradient && !b.smooth)) continue;
        if (!work) work.emplace(b);
        if (auto text = work->broken(gradient, split, axes); !text.empty()) r.push_back(text);
      }
  return r;
}
}  // namespace bora::laws
