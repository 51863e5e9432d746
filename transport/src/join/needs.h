// needs.h -- checks a rank's needs of the system before it joins: libzmq aborts the process where they are not met.
#pragma once
#include <cstddef>
#include "bora/transport/transport.h"

namespace bora::transport {
/// Checks stack, files, threads and memory for this rank. ConfigError, Error. Returns the limit of strangers' open
/// connections on each of its ports: lower where files are few.
std::size_t check_limits(const Config&);
}  // namespace bora::transport
