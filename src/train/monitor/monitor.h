// monitor.h -- what the ranks of a run do and what is wrong, once a second. It changes no number of the training.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include "bora/transport/transport.h"
#include "train/hooks.h"
#include "train/monitor/alarms.h"
#include "train/monitor/alert_command.h"
#include "train/monitor/rank_numbers.h"

namespace bora::training {
/// Every rank has one. Its thread tells rank 0 this rank's status; that of rank 0 looks at all of them.
class Monitor {
 public:
  /// Measures the rate of products, as all ranks do at the same time.
  explicit Monitor(Run&);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  void before_step();
  /// Returns numbers of ranks that the record of this step takes in; most steps have none.
  track::Values after_step(const StepReport&);
  /// Something is wrong that the loop has found; on the first rank's own thread.
  void alert(const std::string& kind, const std::string& text, int rank);
  void end();

 private:
  /// The state of the run, for the thread.
  struct Facts {
    std::string out = {};
    Clock::time_point saved_at = {};
    double save_limit = 0, seconds_left = 0;
  };
  void run();
  void tick();
  bool is_due();
  void tell();
  void look();
  void count_step(const StepReport&);
  std::vector<RankStatus> told(std::vector<double>& heard) const;
  void take_facts(const StepReport&);
  void deliver(std::vector<Alert>);
  void record_found();
  void end_thread();
  double flops_of_step(std::int64_t before) const;  // of the step that follows so many
  bool first() const { return run_.mesh.rank() == 0; }

  Run& run_;
  transport::Context& ranks_;
  std::shared_ptr<StatusBoard> board_;
  const Clock::time_point begun_ = Clock::now();
  const std::int64_t from_;  // steps that were made before
  std::int64_t save_bytes_ = 0;
  // Of the thread that trains.
  std::int64_t steps_ = 0;       // of this process
  double waited_ = 0;            // before this step
  double usual_ = 0, seconds_ = 0;
  std::int64_t recorded_ = 0;    // steps of seconds_
  RankNumbers numbers_ = {};
  Clock::time_point recorded_at_ = begun_;
  // Of both.
  std::mutex mutex_ = {};
  std::condition_variable wake_ = {};
  bool ends_ = false;
  RankStatus status_ = {};
  Clock::time_point told_at_ = begun_;
  Facts facts_ = {};
  Alarms alarms_ = {};
  AlertCommand command_;
  std::vector<Alert> unrecorded_ = {};  // that the thread has found
  std::int64_t disk_free_ = -1;
  Clock::time_point disk_at_ = {};
  std::thread thread_ = {};  // last
};
}  // namespace bora::training
