// encode.h -- encodes the machine instructions of allocate.h as AVX2 or AVX-512. Private to assemble.cpp, the only file
// that includes xbyak.
#pragma once
#define XBYAK_NO_OP_NAMES
#define XBYAK64
#include <xbyak/xbyak.h>
#include <deque>
#include <functional>
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

class Encoder : public Xbyak::CodeGenerator {
 public:
  using X = Xbyak::Xmm;
  struct Partials {
    Accumulator what;
    int offset;  // 32 partial results in the frame
    int reg;     // first of the registers that hold them in the main loop, or -1
  };
  Encoder(const Sections& s, Stores stores)
      : CodeGenerator(kCodeBytes, Xbyak::DontSetProtectRWE), s_(s), stores_(stores) {
    frame_.bytes = kFrameBegin;
    for (const Operand& o : s.operands)
      lazy_.push_back(o.columns && static_cast<int>(dtype_size(o.dtype)) == (s.wide ? 8 : 4));
  }

 protected:
  const Sections& s_;
  const Stores stores_;
  Frame frame_;
  std::vector<int> slot_offset_;
  std::vector<char> lazy_;
  std::vector<Partials> partials_;
  bool flag_nan_ = false;  // the pass has one reduction, a max or min of f32, and kNan is set if it has met a NaN
  const Xbyak::Opmask kNan{6};

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool v4() const { return s_.isa == Isa::v4; }
  int lanes() const { return s_.lanes(); }
  int operands() const { return static_cast<int>(s_.operands.size()); }
  int loop_operands() const { return operands() - s_.kept_rows; }
  int vector_bytes() const { return v4() ? 64 : 32; }
  X v(int i) const { return sized(i, vector_bytes()); }
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
  /// Base register of an operand; rdx, loaded here, for operands without one of their own.
  Xbyak::Reg64 base(int operand) {
    if (operand < kPointers) return pointer(operand);
    mov(rdx, ptr[rsp + kMorePointers + 8 * operand]);
    return rdx;
  }
  int size_of(int operand) const { return static_cast<int>(dtype_size(s_.operands[at(operand)].dtype)); }

  // Constants: one element, broadcast where it is used (AVX-512), else a whole vector.
  Xbyak::Address constant(std::uint64_t bits, bool wide) {
    if (!wide) bits &= 0xffffffffu;
    Xbyak::Label& l = constants_[{bits, wide}];
    return v4() ? ptr_b[rip + l] : ptr[rip + l];
  }
  Xbyak::Address lane_numbers() { return ptr[rip + lane_numbers_]; }
  void emit_constants() {
    align(64);
    for (auto& [what, label] : constants_) {
      L(label);
      const auto [bits, wide] = what;
      for (int b = 0; b < (v4() ? 1 : vector_bytes() / (wide ? 8 : 4)); ++b)
        wide ? dq(bits) : dd(static_cast<std::uint32_t>(bits));
      if (v4() && !wide) dd(0);
    }
    align(64);
    L(lane_numbers_);
    for (int j = 0; j < lanes(); ++j) s_.wide ? dq(static_cast<std::uint64_t>(j)) : dd(static_cast<std::uint32_t>(j));
  }
  void emit_cold() {
    for (auto& f : cold_) f();
  }
  void load_leaf(const Node& n, int r) {
    if (n.op == P::slot) vmovaps(v(r), ptr[rsp + slot_offset_[n.imm]]);
    else load_constant(r, n.imm, n.wide);
  }
  void load_constant(int r, std::uint64_t bits, bool wide) {
    if (bits == 0) logic(P::ixor, v(r), v(r), v(r), wide);
    else if (!v4()) vmovaps(v(r), constant(bits, wide));
    else {
      Xbyak::Label& l = constants_[{wide ? bits : bits & 0xffffffffu, wide}];
      wide ? vbroadcastsd(y(r), ptr[rip + l]) : vbroadcastss(v(r), ptr[rip + l]);
    }
  }

