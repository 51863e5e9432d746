// crowd.h -- threads that get no cores because other programs want them: for a while after a loop had to wait for one,
// short loops are left to their callers, and for as long as threads keep losing their cores.
#pragma once
#include <chrono>

namespace bora::detail {
/// Nanoseconds that a loop is worth on one thread, below which its caller may be left alone with it. A region of OpenMP
/// ends with its last thread, also with one that had no work: there waiting costs more.
inline constexpr double kShortLoop = 200e3, kShortRegion = 2e6;
/// Whether a loop worth so many nanoseconds, less than `below`, is to be run by its caller alone.
bool alone_in_crowd(double nanoseconds, double below);
/// A caller waited so long for the other threads of a loop, whose ranges are worth so many nanoseconds each. A wait
/// that is much longer means a crowd if threads of this process lose their cores to others: for 10 ms, and for twice
/// as long each time that another wait follows, up to 320 ms.
void waited_for_threads(std::chrono::steady_clock::duration wait, double range_nanoseconds);
/// Loops try their threads again.
void crowd_is_over();
}  // namespace bora::detail
