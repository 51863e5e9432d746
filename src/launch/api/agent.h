// agent.h -- the part of a launch that ssh starts on another machine.
#pragma once
#include <string>

namespace bora::launch {
/// `bora agent`: reads the job from stdin, reports events of ranks on stdout, and ends the ranks and all their
/// processes when stdin closes. The ranks listen on the named interface, or where ssh reached this machine. Returns the
/// exit code.
int serve_launcher(const std::string& interface_name);
}  // namespace bora::launch
