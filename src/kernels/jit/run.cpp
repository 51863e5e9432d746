// run.cpp -- the block interpreter. Each instruction is one kernel call over a block that stays in the first-level
// cache; short rows are processed several at a time, so that one call does the work per row for all of them.
#include <algorithm>
#include <cstring>
#include <new>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/jit/loop_code.h"
#include "kernels/loop/row_batching.h"
#include "kernels/loop/short_rows.h"
#include "kernels/loop/strided.h"

namespace bora::kernels {
namespace {
constexpr std::int64_t kBlockBytes = 4096;   // a multiple of 32 elements: element i always goes into partial sum i % 32
constexpr std::int64_t kPartialBytes = 256;  // 32 partial results of a reduction

/// Scratch memory of this thread, kept between loops.
class Scratch {
 public:
  ~Scratch() { release(); }
  char* get(std::size_t bytes) {
    if (bytes > size_) {
      release();
      memory_ = static_cast<char*>(::operator new (bytes, std::align_val_t{64}));
      size_ = bytes;
    }
    return memory_;
  }

 private:
  void release() {
    if (memory_ != nullptr) ::operator delete (memory_, std::align_val_t{64});
    memory_ = nullptr;
    size_ = 0;
  }
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};
thread_local Scratch scratch;
}  // namespace
char* loop_scratch(std::size_t bytes) { return scratch.get(bytes); }
namespace {

/// State of one thread that runs a part of a loop.
class Runner {
 public:
  /// segments > 0: for split_row(), with memory of its own instead of the thread's.
  Runner(const LoopKernel& k, const Plan& plan, const LoopArgs& a, const Grid& g, std::int64_t group,
         std::int64_t block, std::int64_t segments = 0)
      : k_(k),
        plan_(plan),
        a_(a),
        g_(g),
        block_(block),
        segments_(segments),
        values_(static_cast<int>(k.loop.code.size())),
        place_bytes_(aligned(static_cast<std::int64_t>((values_ + g.operands) * sizeof(Rows)))),
        slot_bytes_(aligned(block * k.element_bytes)),
        kept_bytes_(aligned(g.columns * k.element_bytes)) {
    const auto row_bytes = aligned(group * 8);
    const auto bytes = static_cast<std::size_t>(place_bytes_ + k.row_arrays * row_bytes + plan.slots * slot_bytes_ +
                                                plan.rows_kept * kept_bytes_ +
                                                std::max<std::int64_t>(1, segments) * plan.partials * kPartialBytes);
    if (segments > 0) own_ = allocate(bytes);
    char* m = segments > 0 ? static_cast<char*>(own_.get()) : scratch.get(bytes);
    place_ = reinterpret_cast<Rows*>(m);
    m += place_bytes_;
    for (int v = 0; v < values_; ++v)
      if (k.row_array[v] >= 0) place_[v] = {m + k.row_array[v] * row_bytes, 1};
    for (std::int16_t c : k.constants)
      for (std::int64_t r = 0; r < group; ++r) {
        if (width_of(format_of(k.loop.code[c].dtype, k.wide)) == 4)
          static_cast<std::uint32_t*>(place_[c].at)[r] = static_cast<std::uint32_t>(k.constant[c]);
        else static_cast<std::uint64_t*>(place_[c].at)[r] = k.constant[c];
      }
    m += k.row_arrays * row_bytes;
    slots_ = m;
    m += plan.slots * slot_bytes_;
    kept_ = m;
    partials_ = m + plan.rows_kept * kept_bytes_;
    for (std::size_t d = 0; d < plan.direct.size(); ++d)
      if (direct_allowed(plan.direct[d])) {
        direct_ |= std::uint64_t{1} << plan.direct[d].operand;
        directs_[direct_count_++] = plan.direct[d];
      }
    const int inner = g.ndim - 2;
    for (int o = 0; o < g.operands; ++o) {
      place_[values_ + o] = {a.pointer[o], inner >= 0 ? g.stride[o][inner] : 0};
      bytes_[o] = static_cast<std::int64_t>(dtype_size(k.loop.operands[o].dtype));
    }
  }
  /// `count` rows from `row`, all within one run of the innermost outer dimension, each within one block.
  void whole_rows(std::int64_t row, std::int64_t count) {
    go_to(row);
    set_columns(0);
    set_slots(plan_.passes[0], g_.columns);
    steps(plan_.passes[0].columns, count, g_.columns, 0);
    steps(plan_.finish, count, g_.columns, 0);
  }
  /// Columns [begin, end) of one row, block by block; all of them where the loop reduces.
  void long_row(std::int64_t row, std::int64_t begin, std::int64_t end) {
    passes(row, [&](const Pass& pass) { blocks(pass, begin, end); });
  }
  /// One row, its segments over threads; `code`: of the first pass, or null.
  void split_row(std::int64_t row, const jit::LoopCode* code) {
    const auto partials = plan_.partials * kPartialBytes;  // of a segment
    passes(row, [&](const Pass& pass) {
      parallel_for(segments_, grain_for(static_cast<double>(kSegment) * k_.cost * kNanosecondsPerCost),
                   [&](std::int64_t begin, std::int64_t end) {
                     const auto last = [&](std::int64_t s) { return std::min(g_.columns, (s + 1) * kSegment); };
                     if (code != nullptr && &pass == &plan_.passes.front()) {
                       for (auto s = begin; s < end; ++s)
                         code->add(a_, g_, row, s * kSegment, last(s), partials_ + s * partials);
                       return;
                     }
                     Runner hand(*this);  // shares the row values
                     hand.own_blocks();
                     for (auto s = begin; s < end; ++s) {
                       hand.partials_ = partials_ + s * partials;
                       hand.blocks(pass, s * kSegment, last(s));
                     }
                   });
      for (const Step& s : pass.columns)
        if (s.what == Step::What::reduce)
          for (std::int64_t other = 1; other < segments_; ++other)
            s.reduce->block(partials_of(s), partials_of(s) + other * partials, 32);
    });
  }

