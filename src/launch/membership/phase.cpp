#include "phase.h"

namespace bora::launch {
Phase next(Phase now, Event event) {
  using enum Phase;
  auto in = [&](auto... from) { return ((now == from) || ...); };
  switch (event) {
    case Event::ready: return in(connecting) ? running : now;
    case Event::asked: return in(running) ? draining : now;
    case Event::left: return in(running, draining) ? regrouping : now;
    case Event::lost: return in(running, draining, regrouping, handing_over) ? recovering : now;
    case Event::fatal: return in(running, draining, regrouping, handing_over, recovering) ? failing : now;
    case Event::regrouped: return in(regrouping, handing_over, recovering) ? running : now;
    case Event::hand_over: return in(regrouping, recovering) ? handing_over : now;
    case Event::hopeless: return in(regrouping, handing_over, recovering) ? failed : now;
    case Event::stop:
      if (in(connecting, running, draining, failing)) return stopping;
      return in(regrouping, handing_over, recovering, stopping, ended) ? stopped : now;
    case Event::deadline: return in(failing) ? ended : in(stopping) ? stopped : now;
    case Event::finished:
      if (in(stopping)) return stopped;
      return in(running, draining, regrouping, handing_over, recovering, failing) ? ended : now;
  }
  return now;
}
}  // namespace bora::launch
