// mpi_data.h -- data over MPI (BORA_CARRIER=mpi), for clusters with a fast fabric. A library of its own (mpi/), loaded
// when it is asked for, does the work.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include "carrier/data_path.h"

namespace bora::transport {
inline constexpr std::string_view kMpi = "transport.carrier=mpi (BORA_CARRIER): ";  // before errors
/// ConfigError if that library cannot be loaded, or if this process was not started as a rank of an MPI job.
void check_mpi();

struct MpiOptions {
  int rank = 0, size = 1;
  std::uint32_t epoch = 0;
  double timeout_s = 120;  // for all ranks to meet
};
/// Initialises MPI if the program has not; it is then finalised at the end of the process, but not after a loss. All
/// ranks of the MPI job call it, and they must be the ranks of this job. ConfigError if they are not, or if MPI may not
/// be used from several threads; JoinTimeout.
std::unique_ptr<DataPath> make_mpi_data(const MpiOptions&, Up);

/// The library's one symbol, bora_mpi_carrier: what these functions call.
struct MpiCarrier {
  void (*check)() = nullptr;
  std::unique_ptr<DataPath> (*make)(const MpiOptions&, Up) = nullptr;
};
}  // namespace bora::transport
