#include "wire/secret.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace bora::transport {
namespace {
std::array<std::uint8_t, 32> derive_bytes(const std::string& secret, const char* role) {
  std::array<std::uint8_t, 32> bytes;
  unsigned n = 0;
  auto text = std::string("bora transport 1 ") + role;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &n);
  check<TransportError>(n == bytes.size(), "OpenSSL cannot derive keys from the job's secret");
  return bytes;
}
KeyPair derive(const std::string& secret, const char* role) {
  KeyPair k;
  k.secret = derive_bytes(secret, role);
  char coded[41], open[41];
  zmq_z85_encode(coded, k.secret.data(), k.secret.size());
  check<TransportError>(zmq_curve_public(open, coded) == 0,
                        "this libzmq has no CURVE, so a job with a secret cannot run: ", zmq_reason);
  zmq_z85_decode(k.open.data(), open);
  OPENSSL_cleanse(coded, sizeof coded);
  return k;
}
std::string_view key_bytes(const std::array<std::uint8_t, 32>& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}
}  // namespace

JobKeys derive_keys(const std::string& secret) {
  return {derive(secret, "server"), derive(secret, "client"), derive_bytes(secret, "data")};
}
std::string random_bytes(int n) {
  std::string bytes(static_cast<std::size_t>(n), '\0');
  check<TransportError>(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), n) == 1,
                        "OpenSSL has no random numbers");
  return bytes;
}
void listen_with(Socket& s, const std::optional<JobKeys>& k) {
  s.set(ZMQ_ZAP_DOMAIN, "bora");
  if (!k) return;
  s.set(ZMQ_CURVE_SERVER, 1);
  s.set(ZMQ_CURVE_SECRETKEY, key_bytes(k->server.secret));
}
void connect_with(Socket& s, const JobKeys& k) {
  s.set(ZMQ_CURVE_SERVERKEY, key_bytes(k.server.open));
  s.set(ZMQ_CURVE_PUBLICKEY, key_bytes(k.client.open));
  s.set(ZMQ_CURVE_SECRETKEY, key_bytes(k.client.secret));
}
}  // namespace bora::transport
