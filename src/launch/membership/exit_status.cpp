#include "exit_status.h"
#include <algorithm>

namespace bora::launch {
namespace {
/// " (rank 1, host b)" if that host alone has found the error: what it lacks, a file for instance, the others may have.
std::string found_by(const std::vector<Rank>& ranks, const std::vector<Outputs::Line>& errors,
                     const Outputs::Line& error) {
  auto host_of = [&](int r) { return ranks[static_cast<std::size_t>(r)].host; };
  auto host = host_of(error.rank);
  bool alone = std::none_of(errors.begin(), errors.end(),
                            [&](auto& e) { return e.text == error.text && host_of(e.rank) != host; }),
       others = std::any_of(ranks.begin(), ranks.end(), [&](auto& rank) { return rank.host != host; });
  if (host.empty() || !alone || !others || error.text.find(host) != error.text.npos) return {};
  return " (rank " + std::to_string(error.rank) + ", host " + host + ")";
}
}  // namespace

ExitStatus exit_status_of(const std::vector<Rank>& ranks, const std::vector<int>& failed,
                          const std::vector<Outputs::Line>& errors, bool interrupted) {
  auto code_of = [&](int r) { return ranks[static_cast<std::size_t>(r)].ending->code(); };
  // Survivors end with 86 because of another rank: the cause is the first rank that ended otherwise.
  auto cause = std::find_if(failed.begin(), failed.end(), [&](int r) { return code_of(r) != 86; });
  // The user's signal may end a rank that cannot stop in order yet, and with it those that wait for it.
  auto by_signal = [](auto& rank) { return rank.ending && rank.ending->code() < 0; };
  if (interrupted && cause == failed.end() && std::any_of(ranks.begin(), ranks.end(), by_signal)) return {130};
  auto r = cause == failed.end() ? failed[0] : *cause;
  auto code = code_of(r);
  auto& [ending, host, missed, newcomer] = ranks[static_cast<std::size_t>(r)];
  auto name = std::string(error_mark) + "rank " + std::to_string(r) + (host.empty() ? "" : " (host " + host + ")");
  auto line = name + " lost: " + ending->words();
  if (code == 2 || code == 86) {
    auto theirs = std::find_if(errors.rbegin(), errors.rend(), [&](auto& l) { return l.rank == r; });
    if (theirs != errors.rend()) line = theirs->text + (code == 2 ? found_by(ranks, errors, *theirs) : "");
    else if (!errors.empty()) line = errors.front().text;
    else if (code == 2) line = name + " " + ending->words();
  }
  return {code == 2 && !newcomer ? 2 : 86, line};
}
}  // namespace bora::launch
