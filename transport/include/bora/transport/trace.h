// trace.h -- spans of all ranks (base/trace.h) on one clock, as one file for Chrome's trace viewer or Perfetto.
#pragma once
#include <string>
#include "bora/base/trace.h"
#include "bora/transport/transport.h"

namespace bora::transport {
/// Nanoseconds to add to this rank's steady clock to get rank 0's; exactly 0 within one host, else accurate to half of
/// the quickest of eight round trips. Every rank must call it.
std::int64_t clock_offset(Context&);
/// Ends the trace that tracing::start began. Rank 0 writes the spans of all ranks to `path`, on its own clock, as JSON
/// in Chrome's trace event format: one process a rank, kernels and waits by thread, collectives as asynchronous events;
/// `otherData.totals` has each rank's totals in seconds. Returns the totals by rank, on every rank. Every rank must
/// call it, after it has waited for its collectives. IoError on every rank if the file cannot be written.
std::vector<tracing::Totals> write_trace(Context&, const std::string& path);
}  // namespace bora::transport
