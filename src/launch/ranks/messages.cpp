#include "messages.h"
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace bora::launch {
std::string frame(Message type, std::string_view payload) {
  return ByteWriter().num(type).num(static_cast<std::uint32_t>(payload.size())).take().append(payload) + '\n';
}
std::optional<Frame> next_frame(std::string& bytes) {
  std::uint32_t size = 0;
  if (bytes.size() < 1 + sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data() + 1, sizeof size);
  check<TransportError>(size <= kMostBytes, "a message between the launcher and its agent has ", size, " bytes");
  auto whole = 1 + sizeof size + size + 1;
  if (bytes.size() < whole) return std::nullopt;
  Frame f{static_cast<Message>(bytes[0]), bytes.substr(1 + sizeof size, size)};
  bytes.erase(0, whole);
  return f;
}
int count(ByteReader& fields, std::int64_t below) {
  auto n = fields.num<std::int64_t>();
  check<TransportError>(n >= 0 && n < below, "a number between the launcher and its agent is ", n, ", not below ",
                        below);
  return static_cast<int>(n);
}
std::string packed(const RankAssignment& a) {
  ByteWriter w;
  for (int n : {a.rank, a.size, a.local_rank, a.local_size, a.columns}) w.num<std::int64_t>(n);
  return w.text(a.root).text(a.job).text(a.secret).text(a.heirs).take();
}
RankAssignment unpacked_assignment(ByteReader& fields) {
  RankAssignment a;
  for (int* n : {&a.rank, &a.size, &a.local_rank, &a.local_size, &a.columns}) *n = count(fields, 1 << 20);
  for (auto* s : {&a.root, &a.job, &a.secret, &a.heirs}) *s = fields.text();
  return a;
}
bool read_some(int fd, std::string& bytes) {
  char buffer[1 << 16];
  ::ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) < 0 && errno == EINTR) {}
  if (n > 0) bytes.append(buffer, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EAGAIN);
}
}  // namespace bora::launch
