// cuts.h -- where sorted rows that lie in parts on several ranks are cut, so that each rank gets its block of the whole
// order. Private.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "bora/base/shape.h"

namespace bora::ops {
/// Finds, for rows that lie sorted in parts, how many elements of each part are among the first `before` of a row, for
/// several such numbers (the cuts). Elements are ordered by key, then by part, then by place in the part, so that equal
/// keys have one order and every cut is exact. Parts tell each other the keys at some places of the stretches that may
/// hold a cut, again and again; each round leaves at most 8 / samples of what it began with. Every part does the same
/// with the same numbers, so all end after the same round.
class Cuts {
 public:
  /// parts: elements of a row in each part. samples: places of a part that are asked for in a round, for each cut of a
  /// row; at least 16.
  Cuts(std::int64_t rows, Dims parts, Dims before, std::int64_t samples);
  bool found() const { return open_.empty(); }
  /// The places (row * its length + place in the row) of part p whose keys all parts learn next.
  Dims asked(std::size_t p) const;
  /// Takes these keys, those of part 0 first.
  void learn(std::span<const std::uint64_t> keys);
  /// The elements of a row's part p before cut k; the last cut is the end of the row.
  std::int64_t at(std::int64_t row, std::size_t p, std::size_t k) const {
    return k == before_.size() ? parts_[p] : found_[place_of(row, k) + p];
  }

 private:
  /// A stretch of each part, in which all of these cuts lie: cut c after at least low[p] and at most high[p] elements.
  struct Window {
    std::int64_t row;
    std::vector<std::size_t> cuts;
    Dims low, high;
  };
  struct Sample {
    std::uint64_t key;
    std::size_t part;
    std::int64_t place, next;  // of the next sample of this part; the end of the stretch if there is none
  };
  std::size_t place_of(std::int64_t row, std::size_t cut) const {
    return (static_cast<std::size_t>(row) * before_.size() + cut) * parts_.size();
  }
  Dims places(const Window&, std::size_t p) const;
  void open(Window);
  void narrow(const Window&, std::size_t cut, const std::vector<Sample>& sorted, const Dims& first);
  const Dims parts_, before_;
  const std::int64_t samples_;
  Dims found_;
  std::vector<Window> open_;
};
}  // namespace bora::ops
