// halting.h -- a stop that does not wait for the work under way: all ranks end at the same piece of it.
#pragma once
#include <atomic>
#include <cstdint>
#include "bora/base/error.h"

namespace bora::transport {
class Context;
/// All ranks have halted: collectives that were under way are given up, and none follows. `done`: the piece of work at
/// whose end they are.
struct Halted : TransportError {
  explicit Halted(std::int64_t d) : TransportError("the ranks have halted"), done(d) {}
  std::int64_t done;
};
/// A Context that can halt.
class Halts {
 public:
  virtual ~Halts() = default;
  /// Asks all ranks to halt at the end of the same piece of work: of the newest one that some rank has done. Ranks that
  /// are not there yet get there; those beyond it give up what they do, and serve the others meanwhile. Then the calls
  /// below, and waits in collectives, throw Halted on every rank; Context::exchange still works. It is not done while
  /// some rank is beyond that place and cannot go back to it: who wants it asks again. Any thread may ask; none waits.
  virtual void ask_to_halt() = 0;
  /// Around each piece of work that may be given up; all ranks make the same pieces, between which they wait for nobody
  /// that halts. `done`: a number of the piece before, or of this one, which grows. `returns`: while this piece is not
  /// done, this rank can go back to the end of the one before.
  virtual void begin_work(std::int64_t done, bool returns) = 0;
  virtual void end_work(std::int64_t done) = 0;
  /// True while this rank works in vain: it is to call halt_if_given_up soon, which then throws Halted.
  virtual const std::atomic<bool>& given_up() const = 0;
  virtual void halt_if_given_up() = 0;
};
/// Null if this Context cannot.
Halts* halts(Context&);
}  // namespace bora::transport
