#include "wire/seal.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <cstring>
#include "base/api/bytes.h"
#include "bora/base/error.h"

namespace bora::transport {
namespace {
const unsigned char* raw(const void* p) { return static_cast<const unsigned char*>(p); }
unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }
/// OpenSSL fails at these only when memory is short.
void must(bool ok) { check<TransportError>(ok, "OpenSSL cannot encrypt with AES-256-GCM"); }
}  // namespace

Key direction_key(const Key& data_key, std::uint32_t epoch, int from, int to, std::string_view from_nonce,
                  std::string_view to_nonce) {
  auto text =
      ByteWriter().text("bora transport 1 data").num(epoch).num(from).num(to).text(from_nonce).text(to_nonce).take();
  Key k;
  unsigned n = 0;
  HMAC(EVP_sha256(), data_key.data(), static_cast<int>(data_key.size()), raw(text.data()), text.size(), k.data(), &n);
  must(n == k.size());
  return k;
}
Cipher::Cipher(const Key& k, int encrypts) : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free), encrypts_(encrypts) {
  must(context_ && EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, k.data(), nullptr, encrypts) == 1);
}
void Cipher::begin(const Header& h) {
  unsigned char nonce[12] = {};
  std::memcpy(nonce + 4, &number_, sizeof number_);
  ++number_;
  int n = 0;
  auto c = context_.get();
  must(EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nonce, encrypts_) == 1 &&
       EVP_CipherUpdate(c, nullptr, &n, raw(&h), sizeof h) == 1);
}
void Cipher::update(const std::byte* bytes, std::size_t n, std::byte* to) {
  int done = 0;
  if (n > 0) must(EVP_CipherUpdate(context_.get(), raw(to), &done, raw(bytes), static_cast<int>(n)) == 1);
}
void Sealer::end(std::byte* tag) {
  int done = 0;
  unsigned char none[kTagBytes];
  auto c = context_.get();
  must(EVP_EncryptFinal_ex(c, none, &done) == 1 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1);
}
bool Opener::end(const std::byte* tag) {
  int done = 0;
  unsigned char none[kTagBytes], expected[kTagBytes];
  std::memcpy(expected, tag, kTagBytes);
  auto c = context_.get();
  must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, kTagBytes, expected) == 1);
  return EVP_DecryptFinal_ex(c, none, &done) == 1;
}
}  // namespace bora::transport
