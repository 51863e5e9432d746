// launcher_channel.h -- how ranks of an elastic job go on in their processes, after a loss or because there are more
// hosts: each asks its launcher, which answers with a rank in the job's next generation.
#pragma once
#include <memory>
#include "bora/train/membership.h"

namespace bora::app {
/// This process's membership of the elastic job of the launcher that started it, over a channel between the two that
/// the environment names; programs that this process starts do not inherit it. null: no launcher started it to go on.
std::unique_ptr<training::Membership> membership_from_environment();
}  // namespace bora::app
