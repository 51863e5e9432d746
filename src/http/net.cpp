#include "http/net.h"
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <optional>
#include <utility>  // before Asio, which lacks it
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include "base/api/file.h"
#include "bora/base/error.h"

namespace bora::http {
namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

struct Loop::State {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer timer{io};
  std::chrono::milliseconds between{};
  std::function<void()> tick;
  bool ended = false;
  void next() {
    timer.expires_after(between);
    timer.async_wait([this](Code error) {
      if (error || ended) return;
      tick();
      next();
    });
  }
};
Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;
void Loop::run() {
  for (;;) try {
      state_->io.run();
      return;
    } catch (const std::exception&) {
      // Memory has run out in the middle of one connection, which its limits of time end.
    }
}
void Loop::post(std::function<void()> f) { asio::post(state_->io, std::move(f)); }
void Loop::every(std::chrono::milliseconds between, std::function<void()> f) {
  state_->between = between;
  state_->tick = std::move(f);
  state_->next();
}
void Loop::end() {
  post([s = state_.get()] {
    s->ended = true;
    s->timer.cancel();
    s->work.reset();
  });
}

namespace {
using Secure = asio::ssl::stream<Tcp::socket>;
auto calls(Wire::Done done) {
  return [done = std::move(done)](Code error, std::size_t n = 0) { done(!error, n); };
}
void reset_socket(Tcp::socket&);
bool hung_up(Tcp::socket&);
class Plain final : public Wire {
 public:
  explicit Plain(Tcp::socket s) : socket_(std::move(s)) {}
  bool secret() const override { return false; }
  void greet(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true, 0); });
  }
  void read(char* to, std::size_t n, Done done) override { socket_.async_read_some(asio::buffer(to, n), calls(done)); }
  void write(const char* from, std::size_t n, Done done) override {
    socket_.async_write_some(asio::buffer(from, n), calls(std::move(done)));
  }
  void finish(Done done) override {
    Code ignored;
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    greet(std::move(done));
  }
  void close() override {
    Code ignored;
    socket_.close(ignored);
  }
  void reset() override { reset_socket(socket_); }
  bool left() const override { return hung_up(socket_); }

 private:
  mutable Tcp::socket socket_;
};
void reset_socket(Tcp::socket& s) {
  Code ignored;
  s.set_option(asio::socket_base::linger(true, 0), ignored);
  s.close(ignored);
}
bool hung_up(Tcp::socket& s) {
  ::pollfd p{s.native_handle(), POLLRDHUP, 0};
  return ::poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}
class Tls final : public Wire {
 public:
  Tls(Tcp::socket s, asio::ssl::context& context) : stream_(std::move(s), context) {}
  bool secret() const override { return true; }
  void greet(Done done) override { stream_.async_handshake(asio::ssl::stream_base::server, calls(std::move(done))); }
  void read(char* to, std::size_t n, Done done) override { stream_.async_read_some(asio::buffer(to, n), calls(done)); }
  void write(const char* from, std::size_t n, Done done) override {
    stream_.async_write_some(asio::buffer(from, n), calls(std::move(done)));
  }
  void finish(Done done) override { stream_.async_shutdown(calls(std::move(done))); }
  void close() override {
    Code ignored;
    stream_.next_layer().close(ignored);
  }
  void reset() override { reset_socket(stream_.next_layer()); }
  bool left() const override { return hung_up(stream_.next_layer()); }

 private:
  mutable Secure stream_;
};

