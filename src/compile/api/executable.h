// executable.h -- a Program compiled to run: passes flatten, prune, hoist, coalesce, fuse, schedule, plan; then a flat
// list of kernels and collectives with fixed offsets in one leased slab.
#pragma once
#include "bora/array/rules.h"

namespace bora {
/// Memory and work of one run, for plans and reports. Bytes are of this rank. Counts both branches of a cond and one
/// iteration of a while_loop.
struct ExecutableInfo {
  std::size_t slab_bytes = 0;  // temporaries; leased while it runs
  std::size_t overlap_bytes = 0;  // of them: held by collectives of pipelined scans from one iteration to the next
  /// Contents of the slab at its peak: "products", "loops" (elementwise operations and rows), "stacked" (by scans: read
  /// by a backward pass), "collectives", "carried" (by loops), "handed on" (between iterations that overlap), "copies",
  /// "gaps", else the name of the primitive; largest first, together slab_bytes.
  std::vector<std::pair<std::string, std::size_t>> arena;
  std::size_t input_bytes = 0, output_bytes = 0, donated_bytes = 0;
  double flops = 0;
  double moved_bytes = 0;  // read and written by the kernels of one run, each operand of each of them once
  std::size_t kernels = 0, fused = 0, collectives = 0;
  struct CollectiveUse {
    std::string what;                  // "all_gather data f32[192, 576]"
    /// bytes: this rank's part in and out, of an exchange what the busiest rank sends and is sent; times: per run
    /// (loops counted).
    std::size_t bytes = 0, times = 1;
    std::size_t received = 0;  // by a rank, by the best algorithms (ops::received_bytes)
  };
  std::vector<CollectiveUse> collective_uses;
};
struct Work;
class Executable {
 public:
  virtual ~Executable() = default;
  /// Results are fresh buffers, or the memory of donated inputs. `donated[i]`: in[i]'s memory has no other reader and
  /// may be overwritten; the handle is released. Errors name the instruction, its scope and the user's source line.
  virtual Arrays run(Arrays in, const Mask& donated = {}) const = 0;
  virtual const ExecutableInfo& info() const = 0;
  /// The scheduled instructions with their fused members and the places of results.
  virtual std::string explain() const = 0;
  virtual Work work() const = 0;  // work.h
};
using ExecutablePtr = std::shared_ptr<const Executable>;
namespace exec {
/// Whether this input is a result as well: its memory is then never overwritten, donated or not.
bool passes_through(const Program&, std::size_t input);
/// Has a slab of so many bytes ready: a Program that needs a larger one than those before gives the pool's free blocks
/// back to the system.
void reserve_slab(std::size_t bytes);
}
/// Compiles for these donated inputs. Kept on the Program (per rank where it is local).
ExecutablePtr executable(const ProgramPtr&, const Mask& donated = {});
/// The results of p, compiled for these donated inputs. Where NaNs are errors (debug::nans): operation by operation, if
/// the results hold one or p communicates.
Arrays run_program(const ProgramPtr& p, Arrays in, const Mask& donated = {});
/// Passes, each Program -> Program, in this order (compile does all of them; exposed for tests and explain).
ProgramPtr flatten(const ProgramPtr&);   // held calls inlined, checkpoints too
ProgramPtr coalesce(const ProgramPtr&);  // small neighbouring collectives become one
/// Peak bytes of leased slabs over the process.
std::size_t slab_peak_bytes();
/// Returns the slabs that no Program runs with, and the pool's free blocks, to the system.
void release_slabs();
}  // namespace bora
