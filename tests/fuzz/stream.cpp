// Data over tcp: anything that a connection can send. The first byte says whether a true handshake comes first, and
// whether headers get the magic number, version and checksum without which they are not read; payloads follow them, as
// long as they say.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <cstdlib>
#include <cstring>
#include "carrier/tcp_data.h"

using namespace bora::transport;
namespace {
constexpr std::uint32_t kEpoch = 77;
struct Reading final : Sink {
  unsigned sum = 0;
  void data(Arrival a) override {
    for (std::uint32_t i = 0; i < a.header.payload(); ++i) sum += static_cast<unsigned>(a.bytes[i]);
    if (a.header.epoch != kEpoch || a.header.dst != 0 || a.header.src >= 3) std::abort();
  }
  void make_room(int) override {}
  void control(std::string_view) override {}
  void lost(int, const std::string&) override {}
  void dropped(bool) override {}
};
std::string headers_of(const std::uint8_t* data, std::size_t n) {
  std::string text;
  while (n >= sizeof(Header)) {
    Header h;
    std::memcpy(static_cast<void*>(&h), data, sizeof h);
    data += sizeof h, n -= sizeof h;
    h.magic = kMagic;
    h.version = kProtocol;
    h = sealed(h);
    text.append(reinterpret_cast<const char*>(&h), sizeof h);
    auto payload = std::min<std::size_t>({n, h.payload(), 5000});
    text.append(reinterpret_cast<const char*>(data), payload);
    data += payload, n -= payload;
  }
  return text;
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  if (n == 0) return 0;
  auto listener = listen_on_tcp("127.0.0.1");
  int port = std::atoi(listener.address.c_str() + listener.address.rfind(':') + 1);
  auto path = make_tcp_data(std::move(listener), {.epoch = kEpoch, .addresses = {"", "", ""}, .nonces = {"", "", ""}},
                            [](int) {});
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) return 0;  // the machine has no more ports
  linger now{.l_onoff = 1, .l_linger = 0};  // a port can be used again at once
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  std::string text;
  if (data[0] & 1) {
    Header h;
    h.type = MessageType::handshake;
    h.epoch = kEpoch;
    h.src = 1 + (data[0] >> 2 & 1);
    h = sealed(h);
    text.append(reinterpret_cast<const char*>(&h), sizeof h);
  }
  if (data[0] & 2) text += headers_of(data + 1, n - 1);
  else text.append(reinterpret_cast<const char*>(data + 1), n - 1);
  send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket.get(), SHUT_WR);
  Reading sink;
  for (int k = 0; k < 20; ++k) path->receive(sink);
  path->stop();
  return 0;
}
