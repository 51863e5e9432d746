// columns.h -- the code for the columns of a row: main loop, tails, reductions. Private to assemble.cpp.
#pragma once
#include <algorithm>
#include "kernels/jit/assemble.h"
#include "kernels/jit/encode.h"

namespace bora::kernels::jit {
class ColumnCode : public Encoder {
 protected:
  using Encoder::Encoder;
  Task task(const Graph& g, Mode mode) {
    return {.graph = &g,
            .mode = mode,
            .vector_bytes = vector_bytes(),
            .slots = slot_offset_,
            .lazy = lazy_,
            .pins = {},
            .reserved = {},
            .paired = false};
  }
  void straight(const Graph& g) { encode(g, allocate(task(g, Mode::row), frame_), Mode::row); }
  void find_inputs() {
    if (s_.passes.empty()) return;
    for (const Node& n : s_.passes[0].columns.nodes)
      if (const auto o = static_cast<int>(n.imm);
          n.op == P::load && o < std::min(loop_operands(), int{kPointers}) && s_.operands[at(o)].columns)
        inputs_.push_back(o);
  }
  /// The columns of a row: copies of the body in lockstep, then one vector at a time with the remaining lanes.
  void columns(const PassSections& p) {
    const Graph& g = p.columns;
    const auto live = needed(g);
    if (std::find(live.begin(), live.end(), 1) == live.end()) return;
    const Task t = main_task(p, live);
    const int step = t.copies * lanes();
    Xbyak::Label brief, tails, end;
    mov(rcx, ptr[rsp + kColumns]);
    xor_(eax, eax);
    lea(rdx, ptr[rcx - step]);
    mov(ptr[rsp + kLimit], rdx);
    test(rdx, rdx);
    jl(brief, T_NEAR);
    main_loop(p, t, step);
    if (partials_.size() == 1 && partials_[0].reg >= parts() + 2 && stores_ != Stores::partials) fold_in_registers(end);
    spread(true);
    jmp(tails, T_NEAR);
    L(brief);
    if (!partials_.empty() && stores_ != Stores::partials) row_of_one_vector(g, end);
    for (const Partials& a : partials_) begin(a, false);
    if (flag_nan_) kxorw(kNan, kNan, kNan);
    L(tails);
    if (!v4() && t.copies > 1) whole_vectors(g);
    remaining_lanes(g);
    fold_in_frame();
    L(end);
  }

