// digest.h -- SHA-256 of parameters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bora::io {
/// SHA-256 of bytes given in pieces.
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
