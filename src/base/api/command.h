// command.h -- what another program says.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace bora {
/// What a program, found in PATH, prints on its stdout: at most 64 KiB; its stdin is empty and its stderr is dropped.
/// None: it cannot be started, ends with another exit code than 0, or has not ended after `seconds`; then it is killed.
std::optional<std::string> output_of(const std::vector<std::string>& argv, double seconds);
}  // namespace bora
