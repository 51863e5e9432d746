// emit.h -- registers, constants, reductions and accesses to memory as AVX2 or AVX-512 instructions. Private to
// assemble.cpp, the only file that includes xbyak.
#pragma once
#define XBYAK_NO_OP_NAMES
#define XBYAK64
#include <xbyak/xbyak.h>
#include <limits>
#include <map>
#include "kernels/jit/allocate.h"
#include "kernels/jit/assemble.h"

namespace bora::kernels::jit {
// Registers: rax the column, rcx the number of columns, rdx and rdi free within an instruction, ten pointers. The frame
// begins with:
inline constexpr int kCall = 0, kRows = 8, kColumns = 16, kLimit = 24, kRest = 32, kFormAt = 64, kFormColumn = 96,
                     kMask = 128, kCopy = 192, kMorePointers = 256,
                     kFrameBegin = 256 + 8 * (kMaxOperands + kMaxKept), kPointers = 10, kCodeBytes = 1 << 18;

class Emitter : public Xbyak::CodeGenerator {
 public:
  using X = Xbyak::Xmm;
  struct Partials {
    Accumulator what;
    int offset;  // 32 partial results in the frame
    int reg;     // first of the registers that hold them in the main loop, or -1
  };
  Emitter(const Sections& s, Stores stores)
      : CodeGenerator(kCodeBytes, Xbyak::DontSetProtectRWE), s_(s), stores_(stores) {
    frame_.bytes = kFrameBegin;
    for (const Operand& o : s.operands)
      lazy_.push_back(o.columns && static_cast<int>(dtype_size(o.dtype)) == s.lane_bytes());
  }

 protected:
  const Sections& s_;
  const Stores stores_;
  Frame frame_;
  std::vector<int> slot_offset_;
  std::vector<char> lazy_;
  std::vector<Partials> partials_;
  Mode mode_{};
  bool paired_ = false;  // of the Task; row values fill whole vectors too
  bool half_ = false;  // the instruction works on 32-bit values in a loop of 64-bit lanes: they fill half a vector
  bool alone_ = false;     // the row is one vector: its partial results are one vector as well
  bool flag_nan_ = false;  // the pass has one reduction, a max or min of f32, and kNan is set if it has met a NaN
  const Xbyak::Opmask kNan{6};

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool v4() const { return s_.isa == Isa::v4; }
  int lanes() const { return s_.lanes(); }
  /// Elements that the instruction works on.
  int elements(const Machine& m) const { return paired_ && !m.wide ? 2 * lanes() : lanes(); }
  int operands() const { return static_cast<int>(s_.operands.size()); }
  int loop_operands() const { return operands() - s_.kept_rows; }
  int vector_bytes() const { return v4() ? 64 : 32; }
  X v(int i) const { return sized(i, half_ ? vector_bytes() / 2 : vector_bytes()); }
  static X sized(int i, int bytes) {
    return X(bytes == 64 ? Xbyak::Operand::ZMM : bytes == 32 ? Xbyak::Operand::YMM : Xbyak::Operand::XMM, i);
  }
  Xbyak::Ymm y(int i) const {  // v(i), for instructions of at least 256 bits
    if (v4()) return Xbyak::Zmm(i);
    return Xbyak::Ymm(i);
  }
  static Xbyak::Opmask k(int r) { return Xbyak::Opmask(r - kFirstMask + 1); }
  Xbyak::Reg64 pointer(int k) const {
    const Xbyak::Reg64 r[kPointers] = {rsi, r8, r9, r10, r11, r12, r13, r14, r15, rbx};
    return r[k];
  }
  /// A linear form at the first column of this row: in a register that no operand has, else in the frame. There an
  /// addition for each row would wait for the store of the one before.
  bool form_in_register(int f) const { return operands() < kPointers - f; }
  Xbyak::Reg64 form_register(int f) const { return pointer(kPointers - 1 - f); }  // a call of a host function keeps it
  /// Base register of an operand; rdx, loaded here, for operands without one of their own.
  Xbyak::Reg64 base(int operand) {
    if (operand < kPointers) return pointer(operand);
    mov(rdx, ptr[rsp + kMorePointers + 8 * operand]);
    return rdx;
  }
  int size_of(int operand) const { return static_cast<int>(dtype_size(s_.operands[at(operand)].dtype)); }

