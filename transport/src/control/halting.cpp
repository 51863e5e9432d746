#include "control/halting.h"
#include <algorithm>

namespace bora::transport {
bool Halting::stands(std::size_t rank, const Standing& s) {
  standing_[rank] = s;
  return std::all_of(standing_.begin(), standing_.end(), [](auto& x) { return x.has_value(); });
}
std::optional<std::int64_t> Halting::place() const {
  std::int64_t newest = -1;
  for (auto& s : standing_) {
    if (s->done < 0) return {};
    newest = std::max(newest, s->done);
  }
  bool can = std::all_of(standing_.begin(), standing_.end(),
                         [&](auto& s) { return s->done < newest || !s->inside || s->returns; });
  return can ? std::optional(newest) : std::nullopt;
}
bool Halting::arrives(std::size_t rank) {
  arrived_[rank] = true;
  return std::all_of(arrived_.begin(), arrived_.end(), [](bool x) { return x; });
}
}  // namespace bora::transport
