#include "bora/compile/executable.h"
namespace bora { ProgramPtr coalesce(const ProgramPtr& p) { return p; } }
