// epochs.h -- a job whose ranks meet again: after a loss, or with others.
#pragma once
#include "job.h"

namespace bora::app {
/// Returned by f of on_meshes, on all ranks: they meet again, with others, and f is called again.
inline constexpr int kMeetAgain = -1;
/// Gives what this process holds to the heirs, ranks of a mesh of all that were left (launch::heirs).
using HandOver = std::function<void(const Mesh&, const std::vector<int>& heirs)>;
/// As on_mesh. Ranks of an elastic job meet again after a loss, and f is called again.
int on_meshes(const Job&, const HandOver&, const std::function<int(const Mesh&)>& f);
}  // namespace bora::app