 private:
  const LoopKernel& k_;
  const Plan& plan_;
  const LoopArgs& a_;
  const Grid& g_;
  const std::int64_t block_, segments_;
  const int values_;
  const std::int64_t place_bytes_, slot_bytes_, kept_bytes_;
  std::shared_ptr<void> own_;
  Rows* place_;
  char *slots_, *kept_, *partials_;
  std::uint64_t direct_ = 0;
  int direct_count_ = 0;
  Direct directs_[kMaxOperands];
  char* base_[kMaxOperands];
  std::int64_t bytes_[kMaxOperands], form_[4];

  /// Replaces the buffers of the copied Runner by buffers of this thread.
  void own_blocks() {
    char* m = scratch.get(static_cast<std::size_t>(place_bytes_ + plan_.slots * slot_bytes_));
    std::memcpy(m, place_, static_cast<std::size_t>(place_bytes_));
    place_ = reinterpret_cast<Rows*>(m);
    slots_ = m + place_bytes_;
    pass_ = nullptr;
  }
  char* partials_of(const Step& s) const { return partials_ + s.partials * kPartialBytes; }
  /// Runs the passes over a row; over_columns(pass) runs the steps that are one per column.
  template <class F> void passes(std::int64_t row, F over_columns) {
    go_to(row);
    for (const Pass& pass : plan_.passes) {
      set_columns(0);
      steps(pass.rows, 1, 1, 0);
      if (pass.columns.empty()) continue;
      over_columns(pass);
      for (const Step& s : pass.columns)
        if (s.what == Step::What::reduce) s.reduce->end(partials_of(s), place_[s.out].at);
    }
    set_columns(0);
    steps(plan_.finish, 1, 1, 0);
  }
  void blocks(const Pass& pass, std::int64_t begin, std::int64_t end) {
    for (const Step& s : pass.columns)
      if (s.what == Step::What::reduce) s.reduce->begin(partials_of(s));
    for (std::int64_t c = begin; c < end; c += block_) {
      const auto n = std::min(block_, end - c);
      set_columns(c);
      set_slots(pass, n);
      steps(pass.columns, 1, n, c);
    }
  }
  static std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }
  bool direct_allowed(const Direct& d) const {
    for (int o = 0; o < g_.operands; ++o)
      if ((d.later >> o & 1u) != 0 && a_.pointer[o] == a_.pointer[d.operand]) return false;
    return true;
  }
  void go_to(std::int64_t row) {
    std::int64_t at[kMaxDims];
    g_.coordinates(row, at);
    for (int o = 0; o < g_.operands; ++o) {
      std::int64_t s = 0;
      for (int d = 0; d + 1 < g_.ndim; ++d) s += at[d] * g_.stride[o][d];
      base_[o] = static_cast<char*>(a_.pointer[o]) + s * bytes_[o];
    }
    for (int f = 0; f < g_.forms; ++f) {
      form_[f] = g_.linear[f].base;
      for (int d = 0; d + 1 < g_.ndim; ++d) form_[f] += at[d] * g_.linear[f].stride[d];
    }
  }
  void set_columns(std::int64_t c) {
    for (int o = 0; o < g_.operands; ++o)
      place_[values_ + o].at = base_[o] + (k_.loop.operands[o].columns ? c * bytes_[o] : 0);
    if (plan_.rows_kept > 0)
      for (int v = 0; v < values_; ++v)
        if (plan_.kept[v] >= 0)
          place_[v] = {kept_ + plan_.kept[v] * kept_bytes_ + c * width_of(format_of(k_.loop.code[v].dtype, k_.wide)),
                       0};
  }
  /// After set_columns. Only the last pass writes results directly to their operands: before it, that memory may still
  /// be read.
  void set_slots(const Pass& pass, std::int64_t n) {
    if (pass_ != &pass || pass_columns_ != n) {
      for (auto [v, slot] : pass.buffers) place_[v] = {slots_ + slot * slot_bytes_, n};
      pass_ = &pass;
      pass_columns_ = n;
    }
    if (&pass == &plan_.passes.back())
      for (int d = 0; d < direct_count_; ++d) place_[directs_[d].value] = place_[values_ + directs_[d].operand];
  }
  const Pass* pass_ = nullptr;
  std::int64_t pass_columns_ = -1;
  /// The block buffer of a row value that is repeated along the row for a reduction.
  Rows temporary(int v, std::int64_t n) const { return {slots_ + pass_->slot[v] * slot_bytes_, n}; }

