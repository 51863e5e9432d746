// encode.h -- encodes the machine instructions of allocate.h. Private to assemble.cpp.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include "kernels/jit/emit.h"

namespace bora::kernels::jit {
class Encoder : public Emitter {
 protected:
  using Emitter::Emitter;
  void emit_cold() {
    for (auto& f : cold_) f();
  }
  void encode(const Graph& g, const std::vector<Machine>& code, Mode mode, bool paired = false) {
    mode_ = mode;
    paired_ = s_.wide && (paired || mode == Mode::row);
    for (const Machine& m : code) {
      if (m.what == Machine::What::move) move(m);
      else if (m.what == Machine::What::node) {
        half_ = s_.wide && !m.wide && !paired_ && fills_half(m.op);
        node(g, m);
        half_ = false;
      } else {
        const auto place = ptr[rsp + static_cast<int>(m.imm)];
        m.mask ? move_mask(place, k(m.in[0].at)) : vmovaps(place, v(m.in[0].at));
      }
    }
  }

 private:
  std::vector<std::function<void()>> cold_;  // code that rarely runs, placed after everything else
  std::deque<Xbyak::Label> labels_;
  int save_ = -1;  // frame offset where host calls save all registers

  /// With 32-bit operands and results only; the others name the parts of vectors that they use.
  static bool fills_half(P op) {
    switch (op) {
      case P::load:
      case P::key:
      case P::form_low:
      case P::form_high:
      case P::host: return false;
      default: return !is_effect(op) && !narrows(op);
    }
  }
  void node(const Graph& g, const Machine& m) {
    const bool w = m.wide;
    const auto imm = static_cast<std::uint8_t>(m.imm);
    const X d = m.out >= 0 && m.out < kFirstMask ? v(m.out) : X(0);
    const X a = m.in[0].kind == Place::Kind::reg && m.in[0].at < kFirstMask ? v(m.in[0].at) : X(0);
#define BORA_REAL(ins) w ? ins##pd(d, a, rm(m.in[1])) : ins##ps(d, a, rm(m.in[1])); return
#define BORA_WHOLE(ins) w ? ins##q(d, a, rm(m.in[1])) : ins##d(d, a, rm(m.in[1])); return
    if (s_.narrow && narrow_node(m, d, a)) return;
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
      case P::imin: w ? vpminsq(d, a, rm(m.in[1])) : vpminsd(d, a, rm(m.in[1])); return;
      case P::imax: w ? vpmaxsq(d, a, rm(m.in[1])) : vpmaxsd(d, a, rm(m.in[1])); return;
      case P::umin: w ? vpminuq(d, a, rm(m.in[1])) : vpminud(d, a, rm(m.in[1])); return;
      case P::umax: w ? vpmaxuq(d, a, rm(m.in[1])) : vpmaxud(d, a, rm(m.in[1])); return;
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
      case P::to_half: {
        const int bytes = half_ ? vector_bytes() / 2 : vector_bytes();
        const X packed = sized(m.out, std::max(16, bytes / 2));
        vcvtps2ph(packed, a, 0);
        return vcvtph2ps(d, packed);
      }
      case P::widen_float:
      case P::sign_extend:
      case P::zero_extend: return widen(m);
      case P::narrow_float:
      case P::whole_to_f32:
      case P::low_word: return narrowed(m);
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
        m.in[0].at >= kFirstMask ? move_mask(ptr[rsp + slot_offset_[m.imm]], k(m.in[0].at))
                                 : vmovaps(ptr[rsp + slot_offset_[m.imm]], a);
        return;
      case P::host: return host(g.host[m.imm], m);
      case P::constant:
      case P::slot: return;  // used in place
    }
#undef BORA_REAL
#undef BORA_WHOLE
  }
  /// The instructions of 16-bit lanes; false: the one for 32-bit lanes does.
  bool narrow_node(const Machine& m, const X& d, const X& a) {
    const auto imm = static_cast<std::uint8_t>(m.imm);
    const auto mask = [&](std::size_t j) { return k(m.in[j].at); };
    switch (m.op) {
      case P::iadd: vpaddw(d, a, rm(m.in[1])); return true;
      case P::isub: vpsubw(d, a, rm(m.in[1])); return true;
      case P::imul: vpmullw(d, a, rm(m.in[1])); return true;
      case P::imin: vpminsw(d, a, rm(m.in[1])); return true;
      case P::imax: vpmaxsw(d, a, rm(m.in[1])); return true;
      case P::umin: vpminuw(d, a, rm(m.in[1])); return true;
      case P::umax: vpmaxuw(d, a, rm(m.in[1])); return true;
      case P::shl: vpsllw(d, a, imm); return true;
      case P::shr: vpsrlw(d, a, imm); return true;
      case P::sar: vpsraw(d, a, imm); return true;
      case P::icmp:
        if (v4()) vpcmpw(k(m.out), a, rm(m.in[1]), imm);
        else imm == kEqual ? vpcmpeqw(d, a, rm(m.in[1])) : vpcmpgtw(d, a, rm(m.in[1]));
        return true;
      case P::ucmp: vpcmpuw(k(m.out), a, rm(m.in[1]), imm); return true;
      case P::select:
        if (v4()) vpblendmw(d | mask(0), v(m.in[2].at), rm(m.in[1]));
        else vpblendvb(d, v(m.in[2].at), rm(m.in[1]), a);
        return true;
      default: break;
    }
    if (!v4()) return false;
    switch (m.op) {
      case P::mand: kandd(k(m.out), mask(0), mask(1)); return true;
      case P::mor: kord(k(m.out), mask(0), mask(1)); return true;
      case P::mxor: kxord(k(m.out), mask(0), mask(1)); return true;
      case P::mnot: knotd(k(m.out), mask(0)); return true;
      default: return false;
    }
  }
  X half(int r) const { return sized(r, vector_bytes() / 2); }
  void widen(const Machine& m) {
    const X d = v(m.out);
    X from = half(m.in[0].at);
    if (paired_ && m.copy % 2 != 0) {
      from = half(m.out);
      if (v4()) vextractf64x4(Xbyak::Ymm(m.out), Xbyak::Zmm(m.in[0].at), 1);
      else vextractf128(from, Xbyak::Ymm(m.in[0].at), 1);
    }
    m.op == P::widen_float ? vcvtps2pd(d, from) : m.op == P::sign_extend ? vpmovsxdq(d, from) : vpmovzxdq(d, from);
  }
  void narrowed(const Machine& m) {
    const X t = half(m.temp[0]);
    const auto one = [&](int r, int from) {
      if (m.op == P::narrow_float) vcvtpd2ps(half(r), v(from));
      else if (m.op == P::whole_to_f32) vcvtqq2ps(half(r), v(from));
      else if (v4()) vpmovqd(half(r), v(from));
      else {
        vextracti128(t, y(from), 1);
        vshufps(half(r), half(from), t, 0x88);
      }
    };
    const int low = m.in[0].at, high = m.in[1].at;
    if (!paired_) return one(m.out, low);
    if (!v4() && m.op == P::low_word && mode_ != Mode::row) {
      vshufps(v(m.out), v(low), v(high), 0x88);
      return vpermq(y(m.out), y(m.out), 0xd8);
    }
    const bool row = mode_ == Mode::row;
    if (!row) one(m.temp[0], high);
    one(m.out, low);
    const int upper = row ? m.out : m.temp[0];
    if (v4()) vinsertf64x4(Xbyak::Zmm(m.out), Xbyak::Zmm(m.out), Xbyak::Ymm(upper), 1);
    else vinsertf128(Xbyak::Ymm(m.out), Xbyak::Ymm(m.out), Xbyak::Xmm(upper), 1);
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
    form_in_register(f) ? add(rdx, form_register(f)) : add(rdx, ptr[rsp + kFormAt + 8 * f]);
    if (m.op == P::form_high) shr(rdx, 32);
    m.wide ? vmovq(X(m.out), rdx) : vmovd(X(m.out), edx);
    m.wide ? vpbroadcastq(v(m.out), X(m.out)) : vpbroadcastd(v(m.out), X(m.out));
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
    cold_.push_back([this, call, m, &cold, &back, paired = paired_] {
      paired_ = paired;
      L(cold);
      registers(true);
      if (m.in[0].kind == Place::Kind::none) mov(esi, -1);
      else mask_bits(m), mov(esi, edx);
      auto saved = [&](const Xbyak::Reg64& r, int which) { lea(r, ptr[rsp + save_ + which * vector_bytes()]); };
      mov(rdi, call.closure);
      saved(rdx, m.out);
      saved(rcx, m.in[2].at);
      saved(r8, m.in[3].kind == Place::Kind::none ? m.in[2].at : m.in[3].at);
      mov(r9d, elements(m));
      mov(rax, reinterpret_cast<std::uint64_t>(call.call));
      vzeroupper();
      this->call(rax);
      registers(false);
      jmp(back, T_NEAR);
    });
  }
  void mask_bits(const Machine& m) {
    if (!v4()) {
      const X x = sized(m.in[0].at, m.wide || elements(m) == 8 ? 32 : 16);
      return m.wide ? vmovmskpd(edx, x) : vmovmskps(edx, x);
    }
    kmovw(edx, k(m.in[0].at));
    if (elements(m) < 16) and_(edx, 0xff);
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
