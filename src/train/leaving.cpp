#include "leaving.h"
#include <utility>

namespace bora::training {
namespace {
thread_local UseLeaving* leaving_in_use = nullptr;
// Whoever ends all of a job (Kubernetes, Slurm, pkill) sends SIGTERM to all its processes, not quite at once.
constexpr std::chrono::seconds for_all{2};
}  // namespace
UseLeaving::UseLeaving(std::function<bool()> asked, bool met_before, std::string job)
    : asked_(std::move(asked)), saved_(std::exchange(leaving_in_use, this)), met_before_(met_before),
      job_(std::move(job)) {}
UseLeaving::~UseLeaving() { leaving_in_use = saved_; }
UseLeaving* UseLeaving::current() { return leaving_in_use; }
bool UseLeaving::asked() { return leaving_in_use && (leaving_in_use->asked_() || is_taken_away(for_all)); }
bool UseLeaving::leaves() { return leaving_in_use && leaving_in_use->leaves_; }
std::string UseLeaving::job() { return leaving_in_use ? leaving_in_use->job_ : ""; }
bool UseLeaving::met_before() { return leaving_in_use && leaving_in_use->met_before_; }
bool UseLeaving::for_good() { return leaving_in_use && leaving_in_use->for_good_; }
void UseLeaving::set(bool leaves, bool for_good) {
  if (leaving_in_use) leaving_in_use->leaves_ = leaves, leaving_in_use->for_good_ = for_good;
}
}  // namespace bora::training
