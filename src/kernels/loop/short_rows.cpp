#include "kernels/loop/short_rows.h"
#include <algorithm>
#include <cstring>
#include <utility>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/loop/fold.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
using Kind = Instr::Kind;
constexpr I kMostColumns = 31, kLeastRows = 32, kLeastElements = 512;
constexpr I kLeastRound = 4, kLeastOfRound = 40;  // rows that lie equally far apart, and their elements
constexpr I kTileBytes = 24 * 1024, kMostTileRows = 1024;
constexpr int kDear = 8;         // cost of an operation whose result is kept rather than computed again
constexpr double kMoved = 0.5;  // ns, to transpose an element
}  // namespace

/// Cuts a Loop into stages.
class ShortRows::Maker {
 public:
  Maker(const LoopKernel& k, Code mode, ShortRows& r)
      : k_(k), mode_(mode), r_(r), code_(k.loop.code), n_(static_cast<int>(code_.size())), at_(code_.size(), -1),
        keep_(code_.size()), seen_(code_.size()),
        last_(code_.size(), -1) {}
  bool make() {
    for (const Operand& o : k_.loop.operands) r_.buffers_.push_back({o.dtype, o.columns});
    r_.read_.resize(r_.buffers_.size()), r_.written_.resize(r_.buffers_.size());
    for (int v = 0; v < n_; ++v) {
      const Instr& i = code_[idx(v)];
      if (i.kind == Kind::random_bits) return false;  // keys are one per row of the loop
      if (!k_.live[idx(v)]) continue;
      if (i.kind == Kind::load) at_[idx(v)] = static_cast<int>(i.imm), r_.read_[i.imm] = true;
      if (i.kind == Kind::store) r_.written_[i.imm] = true;
    }
    find_kept();
    for (int p = 0; p <= k_.last_level; ++p) {
      rows(p);
      columns(p);
    }
    begin(false);
    for (int v = 0; v < n_; ++v)
      if (is_store(v) && !stores_columns(v)) store(v);
    end();
    return fits_;
  }

 private:
  static std::size_t idx(int v) { return static_cast<std::size_t>(v); }
  bool is_column(int v) const { return k_.column[idx(v)] != 0; }
  bool is_store(int v) const { return k_.live[idx(v)] && code_[idx(v)].kind == Kind::store; }
  bool stores_columns(int v) const { return k_.loop.operands[code_[idx(v)].imm].columns; }
  bool reduces(int v, int level) const {
    return k_.live[idx(v)] && code_[idx(v)].kind == Kind::reduce && k_.level[idx(v)] == level;
  }
  bool is_row(int v, int level) const {
    const Kind k = code_[idx(v)].kind;
    return k_.live[idx(v)] && !is_column(v) && k_.level[idx(v)] == level &&
           (k == Kind::op || k == Kind::cast || k == Kind::bitcast);
  }
  /// Calls f(value) for what the loop over columns of level p must compute: operands of reductions, results.
  template <class F> void each_target(int p, F f) const {
    for (int v = 0; v < n_; ++v)
      if (reduces(v, p + 1) || (p == k_.last_level && is_store(v) && stores_columns(v))) f(code_[idx(v)].in[0]);
  }
  /// Dear values that several loops need.
  void find_kept() {
    std::vector<char> done(code_.size());  // operands of reductions, which have memory
    for (int p = 0; p <= k_.last_level; ++p) {
      const auto visit = [&](auto&& self, int v) -> void {
        if (!is_column(v) || std::exchange(last_[idx(v)], p) == p) return;
        const bool again = std::exchange(seen_[idx(v)], char{1}) != 0;
        if (again && code_[idx(v)].kind == Kind::op && element_op(code_[idx(v)].op).cost >= kDear) keep_[idx(v)] = true;
        if (done[idx(v)]) return;
        for (int j = 0; j < arity(code_[idx(v)]); ++j) self(self, code_[idx(v)].in[idx(j)]);
      };
      each_target(p, [&](int v) { visit(visit, v); });
      for (int v = 0; v < n_; ++v)
        if (reduces(v, p + 1)) done[idx(code_[idx(v)].in[0])] = true;
    }
  }

