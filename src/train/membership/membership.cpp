#include "bora/train/membership.h"
#include <exception>
#include "bora/transport/transport.h"

namespace bora::training {
int run_generations(Membership* membership, const std::function<int()>& run) {
  for (;;) {
    std::exception_ptr lost;
    std::string reason;
    int missed = -1;
    try {
      auto code = run();
      if (code != kNextGeneration) return code;
    } catch (const transport::RankLost& e) {
      lost = std::current_exception();
      reason = e.text();
      missed = e.rank;
    }
    if (membership && membership->next_generation(reason, missed)) continue;
    if (!lost) return 130;  // the launcher is ending the job
    std::rethrow_exception(lost);
  }
}
}  // namespace bora::training
