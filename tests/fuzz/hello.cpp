// Rendezvous: a rank's handshake at rank 0, rank 0's answer at a rank. A message that is accepted is the same when
// it is written and read again.
#include <cstdlib>
#include "bora/base/error.h"
#include "control/handshake.h"
#include "schedule/select.h"

using namespace bora::transport;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view message(reinterpret_cast<const char*>(data), n);
  if (auto handshake = read_handshake(message)) {
    auto again = read_handshake(handshake->bytes());
    if (!again || again->bytes() != handshake->bytes() || handshake->who().empty()) std::abort();
  }
  for (int size : {1, 2, 5}) try {
      auto answer = read_answer(message, size);
      if (answer.welcome && answer.welcome->ranks.size() != static_cast<std::size_t>(size)) std::abort();
      if (answer.welcome && read_answer(answer.welcome->bytes(), size).welcome->bytes() != answer.welcome->bytes())
        std::abort();
      if (answer.welcome) read_tuning(answer.welcome->tuning);
    } catch (const bora::TransportError&) {}
  return 0;
}
