// jobs.h -- independent pieces of reading, converting and verifying, whose times differ: never inside of kernels.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace bora::io {
/// A piece of work, and about how many bytes it goes through.
struct Job {
  std::int64_t bytes;
  std::function<void()> run;
};
/// Runs the jobs that list(jobs) adds, at most thread_count() at a time: a thread that has finished one takes the next.
/// Little work is done by the caller alone. Errors are those of a loop that runs each job where it is added: if jobs
/// throw, the exception of the first of them is rethrown, and later ones may be left out; what `list` throws comes
/// behind the jobs before it. Jobs must not run operations of Arrays, whose context is the caller's.
void run_jobs(const std::function<void(std::vector<Job>& jobs)>& list);
}  // namespace bora::io
