// assemble.cpp -- generates the code, as the only user of the assembler (xbyak): frame and row loop.
#include "kernels/jit/assemble.h"
#include "kernels/jit/columns.h"

namespace bora::kernels::jit {
namespace {
class Assembler : public ColumnCode {
 public:
  Assembler(const Sections& s, Stores stores) : ColumnCode(s, stores) {}
  std::vector<std::uint8_t> run() {
    if (s_.kept_rows > kMaxKept) throw Uncovered{"more than 16 values kept between passes"};
    for (int k = 0; k < s_.slots; ++k) slot_offset_.push_back(frame_.take(vector_bytes()));
    find_inputs();
    Xbyak::Label row, end;
    prologue();
    L(row);
    for (const PassSections& p : s_.passes) {
      straight(p.before);
      columns(p);
      if (stores_ == Stores::partials) break;
    }
    if (stores_ != Stores::partials) straight(s_.after);
    dec(qword[rsp + kRows]);
    jz(end, T_NEAR);
    next_row();
    jmp(row, T_NEAR);
    L(end);
    if (stores_ == Stores::stream) sfence();
    lea(rsp, ptr[rbp - 40]);
    for (const auto& r : {r15, r14, r13, r12, rbx, rbp}) pop(r);
    vzeroupper();
    ret();
    emit_cold();
    emit_constants();
    patch_frame();
    return {getCode(), getCode() + getSize()};
  }

 private:
  std::size_t frame_at_ = 0;  // offset in the code of the size of the frame

  void prologue() {
    push(rbp);
    mov(rbp, rsp);
    for (const auto& r : {rbx, r12, r13, r14, r15}) push(r);
    sub(rsp, 0x7fffffff);
    frame_at_ = getSize() - 4;
    and_(rsp, -64);
    mov(ptr[rsp + kCall], rdi);
    auto copy = [&](std::size_t from, int to) {
      mov(rdx, ptr[rdi + static_cast<int>(from)]);
      mov(ptr[rsp + to], rdx);
    };
    copy(offsetof(Call, rows), kRows);
    copy(offsetof(Call, columns), kColumns);
    for (int f = 0; f < 4; ++f) {
      if (s_.forms[f].low < 0) continue;
      const auto form_at = static_cast<int>(offsetof(Call, form_at)) + 8 * f;
      if (form_in_register(f)) mov(form_register(f), ptr[rdi + form_at]);
      else copy(static_cast<std::size_t>(form_at), kFormAt + 8 * f);
      copy(offsetof(Call, form_column) + 8u * static_cast<unsigned>(f), kFormColumn + 8 * f);
      fill_steps(f);
    }
    for (int k = 0; k < operands(); ++k) {
      const int from = 8 * (k < loop_operands() ? k : kMaxOperands + k - loop_operands());
      if (k < kPointers) mov(pointer(k), ptr[rdi + from]);
      else copy(static_cast<std::size_t>(from), kMorePointers + 8 * k);
    }
  }
  void fill_steps(int f) {
    const FormSteps& steps = s_.forms[f];
    xor_(edx, edx);
    for (int j = 0; j < lanes(); ++j) {
      if (s_.wide) mov(ptr[rsp + slot_offset_[at(steps.low)] + 8 * j], rdx);
      else mov(ptr[rsp + slot_offset_[at(steps.low)] + 4 * j], edx);
      if (steps.high >= 0) {
        mov(rcx, rdx);
        shr(rcx, 32);
        mov(ptr[rsp + slot_offset_[at(steps.high)] + 4 * j], ecx);
      }
      add(rdx, ptr[rsp + kFormColumn + 8 * f]);
    }
  }
  void next_row() {
    mov(rdi, ptr[rsp + kCall]);
    for (int k = 0; k < loop_operands(); ++k) {
      mov(rdx, ptr[rdi + static_cast<int>(offsetof(Call, row_step)) + 8 * k]);
      if (k < kPointers) add(pointer(k), rdx);
      else add(ptr[rsp + kMorePointers + 8 * k], rdx);
    }
    for (int f = 0; f < 4; ++f) {
      if (s_.forms[f].low < 0) continue;
      mov(rdx, ptr[rdi + static_cast<int>(offsetof(Call, form_row)) + 8 * f]);
      form_in_register(f) ? add(form_register(f), rdx) : add(ptr[rsp + kFormAt + 8 * f], rdx);
    }
  }
  void patch_frame() {
    const int bytes = (frame_.bytes + 127) / 64 * 64;
    if (bytes > 1 << 16) throw Uncovered{"a frame of more than 64 KiB"};
    rewrite(frame_at_, static_cast<std::uint64_t>(bytes), 4);
  }
};
}  // namespace

bool can_lap(const Sections& s) {
  return s.isa != Isa::v4 && s.passes.size() == 1 && s.passes[0].reductions.empty();
}
std::vector<std::uint8_t> assemble(const Sections& s, Stores stores) {
  try {
    return Assembler(s, stores).run();
  } catch (const Xbyak::Error& e) { throw Uncovered{std::string("the assembler: ") + e.what()}; }
}
}  // namespace bora::kernels::jit
