#include "secure_stream.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>
#include "bora/base/error.h"

namespace bora::launch {
namespace {
constexpr std::string_view kIdentity = "bora";
constexpr unsigned kSilentMs = 30'000;  // then the connection is lost: both sides send something each second
constexpr std::size_t kPending = 1 << 18;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// Whether this error of OpenSSL's is the end of the connection; before OpenSSL 3 that was no such error.
bool is_end([[maybe_unused]] unsigned long error) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  return false;
#endif
}
std::string key_of(const std::string& secret) {
  constexpr std::string_view use = "bora launch 1";
  std::string key(32, '\0');
  unsigned n = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(use.data()),
       use.size(), reinterpret_cast<unsigned char*>(key.data()), &n);
  check<TransportError>(n == key.size(), "OpenSSL cannot derive a key from the job's secret");
  return key;
}
::SSL_SESSION* session_of(::SSL* ssl) {
  auto& key = *static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  static const unsigned char cipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
  auto* s = ::SSL_SESSION_new();
  if (s && ::SSL_SESSION_set1_master_key(s, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
      ::SSL_SESSION_set_cipher(s, ::SSL_CIPHER_find(ssl, cipher)) == 1 &&
      ::SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) == 1)
    return s;
  ::SSL_SESSION_free(s);
  return nullptr;
}
int use_key(::SSL* ssl, const ::EVP_MD*, const unsigned char** id, std::size_t* size, ::SSL_SESSION** session) {
  *session = session_of(ssl);
  *id = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *size = kIdentity.size();
  return *session != nullptr;
}
int find_key(::SSL* ssl, const unsigned char* id, std::size_t size, ::SSL_SESSION** session) {
  bool ours = std::string_view(reinterpret_cast<const char*>(id), size) == kIdentity;
  *session = ours ? session_of(ssl) : nullptr;
  return 1;
}
}  // namespace

