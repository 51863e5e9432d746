// trace.h -- operations on single values of a Loop as nodes of a Graph: operators, casts, memory formats, random bits.
#pragma once
#include "kernels/api/loop.h"
#include "kernels/loop/kernel_table.h"
#include "kernels/loop/recorded.h"

namespace bora::kernels::jit {
/// Each returns a node of the graph, or -1 where no code is generated.
int trace_op(Graph&, OpId, Format of_last_operand, const int* in);
int trace_cast(Graph&, Format from, Format to, int value);
int trace_loaded(Graph&, Format, int raw);    // zero-extended memory -> value
int trace_to_memory(Graph&, Format, int value);  // value -> memory format, in the low bits of its lane
/// One value of a linear form: its value at the first lane plus j * stride. step_low, step_high: nodes of the low and
/// high words of j * stride; with 64-bit lanes (`wide`) step_low holds all of it.
int trace_linear(Graph&, bool wide, Format, int form, int step_low);
/// 64, 32 or 8 random bits, with the linear form as the counter; key: two words. step_high < 0: 64-bit lanes.
int trace_random(Graph&, Format, int form, int step_low, int step_high, const int* key);
/// A value to be reduced, in a lane type that adds, multiplies or compares: masks become all ones or 0; and back.
int trace_to_reduce(Graph&, Format, int value);
int trace_reduced(Graph&, Format, int value);
}  // namespace bora::kernels::jit
