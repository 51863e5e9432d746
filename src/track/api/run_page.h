// run_page.h -- the page of a run that goes on.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "bora/track/page.h"

namespace bora::track::page {
/// Reads metrics.jsonl in a thread of its own, which leaves the cores to others (nice 10).
class RunPage {
 public:
  struct Options {
    std::string folder = {};
    std::string settings = {};  // YAML
    /// Seconds that each rank has computed in a step lately, NaN where nothing is known; asked once a second by the
    /// page's thread while it watches. None: there is no heat map.
    std::function<std::vector<double>()> ranks = {};
  };
  /// Throws Error if no thread can be made.
  explicit RunPage(Options);
  ~RunPage();
  RunPage(const RunPage&) = delete;
  RunPage& operator=(const RunPage&) = delete;
  /// From now on what is new is read once a second.
  void watch();
  PageSource source() const;
  /// Writes FOLDER/report.html soon, if that has cost less than a hundredth of the time until now.
  void report();
  /// Reads to the end and writes it now. Throws IoError.
  void finish();

 private:
  struct State;
  std::shared_ptr<State> state_;  // sources share it
};
}  // namespace bora::track::page
