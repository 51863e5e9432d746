// digest.h -- CRC32C of stored blocks, SHA-256 of parameters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bora::io {
/// CRC-32C (Castagnoli) of n bytes, continued from `crc` (0 at the beginning): the crc32 instruction where the CPU has it.
std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc = 0);
namespace detail {
std::uint32_t crc32c_table(const void* data, std::size_t n, std::uint32_t crc);  // the same without the instruction
}

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(const void* data, std::size_t n);
  /// 64 hexadecimal digits; ends the digest.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::io