  // Constants: one element, broadcast where it is used (AVX-512, not of 16 bits), else a whole vector.
  bool broadcasts() const { return v4() && !s_.narrow; }
  Xbyak::Address constant(std::uint64_t bits, bool wide) {
    if (!wide) bits &= 0xffffffffu;
    Xbyak::Label& l = constants_[{bits, wide}];
    return broadcasts() ? ptr_b[rip + l] : ptr[rip + l];
  }
  Xbyak::Address lane_numbers() { return ptr[rip + lane_numbers_]; }
  void emit_constants() {
    align(64);
    for (auto& [what, label] : constants_) {
      L(label);
      const auto [bits, wide] = what;
      const auto lane = static_cast<std::uint32_t>(s_.narrow ? bits | bits << 16 : bits);
      for (int b = 0; b < (broadcasts() ? 1 : vector_bytes() / (wide ? 8 : 4)); ++b) wide ? dq(bits) : dd(lane);
      if (broadcasts() && !wide) dd(0);
    }
    align(64);
    L(lane_numbers_);
    for (int j = 0; j < lanes() && !s_.narrow; ++j)
      s_.wide ? dq(static_cast<std::uint64_t>(j)) : dd(static_cast<std::uint32_t>(j));
  }
  void load_leaf(const Node& n, int r) {
    if (n.op == P::slot) vmovaps(v(r), ptr[rsp + slot_offset_[n.imm]]);
    else load_constant(r, n.imm, n.wide);
  }
  void load_constant(int r, std::uint64_t bits, bool wide) {
    if (bits == 0) logic(P::ixor, v(r), v(r), v(r), wide);
    else if (!broadcasts()) vmovaps(v(r), constant(bits, wide));
    else {
      Xbyak::Label& l = constants_[{wide ? bits : bits & 0xffffffffu, wide}];
      wide ? vbroadcastsd(y(r), ptr[rip + l]) : vbroadcastss(v(r), ptr[rip + l]);
    }
  }

  // ---- operands ----
  Xbyak::Address address(const Place& p) {
    switch (p.kind) {
      case Place::Kind::constant: return constant(p.bits, p.wide);
      case Place::Kind::frame: return ptr[rsp + p.at];
      default: return ptr[base(p.at) + rax * size_of(p.at) + static_cast<int>(p.bits) * vector_bytes()];
    }
  }
  /// The operand in its register or in memory.
  const Xbyak::Operand& rm(const Place& p) {
    if (p.kind == Place::Kind::reg) return register_ = v(p.at);
    return memory_ = address(p);
  }
  /// 16-bit lanes: twice as many bits.
  void move_mask(const Xbyak::Opmask& to, const Xbyak::Operand& from) {
    s_.narrow ? kmovd(to, from) : kmovw(to, from);
  }
  void move_mask(const Xbyak::Address& to, const Xbyak::Opmask& from) {
    s_.narrow ? kmovd(to, from) : kmovw(to, from);
  }
  void move(const Machine& m) {
    const Place& p = m.in[0];
    if (m.mask) p.kind == Place::Kind::reg ? move_mask(k(m.out), k(p.at)) : move_mask(k(m.out), ptr[rsp + p.at]);
    else if (p.kind == Place::Kind::reg) vmovaps(v(m.out), v(p.at));
    else if (p.kind == Place::Kind::constant) load_constant(m.out, p.bits, p.wide);
    else if (p.kind == Place::Kind::frame) vmovaps(v(m.out), ptr[rsp + p.at]);
    else vmovups(v(m.out), address(p));
  }
  void logic(P op, const X& d, const X& a, const Xbyak::Operand& b, bool wide) {
    if (!v4()) return op == P::iand ? vpand(d, a, b) : op == P::ior ? vpor(d, a, b) : vpxor(d, a, b);
    if (wide) return op == P::iand ? vpandq(d, a, b) : op == P::ior ? vporq(d, a, b) : vpxorq(d, a, b);
    return op == P::iand ? vpandd(d, a, b) : op == P::ior ? vpord(d, a, b) : vpxord(d, a, b);
  }

