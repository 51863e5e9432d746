// windows.h -- the bytes of row r of step s: a pure function of (seed, s * batch + r), the same for every number of
// hosts. The only data state of a training run is its step.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "bora/data/text.h"

namespace bora::data {
/// Position of element `index` of [0, n) in a pseudorandom permutation of [0, n), in O(1): a Feistel network with
/// Simon's round function, repeated until the result is below n. The values are Grain's index_shuffle(index, n - 1,
/// seed, 4), except for n = 4^k + 1, where Grain's function is no permutation. Source:
/// grain/_src/python/experimental/index_shuffle.
std::uint64_t index_shuffle(std::uint64_t index, std::uint64_t n, std::uint32_t seed);

/// Rows [begin, end) of a global batch: the rows one rank reads.
struct Rows {
  std::int64_t step = 0, begin = 0, end = 0;
  std::vector<std::uint8_t> tokens = {};  // [end - begin, positions + 1]
  std::vector<float> weights = {};        // [end - begin]: 1, or 0 for a row past the end of an evaluation
};

/// Windows of positions + 1 bytes: inputs, and targets one byte further. Neighbouring windows share one byte.
struct Windows {
  Stream stream;
  std::int64_t positions = 0;
  std::int64_t size() const;  // windows in one pass over the stream
  /// Rows [begin, end) of training step `step`. Every pass shuffles all windows anew and cuts the ring at another byte.
  Rows training_rows(std::int64_t step, std::int64_t batch, std::int64_t begin, std::int64_t end,
                     std::int64_t seed) const;
  /// Rows [begin, end) of evaluation batch `step` over `count` windows spread evenly over the stream.
  Rows evaluation_rows(std::int64_t step, std::int64_t batch, std::int64_t begin, std::int64_t end,
                       std::int64_t count) const;
};

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
