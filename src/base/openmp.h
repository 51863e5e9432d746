// openmp.h -- loops on the threads of OpenMP (libgomp): those of the calling thread's own pool, which it shares with
// OpenMP loops of the program.
#pragma once
#include <cstdint>
#include <vector>
#include "bora/base/parallel.h"

namespace bora::detail {
/// Calls f(context, begin, end) for `parts` ranges of [0, n), as Team::run does, in a region of `threads` threads, at
/// least `parts`; on the caller alone in a region of the program's own, unless OMP_MAX_ACTIVE_LEVELS allows one in it.
/// Concurrent callers, but those in regions, share the threads: `parts` is lowered. A loop of few nanoseconds is also
/// left to its caller while threads wait for cores, since a region ends with its last thread. False, and nothing done,
/// where the calling thread's pool cannot be made so large, or the process was forked: libgomp would end the process,
/// or wait for threads that do not exist. A fork inside of a range ends the child.
bool run_on_openmp(RangeFn f, void* context, std::int64_t n, std::int64_t parts, int threads,
                   double nanoseconds);
/// The processors of OpenMP's places, where OMP_PROC_BIND or OMP_PLACES is set: libgomp has bound the calling thread to
/// the first of them. Empty otherwise.
std::vector<int> cpus_of_places();
/// Pools may have been bound to other cores, or are to be tried again.
void openmp_changed();
}  // namespace bora::detail
