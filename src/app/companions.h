// companions.h -- the files beside the tensors in a folder of Hugging Face's: of its tokenizer, and for generation.
#pragma once
#include "settings.h"

namespace bora::app {
/// The folder in a run's where an import keeps such files, config.json among them.
std::string companions_of(const std::string& run);
/// Copies those that `from` has into `to`, which is made; without config.json unless `config`. Returns their names.
std::vector<std::string> copy_companions(const std::string& from, const std::string& to, bool config);
/// The path of the tokenizer's file in these settings; empty if it has none.
std::string tokenizer_path(const Settings&);
/// The settings with the tokenizer's file at another path.
Settings with_tokenizer_path(Settings, const std::string& path);
}  // namespace bora::app
