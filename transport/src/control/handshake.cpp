#include "control/handshake.h"
#include <array>
#include "base/api/bytes.h"
#include "bora/base/text.h"

namespace bora::transport {
namespace {
template <class H> auto texts(H& h) {
  return std::array{&h.job,   &h.build,    &h.host,     &h.machine, &h.address,
                    &h.nonce, &h.shm_host, &h.shm_name, &h.dtypes,  &h.part};
}
template <class R> auto texts_of(R& r) {
  return std::array{&r.who, &r.place, &r.address, &r.nonce, &r.shm_host, &r.shm_name};
}
}  // namespace

std::string Handshake::bytes() const {
  ByteWriter w;
  w.num(JoinMessage::handshake).num(kMagic).num(protocol).num(rank).num(size).num(pid);
  for (auto* t : texts(*this)) w.text(*t);
  return w.take();
}
std::string Handshake::who() const {
  return "rank " + std::to_string(rank) + " (host " + one_line(host) + ", pid " + std::to_string(pid) + ")";
}
bool is_handshake(std::string_view message) {
  return !message.empty() && static_cast<JoinMessage>(message[0]) == JoinMessage::handshake;
}
std::optional<Handshake> read_handshake(std::string_view message) {
  try {
    ByteReader r(message);
    if (r.num<JoinMessage>() != JoinMessage::handshake || r.num<std::uint32_t>() != kMagic) return std::nullopt;
    Handshake h;
    h.protocol = r.num<std::uint32_t>();
    h.rank = r.num<std::int32_t>();
    h.size = r.num<std::int32_t>();
    h.pid = r.num<std::int32_t>();
    if (h.protocol != kProtocol) return h;
    for (auto* t : texts(h)) *t = r.text();
    return h;
  } catch (const TransportError&) { return std::nullopt; }
}
std::string Welcome::bytes() const {
  ByteWriter w;
  w.num(JoinMessage::accepted).num(epoch);
  for (auto& rank : ranks)
    for (auto* t : texts_of(rank)) w.text(*t);
  return w.text(tuning).take();
}
Answer read_answer(std::string_view message, int size) {
  ByteReader r(message);
  Answer a;
  switch (r.num<JoinMessage>()) {
    case JoinMessage::missing: a.absent = r.text(); break;
    case JoinMessage::refused:
      a.refused = r.text();
      a.final = r.empty() || r.num<bool>();
      break;
    case JoinMessage::accepted:
      a.welcome.emplace();
      a.welcome->epoch = r.num<std::uint32_t>();
      a.welcome->ranks.resize(static_cast<std::size_t>(size));
      for (auto& rank : a.welcome->ranks)
        for (auto* t : texts_of(rank)) *t = r.text();
      a.welcome->tuning = r.text();
      break;
    case JoinMessage::again: a.again = true; break;
    case JoinMessage::handshake: break;
  }
  return a;
}
}  // namespace bora::transport
