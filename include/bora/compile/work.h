// work.h -- what a run of an Executable does, in order: for models of its time.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "bora/array/mesh.h"
#include "bora/base/collective.h"

namespace bora {
class Executable;
struct Work {  // kernels, collectives and their order
  /// One run of a kernel.
  struct Kernel {
    std::string what;
    double flops = 0, bytes = 0;  // bytes: read and written, each operand once
    /// Seconds on one thread of this machine, measured now on memory of its own. A kernel that needs more than `memory`
    /// bytes is measured on a part of its data, and the time grows with the data. Valid while the Executable lives.
    std::function<double(std::size_t memory)> seconds;
  };
  struct Collective {
    std::string what;  // "all_gather data f32[192, 576]"
    MeshAxes axes;
    CollectiveCall call;  // without buffers
  };
  struct Event {
    enum class Kind : std::uint8_t { kernel, start, wait };
    Kind kind;
    std::size_t which;       // kernel, or collective
    std::size_t handle = 0;  // equal in a start and its wait
    std::int64_t times = 1;
  };
  std::vector<Kernel> kernels = {};
  std::vector<Collective> collectives = {};
  /// Loops are unrolled where they communicate; a while_loop counts once, and of the branches of a cond the one with
  /// more operations.
  std::vector<Event> events = {};
};
/// For this thread's rank of the mesh in force.
Work work_of(const Executable&);
}  // namespace bora
