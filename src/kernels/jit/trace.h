// trace.h -- what is done with single values of a Loop, as nodes of a Graph: operations, casts, memory formats, random bits.
#pragma once
#include "bora/kernels/loop.h"
#include "kernels/loop/kernel_table.h"
#include "kernels/loop/recorded.h"

namespace bora::kernels::jit {
/// Each gives a node of the graph; -1 where no code is generated for it.
int trace_op(Graph&, OpId, Format of_last_operand, const int* in);
int trace_cast(Graph&, Format from, Format to, int value);
int trace_loaded(Graph&, Format, int raw);    // zero-extended memory -> value
int trace_to_memory(Graph&, Format, int value);  // value -> what lies in the low bits of its lane
/// One value of a linear form: its 64-bit value at the first lane plus j * stride, `steps` (low and high words; wide: one).
int trace_linear(Graph&, Format, int form, int step_low);
/// 32 or 8 random bits of the counter that the linear form is; key: two words.
int trace_random(Graph&, Format, int form, int step_low, int step_high, const int* key);
/// A reduced value as a lane type that adds, multiplies or compares: masks become all ones or 0; and back.
int trace_to_reduce(Graph&, Format, int value);
int trace_reduced(Graph&, Format, int value);
}  // namespace bora::kernels::jit