 private:
  int parts() const { return 32 / lanes(); }
  /// How many copies run in lockstep, and which registers hold partial results, constants and row values meanwhile.
  Task main_task(const PassSections& p, const std::vector<char>& live) {
    const int registers = v4() ? 32 : 16;
    const auto [vectors, masks] = pressure(p.columns);
    Task t = task(p.columns, Mode::main);
    const int most = p.reductions.empty() ? 4 : std::min(4, parts());
    // Up to three times as many values as registers: spilling some of them costs less than waiting for few chains of
    // operations.
    while (t.group * 2 <= most && t.group * 2 * vectors + 3 <= 3 * registers && t.group * 2 * masks <= 4) t.group *= 2;
    t.copies = p.reductions.empty() ? t.group : parts();
    t.paired = s_.wide && t.group > 1;
    int spare = registers - std::min(registers, t.group * vectors + 3), next = registers;
    partials_.clear();
    for (const Accumulator& a : p.reductions) {
      const bool fits = spare >= parts();
      if (fits) spare -= parts(), next -= parts();
      partials_.push_back({a, frame_.take(parts() * vector_bytes()), fits ? next : -1});
      if (fits)
        for (int u = 0; u < parts(); ++u) t.reserved.push_back(next + u);
    }
    // If the only reduction of a pass is a max or min, a separate flag records NaNs, so that the partial results wait
    // for one instruction, not two.
    const auto real_extreme = [](const Accumulator& a) {
      return (a.kind == Reduction::max || a.kind == Reduction::min) &&
             (a.format == Format::f32 || a.format == Format::bf16);
    };
    flag_nan_ = v4() && !s_.wide && p.reductions.size() == 1 && real_extreme(p.reductions[0]) &&
                stores_ != Stores::partials;
    pin(t, live, spare, next);
    return t;
  }
  void main_loop(const PassSections& p, const Task& t, int step) {
    for (const Partials& a : partials_) begin(a, a.reg >= 0);
    if (flag_nan_) kxorw(kNan, kNan, kNan);
    for (auto [node, r] : t.pins) load_leaf(p.columns.nodes[at(node)], r);
    const auto body = allocate(t, frame_);
    std::vector<std::pair<int, int>> rows;  // operand, frame offset of the address of its next row
    if (&p == longest() && stores_ != Stores::partials)
      for (int o : inputs_)
        if (rows.size() < 3) rows.emplace_back(o, frame_.take(8));
    for (auto [o, at] : rows) {
      mov(rdi, ptr[rsp + kCall]);
      mov(rdi, ptr[rdi + static_cast<int>(offsetof(Call, row_step)) + 8 * o]);
      add(rdi, pointer(o));
      mov(ptr[rsp + at], rdi);
    }
    const auto prefetch = [&](const Xbyak::Reg64& from, int o, int distance) {
      for (int b = 0; b < step * size_of(o); b += 64) {
        const auto line = ptr[from + rax * size_of(o) + b + distance];
        distance > 0 ? prefetcht0(line) : prefetcht1(line);  // the next row must not evict this one from L1
      }
    };
    Xbyak::Label main;
    align(32);
    L(main);
    for (auto [o, at] : rows) {
      mov(rdi, ptr[rsp + at]);
      prefetch(rdi, o, 0);
    }
    if ((stores_ == Stores::stream && s_.passes.size() == 1) || stores_ == Stores::partials)
      for (int o : inputs_) prefetch(pointer(o), o, 1536);
    encode(p.columns, body, Mode::main, t.paired);
    add(rax, step);
    cmp(rax, ptr[rsp + kLimit]);
    jle(main, T_NEAR);
  }
  /// Moves partial results that are in registers to the frame or to the first registers.
  void spread(bool to_frame) {
    for (const Partials& a : partials_)
      for (int u = 0; a.reg >= 0 && u < parts(); ++u) {
        const auto place = ptr[rsp + a.offset + u * vector_bytes()];
        to_frame ? vmovaps(place, v(a.reg + u)) : vmovaps(v(u), v(a.reg + u));
      }
  }
  /// One reduction and no tail: the partial results are combined in registers; then jumps to `end`.
  void fold_in_registers(Xbyak::Label& end) {
    Xbyak::Label rest;
    cmp(rax, rcx);
    jne(rest, T_NEAR);
    spread(false);
    fold(partials_[0]);
    jmp(end, T_NEAR);
    L(rest);
  }
  void remaining_lanes(const Graph& g) {
    Xbyak::Label partial, done;
    if (can_lap(s_) && stores_ == Stores::cached) last_vector(g, partial, done);
    L(partial);
    mov(rdx, rcx);
    sub(rdx, rax);
    jle(done, T_NEAR);
    tail_lanes();
    encode(g, allocate(task(g, Mode::tail), frame_), Mode::tail);
    add(rax, lanes());
    jmp(partial, T_NEAR);
    L(done);
  }
  /// Combines the partial results, or stores them for Stores::partials.
  void fold_in_frame() {
    if (stores_ == Stores::partials) {
      mov(rdi, ptr[rsp + kCall]);
      mov(rdi, ptr[rdi + static_cast<int>(offsetof(Call, partials))]);
    }
    for (std::size_t k = 0; k < partials_.size(); ++k) {
      for (int u = 0; u < parts(); ++u) vmovaps(v(u), ptr[rsp + partials_[k].offset + u * vector_bytes()]);
      if (stores_ != Stores::partials) fold(partials_[k]);
      else
        for (int u = 0; u < parts(); ++u) vmovups(ptr[rdi + static_cast<int>(k) * 256 + u * vector_bytes()], v(u));
    }
  }
  /// A row that fits a vector: its partial results are one vector; then jumps to `done`.
  void row_of_one_vector(const Graph& g, Xbyak::Label& done) {
    Xbyak::Label longer;
    lea(rdx, ptr[rcx - 1]);
    cmp(rdx, lanes());
    jae(longer, T_NEAR);
    mov(rdx, rcx);
    tail_lanes();
    if (flag_nan_) kxorw(kNan, kNan, kNan);
    alone_ = true;
    encode(g, allocate(task(g, Mode::tail), frame_), Mode::tail);
    alone_ = false;
    for (const Partials& a : partials_) {
      vmovaps(v(0), ptr[rsp + a.offset]);
      fold_lanes(a);
    }
    jmp(done, T_NEAR);
    L(longer);
  }
  /// One vector at a time, without the mask of a tail: AVX2 has none for stores and for elements below four bytes.
  void whole_vectors(const Graph& g) {
    Xbyak::Label next, rest;
    L(next);
    lea(rdx, ptr[rax + lanes()]);
    cmp(rdx, rcx);
    jg(rest, T_NEAR);
    encode(g, allocate(task(g, Mode::single), frame_), Mode::single);
    add(rax, lanes());
    jmp(next, T_NEAR);
    L(rest);
  }
  /// The last elements of a row as a vector of its own, some of whose elements are computed twice, if Call::laps and
  /// the row is long enough; then jumps to `done`.
  void last_vector(const Graph& g, Xbyak::Label& masked, Xbyak::Label& done) {
    cmp(rax, rcx);
    je(done, T_NEAR);
    mov(rdi, ptr[rsp + kCall]);
    cmp(qword[rdi + static_cast<int>(offsetof(Call, laps))], 0);
    je(masked, T_NEAR);
    mov(rdx, rcx);
    sub(rdx, lanes());
    jl(masked, T_NEAR);
    mov(rax, rdx);
    encode(g, allocate(task(g, Mode::single), frame_), Mode::single);
    jmp(done, T_NEAR);
  }
  // Inputs are prefetched by instructions: the prefetchers of the CPU stop at the end of a page. With several passes
  // over a row, the longest pass prefetches the next row (the others leave the memory idle): softmax of [4096, 1024] is
  // 1.17 x as fast, of [512, 50304] 1.25 x. Large inputs are prefetched some lines ahead: gelu(x * a + b) * c of 64 MiB
  // is 1.27 x as fast.
  std::vector<int> inputs_;  // operands whose columns the first pass reads
  const PassSections* longest() const {
    auto shorter = [](const PassSections& a, const PassSections& b) {
      return a.columns.nodes.size() < b.columns.nodes.size();
    };
    return s_.passes.size() < 2 ? nullptr : &*std::max_element(s_.passes.begin(), s_.passes.end(), shorter);
  }
  /// Sets partial results, in registers or in the frame, to the identity.
  void begin(const Partials& a, bool in_registers) {
    const int first = in_registers ? a.reg : 0;
    identity(a.what, v(first));
    for (int u = 0; u < 32 / lanes(); ++u) {
      if (!in_registers) vmovaps(ptr[rsp + a.offset + u * vector_bytes()], v(0));
      else if (u > 0) vmovaps(v(first + u), v(first));
    }
  }
  /// Pins constants and row values that instructions cannot read from memory to the remaining registers.
  void pin(Task& t, const std::vector<char>& live, int spare, int next) const {
    const auto& nodes = t.graph->nodes;
    std::vector<int> uses(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (std::size_t j = 0; j < 4; ++j)
        if (live[k] != 0 && wants_register(*t.graph, nodes[k], j)) ++uses[at(nodes[k].in[j])];
    std::vector<int> leaves;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const Node& n = nodes[k];
      if (uses[k] > 0 && (n.op == P::constant || n.op == P::slot) && !(v4() && n.mask))
        leaves.push_back(static_cast<int>(k));
    }
    std::stable_sort(leaves.begin(), leaves.end(), [&](int a, int b) { return uses[at(a)] > uses[at(b)]; });
    for (int k : leaves)
      if (spare-- > 0) t.pins.emplace_back(k, --next);
  }
  /// rdx columns are left: sets their lane mask (k1, or a vector in the frame) and their number, for copies element by
  /// element.
  void tail_lanes() {
    mov(edi, lanes());
    cmp(rdx, rdi);
    cmova(rdx, rdi);
    mov(ptr[rsp + kRest], rdx);
    if (v4()) {
      mov(edi, -1);
      bzhi(edi, edi, edx);
      s_.narrow ? kmovd(k1, edi) : kmovw(k1, edi);
      return;
    }
    if (s_.narrow) return;  // copies only
    vmovd(xmm0, edx);
    if (s_.wide) {
      vpbroadcastq(ymm0, xmm0);
      vpcmpgtq(ymm0, ymm0, lane_numbers());
    } else {
      vpbroadcastd(ymm0, xmm0);
      vpcmpgtd(ymm0, ymm0, lane_numbers());
    }
    vmovaps(ptr[rsp + kMask], ymm0);
  }
  /// Halves the 32 partial results in the first registers down to one, which fills every lane of its slot.
  void fold(const Partials& a) {
    const int parts = 32 / lanes();
    for (int w = parts / 2; w > 0; w /= 2)
      for (int u = 0; u < w; ++u) combine(a.what, v(u), v(u + w), v(parts), v(parts + 1));
    fold_lanes(a);
  }
  void fold_lanes(const Partials& a) {
    const int lane = s_.wide ? 8 : 4;
    for (int bytes = vector_bytes() / 2; bytes >= lane; bytes /= 2) {
      if (bytes == 32) vextractf64x4(ymm1, zmm0, 1);
      else if (bytes == 16) vextractf128(xmm1, ymm0, 1);
      else vpsrldq(xmm1, xmm0, bytes);
      combine(a.what, sized(0, bytes), sized(1, bytes), sized(2, bytes), sized(3, bytes));
    }
    if (s_.wide) vbroadcastsd(y(0), xmm0);
    else vbroadcastss(v(0), xmm0);
    // One NaN for all NaNs.
    if (is_float(a.what.format) && (a.what.kind == Reduction::max || a.what.kind == Reduction::min)) {
      Xbyak::Label numbers;
      if (flag_nan_) {
        kortestw(kNan, kNan);
        jz(numbers);
      } else {
        s_.wide ? vucomisd(xmm0, xmm0) : vucomiss(xmm0, xmm0);
        jnp(numbers);
      }
      load_constant(0, s_.wide ? 0x7ff8000000000000u : 0x7fc00000u, s_.wide);
      L(numbers);
    }
    vmovaps(ptr[rsp + slot_offset_[at(a.what.slot)]], v(0));
  }
};
}  // namespace bora::kernels::jit
