// config_file.h -- whether a config.yaml is all of what Bora wrote.
#pragma once
#include <string>

namespace bora::job {
/// Throws ConfigError, with file and line, for settings that Bora wrote and damage cut: read as they are, what is
/// missing would have its defaults. Texts of users pass.
void check_whole_config(const std::string& text, const std::string& path);
/// The same for a run's config.yaml, which says something.
void check_run_config(const std::string& text, const std::string& path);
}  // namespace bora::job
