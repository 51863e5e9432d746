// lanes.h -- loads and stores of the attention kernels, and their products. Included once per file of isa/.
#pragma once
#include "kernels/attention/block.h"
#include "kernels/loop/functions.h"

namespace bora::kernels::BORA_ISA {
using I = std::int64_t;
enum class From { zero, sums, scaled };  // initial sums: 0, c, or c times a factor per column
/// c[m, n] = begin + a[m, k] b[k, n], n a multiple of the lanes' size; ByColumn: a[r, p] at a[p * a_step + r], else at
/// a[r * a_step + p]. T: float or double. In isa/product.cpp, for forward.cpp and backward.cpp.
template <bool ByColumn, class T>
void product(I m, I n, I k, const T* a, I a_step, const T* b, I b_step, T* c, I c_step, From from,
             const T* factor = nullptr);
namespace {
template <class X> using Number = typename X::Storage;
template <class X> BORA_INLINE X load(const Number<X>* p) { return Memory<X>::load(p); }
template <class X> BORA_INLINE void store(Number<X>* p, X x) { Memory<X>::store(p, x); }
}  // namespace
}  // namespace bora::kernels::BORA_ISA
