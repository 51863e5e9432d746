#include "bora/array/mesh.h"
#include <algorithm>
#include <mutex>
#include <numeric>
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
std::string shares_text(const std::vector<std::int64_t>& shares) {  // "3:3:2:1"
  std::string r;
  for (auto s : shares) r += (r.empty() ? "" : ":") + std::to_string(s);
  return r;
}
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
  for (auto& [axis, size] : m.axes) {
    r += (r.empty() ? "" : ",") + axis.str() + "=" + std::to_string(size);
    if (!m.equal(MeshAxes(std::vector{axis}))) r += "(" + shares_text(m.shares_of(axis)) + ")";
  }
  return r;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------
namespace {
using Wide = __int128;
constexpr std::int64_t kMost = std::int64_t{1} << 62;  // of all sums: times a dimension they fit into 127 bits
const std::vector<std::int64_t>* sums_of(const MeshShape& m, AxisName axis) {
  for (auto& s : m.shares)
    if (s.first == axis) return &s.second;
  return nullptr;
}
}  // namespace
BlockRange MeshShape::block(std::int64_t n, const MeshAxes& of, std::int64_t part) const {
  if (equal(of)) return equal_block(n, parts(of), part);
  // Of the axes seen so far, from the innermost one: where the part begins, its width, and their sum of all.
  Wide begin = 0, width = 1, all = 1;
  for (auto k = of.size(); k-- > 0;) {
    auto size = axis_size(of[k]);
    auto i = part % size;
    part /= size;
    auto* sums = sums_of(*this, of[k]);
    auto before = sums ? (*sums)[static_cast<std::size_t>(i)] : i;
    auto own = sums ? (*sums)[static_cast<std::size_t>(i) + 1] - before : 1;
    begin = before * all + own * begin;
    width *= own;
    all *= sums ? sums->back() : size;
  }
  return {static_cast<std::int64_t>(n * begin / all), static_cast<std::int64_t>(n * (begin + width) / all)};
}
BlockRange MeshShape::block_of_rank(std::int64_t n, const MeshAxes& of, int rank) const {
  return block(n, of, part(rank, of));
}
int MeshShape::owner(std::int64_t n, const MeshAxes& of, std::int64_t element) const {
  auto count = parts(of);
  if (equal(of)) return static_cast<int>(((element + 1) * count - 1) / n);
  int low = 0, high = count - 1;  // the first part that ends behind the element
  while (low < high) {
    auto middle = low + (high - low) / 2;
    if (block(n, of, middle).end > element) high = middle;
    else low = middle + 1;
  }
  return low;
}
std::int64_t MeshShape::most(std::int64_t n, const MeshAxes& of) const {
  Wide width = 1, all = 1;
  for (auto& a : of) {
    auto each = shares_of(a);
    width *= *std::max_element(each.begin(), each.end());
    all *= std::accumulate(each.begin(), each.end(), std::int64_t{0});
  }
  return static_cast<std::int64_t>((n * width + all - 1) / all);
}
bool MeshShape::equal(const MeshAxes& of) const {
  return shares.empty() || std::none_of(of.begin(), of.end(), [&](auto& a) { return sums_of(*this, a); });
}
bool MeshShape::cuts_evenly(std::int64_t n, const MeshAxes& of) const {
  auto count = parts(of);
  if (n % count != 0) return false;
  for (int p = 0; p < count && !equal(of); ++p)
    if (block(n, of, p).size() != n / count) return false;
  return true;
}
std::vector<std::int64_t> MeshShape::shares_of(AxisName axis) const {
  auto n = static_cast<std::size_t>(axis_size(axis));
  auto* sums = sums_of(*this, axis);
  std::vector<std::int64_t> r(n, 1);
  for (std::size_t i = 0; sums && i < n; ++i) r[i] = (*sums)[i + 1] - (*sums)[i];
  return r;
}
void MeshShape::set_shares(AxisName axis, const std::vector<int>& each) {
  auto n = axis_size(axis);
  std::erase_if(shares, [&](auto& s) { return s.first == axis; });
  if (each.empty()) return;
  auto text = [&] { return shares_text({each.begin(), each.end()}); };
  check<ConfigError>(each.size() == static_cast<std::size_t>(n), "mesh: axis '", axis.str(), "' has ", n, " rank",
                     n == 1 ? "" : "s", ", but ", each.size(), " share", each.size() == 1 ? "" : "s", " (", text,
                     "); give one for each of its ranks, or none");
  for (auto s : each)
    check<ConfigError>(s >= 1, "mesh: the shares of axis '", axis.str(), "' are ", text, "; each must be 1 or more");
  int common = 0;
  for (auto s : each) common = std::gcd(common, s);
  std::vector<std::int64_t> sums{0};
  for (auto s : each) sums.push_back(sums.back() + s / common);
  if (sums.back() == n) return;
  Wide all = sums.back();
  for (auto& [other, size] : axes)
    if (auto* others = sums_of(*this, other); !(other == axis)) all *= others ? others->back() : size;
  check<ConfigError>(all <= kMost, "mesh: with the shares ", text, " of axis '", axis.str(), "' the sums of all ",
                     "axes multiply to more than 2^62; give smaller numbers");
  auto place = [&](AxisName a) {
    return std::find_if(axes.begin(), axes.end(), [&](auto& x) { return x.first == a; });
  };
  auto at = std::find_if(shares.begin(), shares.end(), [&](auto& s) { return place(s.first) > place(axis); });
  shares.insert(at, {axis, std::move(sums)});
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
