#include "base/api/sha256.h"
#include <openssl/evp.h>
#include "bora/base/error.h"

namespace bora {
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
std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}
}  // namespace bora
