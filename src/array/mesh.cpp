#include "bora/array/mesh.h"
#include <algorithm>
#include <mutex>
#include <unordered_set>
#include "bora/array/communicator.h"
#include "bora/base/error.h"
#include "bora/base/shape.h"

namespace bora {
AxisName::AxisName(std::string_view s) {
  static std::mutex m;
  static auto* names = new std::unordered_set<std::string>;  // never destroyed: names outlive every static
  std::lock_guard l(m);
  name_ = &*names->emplace(s).first;
}
namespace {
const AxisName& open_axis() {
  static const AxisName open("?");
  return open;
}
}  // namespace
MeshAxes::MeshAxes(Unconstrained) : v_{open_axis()} {}
bool MeshAxes::open() const { return v_.size() == 1 && v_[0] == open_axis(); }
bool MeshAxes::has(AxisName a) const { return std::find(v_.begin(), v_.end(), a) != v_.end(); }
void MeshAxes::remove(AxisName a) { v_.erase(std::remove(v_.begin(), v_.end(), a), v_.end()); }
std::string to_string(const MeshAxes& m) {
  std::string r;
  for (auto& a : m) r += (r.empty() ? "" : "*") + a.str();
  return r.empty() ? "-" : r;
}
std::size_t hash_value(const MeshAxes& m) {
  std::size_t h = m.size();
  for (auto& a : m) h = hash_combine(h, std::hash<const void*>{}(a.id()));
  return h;
}
bool Spec::trivial() const {
  return std::all_of(begin(), end(), [](auto& a) { return a.empty(); });
}
bool Spec::open() const {
  return std::any_of(begin(), end(), [](auto& a) { return a.open(); });
}
bool Spec::uses(AxisName a) const {
  return std::any_of(begin(), end(), [&](auto& d) { return d.has(a); });
}
std::string to_string(const Spec& s) {
  std::string r = "{";
  for (std::size_t d = 0; d < s.size(); ++d) r += (d ? ", " : "") + to_string(s[d]);
  return r + "}";
}
std::size_t hash_value(const Spec& s) {
  std::size_t h = s.size();
  for (auto& m : s) h = hash_combine(h, hash_value(m));
  return h;
}

int MeshShape::size() const {
  int n = 1;
  for (auto& a : axes) n *= a.second;
  return n;
}
bool MeshShape::has(AxisName a) const {
  return std::any_of(axes.begin(), axes.end(), [&](auto& x) { return x.first == a; });
}
namespace {
[[noreturn]] void no_axis(const MeshShape& m, AxisName a) {
  check<ShardError>(!MeshAxes(std::vector{a}).open(), "`unconstrained` says nothing about a dimension, so that it is "
                    "no place for an array: only with_sharding_constraint takes it; use none or mesh axes here");
  fail<ShardError>("no mesh axis named '", a.str(), "'; the mesh is ", m.axes.empty() ? "empty" : to_string(m));
}
}  // namespace
int MeshShape::axis_size(AxisName a) const {
  for (auto& x : axes)
    if (x.first == a) return x.second;
  no_axis(*this, a);
}
int MeshShape::coordinate(int rank, AxisName a) const {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].first == a) return rank % axes[i].second;
    rank /= axes[i].second;
  }
  no_axis(*this, a);
}
int MeshShape::parts(const MeshAxes& m) const {
  int n = 1;
  for (auto& a : m) n *= axis_size(a);
  return n;
}
int MeshShape::part(int rank, const MeshAxes& m) const {
  int p = 0;
  for (auto& a : m) p = p * axis_size(a) + coordinate(rank, a);
  return p;
}
std::vector<int> MeshShape::group(int rank, const MeshAxes& m) const {
  std::vector<int> g(static_cast<std::size_t>(parts(m)));
  for (int r = 0; r < size(); ++r) {
    bool same = true;
    for (auto& a : axes) same = same && (m.has(a.first) || coordinate(r, a.first) == coordinate(rank, a.first));
    if (same) g[static_cast<std::size_t>(part(r, m))] = r;
  }
  return g;
}
std::string to_string(const MeshShape& m) {
  std::string r;
  for (auto& a : m.axes) r += (r.empty() ? "" : ",") + a.first.str() + "=" + std::to_string(a.second);
  return r;
}

Here& here() {
  static thread_local Here h;
  return h;
}
const MeshShape& this_mesh(std::string_view what) {
  check<ShardError>(here().mesh != nullptr, what, ": no mesh is active; open one with UseMesh or local_mesh");
  return *here().mesh;
}
}  // namespace bora
