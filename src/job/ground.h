// ground.h -- what all ranks of a job have in common: a process that is to join those of an elastic job compares itself
// with it first. Private.
#pragma once
#include <string>
#include "bora/job/job.h"

namespace bora::job {
/// Version, tokenizer and settings that all ranks must share, in lines.
std::string common_settings(const Job&);
/// All that the ranks must share and one process can know by itself: the same, the data, and how they send it.
std::string ground_of(const Job&, const transport::Config&);
/// For a process that is started beside the ranks of an elastic job: throws ConfigError, with the difference, if it
/// does not stand on their ground. One that has no rank yet also finds out whether it could meet them, and waits for
/// its rank; false: there is none for it.
bool may_join(const Job&);
/// The transport's options: of the environment, the settings, this process.
transport::Config transport_of(const Job&);
}  // namespace bora::job