SecureStream::SecureStream(int socket, const std::string& secret, bool server)
    : socket_(socket), key_(key_of(secret)), context_(::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free) {
  auto* c = context_.get();
  bool made = c && ::SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) == 1 &&
              ::SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256") == 1;
  if (made) {
    SSL_CTX_set_app_data(c, &key_);
    ::SSL_CTX_set_num_tickets(c, 0);
    ::SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!server) ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);  // no certificate is one that is trusted
    ::SSL_CTX_set_psk_use_session_callback(c, use_key);
    ::SSL_CTX_set_psk_find_session_callback(c, find_key);
    ssl_.reset(::SSL_new(c), ::SSL_free);
    made = ssl_ && ::SSL_set_fd(ssl_.get(), socket) == 1;
  }
  if (!made) ::close(socket_);
  check<TransportError>(made, "OpenSSL cannot make a connection");
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  int yes = 1;
  unsigned silent = kSilentMs;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent, sizeof silent);
  if (server) ::SSL_set_accept_state(ssl_.get());
  else ::SSL_set_connect_state(ssl_.get());
}
SecureStream::~SecureStream() { ::close(socket_); }
/// Whether the operation with this result may go on, once the socket is ready for it.
bool SecureStream::wait(int result, double until) const {
  auto why = ::SSL_get_error(ssl_.get(), result);
  if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return false;
  auto left = until - now();
  ::pollfd file{socket_, static_cast<short>(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
  return left > 0 && (::poll(&file, 1, static_cast<int>(left * 1000) + 1) > 0 || errno == EINTR);
}
Handshake SecureStream::handshake(double seconds) {
  auto until = now() + seconds;
  for (;;) {
    ::ERR_clear_error();
    auto r = ::SSL_do_handshake(ssl_.get());
    // By the key, not by a certificate.
    if (r == 1) return ::SSL_session_reused(ssl_.get()) == 1 ? Handshake::done : Handshake::refused;
    auto said = ::SSL_get_error(ssl_.get(), r) == SSL_ERROR_SSL && !is_end(::ERR_peek_error());
    if (!wait(r, until)) return said ? Handshake::refused : Handshake::cut_off;
  }
}
bool SecureStream::write(const std::string& bytes, double seconds) {
  auto until = now() + seconds;
  for (std::size_t done = 0; done < bytes.size();) {
    ::ERR_clear_error();
    auto n = ::SSL_write(ssl_.get(), bytes.data() + done, static_cast<int>(bytes.size() - done));
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (!wait(n, until)) return false;
  }
  return true;
}
bool SecureStream::read(std::string& bytes, std::size_t n, double seconds) {
  auto until = now() + seconds;
  char byte = 0;
  while (bytes.size() < n) {
    ::ERR_clear_error();
    auto r = ::SSL_read(ssl_.get(), &byte, 1);
    if (r == 1) bytes += byte;
    else if (!wait(r, until)) return false;
  }
  return true;
}
bool SecureStream::relay(int in, int out) {
  std::string going, coming;
  bool ended = false, lost = false, in_order = false;  // ended: nothing more comes from the other side
  bool deaf = false;  // who reads `out` has gone; what it said last still goes on
  char buffer[1 << 14];
  for (int fd : {in, out}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  while (!lost && (!ended || !coming.empty())) {
    bool wants_write = false, moved = false;
    for (bool more = true; more && !ended && coming.size() < kPending;) {
      ::ERR_clear_error();
      auto n = ::SSL_read(ssl_.get(), buffer, sizeof buffer);
      more = n > 0;
      if (more) coming.append(buffer, static_cast<std::size_t>(n)), moved = true;
      auto why = more ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), n);
      if (why == SSL_ERROR_WANT_WRITE) wants_write = true;
      else if (!more && why != SSL_ERROR_WANT_READ) ended = moved = true, in_order = why == SSL_ERROR_ZERO_RETURN;
    }
    if (in >= 0 && going.size() < kPending) {
      auto n = ::read(in, buffer, sizeof buffer);
      if (n > 0) going.append(buffer, static_cast<std::size_t>(n)), moved = true;
      else if (n == 0 || (errno != EAGAIN && errno != EINTR)) ::close(std::exchange(in, -1)), moved = true;
    }
    if (!going.empty()) {
      ::ERR_clear_error();
      auto n = ::SSL_write(ssl_.get(), going.data(), static_cast<int>(std::min<std::size_t>(going.size(), 1 << 16)));
      auto why = n > 0 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), n);
      if (n > 0) going.erase(0, static_cast<std::size_t>(n)), moved = true;
      else if (why == SSL_ERROR_WANT_WRITE) wants_write = true;
      else if (why != SSL_ERROR_WANT_READ) lost = true;
    } else if (in == -1) {
      ::SSL_shutdown(ssl_.get());  // says that nothing more comes from here
      in = -2;
    }
    if (!coming.empty()) {
      auto n = ::write(out, coming.data(), coming.size());
      if (n > 0) coming.erase(0, static_cast<std::size_t>(n)), moved = true;
      else if (errno != EAGAIN && errno != EINTR) deaf = moved = true;
    }
    if (deaf) coming.clear();
    if (moved) continue;
    ::pollfd files[] = {{ended ? -1 : socket_, static_cast<short>((coming.size() < kPending ? POLLIN : 0) |
                                                                  (wants_write ? POLLOUT : 0)), 0},
                        {going.size() < kPending ? in : -1, POLLIN, 0},
                        {deaf ? -1 : out, static_cast<short>(coming.empty() ? 0 : POLLOUT), 0}};
    ::poll(files, 3, -1);
    // Even if nothing is to be written this tells that the reader has gone.
    deaf = deaf || (files[2].revents & (POLLERR | POLLNVAL)) != 0;
  }
  if (in >= 0) ::close(in);
  ::close(out);
  ::SSL_shutdown(ssl_.get());
  return in_order;
}
}  // namespace bora::launch
