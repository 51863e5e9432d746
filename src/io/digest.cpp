#include "bora/io/digest.h"
#include <immintrin.h>
#include <openssl/evp.h>
#include <array>
#include <cstring>
#include "bora/base/error.h"

namespace bora::io {
namespace {
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78U : 0U);
    t[i] = c;
  }
  return t;
}
constexpr auto table = make_table();

__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(const void* data, std::size_t n, std::uint32_t crc) {
  auto p = static_cast<const unsigned char*>(data);
  std::uint64_t c = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    c = _mm_crc32_u64(c, word);
  }
  for (; n > 0; --n, ++p) c = _mm_crc32_u8(static_cast<std::uint32_t>(c), *p);
  return ~static_cast<std::uint32_t>(c);
}
}  // namespace

std::uint32_t detail::crc32c_table(const void* data, std::size_t n, std::uint32_t crc) {
  auto p = static_cast<const unsigned char*>(data);
  auto c = ~crc;
  for (; n > 0; --n, ++p) c = table[(c ^ *p) & 0xff] ^ (c >> 8);
  return ~c;
}
std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc) {
  static const bool instruction = __builtin_cpu_supports("sse4.2");
  return instruction ? crc32c_instruction(data, n, crc) : detail::crc32c_table(data, n, crc);
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};
Sha256::Sha256() : state_(std::make_unique<State>()) {
  check<IoError>(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
                 "SHA-256 is not available in this OpenSSL");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
void Sha256::update(const void* data, std::size_t n) {
  check<IoError>(EVP_DigestUpdate(state_->context, data, n) == 1, "SHA-256 failed");
}
std::string Sha256::hex() {
  unsigned char bytes[32];
  unsigned int size = 0;
  check<IoError>(EVP_DigestFinal_ex(state_->context, bytes, &size) == 1 && size == 32, "SHA-256 failed");
  std::string r;
  for (auto b : bytes) r += "0123456789abcdef"[b >> 4], r += "0123456789abcdef"[b & 15];
  return r;
}
}  // namespace bora::io
