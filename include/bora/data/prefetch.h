// prefetch.h -- the rows of the next step, read while kernels run.
#pragma once
#include <functional>
#include "bora/data/dataset.h"

namespace bora::data {
/// Reads one step ahead on a oneTBB worker while kernels run on the other threads. If the system has no thread for the
/// worker, next() reads on the caller.
class Prefetch {
 public:
  using Read = std::function<Rows(std::int64_t step)>;
  /// Calls `read` for first, first + 1, ... in turn, at most one step before next() asks for it.
  Prefetch(Read read, std::int64_t first);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  /// The rows of the next step; rethrows exceptions of `read`.
  Rows next();

 private:
  struct Pipeline;
  std::unique_ptr<Pipeline> pipeline_;
};
}  // namespace bora::data