  // ---- reductions ----
  /// The identity, in every lane.
  void identity(const Accumulator& a, const X& d) {
    load_constant(d.getIdx(), identity_bits(a), s_.wide);
  }
  static std::uint64_t identity_bits(const Accumulator& a) {
    const bool wide = width_of(a.format) == 8, real = is_float(a.format), largest = a.kind == Reduction::min;
    switch (a.kind) {
      case Reduction::sum:
      case Reduction::any: return 0;
      case Reduction::all: return ~std::uint64_t{0};
      case Reduction::prod: return !real ? 1 : wide ? 0x3ff0000000000000u : 0x3f800000u;
      default: break;
    }
    if (is_mask(a.format)) return largest ? ~std::uint64_t{0} : 0;
    if (real)
      return (wide ? 0x7ff0000000000000u : 0x7f800000u) | (largest ? 0 : wide ? std::uint64_t{1} << 63 : 0x80000000u);
    switch (a.format) {
      case Format::i32: return largest ? 0x7fffffffu : 0x80000000u;
      case Format::u32: return largest ? 0xffffffffu : 0;
      case Format::u8: return largest ? 255 : 0;
      default: return largest ? 0x7fffffffffffffffu : std::uint64_t{1} << 63;
    }
  }
  /// d = d combined with x, as the interpreter adds an element to a partial result; t, u: scratch.
  void combine(const Accumulator& a, const X& d, const X& x, const X& t, const X& u) {
    const bool wide = width_of(a.format) == 8, real = is_float(a.format), larger = a.kind == Reduction::max;
    switch (a.kind) {
      case Reduction::sum:
        if (real) wide ? vaddpd(d, d, x) : vaddps(d, d, x);
        else wide ? vpaddq(d, d, x) : vpaddd(d, d, x);
        return;
      case Reduction::prod:
        if (real) wide ? vmulpd(d, d, x) : vmulps(d, d, x);
        else if (!wide) vpmulld(d, d, x);
        else if (v4()) vpmullq(d, d, x);
        else throw Uncovered{"products of i64 without AVX-512"};
        return;
      case Reduction::all: logic(P::iand, d, d, x, false); return;
      case Reduction::any: logic(P::ior, d, d, x, false); return;
      default: break;
    }
    if (is_mask(a.format)) return logic(larger ? P::ior : P::iand, d, d, x, false);
    if (real) {  // a NaN in d stays; a NaN in x wins as the second operand
      auto extreme = [&](const X& r) {
        if (larger) wide ? vmaxpd(r, d, x) : vmaxps(r, d, x);
        else wide ? vminpd(r, d, x) : vminps(r, d, x);
      };
      if (flag_nan_) {
        extreme(d);
      } else if (v4()) {
        wide ? vcmppd(k7, d, d, 7) : vcmpps(k7, d, d, 7);
        extreme(d | k7);
      } else {
        extreme(t);
        wide ? vcmppd(u, d, d, 3) : vcmpps(u, d, d, 3);
        wide ? vblendvpd(d, t, d, u) : vblendvps(d, t, d, u);
      }
      return;
    }
    if (!wide) {
      if (a.format == Format::i32) larger ? vpmaxsd(d, d, x) : vpminsd(d, d, x);
      else larger ? vpmaxud(d, d, x) : vpminud(d, d, x);
    } else if (v4()) {
      larger ? vpmaxsq(d, d, x) : vpminsq(d, d, x);
    } else {
      vpcmpgtq(t, d, x);
      larger ? vblendvpd(d, x, d, t) : vblendvpd(d, d, x, t);
    }
  }

