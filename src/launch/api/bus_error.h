// bus_error.h -- mapped files whose bytes cannot be read any more.
#pragma once

namespace bora::launch {
/// From now on a page of a mapped file that is gone, since the file became shorter or its disk has an error, ends the
/// process with exit code 2 and a line that names the file, instead of by SIGBUS.
void explain_bus_errors();
}  // namespace bora::launch
