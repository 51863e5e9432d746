// most_ranks.h -- how large a job may be, whoever says so: a file, a flag or the environment.
#pragma once

namespace bora {
inline constexpr int kMostRanks = 65536;
}  // namespace bora