  void steps(const std::vector<Step>& list, std::int64_t rows, std::int64_t n, std::int64_t column) {
    for (const Step& s : list) {
      switch (s.what) {
        case Step::What::kernel: kernel(s, rows, n); break;
        case Step::What::reduce: {
          const Rows in = s.form == -2 ? temporary(s.in[0], n) : place_[s.in[0]];
          if (&plan_ == &k_.whole) s.reduce->whole(in, place_[s.out].at, rows, n);
          else s.reduce->block(partials_of(s), in.at, n);
          break;
        }
        case Step::What::linear:
          for (std::int64_t r = 0; r < rows; ++r)
            s.linear(row_of(s.out, s.format, r), n, start(s.form, r, column), last_stride(s.form));
          break;
        case Step::What::random: {
          const Rows key = place_[values_ + s.operand];
          for (std::int64_t r = 0; r < rows; ++r) {
            std::uint32_t words[2];
            std::memcpy(words, static_cast<char*>(key.at) + r * key.pitch * 8, 8);
            s.random(row_of(s.out, s.format, r), n, words, static_cast<std::uint64_t>(start(s.form, r, column)),
                     last_stride(s.form));
          }
          break;
        }
      }
    }
  }
  std::int64_t last_stride(int form) const { return g_.linear[form].stride[g_.ndim - 1]; }
  std::int64_t start(int form, std::int64_t r, std::int64_t column) const {
    return form_[form] + (g_.ndim > 1 ? r * g_.linear[form].stride[g_.ndim - 2] : 0) + column * last_stride(form);
  }
  void* row_of(int v, Format f, std::int64_t r) const {
    return static_cast<char*>(place_[v].at) + r * place_[v].pitch * width_of(f);
  }
  void kernel(const Step& s, std::int64_t rows, std::int64_t n) {
    if (s.stores >= 0 && (direct_ >> s.stores & 1u) != 0) return;
    Rows in[3], out = s.partials == -2 ? temporary(s.out, n) : place_[s.out];
    for (int j = 0; j < s.arity; ++j) in[j] = place_[s.in[j]];
    switch (s.over) {
      case Step::Over::row_values: n = rows, rows = 1; break;
      case Step::Over::row_memory: n = 1; break;
      case Step::Over::columns:
        if (rows > 1 && s.joinable) {
          bool dense = out.pitch == n;
          for (int j = 0; j < s.arity; ++j) dense = dense && in[j].pitch == n;
          if (dense) n *= rows, rows = 1;
        }
    }
    s.run(in, out, rows, n);
    if (s.then != nullptr) {
      in[0] = out;
      s.then(in, out, rows, n);
    }
  }
};
}  // namespace

namespace {
/// The generated code for these arguments, or null: interpret. `times`: how often they are run now.
const jit::LoopCode* code_for(const LoopKernel& k, const Grid& g, std::int64_t times) {
  const double elements = static_cast<double>(g.rows) * static_cast<double>(g.columns) * static_cast<double>(times);
  const jit::LoopCode* code = k.code(elements * k.cost * kNanosecondsPerCost);
  return code != nullptr && code->takes(k, g) ? code : nullptr;
}
/// Do rows fit half of an AVX-512 vector? Then vectors of 256 bits are faster (k.halves()), but those of AVX2 store a
/// part of one piece by piece: elementwise they pay for whole ones.
bool fits_halves(const LoopKernel& k, const Grid& g) {
  const std::int64_t half = k.wide ? 4 : 8;
  return k.isa == Isa::v4 && (k.has_reduction ? g.columns <= half : g.columns == half);
}
}  // namespace

