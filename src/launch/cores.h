// cores.h -- divides the cores of a host among its ranks.
#pragma once

namespace bora::launch {
/// Binds this thread, and threads it starts from now on, to the part-th of `parts` equal shares of the physical cores
/// it may run on (with all their hardware threads; in blocks, so that a share has few NUMA nodes). Returns the number
/// of cores in the share. If there are fewer cores than parts, or no such part, binds nothing and returns 1.
int bind_to_share(int part, int parts);
}  // namespace bora::launch
