// mesh_sizes.h -- the axes of a mesh that is to be made: their one parser, and the mesh that they make of a number of
// ranks.
#pragma once
#include "bora/array/mesh.h"

namespace bora {
/// The axes of a mesh that is to be made, in order, as settings write them: data=2,model=-1.
class MeshSizes {
 public:
  MeshSizes() = default;
  MeshSizes(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {}
  template <TextLike S> MeshSizes(const S& text) : MeshSizes(parse(std::string_view(text))) {}
  /// Throws ConfigError for another form, a size below 1 that is not -1, an axis given twice, a second -1.
  static MeshSizes parse(std::string_view text);
  auto begin() const { return axes_.begin(); }
  auto end() const { return axes_.end(); }
  bool empty() const { return axes_.empty(); }
  const std::vector<MeshAxis>& axes() const { return axes_; }
  bool open() const;           // one size is -1
  std::int64_t ranks() const;  // product of the sizes that are given, at most 2^60
  friend std::string to_string(const MeshSizes&);
  friend bool operator==(const MeshSizes&, const MeshSizes&) = default;
 private:
  std::vector<MeshAxis> axes_;
};
/// The shares of the ranks of mesh axes as settings write them: data=3:3:2:1,model=1:2. `auto`: those of axis data are
/// to be measured.
class MeshShares {
 public:
  struct Of {
    std::string axis;
    std::vector<int> each;
    bool operator==(const Of&) const = default;
  };
  MeshShares() = default;
  template <TextLike S> MeshShares(const S& text) : MeshShares(parse(std::string_view(text))) {}
  /// Throws ConfigError for another form, a share below 1, an axis given twice.
  static MeshShares parse(std::string_view text);
  auto begin() const { return of_.begin(); }
  auto end() const { return of_.end(); }
  bool empty() const { return of_.empty() && !automatic_; }
  bool automatic() const { return automatic_; }
  /// The mesh with them; of `auto` as it is. Throws ConfigError for an axis that it lacks, or another number of shares
  /// than the axis has ranks.
  MeshShape of(MeshShape) const;
  friend std::string to_string(const MeshShares&);
  friend bool operator==(const MeshShares&, const MeshShares&) = default;
 private:
  std::vector<Of> of_;
  bool automatic_ = false;
};
/// The axes with -1 filled in for `ranks` ranks. Throws ConfigError if they do not fit.
MeshShape mesh_shape(const MeshSizes&, int ranks);
/// Checks that hold for a job of any size: names, sizes of 1 or more, one -1 at most. ConfigError.
void check_axes(const MeshSizes&);
}  // namespace bora
