// needs.h -- what a rank needs of the system, asked before it joins: libzmq ends the process where it does not get it.
#pragma once
#include <cstddef>
#include "bora/transport/transport.h"

namespace bora::transport {
/// Files and threads for this rank. ConfigError, Error. Returns how many connections of strangers may be open on each of its ports: fewer
/// where files are few.
std::size_t check_limits(const Config&);
}  // namespace bora::transport
