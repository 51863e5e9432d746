#include "kernels/jit/loop_code.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/loop_gaps.h"

namespace bora::kernels::jit {
namespace {
constexpr std::int64_t kColumns = 4096;  // unit in which threads share a long row: a multiple of every vector
/// Results of this size or more leave the caches before they are read; stores that bypass the caches need not read the
/// lines first.
constexpr std::int64_t kStreamBytes = std::int64_t{32} << 20;
constexpr double kNanosecondsPerCostHere = kNanosecondsPerCost / 2;

/// The name that `perf` shows: the operations, as far as they fit.
std::string name_of(const Loop& l) {
  std::string s = "bora_loop";
  for (const Instr& i : l.code) {
    if (s.size() > 60) return s + "...";
    if (i.kind == Instr::Kind::op) s.append(":").append(element_op(i.op).name);
    else if (i.kind == Instr::Kind::reduce) s += ":reduce";
    else if (i.kind == Instr::Kind::random_bits) s += ":random";
  }
  return s;
}
}  // namespace

bool enabled() {
  static const bool on = [] {
    const char* v = std::getenv("BORA_JIT");
    const std::string_view w = v == nullptr || *v == 0 ? "on" : v;
    check<ValueError>(w == "on" || w == "off", "BORA_JIT: '", w,
                      "' is neither on (generate loops) nor off (interpret them)");
    return w == "on";
  }();
  return on;
}
LoopCode::LoopCode(const LoopKernel& k) : LoopCode(k, make_sections(k)) {}
LoopCode::LoopCode(const LoopKernel& k, const Sections& s) : LoopCode(k, s, assemble(s)) {}
LoopCode::LoopCode(const LoopKernel& k, const Sections& s, const std::vector<std::uint8_t>& code)
    : memory_(code, name_of(k.loop)),
      code_bytes_(code.size()),
      kept_rows_(s.kept_rows),
      kept_element_(s.wide ? 8 : 4),
      lap_(can_lap(s) ? s.lanes() : 0),
      real_forms_(s.real_forms),
      narrow_(s.narrow) {
  if (memory_.entry() == nullptr) throw Uncovered{"this system forbids executable memory"};
  for (const Operand& o : k.loop.operands) {
    bytes_.push_back(static_cast<int>(dtype_size(o.dtype)));
    column_.push_back(o.columns);
  }
}
bool LoopCode::takes(const LoopKernel& k, const Grid& g) const {
  return g.columns > 0 && (!k.has_reduction || g.columns <= kSegment) && forms_fit(g);
}
bool LoopCode::forms_fit(const Grid& g) const {
  for (int f = 0; f < g.forms; ++f) {
    if ((real_forms_ >> f & 1u) == 0) continue;
    double low = static_cast<double>(g.linear[f].base), high = low;
    for (int d = 0; d < g.ndim; ++d) {
      const double way = static_cast<double>(g.extent[d] - 1) * static_cast<double>(g.linear[f].stride[d]);
      (way < 0 ? low : high) += way;
    }
    if (low < -2147483648. || high > 2147483647.) return false;
  }
  return true;
}
bool LoopCode::adds(const LoopKernel& k, const Grid& g) const {
  if (kept_rows_ > 0 || !forms_fit(g)) return false;
  std::call_once(partials_once_, [&] {
    try {
      const Sections s = make_sections(k);
      if (!s.passes[0].reductions.empty()) partials_.emplace(assemble(s, Stores::partials), name_of(k.loop));
    } catch (const Uncovered&) {}
  });
  return partials_ && partials_->entry() != nullptr;
}
void LoopCode::add(const LoopArgs& a, const Grid& g, std::int64_t row, std::int64_t begin, std::int64_t end,
                   char* partials) const {
  Call c = call_of(a, g, row, 1, begin, end);
  c.partials = partials;
  reinterpret_cast<void (*)(const Call*)>(const_cast<void*>(partials_->entry()))(&c);
}
const void* LoopCode::entry(const LoopKernel& k, const LoopArgs& a, const Grid& g) const {
  std::uint32_t read = 0, written = 0;
  for (const Instr& i : k.loop.code) {
    if (i.kind == Instr::Kind::load) read |= 1u << i.imm;
    if (i.kind == Instr::Kind::store && column_[i.imm] != 0) written |= 1u << i.imm;
  }
  const int vector = k.isa == Isa::v4 ? 64 : 32;
  for (int o = 0; o < g.operands; ++o) {
    if ((written >> o & 1u) == 0) continue;
    bool fits = g.rows * g.columns * bytes_[static_cast<std::size_t>(o)] >= kStreamBytes &&
                reinterpret_cast<std::uintptr_t>(a.pointer[o]) % static_cast<unsigned>(vector) == 0;
    for (int d = 0; d + 1 < g.ndim; ++d)
      fits = fits && g.stride[o][d] != 0 && g.stride[o][d] * bytes_[static_cast<std::size_t>(o)] % vector == 0;
    for (int p = 0; p < g.operands; ++p) fits = fits && ((read >> p & 1u) == 0 || a.pointer[p] != a.pointer[o]);
    if (!fits) return memory_.entry();
  }
  if (written == 0) return memory_.entry();
  std::call_once(stream_once_, [&] {
    try {
      stream_.emplace(assemble(make_sections(k), Stores::stream), name_of(k.loop));
    } catch (const Uncovered&) {}  // a few bytes longer than the cached code, which just fitted
  });
  return stream_ && stream_->entry() != nullptr ? stream_->entry() : memory_.entry();
}
Call LoopCode::call_of(const LoopArgs& a, const Grid& g, std::int64_t row, std::int64_t rows, std::int64_t begin,
                       std::int64_t end) const {
  Call c;
  const int n = static_cast<int>(bytes_.size()), last = g.ndim - 1;
  std::int64_t at[kMaxDims];
  g.coordinates(row, at);
  for (int o = 0; o < n; ++o) {
    const auto i = static_cast<std::size_t>(o);
    std::int64_t s = column_[i] != 0 ? begin : 0;
    for (int d = 0; d < last; ++d) s += at[d] * g.stride[o][d];
    c.pointer[o] = static_cast<char*>(a.pointer[o]) + s * bytes_[i];
    c.row_step[o] = last > 0 ? g.stride[o][last - 1] * bytes_[i] : 0;
  }
  for (int f = 0; f < g.forms; ++f) {
    const LinearForm& l = g.linear[f];
    c.form_at[f] = l.base + begin * l.stride[last];
    for (int d = 0; d < last; ++d) c.form_at[f] += at[d] * l.stride[d];
    c.form_row[f] = last > 0 ? l.stride[last - 1] : 0;
    c.form_column[f] = l.stride[last];
  }
  c.rows = rows;
  c.columns = end - begin;
  c.laps = 0;
  if (kept_rows_ > 0) {
    const auto bytes = (g.columns * kept_element_ + 127) / 64 * 64;
    char* m = loop_scratch(static_cast<std::size_t>(kept_rows_ * bytes));
    for (int k = 0; k < kept_rows_; ++k) c.pointer[kMaxOperands + k] = m + k * bytes;
  }
  return c;
}
void LoopCode::advance(Call& c, const Grid& g, std::int64_t (&at)[kMaxDims]) const {
  for (int d = g.ndim - 3; d >= 0; --d) {
    const bool wraps = ++at[d] == g.extent[d];
    const std::int64_t steps = wraps ? 1 - g.extent[d] : 1;
    for (int o = 0; o < g.operands; ++o) c.pointer[o] += steps * g.stride[o][d] * bytes_[static_cast<std::size_t>(o)];
    for (int f = 0; f < g.forms; ++f) c.form_at[f] += steps * g.linear[f].stride[d];
    if (!wraps) return;
    at[d] = 0;
  }
}
bool LoopCode::laps(const LoopKernel& k, const LoopArgs& a, const Grid& g) const {
  if (lap_ == 0 || g.rows == 1 || g.columns < lap_ || g.columns % lap_ == 0) return false;
  std::span<const char> memory[kMaxOperands];
  for (int o = 0; o < g.operands; ++o) memory[o] = memory_of(k, a, o);
  std::uint32_t read = 0, written = 0;
  for (const Instr& i : k.loop.code) {
    if (i.kind == Instr::Kind::load) read |= 1u << i.imm;
    if (i.kind == Instr::Kind::store) written |= 1u << i.imm;
  }
  for (int w = 0; w < g.operands; ++w)
    for (int r = 0; (written >> w & 1u) != 0 && r < g.operands; ++r)
      if ((read >> r & 1u) != 0 && overlap(memory[r], memory[w])) return false;
  return true;
}
void LoopCode::call(const void* code, const LoopArgs& a, const Grid& g, bool laps, std::int64_t row, std::int64_t rows,
                    std::int64_t begin, std::int64_t end) const {
  Call c = call_of(a, g, row, rows, begin, end);
  c.laps = laps ? 1 : 0;
  reinterpret_cast<void (*)(const Call*)>(const_cast<void*>(code))(&c);
}
void LoopCode::run_in_turn(const LoopArgs& a, const Grid& g, std::int64_t times,
                           std::span<const std::int64_t> step) const {
  Call c = call_of(a, g, 0, times, 0, g.columns);
  std::copy(step.begin(), step.end(), c.row_step);
  for (int f = 0; f < g.forms; ++f) c.form_row[f] = 0;
  reinterpret_cast<void (*)(const Call*)>(const_cast<void*>(memory_.entry()))(&c);
}
void LoopCode::run(const LoopKernel& k, const LoopArgs& a, const Grid& g) const {
  const bool flat = !k.has_reduction && !k.has_row_store;
  const void* code = g.rows * g.columns * 8 < kStreamBytes ? memory_.entry() : entry(k, a, g);
  const bool lap = laps(k, a, g);
  const auto grain = [&](std::int64_t columns) {
    return grain_for((static_cast<double>(columns) * k.cost + 20) * kNanosecondsPerCostHere);
  };
  if (flat && g.columns > kColumns) {
    const auto parts = (g.columns + kColumns - 1) / kColumns;
    parallel_for(g.rows * parts, grain(kColumns), [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const auto first = begin % parts, last = std::min(parts, first + (end - begin));
        call(code, a, g, lap, begin / parts, 1, first * kColumns, std::min(g.columns, last * kColumns));
        begin += last - first;
      }
    });
    return;
  }
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    const auto inner = g.inner();
    auto n = std::min(end - begin, inner - begin % inner);
    call(code, a, g, lap, begin, n, 0, g.columns);
    if ((begin += n) == end) return;
    Call c = call_of(a, g, begin, inner, 0, g.columns);
    c.laps = lap ? 1 : 0;
    std::int64_t at[kMaxDims];
    for (g.coordinates(begin, at); begin < end; begin += n) {
      c.rows = n = std::min(end - begin, inner);
      reinterpret_cast<void (*)(const Call*)>(const_cast<void*>(code))(&c);
      advance(c, g, at);
    }
  };
  const auto least = g.rows == 1 ? 1 : grain(g.columns);
  if (g.rows <= least) part(0, g.rows);  // as parallel_for would, without looking for idle threads
  else parallel_for(g.rows, least, part);
}
}  // namespace bora::kernels::jit
