// Loops generated at run time: which there are, and that they give the interpreter's bits (loop_test.cpp runs everything both ways).
#include <gtest/gtest.h>
#include "bora/base/error.h"
#include "loop_build.h"

namespace bora::kernels::test {
namespace {
TEST(LoopCode, EveryOperationOf32BitsIsGenerated) {
  for (OpId id : all_ops())
    for (Dtype d : {f32, bf16, i32, u32, u8, boolean, f64, i64}) {
      const ElementOp& op = element_op(id);
      Builder b;
      Dtype types[kMaxInputs];
      Instr i{.kind = K::op, .dtype = d, .op = id};
      for (int j = 0; j < op.arity; ++j) {
        types[j] = op.name == "select" && j == 0 ? boolean : d;
        i.in[static_cast<std::size_t>(j)] = static_cast<std::int16_t>(b.load(types[j], true));
      }
      try {
        i.dtype = op.result(types);
      } catch (const DtypeError&) { continue; }
      b.store(b.add(i), true);
      for (Isa which : {Isa::v3, Isa::v4})
        EXPECT_EQ(code_report(*compile_for(b.loop, which, Code::generated)).substr(0, 9), "generated")
            << op.name << " " << dtype_name(d) << ": " << code_report(*compile_for(b.loop, which, Code::generated));
    }
}
}  // namespace
}  // namespace bora::kernels::test
