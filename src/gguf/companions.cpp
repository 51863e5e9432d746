#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include <algorithm>
#include <filesystem>
#include "base/api/file.h"
#include "base/api/paths.h"
#include "gguf/vocabulary.h"

namespace fs = std::filesystem;
namespace bora::gguf {
namespace {
constexpr std::string_view kEnding = ".gguf";
struct Maker {
  std::string_view name;
  std::string (*make)(const File&);
};
constexpr Maker kMakers[] = {{"config.json", config_json},
                             {"generation_config.json", generation_config_json},
                             {"tokenizer_config.json", tokenizer_config_json},
                             {"tokenizer.json", tokenizer_json},
                             {"tokenizer.model", tokenizer_model}};
/// The two parts of "model.gguf/config.json"; none for other paths.
struct Within {
  std::string file, name;
};
std::optional<Within> within(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == path.npos) return {};
  Within w{path.substr(0, slash), path.substr(slash + 1)};
  while (w.file.ends_with('/')) w.file.pop_back();
  return is_file(w.file) ? std::optional(w) : std::nullopt;
}
}  // namespace

bool is_file(const std::string& path) {
  std::error_code error;
  return path.ends_with(kEnding) && fs::exists(path, error) && !fs::is_directory(path, error);
}
std::vector<std::string> companions(const File& f) {
  std::vector<std::string> names = {"config.json", "generation_config.json", "tokenizer_config.json"};
  auto form = form_of(f);
  if (form == Vocabulary::Form::json) names.emplace_back("tokenizer.json");
  if (form == Vocabulary::Form::model) names.emplace_back("tokenizer.model");
  return names;
}
std::string companion(const File& f, std::string_view name) {
  auto names = companions(f);
  for (auto& maker : kMakers)
    if (maker.name == name && std::find(names.begin(), names.end(), name) != names.end()) return maker.make(f);
  fail<IoError>(f.path(), ": has nothing for a file ", name);
}
bool is_within(const std::string& path) { return within(path).has_value(); }
bool is_there(const std::string& path) {
  auto w = within(path);
  if (!w) return bora::is_there(path);
  auto names = companions(*File::open(w->file));
  return std::find(names.begin(), names.end(), w->name) != names.end();
}
std::string read_file(const std::string& path) {
  auto w = within(path);
  return w ? companion(*File::open(w->file), w->name) : bora::read_file(path);
}
bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) || is_file(path);
}
}  // namespace bora::gguf