  void encode(const Graph& g, const std::vector<Machine>& code, Mode mode) {
    mode_ = mode;
    for (const Machine& m : code) {
      if (m.what == Machine::What::move) move(m);
      else if (m.what == Machine::What::node) node(g, m);
      else {
        const auto place = ptr[rsp + static_cast<int>(m.imm)];
        m.mask ? kmovw(place, k(m.in[0].at)) : vmovaps(place, v(m.in[0].at));
      }
    }
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

 private:
  Mode mode_{};
  std::map<std::pair<std::uint64_t, bool>, Xbyak::Label> constants_;
  Xbyak::Label lane_numbers_;
  std::vector<std::function<void()>> cold_;  // code that rarely runs, placed after everything else
  std::deque<Xbyak::Label> labels_;
  Xbyak::Address memory_{Xbyak::Address(0, false, Xbyak::RegExp(Xbyak::Reg64(4)))};
  X register_{0};
  int save_ = -1;  // frame offset where host calls save all registers

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
  void move(const Machine& m) {
    const Place& p = m.in[0];
    if (m.mask) p.kind == Place::Kind::reg ? kmovw(k(m.out), k(p.at)) : kmovw(k(m.out), ptr[rsp + p.at]);
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
  void node(const Graph& g, const Machine& m) {
    const bool w = m.wide;
    const auto imm = static_cast<std::uint8_t>(m.imm);
    const X d = m.out >= 0 && m.out < kFirstMask ? v(m.out) : X(0);
    const X a = m.in[0].kind == Place::Kind::reg && m.in[0].at < kFirstMask ? v(m.in[0].at) : X(0);
    const auto half = [&](const X& x) { return sized(x.getIdx(), vector_bytes() / 2); };
#define BORA_REAL(ins) w ? ins##pd(d, a, rm(m.in[1])) : ins##ps(d, a, rm(m.in[1])); return
#define BORA_WHOLE(ins) w ? ins##q(d, a, rm(m.in[1])) : ins##d(d, a, rm(m.in[1])); return
    switch (m.op) {
      case P::add: BORA_REAL(vadd);
      case P::sub: BORA_REAL(vsub);
      case P::mul: BORA_REAL(vmul);
      case P::div: BORA_REAL(vdiv);
      case P::vmin: BORA_REAL(vmin);
      case P::vmax: BORA_REAL(vmax);
      case P::scalef: BORA_REAL(vscalef);
      case P::iadd: BORA_WHOLE(vpadd);
      case P::isub: BORA_WHOLE(vpsub);
      case P::imul: w ? vpmullq(d, a, rm(m.in[1])) : vpmulld(d, a, rm(m.in[1])); return;
      case P::umul32: vpmuludq(d, a, rm(m.in[1])); return;
      case P::iand:
      case P::ior:
      case P::ixor: return logic(m.op, d, a, rm(m.in[1]), w);
      case P::shlv: BORA_WHOLE(vpsllv);
      case P::shrv: BORA_WHOLE(vpsrlv);
      case P::sarv: BORA_WHOLE(vpsrav);
      case P::shl: w ? vpsllq(d, a, imm) : vpslld(d, a, imm); return;
      case P::shr: w ? vpsrlq(d, a, imm) : vpsrld(d, a, imm); return;
      case P::sar: w ? vpsraq(d, a, imm) : vpsrad(d, a, imm); return;
      case P::rotl: vprold(d, a, imm); return;
      case P::sqrt: w ? vsqrtpd(d, a) : vsqrtps(d, a); return;
      case P::round:
        if (v4()) w ? vrndscalepd(d, a, imm) : vrndscaleps(d, a, imm);
        else w ? vroundpd(d, a, imm) : vroundps(d, a, imm);
        return;
      case P::to_int: vcvtps2dq(d, a); return;
      case P::truncate: w ? vcvttpd2qq(d, a) : vcvttps2dq(d, a); return;
      case P::to_float: w ? vcvtqq2pd(d, a) : vcvtdq2ps(d, a); return;
      case P::widen_float: vcvtps2pd(d, half(a)); return;
      case P::sign_extend: vpmovsxdq(d, half(a)); return;
      case P::zero_extend: vpmovzxdq(d, half(a)); return;
      case P::narrow_float: vcvtpd2ps(half(d), a); return;
      case P::whole_to_f32: vcvtqq2ps(half(d), a); return;
      case P::low_word:
        if (v4()) vpmovqd(half(d), a);
        else {
          const X t = sized(m.temp[0], 16);
          vextracti128(t, y(m.in[0].at), 1);
          vshufps(half(d), half(a), t, 0x88);
        }
        return;
      case P::fma:
      case P::fnma: return fused(m);
      case P::cmp: {
        // Quiet: without an exception for NaN.
        const std::uint8_t p = imm == kLess ? 0x11 : imm == kLessEqual ? 0x12 : imm;
        if (v4()) w ? vcmppd(k(m.out), a, rm(m.in[1]), p) : vcmpps(k(m.out), a, rm(m.in[1]), p);
        else w ? vcmppd(d, a, rm(m.in[1]), p) : vcmpps(d, a, rm(m.in[1]), p);
        return;
      }
      case P::icmp:
        if (v4()) w ? vpcmpq(k(m.out), a, rm(m.in[1]), imm) : vpcmpd(k(m.out), a, rm(m.in[1]), imm);
        else if (imm == kEqual) w ? vpcmpeqq(d, a, rm(m.in[1])) : vpcmpeqd(d, a, rm(m.in[1]));
        else w ? vpcmpgtq(d, a, rm(m.in[1])) : vpcmpgtd(d, a, rm(m.in[1]));
        return;
      case P::ucmp: w ? vpcmpuq(k(m.out), a, rm(m.in[1]), imm) : vpcmpud(k(m.out), a, rm(m.in[1]), imm); return;
      case P::mand:
        v4() ? kandw(k(m.out), k(m.in[0].at), k(m.in[1].at)) : vpand(d, a, rm(m.in[1]));
        return;
      case P::mor:
        v4() ? korw(k(m.out), k(m.in[0].at), k(m.in[1].at)) : vpor(d, a, rm(m.in[1]));
        return;
      case P::mxor:
        v4() ? kxorw(k(m.out), k(m.in[0].at), k(m.in[1].at)) : vpxor(d, a, rm(m.in[1]));
        return;
      case P::mnot:
        if (v4()) return knotw(k(m.out), k(m.in[0].at));
        vpcmpeqd(v(m.temp[0]), v(m.temp[0]), v(m.temp[0]));
        vpxor(d, a, v(m.temp[0]));
        return;
      case P::select: {
        const X no = v(m.in[2].at);
        if (v4()) w ? vblendmpd(d | k(m.in[0].at), no, rm(m.in[1])) : vblendmps(d | k(m.in[0].at), no, rm(m.in[1]));
        else vblendvps(d, no, rm(m.in[1]), a);
        return;
      }
      case P::load: return load(m);
      case P::key: vbroadcastss(d, ptr[base(static_cast<int>(m.imm / 2)) + 4 * static_cast<int>(m.imm % 2)]); return;
      case P::form_low:
      case P::form_high: return form(m);
      case P::store: return store(m);
      case P::accumulate: return accumulate(m);
      case P::set_slot:
        m.in[0].at >= kFirstMask ? kmovw(ptr[rsp + slot_offset_[m.imm]], k(m.in[0].at))
                                 : vmovaps(ptr[rsp + slot_offset_[m.imm]], a);
        return;
      case P::host: return host(g.host[m.imm], m);
      case P::constant:
      case P::slot: return;  // used in place
    }
#undef BORA_REAL
#undef BORA_WHOLE
  }
  void fused(const Machine& m) {
    const bool negative = m.op == P::fnma, w = m.wide;
    const X d = v(m.out);
    auto is_out = [&](std::size_t j) { return m.in[j].kind == Place::Kind::reg && m.in[j].at == m.out; };
#define BORA_FUSED(order, x, y)                                                                              \
  negative ? (w ? vfnmadd##order##pd(d, x, y) : vfnmadd##order##ps(d, x, y))                                 \
           : (w ? vfmadd##order##pd(d, x, y) : vfmadd##order##ps(d, x, y))
    if (is_out(2)) BORA_FUSED(231, v(m.in[0].at), rm(m.in[1]));
    else if (m.in[1].kind != Place::Kind::reg) BORA_FUSED(132, v(m.in[2].at), rm(m.in[1]));
    else BORA_FUSED(213, v(m.in[1].at), rm(m.in[2]));
#undef BORA_FUSED
  }
  void form(const Machine& m) {
    const int f = static_cast<int>(m.imm), first = mode_ == Mode::main ? m.copy * lanes() : 0;
    lea(rdx, ptr[rax + first]);
    imul(rdx, ptr[rsp + kFormColumn + 8 * f]);
    add(rdx, ptr[rsp + kFormAt + 8 * f]);
    if (m.op == P::form_high) shr(rdx, 32);
    m.wide ? vmovq(X(m.out), rdx) : vmovd(X(m.out), edx);
    m.wide ? vpbroadcastq(v(m.out), X(m.out)) : vpbroadcastd(v(m.out), X(m.out));
  }

  // ---- memory ----
  struct Access {
    Xbyak::RegExp at;
    int size, lane;  // bytes of an element in memory and of its lane
    bool masked;     // only the lanes of the tail
    bool copied;     // through the frame, element by element: AVX2 masks whole lanes only
  };
  Access access(int operand, const Machine& m) {
    const int size = size_of(operand), lane = m.wide ? 8 : 4, whole = s_.wide ? 8 : 4;
    const bool tail = mode_ == Mode::tail, copied = tail && !v4() && size != whole;
    const int first = mode_ == Mode::main ? m.copy * lanes() * size : 0;
    return {copied ? Xbyak::RegExp(rsp) + kCopy : Xbyak::RegExp(base(operand)) + rax * size + first, size, lane,
            tail && !copied, copied};
  }
  /// Copies kRest elements between the operand and the frame.
  void copy_elements(int operand, bool in) {
    const int size = size_of(operand);
    Xbyak::Label next;
    lea(rdi, ptr[base(operand) + rax * size]);
    mov(rdx, ptr[rsp + kRest]);
    L(next);
    const auto memory = rdi + rdx * size - size, frame = rsp + rdx * size + (kCopy - size);
    const auto from = in ? memory : frame, to = in ? frame : memory;
    switch (size) {
      case 1: movzx(ecx, byte[from]), mov(byte[to], cl); break;
      case 2: movzx(ecx, word[from]), mov(word[to], cx); break;
      case 4: mov(ecx, dword[from]), mov(dword[to], ecx); break;
      default: mov(rcx, ptr[from]), mov(ptr[to], rcx); break;
    }
    dec(rdx);
    jnz(next);
    mov(rcx, ptr[rsp + kColumns]);
  }
  void load(const Machine& m) {
    const int operand = static_cast<int>(m.imm);
    const X d = v(m.out);
    if (!s_.operands[at(operand)].columns) {
      const auto p = ptr[base(operand)];
      switch (size_of(operand)) {
        case 8: vbroadcastsd(y(m.out), p); return;
        case 4: vbroadcastss(d, p); return;
        case 2: movzx(edx, word[base(operand)]); break;
        default: movzx(edx, byte[base(operand)]); break;
      }
      vmovd(X(m.out), edx);
      m.wide ? vpbroadcastq(d, X(m.out)) : vpbroadcastd(d, X(m.out));
      return;
    }
    const Access a = access(operand, m);
    if (a.copied) copy_elements(operand, true);
    const X part = sized(m.out, lanes() * a.lane), r = a.masked && v4() ? X(part | k1 | T_z) : part;
    if (a.masked && !v4()) {
      vmovaps(v(m.temp[0]), ptr[rsp + kMask]);
      a.size == 8 ? vmaskmovpd(part, v(m.temp[0]), ptr[a.at]) : vmaskmovps(part, v(m.temp[0]), ptr[a.at]);
    } else if (a.size == a.lane) a.size == 8 ? vmovupd(r, ptr[a.at]) : vmovups(r, ptr[a.at]);
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
      vmovd(edi, X(r));
      size_of(operand) == 2 ? mov(word[base(operand)], di) : mov(byte[base(operand)], dil);
      return;
    }
    const Access a = access(operand, m);
    const X part = sized(r, lanes() * a.lane);
    const Xbyak::Address to = a.masked && v4() ? ptr[a.at] | k1 : ptr[a.at];
    if (a.masked && !v4()) {
      vmovaps(v(m.temp[0]), ptr[rsp + kMask]);
      a.size == 8 ? vmaskmovpd(to, v(m.temp[0]), part) : vmaskmovps(to, v(m.temp[0]), part);
    } else if (mode_ == Mode::main && stores_ == Stores::stream && lazy_[at(operand)] != 0 &&
               operand < loop_operands()) {
      vmovntps(to, part);
    } else if (a.size == a.lane) a.size == 8 ? vmovupd(to, part) : vmovups(to, part);
    else if (v4()) a.size == 2 ? vpmovdw(to, part) : a.lane == 8 ? vpmovqb(to, part) : vpmovdb(to, part);
    else narrow(a, r, m.temp[0]);
    if (a.copied) copy_elements(operand, false);
  }
  /// AVX2: packs the low bytes of every lane; the values fit.
  void narrow(const Access& a, int r, int temp) {
    const X t = sized(temp, 16), x = sized(r, 16);
    if (lanes() * a.lane == 32) vextracti128(t, Xbyak::Ymm(r), 1);
    if (a.lane == 8) vshufps(t, x, t, 0x88), vpackusdw(t, t, t);
    else lanes() == 8 ? vpackusdw(t, x, t) : vpackusdw(t, x, x);
    if (a.size == 2) return lanes() == 8 ? vmovdqu(ptr[a.at], t) : vmovq(ptr[a.at], t);
    vpackuswb(t, t, t);
    lanes() == 8 ? vmovq(ptr[a.at], t) : vmovd(ptr[a.at], t);
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
    mov(edx, eax);  // element i belongs to partial result i % 32
    and_(edx, 31);
    const auto place = ptr[rsp + rdx * (s_.wide ? 8 : 4) + p.offset];
    vmovaps(acc, place);
    combine(p.what, acc, x, t, u);
    if (v4()) return s_.wide ? vmovapd(place | k1, acc) : vmovaps(place | k1, acc);
    vmovaps(t, ptr[rsp + kMask]);
    s_.wide ? vmaskmovpd(place, t, acc) : vmaskmovps(place, t, acc);
  }

  // ---- host functions ----
  void host(const HostCall& call, const Machine& m) {
    if (save_ < 0) save_ = frame_.take(32 * vector_bytes() + 128);
    Xbyak::Label& cold = labels_.emplace_back();
    Xbyak::Label& back = labels_.emplace_back();
    if (m.in[0].kind == Place::Kind::none) {
      jmp(cold, T_NEAR);
    } else {
      mask_bits(m);
      test(edx, edx);
      jnz(cold, T_NEAR);
    }
    L(back);
    cold_.push_back([this, call, m, &cold, &back] {
      L(cold);
      registers(true);
      if (m.in[0].kind == Place::Kind::none) mov(esi, -1);
      else mask_bits(m), mov(esi, edx);
      auto saved = [&](const Xbyak::Reg64& r, int which) { lea(r, ptr[rsp + save_ + which * vector_bytes()]); };
      mov(rdi, call.closure);
      saved(rdx, m.out);
      saved(rcx, m.in[2].at);
      saved(r8, m.in[3].kind == Place::Kind::none ? m.in[2].at : m.in[3].at);
      mov(r9d, lanes());
      mov(rax, reinterpret_cast<std::uint64_t>(call.call));
      vzeroupper();
      this->call(rax);
      registers(false);
      jmp(back, T_NEAR);
    });
  }
  void mask_bits(const Machine& m) {
    if (!v4()) return m.wide ? vmovmskpd(edx, v(m.in[0].at)) : vmovmskps(edx, v(m.in[0].at));
    kmovw(edx, k(m.in[0].at));
    if (m.wide) and_(edx, 0xff);
  }
  void registers(bool save) {
    auto both = [&](const Xbyak::Reg64& r, int j) {
      const auto place = ptr[rsp + save_ + 32 * vector_bytes() + 8 * j];
      save ? mov(place, r) : mov(r, place);
    };
    int j = 0;
    for (const auto& r : {rax, rcx, rsi, r8, r9, r10, r11}) both(r, j++);
    for (int r = 1; v4() && r < 8; ++r) {
      const auto place = ptr[rsp + save_ + 32 * vector_bytes() + 8 * j++];
      save ? kmovw(place, Xbyak::Opmask(r)) : kmovw(Xbyak::Opmask(r), place);
    }
    for (int r = 0; r < (v4() ? 32 : 16); ++r) {
      const auto place = ptr[rsp + save_ + r * vector_bytes()];
      save ? vmovaps(place, v(r)) : vmovaps(v(r), place);
    }
  }
};
}  // namespace bora::kernels::jit
