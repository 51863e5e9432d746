// TLS with a certificate made here.
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include "bora/base/error.h"
#include "http/client.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace tls_test {
using namespace bora;
using namespace bora::test;

struct Files {
  TempFolder folder;
  std::string certificate = folder / "cert.pem", key = folder / "key.pem";
  Files() {
    auto* pair = EVP_EC_gen("P-256");
    auto* x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, pair);
    auto* name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(x, name);
    X509_sign(x, pair, EVP_sha256());
    auto* f = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(f, x);
    std::fclose(f);
    f = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(f, pair, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(f);
    X509_free(x);
    EVP_PKEY_free(pair);
  }
};
class Secret {  // a client
 public:
  explicit Secret(int port, int highest = TLS1_3_VERSION) : socket_(port), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, highest);
    SSL_CTX_set_security_level(context_, 0);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, socket_.fd());
    greeted = SSL_connect(ssl_) == 1;
  }
  ~Secret() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  std::string ask(const std::string& bytes) {
    SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    return all();
  }
  std::string all() {
    std::string out;
    char buffer[1 << 14];
    for (int n; (n = SSL_read(ssl_, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    ended_well = SSL_get_error(ssl_, 0) == SSL_ERROR_ZERO_RETURN;
    return out;
  }
  bool greeted = false, ended_well = false;
  ::SSL* raw() { return ssl_; }
  void leave() { socket_.close(); }

 private:
  Client socket_;
  ::SSL_CTX* context_;
  ::SSL* ssl_;
};
http::ServerOptions& with(http::ServerOptions& o, const Files& f) {
  o.certificate = f.certificate;
  o.key = f.key;
  return o;
}
TEST(HttpTls, AnswersAndEnds) {
  Files files;
  Site site({}, [&](auto& o) { with(o, files); });
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Secret c(site.port, version);
    ASSERT_TRUE(c.greeted);
    auto got = c.ask(request("GET /big?500000", "Connection: close\r\n"));
    EXPECT_GT(got.size(), 500'000U);
    EXPECT_TRUE(c.ended_well) << "with a close_notify, so that nobody can cut an answer";
  }
  Secret old(site.port, TLS1_1_VERSION);
  EXPECT_FALSE(old.greeted);
  EXPECT_EQ(ask(site.port, request("GET /hello")).status, 0) << "a request without TLS";
}
TEST(HttpTls, OneThatLeavesIsSeen) {
  Files files;
  Site site({}, [&](auto& o) { with(o, files); });
  Secret c(site.port);
  auto text = request("GET /later");
  SSL_write(c.raw(), text.data(), static_cast<int>(text.size()));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  c.leave();
  EXPECT_TRUE(comes([&] { return gone == 1; }));
}
TEST(HttpTls, AHandshakeThatDoesNotComeEnds) {
  Files files;
  Site site({.headers = 100ms}, [&](auto& o) { with(o, files); });
  Client silent(site.port), half(site.port);
  half.send("\x16\x03\x01");
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  EXPECT_TRUE(Secret(site.port).greeted);
}
TEST(HttpTls, WrongFiles) {
  Files files, others;
  auto open = [&](const std::string& certificate, const std::string& key) {
    return error_of<IoError>(
        [&] { return http::Server({.certificate = certificate, .key = key}, [](auto&&...) {}).port(); });
  };
  auto text = files.folder.write("text", "words");
  EXPECT_NE(open(files.folder / "none", files.key).find("cannot read"), std::string::npos);
  EXPECT_NE(open(text, files.key).find("holds no certificate"), std::string::npos);
  EXPECT_NE(open(files.certificate, text).find("holds no key"), std::string::npos);
  EXPECT_NE(open(files.certificate, others.key).find("not that of"), std::string::npos);
}
}  // namespace tls_test
