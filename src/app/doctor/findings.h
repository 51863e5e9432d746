// findings.h -- what `bora doctor` has found: of a host, and of a job's hosts together.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bora::app::doctor {
enum class Level : std::uint8_t { ok, note, problem };
/// repair: the command or setting that makes it well; none if it is.
struct Finding {
  std::string about;  // a word: quota, governor
  Level level = Level::ok;
  std::string text = {}, repair = {};
};
struct Findings {
  std::vector<Finding> all = {};
  void ok(const std::string& about, const std::string& text) { all.push_back({about, Level::ok, text, {}}); }
  void note(const std::string& about, const std::string& text, const std::string& repair) {
    all.push_back({about, Level::note, text, repair});
  }
  void problem(const std::string& about, const std::string& text, const std::string& repair) {
    all.push_back({about, Level::problem, text, repair});
  }
};
/// Names of rates in a report.
inline constexpr const char *kProducts = "products_gflops", *kCopies = "copies_gb_per_s", *kWrites = "writes_mb_per_s",
                            *kSyncs = "sync_ms";
/// One host; in a job, one rank's view of it.
struct HostReport : Findings {
  std::string host = {};
  std::map<std::string, std::string> facts = {};  // should be the same on all hosts of a job
  std::map<std::string, double> measured = {};    // rates, by names that end with their units
};
std::string packed(const HostReport&);
/// TransportError if it is not one of packed.
HostReport unpacked_report(std::string_view);

/// A number with three digits, or all those before the point.
std::string digits(double);
/// Names of hosts, a few of them: "n1, n2, n3, n4 and 5 more".
std::string some_of(const std::vector<std::string>& names);
/// "no problems, 2 notes": of all of them.
std::string verdict(const std::vector<HostReport>&, const Findings& job);
/// The words of problems, each once: "governor, mtu"; empty: there are none.
std::string problems_of(const std::vector<HostReport>&, const Findings& job);
/// The lines of one host: a word, its level and text, and below a note or a problem the repair.
std::string lines_of(const Findings&);
/// Of several: a line with rates for each host, what is not well with the hosts that it is true of, and the job's.
std::string lines_of(const std::vector<HostReport>&, const Findings& job);
std::string json_of(const std::vector<HostReport>&, const Findings& job);
}  // namespace bora::app::doctor
