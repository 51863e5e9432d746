// seal.h -- AES-256-GCM for one direction of one connection. The nonce is the message's number, so a changed, repeated,
// missing or forged message does not open.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include "wire/header.h"

struct evp_cipher_ctx_st;
namespace bora::transport {
inline constexpr std::size_t kTagBytes = 16;  // behind every sealed message
using Key = std::array<std::uint8_t, 32>;

/// The key for messages from rank `from` to rank `to`. No two connections of any two jobs share one: every process adds
/// a random number of its own (`from_nonce`, `to_nonce`), exchanged over the encrypted control plane.
Key direction_key(const Key& data_key, std::uint32_t epoch, int from, int to, std::string_view from_nonce,
                  std::string_view to_nonce);

/// Messages in sequence: begin with the header, which is authenticated but not encrypted, then update with the payload
/// in pieces (multiples of 16 bytes except the last), then end.
class Cipher {
 public:
  void begin(const Header&);
  /// Writes n bytes to `to`, which may be `bytes`.
  void update(const std::byte* bytes, std::size_t n, std::byte* to);

 protected:
  Cipher(const Key&, int encrypts);
  std::shared_ptr<evp_cipher_ctx_st> context_;

 private:
  int encrypts_;
  std::uint64_t number_ = 0;
};
class Sealer : public Cipher {
 public:
  explicit Sealer(const Key& k) : Cipher(k, 1) {}
  /// Writes kTagBytes.
  void end(std::byte* tag);
};
class Opener : public Cipher {
 public:
  explicit Opener(const Key& k) : Cipher(k, 0) {}
  /// False if this is not the next message of the sender: then none of it may be used.
  bool end(const std::byte* tag);
};
}  // namespace bora::transport