void run_in_turn(const LoopKernel& k, const LoopArgs& a, std::int64_t times, std::span<const std::int64_t> step) {
  // One row for this thread alone: the runs become rows of one call.
  if (times > 1 && a.extent[a.ndim - 1] > 0 && strided_operands(k, a) == 0) {
    const Grid g(k, a);
    const bool alone = g.rows == 1 && static_cast<double>(g.columns) * k.cost * kNanosecondsPerCost < kWorthAThread;
    if (const auto* code = alone ? code_for(k, g, times) : nullptr) {
      const auto* half = fits_halves(k, g) ? code_for(k.halves(), g, times) : nullptr;
      return (half != nullptr ? half : code)->run_in_turn(a, g, times, step);
    }
  }
  LoopArgs now = a;
  for (std::int64_t t = 0; t < times; ++t) {
    run(k, now);
    for (std::size_t o = 0; o < step.size(); ++o) now.pointer[o] = static_cast<char*>(now.pointer[o]) + step[o];
  }
}
void run(const LoopKernel& k, const LoopArgs& a) {
  check<ValueError>(a.ndim >= 1 && a.ndim <= kMaxDims, "fused loop: ", a.ndim, " dimensions; 1 to ", kMaxDims,
                    " are possible");
  for (int d = 0; d + 1 < a.ndim; ++d)
    if (a.extent[d] == 0) return;
  if (a.extent[a.ndim - 1] == 0 && !k.has_row_store) return;
  const auto strided = strided_operands(k, a);
  const Grid g(k, a);
  if (const auto* s = ShortRows::pays(k, g) ? k.short_rows() : nullptr) return s->run(k, a, g);
  if (has_short_rows(k, g)) return run_batched(k, a, g);
  if (strided != 0) return run_strided(k, a, strided);
  if (const auto* code = code_for(k, g, 1)) {
    const auto* half = g.rows > 1 && fits_halves(k, g) ? code_for(k.halves(), g, 1) : nullptr;
    if (half != nullptr) return half->run(k.halves(), a, g);
    return code->run(k, a, g);
  }
  const std::int64_t block = kBlockBytes / k.element_bytes;
  if (g.columns <= block) {
    const auto group = std::clamp<std::int64_t>(block / std::max<std::int64_t>(1, g.columns), 1,
                                                std::min<std::int64_t>(g.rows, g.inner()));
    const double row_time = (static_cast<double>(g.columns) * k.cost + 20) * kNanosecondsPerCost;
    const auto grain = grain_for(row_time);
    parallel_for(g.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      Runner runner(k, k.whole, a, g, group, std::max<std::int64_t>(1, group * g.columns));
      for (auto r = begin; r < end;) {
        const auto n = std::min({group, end - r, g.inner() - r % g.inner()});
        runner.whole_rows(r, n);
        r += n;
      }
    });
  } else if (!k.has_reduction && !k.has_row_store) {  // blocks of rows are independent
    const auto blocks = (g.columns + block - 1) / block;
    const auto grain =
        grain_for(static_cast<double>(block) * k.cost * kNanosecondsPerCost);
    parallel_for(g.rows * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      Runner runner(k, k.blocks, a, g, 1, block);
      while (begin < end) {
        const auto row = begin / blocks, first = begin % blocks, last = std::min(blocks, first + (end - begin));
        runner.long_row(row, first * block, std::min(g.columns, last * block));
        begin += last - first;
      }
    });
  } else if (g.columns <= kSegment) {
    const double row_time = static_cast<double>(g.columns) * k.cost * kNanosecondsPerCost;
    parallel_for(g.rows, grain_for(row_time),
                 [&](std::int64_t begin, std::int64_t end) {
                   Runner runner(k, k.blocks, a, g, 1, block);
                   for (auto r = begin; r < end; ++r) runner.long_row(r, 0, g.columns);
                 });
  } else {
    const auto* code = k.code(0);
    if (code != nullptr && !code->adds(k, g)) code = nullptr;
    auto split = [&](std::int64_t begin, std::int64_t end) {
      Runner runner(k, k.blocks, a, g, 1, block, (g.columns + kSegment - 1) / kSegment);
      for (auto r = begin; r < end; ++r) runner.split_row(r, code);
    };
    if (g.rows < thread_count()) split(0, g.rows);
    else parallel_for(g.rows, grain_for(static_cast<double>(g.columns) * k.cost * kNanosecondsPerCost), split);
  }
}
}  // namespace bora::kernels
