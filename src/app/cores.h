// cores.h -- ranks of one host side by side.
#pragma once

namespace bora::app {
/// Binds this thread, and those it starts from now on, to the part-th of `parts` equal shares of the physical cores it may run on (with
/// all their hardware threads; in blocks, so that a share has few NUMA nodes), and gives the number of cores in the share. Where there
/// are fewer cores than parts, or no such part, nothing is bound, and it gives 1.
int bind_to_share(int part, int parts);
}  // namespace bora::app