  void begin(bool columns) {
    stage_ = {columns};
    loop_ = {};
    loop_.linear_forms = k_.loop.linear_forms;
    number_.assign(code_.size(), -1);
    made_.clear();
  }
  void end() {
    const bool stores = std::any_of(loop_.code.begin(), loop_.code.end(),
                                    [](const Instr& i) { return i.kind == Kind::store; });
    fits_ = fits_ && loop_.operands.size() <= kMaxOperands;
    if (stores && fits_) stage_.kernel = compile_for(loop_, k_.isa, mode_);
    for (auto [v, buffer] : made_) at_[idx(v)] = buffer;
    if (stores || !stage_.folds.empty()) r_.stages_.push_back(std::move(stage_));
  }
  std::int16_t push(const Instr& i) {
    loop_.code.push_back(i);
    return static_cast<std::int16_t>(loop_.code.size() - 1);
  }
  int operand(int buffer) {
    for (std::size_t o = 0; o < stage_.buffers.size(); ++o)
      if (stage_.buffers[o] == buffer) return static_cast<int>(o);
    stage_.buffers.push_back(buffer);
    loop_.operands.push_back({r_.buffers_[idx(buffer)].dtype, true});
    return static_cast<int>(stage_.buffers.size()) - 1;
  }
  std::int16_t value(int v) {
    if (number_[idx(v)] >= 0) return static_cast<std::int16_t>(number_[idx(v)]);
    Instr i = code_[idx(v)];
    if (at_[idx(v)] >= 0) {
      i = {.kind = Kind::load, .dtype = i.dtype, .imm = static_cast<std::uint64_t>(operand(at_[idx(v)]))};
    } else {
      for (int j = 0; j < arity(i); ++j) i.in[idx(j)] = value(i.in[idx(j)]);
    }
    number_[idx(v)] = push(i);
    if (keep_[idx(v)] && at_[idx(v)] < 0 && stage_.columns) put(v);
    return static_cast<std::int16_t>(number_[idx(v)]);
  }
  void store_into(int buffer, std::int16_t x) {
    const auto d = loop_.code[idx(x)].dtype;
    push({.kind = Kind::store, .dtype = d, .in = {x, -1, -1, -1}, .imm = static_cast<std::uint64_t>(operand(buffer))});
  }
  /// Gives a value of this stage memory for later ones.
  int put(int v) {
    for (auto [u, buffer] : made_)
      if (u == v) return buffer;
    const int buffer = static_cast<int>(r_.buffers_.size());
    made_.emplace_back(v, buffer);
    r_.buffers_.push_back({code_[idx(v)].dtype, stage_.columns});
    store_into(buffer, value(v));
    return buffer;
  }
  void store(int v) { store_into(static_cast<int>(code_[idx(v)].imm), value(code_[idx(v)].in[0])); }
  /// Values of one per row that need the reductions of this level, but no more.
  void rows(int p) {
    begin(false);
    for (int v = 0; v < n_; ++v) {
      if (!is_row(v, p)) continue;
      bool outside = false;
      for (int u = v + 1; u < n_; ++u)
        for (int j = 0; k_.live[idx(u)] && j < arity(code_[idx(u)]); ++j)
          outside = outside || (code_[idx(u)].in[idx(j)] == v && !is_row(u, p));
      if (outside) put(v);
    }
    end();
  }
  void columns(int p) {
    begin(true);
    for (int v = 0; v < n_; ++v) {
      if (!reduces(v, p + 1)) continue;
      const int x = code_[idx(v)].in[0], from = at_[idx(x)] >= 0 ? at_[idx(x)] : put(x);
      const int to = static_cast<int>(r_.buffers_.size());
      r_.buffers_.push_back({code_[idx(v)].dtype, false});
      stage_.folds.push_back({static_cast<Reduction>(code_[idx(v)].imm), from, to});
      at_[idx(v)] = to;
    }
    if (p == k_.last_level)
      for (int v = 0; v < n_; ++v)
        if (is_store(v) && stores_columns(v)) store(v);
    end();
  }

  const LoopKernel& k_;
  const Code mode_;
  ShortRows& r_;
  const std::vector<Instr>& code_;
  const int n_;
  std::vector<int> at_;     // value -> its buffer, or -1
  std::vector<char> keep_;  // dear, and needed by several loops
  std::vector<char> seen_;
  std::vector<int> last_;  // value -> the last pass that needs it
  Stage stage_{};
  Loop loop_;
  std::vector<int> number_;                 // value -> its number in the loop of the stage
  std::vector<std::pair<int, int>> made_;  // values to which this stage gives a buffer
  bool fits_ = true;
};

/// The buffers of one thread.
class ShortRows::Tile {
 public:
  Tile(const ShortRows& s, const LoopArgs& a, const Grid& g, I rows)
      : s_(s), a_(a), g_(g), pitch_((rows + kFoldedRows - 1) / kFoldedRows * kFoldedRows) {
    std::size_t bytes = 0;
    std::vector<std::size_t> starts;
    for (const Buffer& b : s.buffers_) {
      starts.push_back(bytes);
      const auto elements = static_cast<std::size_t>(pitch_ * (b.columns ? g.columns : 1));
      bytes += (elements * dtype_size(b.dtype) + 63) / 64 * 64 + 64;
    }
    memory_ = allocate(bytes);
    for (auto start : starts) at_.push_back(static_cast<char*>(memory_.get()) + start);
  }
  /// Rows [row, row + rows), which begin anew with the last outer dimension where they are of several of its rounds.
  void run(I row, I rows) {
    move(row, rows, false);
    I at[kMaxDims] = {};
    g_.coordinates(row, at);
    for (const Stage& stage : s_.stages_) {
      if (stage.kernel) {
        args_.ndim = stage.columns ? 2 : 1;
        args_.extent[0] = g_.columns;
        args_.extent[args_.ndim - 1] = rows;
        for (std::size_t o = 0; o < stage.buffers.size(); ++o) {
          const auto b = static_cast<std::size_t>(stage.buffers[o]);
          args_.pointer[o] = at_[b];
          args_.stride[o][0] = s_.buffers_[b].columns ? pitch_ : 0;
          args_.stride[o][args_.ndim - 1] = 1;
        }
        for (int f = 0; f < g_.forms; ++f) {
          const LinearForm& l = g_.linear[f];
          args_.linear[f].base = l.base + offset(at, l.stride);
          args_.linear[f].stride[0] = l.stride[last() + 1];
          args_.linear[f].stride[args_.ndim - 1] = l.stride[last()];
        }
        kernels::run(*stage.kernel, args_);
      }
      for (const Fold& f : stage.folds) {
        const auto in = static_cast<std::size_t>(f.in), out = static_cast<std::size_t>(f.out);
        fold(f.kind, s_.buffers_[out].dtype, at_[in], s_.buffers_[in].columns ? pitch_ : 0, at_[out], g_.columns, rows);
      }
    }
    move(row, rows, true);
  }

