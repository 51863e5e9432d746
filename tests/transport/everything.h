// everything.h -- every collective once, on sizes around that of one message; for jobs of processes.
#pragma once
#include "bora/transport/transport.h"

namespace bora::transport {
/// 0, or 1 after the first wrong result, which is printed.
int everything(Context&, const Group& all);
}  // namespace bora::transport