  // ---- memory ----
  struct Access {
    Xbyak::RegExp at;
    int size, lane;  // bytes of an element in memory and of its lane
    bool masked;     // only the lanes of the tail
    bool copied;     // through the frame, element by element
  };
  /// AVX2 masks whole lanes only; its masked stores take dozens of cycles on AMD's processors before Zen 4, and no load
  /// of what they wrote can begin before they are done.
  Access access(int operand, const Machine& m, bool stored) {
    const int size = size_of(operand), whole = s_.lane_bytes(), lane = s_.narrow ? 2 : m.wide ? 8 : 4;
    const bool tail = mode_ == Mode::tail, copied = tail && !v4() && (stored || size != whole || s_.narrow);
    const int first = mode_ == Mode::main ? m.copy * lanes() * size : 0;
    return {copied ? Xbyak::RegExp(rsp) + kCopy : Xbyak::RegExp(base(operand)) + rax * size + first, size, lane,
            tail && !copied, copied};
  }
  /// Copies kRest elements between the operand and the frame.
  void copy_elements(int operand, bool in) {
    const int size = size_of(operand);
    lea(rdi, ptr[base(operand) + rax * size]);
    mov(rdx, ptr[rsp + kRest]);
    if (size > 1) shl(rdx, size == 2 ? 1 : size == 4 ? 2 : 3);
    for (int bytes = size; bytes <= lanes() * size; bytes *= 2) {  // the last ones first
      Xbyak::Label none;
      test(edx, bytes);
      jz(none);
      const auto piece = [&](int at) {
        const auto memory = rdi + rdx + at, frame = rsp + rdx + (kCopy + at);
        const auto from = in ? memory : frame, to = in ? frame : memory;
        switch (bytes) {
          case 1: movzx(ecx, byte[from]), mov(byte[to], cl); break;
          case 2: movzx(ecx, word[from]), mov(word[to], cx); break;
          case 4: mov(ecx, dword[from]), mov(dword[to], ecx); break;
          default: mov(rcx, ptr[from]), mov(ptr[to], rcx); break;
        }
      };
      for (int end = 0; end < bytes; end += 8) piece(-end - std::min(8, bytes));
      sub(rdx, bytes);
      L(none);
    }
    mov(rcx, ptr[rsp + kColumns]);
  }
  void load(const Machine& m) {
    const int operand = static_cast<int>(m.imm);
    const Dtype dtype = s_.operands[at(operand)].dtype;
    const X d = v(m.out);
    if (!s_.operands[at(operand)].columns) {
      const auto p = ptr[base(operand)];
      switch (size_of(operand)) {
        case 8: vbroadcastsd(y(m.out), p); return;
        case 4: s_.narrow ? vpbroadcastw(d, p) : vbroadcastss(d, p); return;
        case 2: dtype == i16 ? movsx(edx, word[base(operand)]) : movzx(edx, word[base(operand)]); break;
        default: dtype == i8 ? movsx(edx, byte[base(operand)]) : movzx(edx, byte[base(operand)]); break;
      }
      vmovd(X(m.out), edx);
      if (dtype == f16) vcvtph2ps(X(m.out), X(m.out));
      s_.narrow ? vpbroadcastw(d, X(m.out)) : m.wide ? vpbroadcastq(d, X(m.out)) : vpbroadcastd(d, X(m.out));
      return;
    }
    const Access a = access(operand, m, false);
    if (a.copied) copy_elements(operand, true);
    const X part = sized(m.out, elements(m) * a.lane), r = a.masked && v4() ? X(part | k1 | T_z) : part;
    if (a.masked && !v4()) {
      vmovaps(v(m.temp[0]), ptr[rsp + kMask]);
      a.size == 8 ? vmaskmovpd(part, v(m.temp[0]), ptr[a.at]) : vmaskmovps(part, v(m.temp[0]), ptr[a.at]);
    } else if (s_.narrow) {
      if (a.size == 1) dtype == i8 ? vpmovsxbw(r, ptr[a.at]) : vpmovzxbw(r, ptr[a.at]);
      else v4() ? vmovdqu16(r, ptr[a.at]) : vmovdqu(r, ptr[a.at]);
    } else if (a.size == a.lane) a.size == 8 ? vmovupd(r, ptr[a.at]) : vmovups(r, ptr[a.at]);
    else if (dtype == f16) vcvtph2ps(r, ptr[a.at]);
    else if (dtype == i16) vpmovsxwd(r, ptr[a.at]);
    else if (dtype == i8) vpmovsxbd(r, ptr[a.at]);
    else if (a.size == 2) vpmovzxwd(r, ptr[a.at]);
    else a.lane == 8 ? vpmovzxbq(r, ptr[a.at]) : vpmovzxbd(r, ptr[a.at]);
  }
  void store(const Machine& m) {
    const int operand = static_cast<int>(m.imm), r = m.in[0].at;
    if (!s_.operands[at(operand)].columns) {
      switch (size_of(operand)) {
        case 8: vmovsd(ptr[base(operand)], X(r)); return;
        case 4: vmovss(ptr[base(operand)], X(r)); return;
        default: break;
      }
      if (s_.operands[at(operand)].dtype == f16) vcvtps2ph(X(m.temp[0]), X(r), 0), vmovd(edi, X(m.temp[0]));
      else vmovd(edi, X(r));
      size_of(operand) == 2 ? mov(word[base(operand)], di) : mov(byte[base(operand)], dil);
      return;
    }
    const Access a = access(operand, m, true);
    const X part = sized(r, elements(m) * a.lane);
    const Xbyak::Address to = a.masked ? ptr[a.at] | k1 : ptr[a.at];
    if (mode_ == Mode::main && stores_ == Stores::stream && lazy_[at(operand)] != 0 &&
               operand < loop_operands()) {
      vmovntps(to, part);
    } else if (s_.narrow) {
      if (v4()) a.size == 1 ? vpmovwb(to, part) : vmovdqu16(to, part);
      else if (a.size == 2) vmovdqu(to, part);
      else narrow(a, elements(m), r, m.temp[0]);
    } else if (a.size == a.lane) a.size == 8 ? vmovupd(to, part) : vmovups(to, part);
    else if (s_.operands[at(operand)].dtype == f16) vcvtps2ph(to, part, 0);
    else if (v4()) a.size == 2 ? vpmovdw(to, part) : a.lane == 8 ? vpmovqb(to, part) : vpmovdb(to, part);
    else narrow(a, elements(m), r, m.temp[0]);
    if (a.copied) copy_elements(operand, false);
  }
  /// AVX2: packs the low bytes of every lane; the values fit.
  void narrow(const Access& a, int n, int r, int temp) {
    const X t = sized(temp, 16), x = sized(r, 16);
    if (n * a.lane == 32) vextracti128(t, Xbyak::Ymm(r), 1);
    if (a.lane == 8) vshufps(t, x, t, 0x88), vpackusdw(t, t, t);
    else if (a.lane == 2) return vpackuswb(t, x, t), vmovdqu(ptr[a.at], t);
    else n == 8 ? vpackusdw(t, x, t) : vpackusdw(t, x, x);
    if (a.size == 2) return n == 8 ? vmovdqu(ptr[a.at], t) : vmovq(ptr[a.at], t);
    vpackuswb(t, t, t);
    n == 8 ? vmovq(ptr[a.at], t) : vmovd(ptr[a.at], t);
  }
  void accumulate(const Machine& m) {
    const Partials& p = partials_[m.imm];
    const X x = v(m.in[0].at), acc = v(m.temp[0]), t = v(m.temp[1]), u = v(m.temp[2]);
    if (flag_nan_) {
      mode_ == Mode::tail ? vcmpps(k7 | k1, x, x, 3) : vcmpps(k7, x, x, 3);
      korw(kNan, kNan, k7);
    }
    if (mode_ == Mode::main) {
      if (p.reg >= 0) return combine(p.what, v(p.reg + m.copy), x, t, u);
      const auto place = ptr[rsp + p.offset + m.copy * vector_bytes()];
      vmovaps(acc, place);
      combine(p.what, acc, x, t, u);
      vmovaps(place, acc);
      return;
    }
    if (alone_) {
      identity(p.what, acc);
      combine(p.what, acc, x, t, u);
      identity(p.what, t);
      if (v4()) {
        s_.wide ? vmovapd(t | k1, acc) : vmovaps(t | k1, acc);
      } else {
        vmovaps(u, ptr[rsp + kMask]);
        s_.wide ? vblendvpd(t, t, acc, u) : vblendvps(t, t, acc, u);
      }
      return vmovaps(ptr[rsp + p.offset], t);
    }
    mov(edx, eax);  // element i belongs to partial result i % 32
    and_(edx, 31);
    const auto place = ptr[rsp + rdx * (s_.wide ? 8 : 4) + p.offset];
    vmovaps(acc, place);
    combine(p.what, acc, x, t, u);
    if (v4()) {  // whole vectors are stored: a load that follows a masked store waits until that is in the cache
      vmovaps(t, place);
      s_.wide ? vmovapd(t | k1, acc) : vmovaps(t | k1, acc);
      return vmovaps(place, t);
    }
    if (mode_ == Mode::tail) {
      vmovaps(t, ptr[rsp + kMask]);
      vmovaps(u, place);
      s_.wide ? vblendvpd(acc, u, acc, t) : vblendvps(acc, u, acc, t);
    }
    vmovaps(place, acc);
  }

 private:
  std::map<std::pair<std::uint64_t, bool>, Xbyak::Label> constants_;
  Xbyak::Label lane_numbers_;
  Xbyak::Address memory_{Xbyak::Address(0, false, Xbyak::RegExp(Xbyak::Reg64(4)))};
  X register_{0};
};
}  // namespace bora::kernels::jit