 private:
  I offset(const I (&at)[kMaxDims], const I* strides) const {
    I r = 0;
    for (int d = 0; d + 1 < g_.ndim; ++d) r += at[d] * strides[d];
    return r;
  }
  /// Operands into their buffers, or results back, as many rows at a time as lie equally far apart.
  void move(I row, I rows, bool back) {
    const auto& which = back ? s_.written_ : s_.read_;
    for (I r = 0; r < rows;) {
      I at[kMaxDims] = {};
      g_.coordinates(row + r, at);
      const I some = std::min(rows - r, g_.inner() - at[last()]);
      for (int o = 0; o < g_.operands; ++o) {
        const auto k = static_cast<std::size_t>(o);
        if (!which[k] || (!back && filled_[k] >= r + some)) continue;
        const Buffer& b = s_.buffers_[k];
        const auto size = static_cast<I>(dtype_size(b.dtype));
        const Matrix memory{static_cast<char*>(a_.pointer[o]) + offset(at, g_.stride[o]) * size, g_.stride[o][last()],
                            b.columns ? g_.stride[o][last() + 1] : 0},
            tile{at_[k] + r * size, 1, pitch_};
        turn(back ? tile : memory, back ? memory : tile, some, b.columns ? g_.columns : 1, dtype_size(b.dtype));
        if (!back && repeats(o)) filled_[k] = r + some;
      }
      r += some;
    }
  }
  /// Is an operand the same in every round of the last outer dimension, with which every tile begins?
  bool repeats(int o) const {
    if (s_.written_[static_cast<std::size_t>(o)] || !s_.spans(g_)) return false;
    return std::all_of(g_.stride[o], g_.stride[o] + last(), [](I stride) { return stride == 0; });
  }
  int last() const { return g_.ndim - 2; }  // the dimension of the tile's rows

  const ShortRows& s_;
  const LoopArgs& a_;
  const Grid& g_;
  const I pitch_;
  I filled_[kMaxOperands] = {};  // rows that are in their buffer for every tile
  std::vector<char*> at_;
  std::shared_ptr<void> memory_;
  LoopArgs args_;
};

std::shared_ptr<const ShortRows> ShortRows::make(const LoopKernel& k, Code mode) {
  auto r = std::make_shared<ShortRows>();
  if (!Maker(k, mode, *r).make()) return nullptr;
  return r;
}
bool ShortRows::spans(const Grid& g) { return g.forms == 0 && g.inner() < kLeastRows; }
bool ShortRows::pays(const LoopKernel& k, const Grid& g) {
  return k.has_reduction && g.columns > 1 && g.columns <= kMostColumns && g.rows * g.columns >= kLeastElements &&
         (g.inner() >= kLeastRows || (spans(g) && g.inner() >= kLeastRound && g.inner() * g.columns >= kLeastOfRound &&
           g.rows >= kLeastRows));
}
void ShortRows::run(const LoopKernel& k, const LoopArgs& a, const Grid& g) const {
  I bytes = 0;
  for (const Buffer& b : buffers_) bytes += static_cast<I>(dtype_size(b.dtype)) * (b.columns ? g.columns : 1);
  I most = std::clamp<I>(kTileBytes / bytes / kFoldedRows * kFoldedRows, kFoldedRows, kMostTileRows);
  const bool several = spans(g);
  if (several) most = std::max<I>(most / g.inner(), 1) * g.inner();
  const I inner = several ? g.rows : g.inner(), groups = (inner + most - 1) / most;
  const auto grain = grain_for(static_cast<double>(std::min(most, inner) * g.columns) *
                               (k.cost * kNanosecondsPerCost / 2 + kMoved));
  parallel_for(g.rows / inner * groups, grain, [&](I begin, I end) {
    Tile tile(*this, a, g, most);
    for (I u = begin; u < end; ++u) {
      const I first = u % groups * most;
      tile.run(u / groups * inner + first, std::min(most, inner - first));
    }
  });
}
}  // namespace bora::kernels
