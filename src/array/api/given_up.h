// given_up.h -- a Communicator whose rank may learn that what it computes is in vain.
#pragma once
#include <atomic>

namespace bora {
class MayGiveUp {
 public:
  virtual ~MayGiveUp() = default;
  /// True while what this rank computes is given up (transport/halting.h); null if that never happens. What runs then
  /// calls the other soon, which throws once the ranks have halted.
  virtual const std::atomic<bool>* given_up() const = 0;
  virtual void halt_if_given_up() = 0;
};
}  // namespace bora
