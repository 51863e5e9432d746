// work.h -- shared by the laws of work: what a Program costs each rank, and how much of it is a rank's share.
#pragma once
#include <sstream>
#include <string>
#include "bora/ops/creation.h"
#include "bora/shard/abstract.h"
#include "compile/api/executable.h"
#include "laws/laws.h"

namespace bora::laws {
struct Work {
  double flops = 0, temporaries = 0, received = 0;  // temporaries and received: bytes
  std::size_t collectives = 0;
  std::string sent;  // the collectives, in words
};
inline Work work_of(const ProgramPtr& local) {
  auto e = executable(local);
  auto& i = e->info();
  Work w{i.flops, static_cast<double>(i.slab_bytes), 0, i.collective_uses.size(), {}};
  for (auto& u : i.collective_uses) {
    w.received += static_cast<double>(u.received * u.times);
    w.sent += " " + std::to_string(u.times) + " x " + u.what + ";";
  }
  return w;
}
/// The most that a rank may need of one rank's `whole` if it has this share.
inline double most_of(double share, double whole) { return share * whole + 0.01 * whole + 1000; }
/// The share of a largest block of n elements.
inline double largest_share(std::int64_t n, const std::vector<MeshAxis>& axes) {
  std::int64_t parts = 1;
  for (auto& a : axes) parts *= a.size;
  return static_cast<double>((n + parts - 1) / parts) / static_cast<double>(n);
}
/// The meshes of the laws of work, which are abstract: nothing runs on them.
inline const std::vector<std::vector<MeshAxis>>& abstract_meshes() {
  static const std::vector<std::vector<MeshAxis>> all{
      {{"data", 2}}, {{"data", 3}}, {{"data", 4}}, {{"data", 2}, {"model", 2}}, {{"data", 3}, {"model", 2}}};
  return all;
}
inline MeshAxes names_of(const std::vector<MeshAxis>& axes) {
  MeshAxes r;
  for (auto& a : axes) r.push_back(AxisName(a.name));
  return r;
}
/// The last rank of such a mesh, which has a largest block.
inline Mesh last_of(const std::vector<MeshAxis>& axes) {
  int ranks = 1;
  for (auto& a : axes) ranks *= a.size;
  return Mesh::abstract(axes, {}, ranks - 1);
}
/// An array of this type that costs no memory.
inline Array any_of(const Type& t) {
  return t.dtype == Dtype::key ? random::split(random::key(1), t.shape) : zeros(t.shape, t.dtype);
}
inline double bytes_of(const Types& types) {
  double n = 0;
  for (auto& t : types) n += static_cast<double>(t.nbytes());
  return n;
}
}  // namespace bora::laws