std::unique_ptr<asio::ssl::context> tls_of(const ServerOptions& o) {
  if (o.certificate.empty() && o.key.empty()) return nullptr;
  check<ValueError>(!o.certificate.empty() && !o.key.empty(), "http: TLS needs a certificate and its key; ",
                    o.certificate.empty() ? "the certificate" : "the key", " is missing");
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  auto* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  Code error;
  // OpenSSL would ask at the terminal.
  context->set_password_callback([](auto&&...) { return std::string(); }, error);
  for (auto& path : {o.certificate, o.key}) read_file(path);  // an IoError that says why it cannot be read
  context->use_certificate_chain_file(o.certificate, error);
  check<IoError>(!error, "http: ", o.certificate, " holds no certificate in PEM: ", error.message());
  context->use_private_key_file(o.key, asio::ssl::context::pem, error);
  check<IoError>(!error, "http: ", o.key, " holds no key in PEM without a password, or not that of ", o.certificate,
                 ": ", error.message());
  return context;
}
void set(int socket, int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); }
}  // namespace

struct Door::State : std::enable_shared_from_this<Door::State> {
  State(Loop& loop, const ServerOptions& o, std::function<void(std::unique_ptr<Wire>)> f)
      : io(loop.state().io),
        acceptor(io),
        wait(io),
        tls(tls_of(o)),
        arrived(std::move(f)),
        patience(static_cast<int>(o.limits.reader.count())) {
    check<ValueError>(o.port >= 0 && o.port < 65536, "http: ", o.port,
                      " is no port; take one of 1 to 65535, or 0 for any");
    check<ValueError>(!o.host.empty(), "http: the address to listen on is empty; 127.0.0.1, or 0.0.0.0 for all");
    Code error;
    Tcp::resolver resolver(io);
    auto places = resolver.resolve(o.host, std::to_string(o.port), Tcp::resolver::passive, error);
    check<IoError>(!error, "http: the address ", o.host, " is not known: ", error.message());
    for (auto& place : places)
      if (listens(place.endpoint(), error)) break;
    check<IoError>(!error, "http: cannot listen on ", o.host, " port ", o.port, ": ", error.message(),
                   "; take an address of this machine and a free port (0: any)");
    port = acceptor.local_endpoint().port();
  }
  bool listens(const Tcp::endpoint& at, Code& error) {
    Code ignored;
    acceptor.close(ignored);
    acceptor.open(at.protocol(), error);
    if (error) return false;
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
    acceptor.bind(at, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    return !error;
  }
  void accept() {
    acceptor.async_accept([self = shared_from_this()](Code error, Tcp::socket socket) {
      if (!self->acceptor.is_open()) return;
      if (!error) self->take(std::move(socket));
      else if (error == asio::error::operation_aborted) return;
      else if (error != asio::error::connection_aborted) return self->later();
      self->accept();
    });
  }
  // Descriptors or memory have run out: connections wait in the system's queue until some are closed.
  void later() {
    wait.expires_after(std::chrono::milliseconds(100));
    wait.async_wait([self = shared_from_this()](Code error) {
      if (!error && self->acceptor.is_open()) self->accept();
    });
  }
  void take(Tcp::socket socket) {
    int fd = socket.native_handle();
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    // The system would buffer megabytes of an answer that nobody reads.
    set(fd, SOL_SOCKET, SO_SNDBUF, 256 << 10);
    // A host that is gone without a word is noticed after as long as a client that does not read.
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, patience);
    if (tls) arrived(std::make_unique<Tls>(std::move(socket), *tls));
    else arrived(std::make_unique<Plain>(std::move(socket)));
  }
  asio::io_context& io;
  Tcp::acceptor acceptor;
  asio::steady_timer wait;
  std::unique_ptr<asio::ssl::context> tls;
  std::function<void(std::unique_ptr<Wire>)> arrived;
  int patience, port = 0;
};
Door::Door(Loop& loop, const ServerOptions& o, std::function<void(std::unique_ptr<Wire>)> arrived)
    : state_(std::make_shared<State>(loop, o, std::move(arrived))) {}
Door::~Door() = default;
int Door::port() const { return state_->port; }
void Door::open() { state_->accept(); }
void Door::close() {
  Code ignored;
  state_->acceptor.close(ignored);
  state_->wait.cancel();
}
}  // namespace bora::http
