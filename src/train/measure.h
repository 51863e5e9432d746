// measure.h -- times of a step's kernels on the cores of this machine.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>
#include "bora/compile/work.h"
#include "bora/shard/mesh.h"

namespace bora {
/// Measures each kernel once, on all cores of this process (at most 16) at the same time: cores share memory bandwidth
/// and power, and those of a virtual machine may differ in speed.
class KernelTimes {
 public:
  /// share: how many cores each rank has. Below 1, several threads take turns on each core, as those ranks would (at
  /// most 4, and 16 in all).
  explicit KernelTimes(double share);
  /// Seconds of each kernel of `work` on a whole core: on the one that takes longest for all of them, since the others
  /// wait for it. The kernels are run as by `rank`.
  std::vector<double> of(const Work& work, const Mesh& rank);

 private:
  using Key = std::pair<std::string, std::pair<double, double>>;  // name, operations, bytes
  void measure(const std::vector<const Work::Kernel*>&, const Mesh& rank);
  std::size_t cores_, threads_;
  std::map<Key, std::vector<double>> seconds_ = {};  // of each thread
};
}  // namespace bora
