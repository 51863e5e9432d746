// code_memory.h -- machine code in pages of its own: written first, executable afterwards, never both at one address.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bora::kernels::jit {
class CodeMemory {
 public:
  /// entry() is null where this system forbids executable memory. With BORA_PERF_MAP=1 `perf` shows the code as `name`.
  CodeMemory(std::span<const std::uint8_t> code, const std::string& name);
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;
  const void* entry() const { return memory_; }
  /// Bytes mapped by all live objects.
  static std::size_t total();

 private:
  void* memory_ = nullptr;
  std::size_t mapped_ = 0;
};
}  // namespace bora::kernels::jit
