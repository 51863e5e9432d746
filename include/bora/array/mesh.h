// mesh.h -- meshes of ranks with named axes, and how an array's dimensions are split over them (Spec).
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora {
/// Text but not int: a literal 0 would be a null `const char*`, and field reflection probes with types that convert to
/// everything.
template <class T> concept TextLike = std::convertible_to<T, std::string_view> && !std::convertible_to<T, int>;

/// An interned name: compared and hashed as a pointer.
class AxisName {
 public:
  AxisName(std::string_view);
  const std::string& str() const { return *name_; }
  bool operator==(const AxisName& o) const { return name_ == o.name_; }
  const void* id() const { return name_; }
 private:
  const std::string* name_;
};
/// The mesh axes that layouts, layers and settings mean by these words.
namespace mesh_axes {
/// The words themselves: the axes "replica", "stage", "data", "context" and "model".
inline constexpr std::string_view kReplica = "replica", kStage = "stage", kData = "data", kContext = "context",
                                  kModel = "model";
}  // namespace mesh_axes
/// An entry of the Spec of a constraint for a dimension that it leaves as it is found (JAX's P.UNCONSTRAINED), printed
/// as `?`. No array is stored so: ShardError where a Spec says how one is placed.
struct Unconstrained {};
inline constexpr Unconstrained unconstrained;  // stands in a Spec: Spec{unconstrained, "data"}
/// Mesh axes that split one dimension, major first: none, "data" or {"data", "model"}.
class MeshAxes {
 public:
  MeshAxes() = default;
  MeshAxes(std::nullopt_t) {}
  MeshAxes(Unconstrained);
  template <TextLike S> MeshAxes(const S& s) : v_{AxisName(std::string_view(s))} {}
  MeshAxes(std::initializer_list<std::string_view> l) : v_(l.begin(), l.end()) {}
  explicit MeshAxes(std::vector<AxisName> v) : v_(std::move(v)) {}
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
  std::size_t size() const { return v_.size(); }
  bool empty() const { return v_.empty(); }
  bool open() const;  // unconstrained
  const AxisName& operator[](std::size_t i) const { return v_[i]; }
  bool has(AxisName a) const;
  void push_back(AxisName a) { v_.push_back(a); }
  void insert_front(AxisName a) { v_.insert(v_.begin(), a); }
  void append(const MeshAxes& o) { v_.insert(v_.end(), o.begin(), o.end()); }
  void remove(AxisName a);
  MeshAxes head(std::size_t n) const {
    return MeshAxes(std::vector<AxisName>(v_.begin(), v_.begin() + static_cast<std::ptrdiff_t>(n)));
  }
  MeshAxes tail(std::size_t n) const {
    return MeshAxes(std::vector<AxisName>(v_.begin() + static_cast<std::ptrdiff_t>(n), v_.end()));
  }
  bool operator==(const MeshAxes&) const = default;
 private:
  std::vector<AxisName> v_;
};
std::string to_string(const MeshAxes&);   // "data", "data*model", "-"
std::size_t hash_value(const MeshAxes&);  // equal axes give equal numbers

/// The mesh axes that split each dimension; dimensions not listed are not split. Spec{"data", none}, Spec{{"data",
/// "model"}}.
class Spec {
 public:
  Spec() = default;
  Spec(std::initializer_list<MeshAxes> l) : dims_(l) {}
  explicit Spec(std::vector<MeshAxes> v) : dims_(std::move(v)) {}
  static Spec replicated(std::size_t ndim) { return Spec(std::vector<MeshAxes>(ndim)); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  std::size_t size() const { return dims_.size(); }
  const MeshAxes& operator[](std::size_t d) const& { return dims_[d]; }
  MeshAxes& operator[](std::size_t d) & { return dims_[d]; }
  MeshAxes operator[](std::size_t d) && { return std::move(dims_[d]); }
  void insert(std::size_t at, const MeshAxes& a) { dims_.insert(dims_.begin() + static_cast<std::ptrdiff_t>(at), a); }
  void erase(std::size_t at) { dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(at)); }
  void push_back(const MeshAxes& a) { dims_.push_back(a); }
  void resize(std::size_t n) { dims_.resize(n); }
  bool trivial() const;  // nothing is split
  bool open() const;     // a dimension is unconstrained
  bool uses(AxisName) const;
  bool operator==(const Spec&) const = default;
 private:
  std::vector<MeshAxes> dims_;
};
std::string to_string(const Spec&);  // "{data, -}"
std::size_t hash_value(const Spec&);
inline std::ostream& operator<<(std::ostream& o, const Spec& s) { return o << to_string(s); }

struct BlockRange {  // the positions begin .. end - 1 of one dimension
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  bool operator==(const BlockRange&) const = default;
};
/// Block b of n elements over equal parts. How a dimension is cut over mesh axes, MeshShape::block says.
constexpr BlockRange equal_block(std::int64_t n, std::int64_t parts, std::int64_t b) {
  return {n * b / parts, n * (b + 1) / parts};
}

/// Ranks with named axes, rank-major, the last axis innermost. Along an axis with shares rank i has s_i / W of a
/// dimension, W the sum of all s, but for rounding.
struct MeshShape {
  std::vector<std::pair<AxisName, int>> axes;
  /// The sums 0, s_0, s_0 + s_1, .., W of the axes that have shares, in their order.
  std::vector<std::pair<AxisName, std::vector<std::int64_t>>> shares = {};
  int size() const;
  bool has(AxisName) const;
  int axis_size(AxisName) const;  // throws ShardError listing the axes that exist
  int coordinate(int rank, AxisName) const;
  int parts(const MeshAxes&) const;           // product of their sizes
  int part(int rank, const MeshAxes&) const;  // row-major over the listed axes
  /// Ranks that differ from `rank` in these axes only, in part order.
  std::vector<int> group(int rank, const MeshAxes&) const;
  /// The elements of a dimension of n that a part over these axes has: of equal parts equal_block; else over axes with
  /// sums A and B part (i, j) begins at floor(n (A_i B + a_i B_j) / (A B)). Any n, any number of parts, and blocks
  /// NEST: those over (data, model) tile those over data exactly.
  BlockRange block(std::int64_t n, const MeshAxes&, std::int64_t part) const;
  BlockRange block_of_rank(std::int64_t n, const MeshAxes&, int rank) const;
  int owner(std::int64_t n, const MeshAxes&, std::int64_t element) const;  // the part that has it; 0 <= element < n
  std::int64_t most(std::int64_t n, const MeshAxes&) const;  // no block of n is larger
  bool equal(const MeshAxes&) const;                         // none of them has shares
  bool cuts_evenly(std::int64_t n, const MeshAxes&) const;   // all blocks of n have one size
  std::vector<std::int64_t> shares_of(AxisName) const;  // one for each of its ranks; 1 each if they are equal
  /// Shares of an axis, up to a common factor; equal ones are none. Throws ConfigError for another number of them than
  /// the axis has ranks, for one below 1, and if all sums multiply to more than 2^62.
  void set_shares(AxisName, const std::vector<int>&);
  bool operator==(const MeshShape&) const = default;
};
std::string to_string(const MeshShape&);  // "data=2,model=1"; with shares "data=4(3:3:2:1),model=1"

/// An axis of a mesh that is to be made.
struct MeshAxis {
  std::string name;
  int size;  // -1: the remaining ranks
  std::vector<int> shares = {};  // of its ranks, for hosts of unequal speed: {"data", 4, {3, 3, 2, 1}}; none: equal
  bool operator==(const MeshAxis&) const = default;
};
}  // namespace bora
