// The same measurement with MPI (compiled with mpicxx by perf/transport/compare). Prints "op bytes seconds" lines on
// rank 0.
#include <mpi.h>
#include <cstdio>
#include "loop.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Asked asked(argc, argv);
  for (auto& op : asked.ops)
    for (long bytes : asked.sizes) {
      int n = static_cast<int>(bytes / 4), part = std::max(1, n / size);
      std::vector<float> in(static_cast<std::size_t>(n + size)), out(in.size());
      auto once = [&] {
        if (op == "all_reduce") MPI_Allreduce(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (op == "reduce_scatter")
          MPI_Reduce_scatter_block(in.data(), out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (op == "all_gather") MPI_Allgather(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
        if (op == "broadcast") MPI_Bcast(out.data(), n, MPI_FLOAT, 0, MPI_COMM_WORLD);
      };
      auto most = [](double mine) {
        double all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return all;
      };
      double s = seconds(asked.repetitions, once, [] { MPI_Barrier(MPI_COMM_WORLD); }, most);
      if (rank == 0) std::printf("%s %ld %.9f\n", op.c_str(), bytes, s);
    }
  MPI_Finalize();
}
