#include "kernels/fft/isa/passes.h"

namespace bora::kernels::BORA_ISA {
void fft_lanes(const fft_detail::Job<double>& job) { run_lanes(job); }
}  // namespace bora::kernels::BORA_ISA
