#include "io/api/compare.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include "blocks.h"
#include "bora/array/array.h"
#include "io/api/boxes.h"

namespace bora::io {
namespace {
constexpr std::int64_t kPiece = 1 << 20;  // numbers of a leaf that are compared at a time

std::string text_of(const Type& a, const Type& b) {
  std::ostringstream o;
  o << a << " in A, " << b << " in B";
  return o.str();
}
Box whole(const Type& type) {
  Box box;
  for (std::size_t d = 0; d < type.shape.size(); ++d) box.push_back({0, type.shape[d]});
  return box;
}
std::vector<double> numbers_of(const Type& type, const std::vector<char>& bytes) {
  if (is_complex(type.dtype)) {  // real and imaginary parts, one after the other
    Type parts{{type.shape.size() * 2}, type.dtype == Dtype::complex64 ? f32 : f64};
    return from_bytes(parts, bytes.data()).astype(f64).to_vector<double>();
  }
  return from_bytes(type, bytes.data()).astype(f64).to_vector<double>();
}
struct Sums {
  double largest = 0, differences = 0, squares = 0;
  void take(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      bool none = std::isnan(a[i]), other = std::isnan(b[i]);
      auto d = none && other ? 0.0 : a[i] == b[i] ? 0.0 : std::fabs(a[i] - b[i]);
      if (std::isnan(d) || std::isnan(largest)) largest = std::numeric_limits<double>::quiet_NaN();
      else largest = std::max(largest, d);
      differences += d * d;
      squares += a[i] * a[i];
    }
  }
};
/// Whether the bytes differ; then `out` says how much.
bool differ(const std::string& a, const StoredLeaf& in_a, const std::string& b, const StoredLeaf& in_b,
            LeafDifference& out) {
  bool different = false;
  Sums sums;
  for (auto& piece : pieces(whole(in_a.type), kPiece)) {
    if (elements(piece) == 0) continue;
    Type type{Shape(Dims{elements(piece)}), in_a.type.dtype};
    std::vector<char> one(type.nbytes()), two(one.size());
    read_boxes(a, {{&in_a, piece, one.data()}});
    read_boxes(b, {{&in_b, piece, two.data()}});
    different = different || one != two;
    if (type.dtype == Dtype::key) continue;  // no numbers
    sums.take(numbers_of(type, one), numbers_of(type, two));
  }
  out.largest = sums.largest;
  out.relative = sums.differences == 0 ? 0 : std::sqrt(sums.differences / sums.squares);
  return different;
}
}  // namespace

Comparison compare_checkpoints(const std::string& a, const std::string& b) {
  auto in_a = read_manifest(a), in_b = read_manifest(b);
  Comparison r;
  for (auto& leaf : in_a.leaves) {
    auto other = in_b.find(leaf.path);
    LeafDifference d{.path = leaf.path};
    if (!other) d.types = "only in A";
    else if (other->type != leaf.type) d.types = text_of(leaf.type, other->type);
    else if (!differ(a, leaf, b, *other, d)) {
      ++r.same;
      continue;
    }
    r.different.push_back(std::move(d));
  }
  for (auto& leaf : in_b.leaves)
    if (!in_a.find(leaf.path)) r.different.push_back({.path = leaf.path, .types = "only in B"});
  return r;
}
}  // namespace bora::io
