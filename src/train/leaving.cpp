#include "leaving.h"
#include <utility>

namespace bora::training {
namespace {
thread_local UseLeaving* in_use = nullptr;
}  // namespace
UseLeaving::UseLeaving(std::function<bool()> asked, bool met_before)
    : asked_(std::move(asked)), saved_(std::exchange(in_use, this)), met_before_(met_before) {}
UseLeaving::~UseLeaving() { in_use = saved_; }
UseLeaving* UseLeaving::current() { return in_use; }
bool UseLeaving::asked() { return in_use && in_use->asked_(); }
bool UseLeaving::leaves() { return in_use && in_use->leaves_; }
bool UseLeaving::met_before() { return in_use && in_use->met_before_; }
void UseLeaving::set(bool leaves) {
  if (in_use) in_use->leaves_ = leaves;
}
}  // namespace bora::training
