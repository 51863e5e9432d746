#include "seal.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <cstring>
#include "bora/base/error.h"
#include "bytes.h"

namespace bora::transport {
namespace {
using Cipher = std::shared_ptr<EVP_CIPHER_CTX>;
const unsigned char* raw(const void* p) { return static_cast<const unsigned char*>(p); }
unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }
/// OpenSSL fails at these only when memory is short.
void must(bool ok) { check<TransportError>(ok, "OpenSSL cannot encrypt with AES-256-GCM"); }
Cipher with_key(const Key& k, int encrypt) {
  Cipher c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  must(c && EVP_CipherInit_ex(c.get(), EVP_aes_256_gcm(), nullptr, k.data(), nullptr, encrypt) == 1);
  return c;
}
/// The message's nonce and the bytes that are authenticated beside it.
void begin(EVP_CIPHER_CTX* c, std::uint64_t number, const Header& h, int encrypt) {
  unsigned char nonce[12] = {};
  std::memcpy(nonce + 4, &number, sizeof number);
  int n = 0;
  must(EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nonce, encrypt) == 1 && EVP_CipherUpdate(c, nullptr, &n, raw(&h), sizeof h) == 1);
}
}  // namespace

Key direction_key(const Key& data_key, std::uint32_t epoch, int from, int to, std::string_view from_nonce, std::string_view to_nonce) {
  auto text = Writer().text("bora transport 1 data").num(epoch).num(from).num(to).text(from_nonce).text(to_nonce).take();
  Key k;
  unsigned n = 0;
  HMAC(EVP_sha256(), data_key.data(), static_cast<int>(data_key.size()), raw(text.data()), text.size(), k.data(), &n);
  must(n == k.size());
  return k;
}
Sealer::Sealer(const Key& k) : context_(with_key(k, 1)) {}
void Sealer::seal(const Header& h, const std::byte* bytes, std::size_t n, std::byte* to) {
  auto c = context_.get();
  int done = 0;
  begin(c, number_++, h, 1);
  if (n > 0) must(EVP_EncryptUpdate(c, raw(to), &done, raw(bytes), static_cast<int>(n)) == 1);
  must(EVP_EncryptFinal_ex(c, raw(to) + n, &done) == 1 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, kTagBytes, raw(to) + n) == 1);
}
Opener::Opener(const Key& k) : context_(with_key(k, 0)) {}
bool Opener::open(const Header& h, const std::byte* sealed, std::size_t n, std::byte* to) {
  auto c = context_.get();
  int done = 0;
  unsigned char tag[kTagBytes], none[kTagBytes];
  std::memcpy(tag, sealed + n, kTagBytes);
  begin(c, number_++, h, 0);
  if (n > 0) must(EVP_DecryptUpdate(c, raw(to), &done, raw(sealed), static_cast<int>(n)) == 1);
  must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag) == 1);
  return EVP_DecryptFinal_ex(c, none, &done) == 1;
}
}  // namespace bora::transport
