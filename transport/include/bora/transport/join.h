// join.h -- joining a job whose launcher may know, sooner than the ranks, that one of them will not come, or is lost.
#pragma once
#include <functional>
#include <string>
#include "bora/transport/transport.h"

namespace bora::transport {
/// A second observer of a job's ranks, beside the transport: their launcher.
struct Witness {
  /// While ranks are missing this is asked, some 20 times a second, on this thread: a text that is not empty ends the
  /// wait with RankLost of that text.
  std::function<std::string()> given_up = {};
  /// Whether the rank's host is silent to the witness, too. Asked, on the progress thread, while the rank has been
  /// silent for suspect_s: then it is lost, dead_s or not.
  std::function<bool(int rank)> misses = {};
};
/// Throws ConfigError, as join() does, for options that are wrong whatever the other ranks have.
void check_options(const Config&);
/// What every rank of a job brings and all must share, beside the build, in lines: "carrier of data: tcp".
std::string common_terms(const Config&);
/// Throws ConfigError if this process could not join as a rank above 0, whatever the others are: it opens what it would
/// need, and closes it again. Nobody is met.
void rehearse(const Config&);
/// As join().
ContextPtr join(const Config&, const Witness&);
}  // namespace bora::transport
