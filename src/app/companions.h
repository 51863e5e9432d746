// companions.h -- the files beside the tensors in a folder of Hugging Face's: of its tokenizer, and for generation.
#pragma once
#include <string>
#include <vector>
#include "app/forward.h"

namespace bora::app {
/// The folder in a run's where an import keeps such files, config.json among them.
std::string companions_of(const std::string& run);
/// Copies those that `from` has into `to`, which is made; without config.json unless `config`. Returns their names.
std::vector<std::string> copy_companions(const std::string& from, const std::string& to, bool config);
/// The path of the tokenizer in these settings, a file or a folder; empty if it has none.
std::string tokenizer_path(const Settings&);
/// The settings with the tokenizer at another path; the same if it has none.
Settings with_tokenizer_path(Settings, const std::string& path);
/// The settings with the path of a chat template that is a file or a folder, no known name, made absolute.
Settings with_absolute_template(Settings);
/// Copies the tokenizer's file into `to`, under a name that others look for. Files beside it go with it where its own
/// name is such a one, so that they are its companions.
void copy_tokenizer(const Settings&, const std::string& to);
}  // namespace bora::app
