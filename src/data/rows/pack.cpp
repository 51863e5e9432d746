#include "bora/data/pack.h"
#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include "bora/base/error.h"

namespace bora::data {
/// The open rows, until no document fits any more.
struct Packed::Open {
  Open(const PackOptions& o, Packed& p)
      : options(o),
        packed(p),
        n(static_cast<std::size_t>(o.open_rows)),
        leaves(std::bit_ceil(n)),
        most(o.packing == Packing::first_fit ? 2 * leaves : 0),
        room(n),
        segments(n) {
    clear();
  }
  void clear() {
    std::fill(room.begin(), room.end(), options.capacity);
    std::fill(segments.begin(), segments.end(), 0);
    parts.clear();
    used = 0;
    if (options.packing == Packing::first_fit) {
      for (std::size_t i = 0; i < leaves; ++i) most[leaves + i] = i < n ? options.capacity : -1;
      for (auto i = leaves - 1; i > 0; --i) most[i] = std::max(most[2 * i], most[2 * i + 1]);
    } else {
      by_room.clear();
    }
  }
  /// The row that takes `length` tokens; n if there is none. Rows are opened in order.
  std::size_t choose(std::int64_t length) const {
    if (options.packing == Packing::first_fit) {
      if (most[1] < length) return n;
      std::size_t i = 1;
      while (i < leaves) i = most[2 * i] >= length ? 2 * i : 2 * i + 1;
      return i - leaves;
    }
    auto fit = by_room.lower_bound({length, 0});
    return fit == by_room.end() ? used : fit->second;
  }
  void put(std::size_t row, std::uint32_t document, std::uint32_t length, std::uint32_t cut) {
    parts.push_back({static_cast<std::uint32_t>(row), document, length, cut});
    auto before = room[row];
    room[row] -= length;
    bool fresh = segments[row]++ == 0, full = segments[row] == options.max_segments;
    if (fresh) ++used;
    if (options.packing == Packing::first_fit) {
      auto i = leaves + row;
      most[i] = full ? -1 : room[row];
      while ((i /= 2) > 0) most[i] = std::max(most[2 * i], most[2 * i + 1]);
    } else {
      auto node = fresh ? decltype(by_room)::node_type() : by_room.extract({before, row});
      if (node && !full) {
        node.value().first = room[row];
        by_room.insert(std::move(node));
      } else if (!full) {
        by_room.insert({room[row], row});
      }
    }
  }
  void add(std::uint32_t document, std::uint32_t length, std::uint32_t cut) {
    auto row = choose(length);
    if (row == n) {
      close();
      row = 0;
    }
    put(row, document, length, cut);
  }
  /// Appends the rows to the result: each row's parts, in the order in which they came.
  void close() {
    auto base = packed.documents_.size();
    auto& starts = packed.starts_;
    auto first = starts.size() - 1;
    for (std::size_t row = 0; row < used; ++row) starts.push_back(starts.back() + segments[row]);
    packed.documents_.resize(base + parts.size());
    packed.lengths_.resize(base + parts.size());
    bool cut = !packed.cuts_.empty() || std::any_of(parts.begin(), parts.end(), [](auto& p) { return p.cut > 0; });
    if (cut) packed.cuts_.resize(base + parts.size());
    std::vector<std::int64_t> next(starts.begin() + static_cast<std::ptrdiff_t>(first), starts.end());
    for (auto& part : parts) {
      auto to = static_cast<std::size_t>(next[part.row]++);
      packed.documents_[to] = part.document;
      packed.lengths_[to] = part.length;
      packed.tokens_ += part.length;
      if (cut) packed.cuts_[to] = part.cut;
    }
    clear();
  }

  struct Part {
    std::uint32_t row, document, length, cut;
  };
  const PackOptions& options;
  Packed& packed;
  std::size_t n, leaves, used = 0;                              // used: rows with a document; they are the first ones
  std::vector<std::int64_t> most, room, segments;               // most: largest room below each node of a binary tree
  std::set<std::pair<std::int64_t, std::size_t>> by_room = {};  // of rows in use that may take more
  std::vector<Part> parts = {};
};

Packed pack(std::int64_t documents, const std::function<std::int64_t(std::int64_t)>& length,
            const PackOptions& options) {
  constexpr auto kMost = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  check<ValueError>(options.capacity > 0 && options.capacity <= kMost, "pack: a row of ", options.capacity,
                    " tokens; capacity must be in [1, 2^32)");
  check<ValueError>(options.open_rows > 0 && options.open_rows <= kMost, "pack: ", options.open_rows,
                    " open rows; open_rows must be in [1, 2^32)");
  check<ValueError>(options.max_segments >= 0, "pack: max_segments is ", options.max_segments, "; 0 means any number");
  check<ValueError>(documents >= 0 && documents <= kMost, "pack: ", documents, " documents; at most 2^32 - 1 fit");
  Packed packed;
  packed.capacity_ = options.capacity;
  Packed::Open open(options, packed);
  for (std::int64_t d = 0; d < documents; ++d) {
    auto left = length(d);
    check<ValueError>(left >= 0, "pack: document ", d, " has the length ", left);
    if (left > options.capacity && options.too_long != TooLong::cut) {
      check<ValueError>(options.too_long == TooLong::drop, "pack: document ", d, " has ", left,
                        " tokens, a row has room for ", options.capacity, "; cut or drop long documents");
      ++packed.dropped_;
      continue;
    }
    check<ValueError>((left - 1) / options.capacity <= kMost, "pack: document ", d, " has ", left,
                      " tokens, more than 2^32 rows of ", options.capacity);
    std::uint32_t cut = 0;
    do {
      auto take = std::min(left, options.capacity);
      open.add(static_cast<std::uint32_t>(d), static_cast<std::uint32_t>(take), cut++);
      left -= take;
    } while (left > 0);
  }
  open.close();
  return packed;
}
Packed pack(std::span<const std::int64_t> lengths, const PackOptions& options) {
  return pack(
      static_cast<std::int64_t>(lengths.size()), [&](std::int64_t d) { return lengths[static_cast<std::size_t>(d)]; },
      options);
}
std::vector<Segment> Packed::at(std::int64_t row) const {
  check<IndexError>(row >= 0 && row < size(), "pack: there is no row ", row, " of ", size());
  std::vector<Segment> segments;
  std::int64_t offset = 0;
  auto end = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row) + 1]);
  for (auto i = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row)]); i < end; ++i) {
    std::int64_t length = lengths_[i], cut = cuts_.empty() ? 0 : cuts_[i];
    segments.push_back({documents_[i], cut * capacity_, length, offset});
    offset += length;
  }
  return segments;
}
double Packed::efficiency() const {
  if (size() == 0) return 1;
  return static_cast<double>(tokens_) / (static_cast<double>(size()) * static_cast<double>(capacity_));
}
}  // namespace bora::data
