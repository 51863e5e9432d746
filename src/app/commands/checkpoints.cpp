// The checkpoints of a run: which there are, and which stay.
#include "app/commands.h"
#include "bora/job/checkpoints.h"

namespace bora::app {
namespace {
struct Checkpoints {
  static constexpr std::string_view name = "checkpoints",
                                    help = "list, verify, pin, remove, compare a run's checkpoints";
  static constexpr Row row{.place = 61, .prints = true};
  std::string path = {};
  std::vector<std::string> words = {};
  std::string to = {};

  void declare(Flags& flags) {
    flags.add("RUN", path, "folder of the run, which may be going on").required().names(Names::input);
    flags
        .add("words", words,
             "list; verify [STEP ..]; pin STEP; unpin STEP; rm STEP; diff A B, each a STEP or a folder; gather")
        .names(Names::nothing);
    flags.add("--to", to, "of gather: the folder that gets step-N, of what the job's hosts have (checkpoint.local)")
        .names(Names::folder);
  }
  int run() const { return job::checkpoints(path, words, to); }
};
}  // namespace
template const bool added<Checkpoints>;
}  // namespace bora::app
