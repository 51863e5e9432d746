// hooks.h -- what a run does around its steps, one source each in hooks/. All ranks call all of them.
#pragma once
#include <memory>
#include "run.h"

namespace bora::training {
class LoopHook {
 public:
  virtual ~LoopHook() = default;
  virtual void begin(Run&) {}        // before the first step
  virtual void before_step(Run&) {}  // the step's rows are read
  virtual void after_step(Run&, const StepReport&) {}
  virtual void end(Run&) {}  // after the last step; not after an error
};
using LoopHookPtr = std::unique_ptr<LoopHook>;
LoopHookPtr monitor_hook();     // statuses of ranks, and alerts; before the one that records them
LoopHookPtr log_hook();         // trackers, the lines or the bar, the plot
LoopHookPtr page_hook();        // the page, served and as report.html
LoopHookPtr stop_hook();        // signals, and a folder that is gone; from its making on
LoopHookPtr deadline_hook();    // LoopSettings::deadline; after the one before
LoopHookPtr trace_hook();       // a file of some steps
LoopHookPtr user_hooks();       // LoopSettings::hooks
LoopHookPtr evaluation_hook();  // the first, every n steps, the last
LoopHookPtr snapshot_hook();    // every n steps into memory (LoopSettings::memory)
LoopHookPtr checkpoint_hook();  // every n steps or minutes, where SIGUSR1 or a user's hook asks for one, the last

/// Histograms of the parameters for the trackers that take them. All ranks.
void write_histograms(Run&);
/// Draws loss.svg; before the end of a run only as often as that costs a hundredth of its time. All ranks.
void write_plot(Run&);
/// Writes the state into the run's folder, and the plot; into a new one beside it, with an IoError, if the folder is
/// gone. All ranks.
void write_checkpoint(Run&);
/// Writes the state as the only checkpoint of OUT/best. All ranks.
void write_best(Run&);
/// The same as write_checkpoint, if the folder is gone since the last checkpoint.
void rescue_checkpoint(Run&);
}  // namespace bora::training
