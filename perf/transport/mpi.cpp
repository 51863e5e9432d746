// The same measurement with MPI (compiled with mpicxx by perf/transport/compare).
#include <mpi.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (std::string op : {"all_reduce", "reduce_scatter", "all_gather", "broadcast"})
    for (int i = 1; i < argc; ++i) {
      auto count = std::max(1L, std::atol(argv[i]) / 4);
      int n = static_cast<int>(count), part = std::max(1, n / size);
      std::vector<float> in(static_cast<std::size_t>(n + size)), out(in.size());
      auto once = [&] {
        if (op == "all_reduce") MPI_Allreduce(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (op == "reduce_scatter") MPI_Reduce_scatter_block(in.data(), out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (op == "all_gather") MPI_Allgather(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
        if (op == "broadcast") MPI_Bcast(out.data(), n, MPI_FLOAT, 0, MPI_COMM_WORLD);
      };
      auto times = [&](int k) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int j = 0; j < k; ++j) once();
        double mine = (MPI_Wtime() - begin) / k, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return all;
      };
      times(2);
      int k = std::clamp(static_cast<int>(0.05 / std::max(times(3), 1e-7)), 3, 5000);
      std::vector<double> rounds;
      for (int r = 0; r < 5; ++r) rounds.push_back(times(k));
      std::sort(rounds.begin(), rounds.end());
      if (rank == 0) std::printf("%s %ld %.9f\n", op.c_str(), count * 4, rounds[2]);
    }
  MPI_Finalize();
}
