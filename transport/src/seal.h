// seal.h -- AES-256-GCM for one direction of one connection. The nonce is the message's number, so a message that was changed, repeated,
// left out or sent by somebody else does not open.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include "header.h"

struct evp_cipher_ctx_st;
namespace bora::transport {
inline constexpr std::size_t kTagBytes = 16;  // behind every sealed message
using Key = std::array<std::uint8_t, 32>;

/// The key for what rank `from` sends to rank `to`: no two connections of any two jobs share one, because every process adds a random
/// number of its own (`from_nonce`, `to_nonce`), exchanged over the encrypted control plane.
Key direction_key(const Key& data_key, std::uint32_t epoch, int from, int to, std::string_view from_nonce, std::string_view to_nonce);

class Sealer {
 public:
  explicit Sealer(const Key&);
  /// Writes n bytes and the tag to `to`. The header is not hidden, but cannot be changed either.
  void seal(const Header&, const std::byte* bytes, std::size_t n, std::byte* to);

 private:
  std::shared_ptr<evp_cipher_ctx_st> context_;
  std::uint64_t number_ = 0;
};
class Opener {
 public:
  explicit Opener(const Key&);
  /// Writes n bytes to `to`, which may be `sealed` itself (n bytes and the tag). False if they are not the next message of the sender.
  bool open(const Header&, const std::byte* sealed, std::size_t n, std::byte* to);

 private:
  std::shared_ptr<evp_cipher_ctx_st> context_;
  std::uint64_t number_ = 0;
};
}  // namespace bora::transport
