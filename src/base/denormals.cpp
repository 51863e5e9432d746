#include "bora/base/denormals.h"
#include <xmmintrin.h>
#include <atomic>
#include <cstdlib>
#include <string_view>

namespace bora {
namespace {
constexpr std::uint32_t kFlushResults = 1U << 15, kFlushOperands = 1U << 6;
std::atomic<bool>& process() {
  static std::atomic<bool> value = [] {
    const char* text = std::getenv("BORA_FLUSH_DENORMALS");
    return text && std::string_view(text) == "1";
  }();
  return value;
}
}  // namespace
bool flushes_denormals() { return process().load(std::memory_order_relaxed); }
void flush_denormals(bool on) { process() = on; }
std::uint32_t FlushDenormals::set() {
  auto before = _mm_getcsr();
  _mm_setcsr(before | kFlushResults | kFlushOperands);
  return before;
}
void FlushDenormals::restore(std::uint32_t control) { _mm_setcsr(control); }
}  // namespace bora
