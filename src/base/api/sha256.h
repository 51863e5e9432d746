// sha256.h -- the digest of bytes.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace bora {
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
/// SHA-256 of bytes as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
}  // namespace bora
