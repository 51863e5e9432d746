#include <dlfcn.h>
#include <filesystem>
#include "carrier/mpi_data.h"
#include "bora/base/error.h"

namespace bora::transport {
namespace {
/// Of the library beside the one, or the program, that has this code.
const MpiCarrier& mpi_carrier() {
  static const auto* carrier = [] {
    ::Dl_info here{};
    ::dladdr(reinterpret_cast<const void*>(&check_mpi), &here);
    auto path = (std::filesystem::path(here.dli_fname).parent_path() / BORA_MPI_CARRIER).string();
    // Open MPI's plug-ins look for its functions among the names of all libraries.
    auto* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    auto* found = library ? ::dlsym(library, "bora_mpi_carrier") : nullptr;
    check<ConfigError>(found != nullptr, kMpi, "install bora-mpi, or build with cmake -DBORA_MPI=ON, or choose auto, ",
                       "tcp, zmq or shm: ", [&] { return std::string(library ? path : ::dlerror()); });
    return static_cast<const MpiCarrier*>(found);
  }();
  return *carrier;
}
}  // namespace

void check_mpi() { mpi_carrier().check(); }
std::unique_ptr<DataPath> make_mpi_data(const MpiOptions& o, Up up) { return mpi_carrier().make(o, std::move(up)); }
}  // namespace bora::transport
