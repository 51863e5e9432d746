// none.cpp -- instead of data.cpp, in builds without BORA_MPI.
#include "carrier/mpi_data.h"
#include "bora/base/error.h"

namespace bora::transport {
void check_mpi() {
  fail<ConfigError>(
      kMpi, "this build of Bora has no MPI; build it with cmake -DBORA_MPI=ON, or choose auto, tcp, zmq or shm");
}
std::unique_ptr<DataPath> make_mpi_data(const MpiOptions&, Up) {
  check_mpi();
  return nullptr;
}
}  // namespace bora::transport
