// report.h -- the cost of a planned block, and its text.
#pragma once
#include "compile/api/executable.h"
#include "compile/run/plan.h"

namespace bora::exec {
ExecutableInfo info_of(const Block&);
std::string explain(const Block&, const ExecutableInfo&);
}  // namespace bora::exec
