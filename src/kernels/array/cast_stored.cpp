#include "kernels/api/cast_stored.h"
#include <immintrin.h>
#include "base/api/complex.h"
#include "bora/base/parallel.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kNsAnElement = 0.5;

/// f16 and f32, eight at a time (F16C). The processor keeps a NaN's sign and payload and makes it quiet, as float16
/// does when it rounds.
void widen(const float16* in, float* out, I begin, I end) {
  I i = begin;
  for (; i + 8 <= end; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  for (; i < end; ++i) out[i] = _cvtsh_ss(in[i].bits);
}
void narrow(const float* in, float16* out, I begin, I end) {
  I i = begin;
  for (; i + 8 <= end; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < end; ++i) out[i] = float16(in[i]);
}
template <class F> void each(I n, F f) { parallel_for(n, grain_for(kNsAnElement), f); }
template <class S> constexpr bool is_stored = is_stored_only(dtype_of<S>);
}  // namespace

void cast_stored(Dtype from, Dtype to, const void* in, void* out, I n) {
  if (from == f16 && to == f32)
    return each(n, [=](I b, I e) { widen(static_cast<const float16*>(in), static_cast<float*>(out), b, e); });
  if (from == f32 && to == f16)
    return each(n, [=](I b, I e) { narrow(static_cast<const float*>(in), static_cast<float16*>(out), b, e); });
  dispatch_all(from, "astype", [&](auto x) {
    using S = decltype(x);
    dispatch_all(to, "astype", [&](auto y) {
      using T = decltype(y);
      if constexpr (!ComplexNumber<S> && !ComplexNumber<T>) {
        if constexpr (is_stored<S> || is_stored<T>) {
          auto* a = static_cast<const S*>(in);
          auto* r = static_cast<T*>(out);
          return each(n, [=](I b, I e) {
            for (I i = b; i < e; ++i) r[i] = converted<T>(a[i]);
          });
        }
      }
      no_such_dtype("astype of stored numbers", to);
    });
  });
}
}  // namespace bora::kernels
