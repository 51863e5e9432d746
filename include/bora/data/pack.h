// pack.h -- documents of any length packed into rows of one capacity.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bora::data {
/// The row that takes a document: the first of the open rows with room for it, or the one that it fills best.
enum class Packing { first_fit, best_fit };
/// A document that is longer than a row: pieces of a row's capacity (the last one shorter), none of it, or ValueError.
enum class TooLong { cut, drop, error };
struct PackOptions {                     // of pack
  std::int64_t capacity = 0;             // tokens of a row
  Packing packing = Packing::first_fit;  // which open row takes a document
  TooLong too_long = TooLong::cut;       // what becomes of a document longer than a row
  std::int64_t open_rows = 1024;         // a document that fits none of them closes them all (Grain's num_packing_bins)
  std::int64_t max_segments = 0;         // documents of a row; 0: any number
};
/// A part of a row: `length` tokens of a document, from its token `begin` on, at token `offset` of the row.
struct Segment {
  std::int64_t document, begin, length, offset;
  bool operator==(const Segment&) const = default;
};
/// Documents by row: 8 bytes a document (4 more if any is cut) and 8 a row.
class Packed {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()) - 1; }  // rows
  std::int64_t capacity() const { return capacity_; }
  /// The parts of a row, in order and without gaps. IndexError.
  std::vector<Segment> at(std::int64_t row) const;
  std::int64_t tokens() const { return tokens_; }    // of all rows
  std::int64_t dropped() const { return dropped_; }  // documents
  /// Tokens / capacity of all rows; 1 if there is no row.
  double efficiency() const;

 private:
  friend Packed pack(std::int64_t, const std::function<std::int64_t(std::int64_t)>&, const PackOptions&);
  struct Open;
  std::int64_t capacity_ = 0, tokens_ = 0, dropped_ = 0;
  std::vector<std::int64_t> starts_ = {0};                 // of each row, in the arrays below
  std::vector<std::uint32_t> documents_, lengths_, cuts_;  // cuts_: number of the piece; empty if none is cut
};
/// Packs documents 0, 1, .. in order; rows and their contents equal Grain's FirstFitPackIterDataset and
/// BestFitPackIterDataset (shuffle_bins = False). length(document) is called once for each. Time O(documents *
/// log(open_rows)). ValueError: options outside their domain, a negative length, 2^32 documents or more.
Packed pack(std::int64_t documents, const std::function<std::int64_t(std::int64_t)>& length, const PackOptions&);
Packed pack(std::span<const std::int64_t> lengths, const PackOptions&);
}  // namespace bora::data
