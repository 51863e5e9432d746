// rules.h -- what the rules of a primitive take and give. Plain data, and the abstract services that fx (Batch) and shard implement.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/array.h"

namespace bora {
struct Program;
using ProgramPtr = std::shared_ptr<const Program>;
/// Not `const char*`: a literal 0 would be a null pointer. And nothing that converts to everything: field reflection probes with such.
template <class T> concept Text = std::convertible_to<T, std::string_view> && !std::convertible_to<T, int>;

// ---- derivatives ------------------------------------------------------------------------------------------------------
/// An empty ct is zero; rules return an empty Array for a zero gradient. needs: which inputs want one.
struct Vjp {
  const Arrays& in;
  const Arrays& out;
  const Arrays& ct;
  const Mask& needs;
};
/// What a higher-order primitive gives instead: its forward pass changes to save residuals.
struct Linearized {
  Arrays out;
  std::function<Arrays(const Arrays& ct)> pullback;
};

// ---- meshes and Specs -------------------------------------------------------------------------------------------------
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
/// Mesh axes that split one dimension, major first. none, "data" or {"data", "model"}.
class MeshAxes {
 public:
  MeshAxes() = default;
  MeshAxes(std::nullopt_t) {}
  template <Text S> MeshAxes(const S& s) : v_{AxisName(std::string_view(s))} {}
  MeshAxes(std::initializer_list<std::string_view> l) : v_(l.begin(), l.end()) {}
  explicit MeshAxes(std::vector<AxisName> v) : v_(std::move(v)) {}
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
  std::size_t size() const { return v_.size(); }
  bool empty() const { return v_.empty(); }
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
std::string to_string(const MeshAxes&);  // "data", "data*model", "-"
std::size_t hash_value(const MeshAxes&);

/// For each dimension the mesh axes that split it; dimensions not mentioned are not split. Spec{"data", none}, Spec{{"data", "model"}}.
class Spec {
 public:
  Spec() = default;
  Spec(std::initializer_list<MeshAxes> l) : dims_(l) {}
  explicit Spec(std::vector<MeshAxes> v) : dims_(std::move(v)) {}
  static Spec replicated(std::size_t ndim) { return Spec(std::vector<MeshAxes>(ndim)); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  std::size_t size() const { return dims_.size(); }
  const MeshAxes& operator[](std::size_t d) const { return dims_[d]; }
  MeshAxes& operator[](std::size_t d) { return dims_[d]; }
  void insert(std::size_t at, const MeshAxes& a) { dims_.insert(dims_.begin() + static_cast<std::ptrdiff_t>(at), a); }
  void erase(std::size_t at) { dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(at)); }
  void push_back(const MeshAxes& a) { dims_.push_back(a); }
  void resize(std::size_t n) { dims_.resize(n); }
  bool trivial() const;  // nothing is split
  bool uses(AxisName) const;
  bool operator==(const Spec&) const = default;
 private:
  std::vector<MeshAxes> dims_;
};
std::string to_string(const Spec&);  // "{data, -}"
std::size_t hash_value(const Spec&);
inline std::ostream& operator<<(std::ostream& o, const Spec& s) { return o << to_string(s); }

/// Block b of n elements over `parts`: [n*b/parts, n*(b+1)/parts). Of any size, for any number of ranks, and they NEST: the blocks over
/// (data, model) tile the blocks over data exactly.
struct BlockRange {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  bool operator==(const BlockRange&) const = default;
};
constexpr BlockRange block_of(std::int64_t n, std::int64_t parts, std::int64_t b) {
  return {n * b / parts, n * (b + 1) / parts};
}

/// Ranks with named axes, rank-major, the last axis innermost.
struct MeshShape {
  std::vector<std::pair<AxisName, int>> axes;
  int size() const;
  bool has(AxisName) const;
  int axis_size(AxisName) const;  // throws ShardError naming the axes there are
  int coordinate(int rank, AxisName) const;
  int parts(const MeshAxes&) const;           // product of their sizes
  int part(int rank, const MeshAxes&) const;  // row-major over the listed axes
  std::vector<int> group(int rank,
                         const MeshAxes&) const;  // ranks that differ from `rank` in these axes only, in part order
  bool operator==(const MeshShape&) const = default;
};
std::string to_string(const MeshShape&);  // "data=2,model=1"

/// Moves bytes between the ranks of a mesh, for collectives' eval rules. shard implements it over the transport.
enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, permute };
struct CollectiveCall {
  CollectiveKind kind;
  int reduce = 0;  // 0 sum, 1 max, 2 min
  Dtype dtype = Dtype::f32;
  MeshAxes axes;
  const void* in = nullptr;
  void* out = nullptr;
  std::vector<std::int64_t> send_counts = {}, recv_counts = {};  // elements a member, in part order; see transport.h
  int source = -1, target = -1;                                  // permute: parts
  std::uint64_t fingerprint = 0;
  std::function<std::string()> describe = {};
};
class Communicator {
 public:
  class Handle {
   public:
    virtual ~Handle() = default;
    virtual void wait() = 0;
  };
  virtual ~Communicator() = default;
  virtual std::shared_ptr<Handle> start(const CollectiveCall&) = 0;
  /// Every rank's text, in rank order.
  virtual std::vector<std::string> exchange(const std::string& mine, std::string_view what) = 0;
};
/// This thread's place in a mesh; mesh is null outside of one. in_blocks: inside shard_map, where values are this rank's blocks.
struct Here {
  const MeshShape* mesh = nullptr;
  int rank = 0;
  Communicator* communicator = nullptr;
  bool in_blocks = false;
};
Here& here();
/// here().mesh, or ShardError saying that `what` needs a mesh.
const MeshShape& this_mesh(std::string_view what);

// ---- sharding rules ---------------------------------------------------------------------------------------------------
/// An einsum-like map between dimensions. A label on an input and on the output: independent along it. On inputs only: reduced over it.
/// kNone: the operation needs the whole dimension. Propagation of Specs and pending sums follow from it.
inline constexpr std::int64_t kNone = -1;
struct Factors {
  std::vector<Dims> in, out;
  std::vector<std::size_t> linear{};  // inputs the result is linear in: pending sums may pass through them
  bool joint = false;                 // linear in all of `linear` together (add) rather than in each alone (mul)
  enum class Reduce : std::uint8_t { sum, max, min } reduce = Reduce::sum;
};
/// Shard's view of a value; type is global, partial: mesh axes over which it is a pending sum. A stretched value stays symbolic until
/// somebody needs its block: then `fill` is what broadcast_in_dim stretches, fill_dims say how, and local is empty. Rules get such inputs
/// made real, unless they say takes_symbolic.
struct Sharded {
  Array local;
  Type type;
  Spec spec;
  MeshAxes partial = {};
  Array fill = {};
  Dims fill_dims = {};
};
std::string describe(const Sharded&);  // "f64[8, 4]{data, -} +model"
class ShardRules {
 public:
  virtual ~ShardRules() = default;
  virtual const MeshShape& mesh() const = 0;
  virtual int rank() const = 0;
  /// x moved to `spec`. Pending sums over axes outside `keep` are completed: reduce_scatter where spec asks for that split, else all_reduce.
  virtual Sharded reshard(const Sharded& x, const Spec& spec, const MeshAxes& keep = {}) const = 0;
  Sharded resolve(const Sharded& x) const { return reshard(x, x.spec); }
  /// The value on the first rank of these axes, zero on the others: a complete value as a pending sum.
  virtual Sharded to_partial(const Sharded& x, const MeshAxes&) const = 0;
  virtual std::vector<Sharded> by_factors(const PrimitivePtr&, const Factors&, const std::vector<Sharded>&) = 0;
  /// This rank's block of such an array. ShardError if the Spec names an axis twice or one that does not exist.
  Shape local_shape(const Shape&, const Spec&) const;
  /// Does splitting n and m over these axes cut at the same fractions, on every rank?
  bool same_blocks(std::int64_t n, std::int64_t m, const MeshAxes&) const;
};

// ---- batching rules ---------------------------------------------------------------------------------------------------
struct Mapped {
  Array value;
  std::int64_t axis = -1;  // -1: not mapped
};
class BatchRules {
 public:
  BatchRules(std::int64_t n, std::string name) : size(n), axis_name(std::move(name)) {}
  virtual ~BatchRules() = default;
  const std::int64_t size;
  const std::string axis_name;
  /// The operation with one more leading dimension, on inputs that all have it (unmapped ones are broadcast).
  virtual std::vector<Mapped> lifted(const PrimitivePtr&, const std::vector<Mapped>&) const = 0;
  /// `f`, written with other operations, under a vmap of its own.
  virtual std::vector<Mapped> composite(const FlatFn& f, const std::vector<Mapped>&) const = 0;
  Array front(const Mapped&) const;  // mapped axis first; an unmapped value is broadcast (ops)
};
}  // namespace bora
