// halting.h -- the agreement of all ranks on where they halt, as the coordinator makes it (Context::ask_to_halt).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace bora::transport {
/// Where a rank stands among pieces of work that all ranks do in the same order.
struct Standing {
  std::int64_t done = -1;  // the last piece that it has done; -1: it has not said
  bool inside = false;     // of the next one
  bool returns = false;    // inside of it, and can go back to the end of the last one
};
/// One agreement. First all ranks say where they stand, and hold still at the next end of a piece; then all of them get
/// to the same place, and say so.
class Halting {
 public:
  Halting(std::uint64_t number, std::size_t ranks) : number_(number), standing_(ranks), arrived_(ranks, false) {}
  std::uint64_t number() const { return number_; }
  /// True once all have said it.
  bool stands(std::size_t rank, const Standing&);
  /// The newest piece that some rank has done: those before it still get there. None where one that is inside of the
  /// next piece cannot go back, or has not said where it stands.
  std::optional<std::int64_t> place() const;
  /// True once all have arrived.
  bool arrives(std::size_t rank);

 private:
  std::uint64_t number_;
  std::vector<std::optional<Standing>> standing_;
  std::vector<bool> arrived_;
};
}  // namespace bora::transport
