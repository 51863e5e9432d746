// context.cpp -- functions of every Context that need only its collectives: send and receive between two ranks.
#include <algorithm>
#include "bora/transport/transport.h"

namespace bora::transport {
namespace {
Group pair_of(int a, int b) { return {{std::min(a, b), std::max(a, b)}, "send_recv"}; }
}  // namespace
void Context::send(int to, const void* data, std::int64_t n, Dtype d) {
  check<ValueError>(to != rank(), "send: rank ", to, " is this rank itself");
  run(pair_of(rank(), to),
      {.kind = CollectiveKind::send_recv, .dtype = d, .in = data, .send_counts = {n}, .target = to > rank()});
}
void Context::receive(int from, void* data, std::int64_t n, Dtype d) {
  check<ValueError>(from != rank(), "receive: rank ", from, " is this rank itself");
  run(pair_of(rank(), from),
      {.kind = CollectiveKind::send_recv, .dtype = d, .out = data, .send_counts = {n}, .source = from > rank()});
}
}  // namespace bora::transport
