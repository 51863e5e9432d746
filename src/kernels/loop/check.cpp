// check.cpp -- whether a Loop is well formed, and its text form.
#include <bit>
#include <sstream>
#include <utility>
#include "bora/base/error.h"
#include "kernels/api/reduce.h"
#include "kernels/loop/plan.h"

namespace bora::kernels {
namespace {
using Kind = Instr::Kind;
struct Checker {
  const Loop& loop;
  bool wide = false;  // lanes of 64 bits; narrower values in them are allowed if no bool and no reduction meets them
  std::vector<bool> column;

  template <class... P> void need(bool ok, std::size_t k, const P&... parts) const {
    check<ValueError>(ok, "fused loop, instruction ", k, ": ", parts..., "\n", ok ? std::string() : print(loop));
  }
  void computes(std::size_t k, Dtype d) const {
    need(!is_stored_only(d), k, "computes with ", dtype_name(d), ", which is stored only; cast to ",
         dtype_name(computed_as(d)), " first");
  }
  static bool is_wide(Dtype d) { return d != Dtype::key && dtype_size(d) == 8; }
  /// bool has the width of the lanes, and so have values that are reduced, compared or selected.
  void full_width(std::size_t k, Dtype d) const {
    need(d == boolean || is_wide(d) == wide, k, "computes with ", dtype_name(d), " in a loop of ", wide ? 64 : 32,
         "-bit lanes; cast before comparisons, selections and reductions");
  }
  /// Do reductions or operations with bool need lanes of one width, and which? Without them 64 bits serve all values.
  void find_width() {
    bool any_wide = false, narrow = false;
    for (const Instr& i : loop.code) {
      if (i.kind == Kind::store || i.dtype == Dtype::key) continue;
      any_wide = any_wide || is_wide(i.dtype);
      bool full = i.kind == Kind::reduce, small = false;
      if (i.kind == Kind::op) full = i.dtype == boolean;
      for (auto x : i.in) {
        if (x < 0 || static_cast<std::size_t>(x) >= loop.code.size() || (i.kind != Kind::op && !full)) continue;
        const Dtype d = loop.code[static_cast<std::size_t>(x)].dtype;
        full = full || d == boolean;
        small = small || (d != boolean && !is_wide(d));
        wide = wide || is_wide(d);
      }
      if (i.kind == Kind::op) wide = wide || is_wide(i.dtype);
      narrow = narrow || (full && small);
    }
    wide = wide || (any_wide && !narrow);
  }
  void operand(std::size_t k, std::int64_t which) const {
    need(which >= 0 && which < static_cast<std::int64_t>(loop.operands.size()), k, "operand ", which, " of ",
         loop.operands.size());
  }
  void one(std::size_t k) {
    const Instr& i = loop.code[k];
    int arity = 0;
    switch (i.kind) {
      case Kind::op: arity = element_op(i.op).arity; break;
      case Kind::cast:
      case Kind::bitcast:
      case Kind::reduce:
      case Kind::store: arity = 1; break;
      default: break;
    }
    Dtype in[kMaxInputs] = {};
    bool any_column = false;
    for (int j = 0; j < arity; ++j) {
      need(i.in[j] >= 0 && static_cast<std::size_t>(i.in[j]) < k, k, "input ", j, " is value ", i.in[j],
           ", which is not made before");
      need(loop.code[i.in[j]].kind != Kind::store, k, "input ", j, " is a store");
      in[j] = loop.code[i.in[j]].dtype;
      any_column = any_column || column[i.in[j]];
    }
    column[k] = any_column;
    need(i.dtype != Dtype::key, k, "the dtype of a value is never key");
    need(i.dtype != u64, k, "u64 has no kernels; use its bits as i64");
    switch (i.kind) {
      case Kind::constant: break;
      case Kind::load:
        operand(k, static_cast<std::int64_t>(i.imm));
        need(loop.operands[i.imm].dtype == i.dtype, k, "loads ", dtype_name(i.dtype), " from an operand of ",
             dtype_name(loop.operands[i.imm].dtype));
        column[k] = loop.operands[i.imm].columns;
        break;
      case Kind::op: {
        for (int j = 0; j < arity; ++j) computes(k, in[j]);
        const Dtype r = element_op(i.op).result(in);
        need(r == i.dtype, k, element_op(i.op).name, " gives ", dtype_name(r), ", not ", dtype_name(i.dtype));
        bool tests = r == boolean;
        for (int j = 0; j < arity; ++j) tests = tests || in[j] == boolean;
        for (int j = 0; j < arity && tests; ++j) full_width(k, in[j]);
        break;
      }
      case Kind::cast:
        for (auto [stored, other] : {std::pair{in[0], i.dtype}, std::pair{i.dtype, in[0]}})
          need(!is_stored_only(stored) || other == computed_as(stored), k, "casts between ", dtype_name(stored),
               " and ", dtype_name(other), "; ", dtype_name(stored), " is cast to and from ",
               dtype_name(computed_as(stored)), " alone");
        break;
      case Kind::bitcast:
        computes(k, in[0]), computes(k, i.dtype);
        need(dtype_size(in[0]) == dtype_size(i.dtype), k, "bitcast from ", dtype_name(in[0]), " to ",
             dtype_name(i.dtype), ", which has another size");
        break;
      case Kind::reduce: {
        need(i.imm < 6, k, "no reduction has the number ", i.imm);
        computes(k, in[0]);
        const auto r = static_cast<Reduction>(i.imm);
        const bool logic = r == Reduction::all || r == Reduction::any;
        need(in[0] == i.dtype, k, "reduces ", dtype_name(in[0]), " to ", dtype_name(i.dtype));
        need(logic ? in[0] == boolean : in[0] != boolean || r == Reduction::max || r == Reduction::min, k,
             word(static_cast<Reduction>(i.imm)), " of ", dtype_name(in[0]), " is not defined");
        full_width(k, in[0]);
        column[k] = false;
        break;
      }
      case Kind::linear:
        need(i.imm < static_cast<std::uint64_t>(loop.linear_forms) && loop.linear_forms <= 4, k, "linear form ", i.imm,
             " of ", loop.linear_forms);
        computes(k, i.dtype);
        need(i.dtype != boolean, k, "a linear form is a number; compare it to get a bool");
        column[k] = true;
        break;
      case Kind::random_bits:
        need(i.imm < static_cast<std::uint64_t>(loop.linear_forms) && loop.linear_forms <= 4, k, "linear form ", i.imm,
             " of ", loop.linear_forms);
        operand(k, i.operand);
        need(loop.operands[i.operand] == Operand{Dtype::key, false}, k,
             "the key is an operand of dtype key, one per row");
        need(i.dtype == u8 || i.dtype == u32 || i.dtype == i64, k, "random bits are u8, u32 or i64, not ",
             dtype_name(i.dtype));
        column[k] = true;
        break;
      case Kind::store:
        operand(k, static_cast<std::int64_t>(i.imm));
        need(loop.operands[i.imm].dtype == in[0] && i.dtype == in[0], k, "stores ", dtype_name(in[0]),
             " into an operand of ", dtype_name(loop.operands[i.imm].dtype));
        need(loop.operands[i.imm].columns || !any_column, k, "stores one value per column where there is one per row");
        break;
    }
  }
};
}  // namespace

bool check_loop(const Loop& loop) {
  check<ValueError>(loop.operands.size() <= kMaxOperands, "fused loop: ", loop.operands.size(), " operands, at most ",
                    kMaxOperands, " are possible; split it");
  check<ValueError>(loop.code.size() < 16000, "fused loop: ", loop.code.size(), " instructions are too many; split it");
  Checker c{loop, false, std::vector<bool>(loop.code.size())};
  c.find_width();
  for (std::size_t k = 0; k < loop.code.size(); ++k) c.one(k);
  return c.wide;
}
std::string print(const Loop& loop) {
  std::ostringstream s;
  for (std::size_t k = 0; k < loop.operands.size(); ++k)
    s << (k ? ", " : "operands ") << "#" << k << ":" << dtype_name(loop.operands[k].dtype)
      << (loop.operands[k].columns ? "[columns]" : "[row]");
  s << "\n";
  for (std::size_t k = 0; k < loop.code.size(); ++k) {
    const Instr& i = loop.code[k];
    auto in = [&](int j) { return std::string("%").append(std::to_string(i.in[j])); };
    s << "  ";
    if (i.kind != Kind::store) s << "%" << k << ":" << dtype_name(i.dtype) << " = ";
    switch (i.kind) {
      case Kind::constant:
        if (i.dtype == f32) s << std::bit_cast<float>(static_cast<std::uint32_t>(i.imm));
        else if (i.dtype == f64) s << std::bit_cast<double>(i.imm);
        else if (i.dtype == bf16) s << std::bit_cast<float>(static_cast<std::uint32_t>(i.imm << 16));
        else if (i.dtype == i32) s << static_cast<std::int32_t>(i.imm);
        else if (i.dtype == i64) s << static_cast<std::int64_t>(i.imm);
        else s << i.imm;
        break;
      case Kind::load: s << "load #" << i.imm; break;
      case Kind::op:
        s << (i.op < all_ops().size() ? element_op(i.op).name : "?");
        for (int j = 0; j < kMaxInputs && i.in[j] >= 0; ++j) s << (j ? ", " : " ") << in(j);
        break;
      case Kind::cast: s << "cast " << in(0); break;
      case Kind::bitcast: s << "bitcast " << in(0); break;
      case Kind::reduce: s << word(static_cast<Reduction>(i.imm)) << " " << in(0); break;
      case Kind::linear: s << "linear form " << i.imm; break;
      case Kind::random_bits: s << "random_bits form " << i.imm << ", key #" << i.operand; break;
      case Kind::store: s << "store " << in(0) << " -> #" << i.imm; break;
    }
    s << "\n";
  }
  return s.str();
}
}  // namespace bora::kernels
