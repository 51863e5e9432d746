#include "companions.h"
#include <algorithm>
#include <filesystem>
#include "app/settings.h"
#include "bora/base/error.h"
#include "text/files.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
constexpr std::string_view kConfig = "config.json", kNames[] = {"added_tokens.json",       "chat_template.jinja",
                                                                "chat_template.json",      "config.json",
                                                                "generation_config.json",  "merges.txt",
                                                                "special_tokens_map.json", "tokenizer.json",
                                                                "tokenizer_config.json",   "vocab.json"};
/// The copy can be written again, also where its source cannot.
void copy_anew(const fs::path& from, const fs::path& to) {
  std::error_code error;
  auto writable = [&] { fs::permissions(to, fs::perms::owner_write, fs::perm_options::add, error); };
  writable();
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  writable();
}
}  // namespace
std::string companions_of(const std::string& run) { return run + "/hugging_face"; }
std::vector<std::string> copy_companions(const std::string& from, const std::string& to, bool config) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    auto name = it->path().filename().string();
    bool known = std::count(std::begin(kNames), std::end(kNames), name) > 0 || name.ends_with(".model");
    if (known && (config || name != kConfig) && it->is_regular_file(error)) names.push_back(name);
  }
  bool missing = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  check<IoError>(!error || missing, "cannot read the folder ", from, ": ", error.message());
  if (!names.empty()) fs::create_directories(to);
  std::sort(names.begin(), names.end());
  for (auto& name : names) copy_anew(from + "/" + name, to + "/" + name);
  return names;
}
std::string tokenizer_path(const Settings& s) {
  auto d = s.tokenizer.write();
  auto path = d.find("path");
  return path ? path->text : std::string();
}
Settings with_tokenizer_path(Settings s, const std::string& path) {
  auto d = s.tokenizer.write();
  if (!d.find("path")) return s;
  d.at("path") = config::scalar(path);
  s.tokenizer.read(d, "tokenizer", config::schema(s.tokenizer));
  return s;
}
void copy_tokenizer(const Settings& s, const std::string& to) {
  bool pieces = s.tokenizer->type() == "sentencepiece";
  fs::path file = text::file_at(tokenizer_path(s), pieces ? text::FileForm::model : text::FileForm::json);
  auto name = file.filename().string();
  bool known = name == "tokenizer.model" || name == "spiece.model" ||
               std::count(std::begin(kNames), std::end(kNames), name) > 0;
  if (known) copy_companions(file.parent_path().string(), to, false);
  else
    copy_anew(file, to + (pieces ? "/tokenizer.model" : "/tokenizer.json"));
}
}  // namespace bora::app
