// alert_command.h -- the command of `alerts.command`, run beside the training.
#pragma once
#include <sys/types.h>
#include <chrono>
#include <string>
#include <vector>
#include "bora/train/status.h"

namespace bora::training {
/// Runs a shell's command for alerts, which it finds in its environment: BORA_ALERT (the kind), BORA_ALERT_TEXT,
/// BORA_ALERT_RANK, BORA_STEP and BORA_RUN (the folder). Its stdout is this process's stderr, its stdin is empty. At
/// most four run at the same time, each for at most a minute; nothing waits for them, and they may outlive the run.
class AlertCommand {
 public:
  explicit AlertCommand(std::string command) : command_(std::move(command)) {}
  /// Returns why it could not be started; empty: it was, or there is no command.
  std::string start(const Alert&, const std::string& out);
  /// Ends those that run for too long. Returns a line for each that did, or that failed.
  std::vector<std::string> look();

 private:
  struct Running {
    ::pid_t pid;
    std::string kind;
    std::chrono::steady_clock::time_point since;
    bool killed = false;
  };
  std::string command_;
  std::vector<Running> running_ = {};
};
}  // namespace bora::training
