// Second copies of ranks' files, on other hosts' disks.
#include <algorithm>
#include <cstring>
#include <utility>
#include "blocks.h"
#include "io/api/parts.h"
#include "io/api/stores.h"

namespace bora::io {
namespace {
/// The bytes of this rank's file, as they lie in memory.
struct Segments {
  struct Segment {
    std::int64_t at;
    const char* data;
    std::int64_t bytes;
  };
  std::vector<Segment> all = {};
  Segments(const std::vector<Leaf>& leaves, const Place& place) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      auto& leaf = leaves[i];
      if (!writes(leaf.spec, i, place.mesh, place.rank)) continue;
      auto bytes = elements(block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank)) *
                   static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
      if (bytes == 0) continue;
      all.push_back({at, static_cast<const char*>(leaf.data), bytes});
      at += bytes;
    }
  }
  void copy(std::int64_t begin, std::int64_t n, char* out) const {
    auto s = std::upper_bound(all.begin(), all.end(), begin, [](auto at, auto& segment) { return at < segment.at; });
    for (--s; n > 0; ++s) {
      auto skip = begin - s->at, take = std::min(n, s->bytes - skip);
      std::memcpy(out, s->data + skip, static_cast<std::size_t>(take));
      begin += take, out += take, n -= take;
    }
  }
};
}  // namespace

std::vector<int> copies_at_hand(const std::vector<Leaf>& leaves, const Place& place) {
  std::vector<int> mine;
  for (int r = 0; r < std::ssize(place.stores.copier); ++r)
    if (place.stores.copier[static_cast<std::size_t>(r)] == place.rank && r != place.rank &&
        has_part_of(leaves, place.mesh, place.rank, r))
      mine.push_back(r);
  return mine;
}
std::map<int, std::string> receive_copies(const std::vector<Leaf>& leaves, const Place& place) {
  std::map<int, std::string> received;
  Trade trade(place);
  Segments mine(leaves, place);
  for (int r = 0; r < std::ssize(place.stores.copier); ++r) {
    auto to = place.stores.copier[static_cast<std::size_t>(r)];
    if (to == r || has_part_of(leaves, place.mesh, to, r)) continue;
    auto bytes = part_bytes(leaves, place.mesh, r);
    if (to == place.rank) received[r].resize(static_cast<std::size_t>(bytes));
    for (std::int64_t at = 0; at < bytes; at += Trade::kPiece) {
      auto n = std::min(Trade::kPiece, bytes - at);
      trade.add(r, to, n, [&mine, at, n](char* out) { mine.copy(at, n, out); },
                [&received, r, at, n](const char* data) {
                  std::memcpy(received.at(r).data() + at, data, static_cast<std::size_t>(n));
                });
    }
  }
  if (auto problem = trade.finish(); !problem.empty()) throw IoError(problem);
  return received;
}
std::int64_t bytes_of_store(const std::vector<Leaf>& leaves, const Place& place) {
  auto& s = place.stores;
  std::int64_t bytes = 0;
  for (int r = 0; r < place.mesh.size(); ++r) {
    auto in_mine = [&](int rank) {
      return s.shared() || s.leader[static_cast<std::size_t>(rank)] == s.leader[static_cast<std::size_t>(place.rank)];
    };
    if (in_mine(r) || in_mine(s.copier[static_cast<std::size_t>(r)])) bytes += part_bytes(leaves, place.mesh, r);
  }
  return bytes;
}
std::string hosts_note(const Stores& stores) {
  std::string text;
  for (int leader = 0; leader < std::ssize(stores.leader); ++leader) {
    if (!stores.leads(leader)) continue;
    auto in = [&](int rank) { return stores.leader[static_cast<std::size_t>(rank)] == leader; };
    text += (text.empty() ? "" : "\n") + stores.hosts[static_cast<std::size_t>(leader)] + ":";
    for (int r = 0; r < std::ssize(stores.leader); ++r)
      if (in(r) || in(stores.copier[static_cast<std::size_t>(r)])) text += " " + std::to_string(r);
  }
  return text;
}
}  // namespace bora::io
