#include "bora/text/tokenizer_files.h"
#include <algorithm>
#include <filesystem>
#include "base/api/file.h"
#include "bora/base/error.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include "json/api/value.h"
#include "text/api/files.h"

namespace fs = std::filesystem;
namespace bora::text {
namespace {
constexpr std::string_view kConfigFile = "config.json", kNames[] = {"added_tokens.json",       "chat_template.jinja",
                                                                "chat_template.json",      "config.json",
                                                                "generation_config.json",  "merges.txt",
                                                                "special_tokens_map.json", "tokenizer.json",
                                                                "tokenizer_config.json",   "vocab.json"};
/// The copy can be written again, also where its source cannot.
void copy_anew(const fs::path& from, const fs::path& to) {
  std::error_code error;
  auto writable = [&] { fs::permissions(to, fs::perms::owner_write, fs::perm_options::add, error); };
  writable();
  std::error_code failed;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  check<IoError>(!failed, "cannot copy ", from.string(), ": ", failed.message());
  writable();
}
}  // namespace
std::vector<std::string> copy_companions(const std::string& from, const std::string& to, bool config) {
  std::vector<std::string> names;
  std::error_code error;
  if (gguf::is_file(from)) {
    auto file = gguf::File::open(from);
    fs::create_directories(to);
    for (auto& name : gguf::companions(*file))
      if (config || name != kConfigFile) {
        write_file(to + "/" + name, gguf::companion(*file, name));
        names.push_back(name);
      }
    std::sort(names.begin(), names.end());
    return names;
  }
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    auto name = it->path().filename().string();
    bool known = std::count(std::begin(kNames), std::end(kNames), name) > 0 || name.ends_with(".model");
    if (known && (config || name != kConfigFile) && it->is_regular_file(error)) names.push_back(name);
  }
  bool missing = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  check<IoError>(!error || missing, "cannot read the folder ", from, ": ", error.message());
  if (!names.empty()) fs::create_directories(to);
  std::sort(names.begin(), names.end());
  for (auto& name : names) copy_anew(from + "/" + name, to + "/" + name);
  return names;
}
void copy_tokenizer(const std::string& path, FileForm form, const std::string& to) {
  fs::path file = file_at(path, form);
  auto name = file.filename().string();
  bool known = name == "tokenizer.model" || name == "spiece.model" ||
               std::count(std::begin(kNames), std::end(kNames), name) > 0;
  if (known) copy_companions(file.parent_path().string(), to, false);
  else
    copy_anew(file, to + (form == FileForm::model ? "/tokenizer.model" : "/tokenizer.json"));
}
std::string with_tokens(const std::string& path, const std::vector<std::string>& tokens) {
  check<ConfigError>(fs::path(path).filename() == "tokenizer.json", "tokens are added to a tokenizer.json, and the "
                     "tokenizer is ", path.empty() ? "none of a file" : path,
                     "; transformers' save_pretrained writes one");
  auto tokenizer = tokenizer_at(path, false);
  auto all = json::parse(gguf::read_file(path), path, "key", json::Order::as_written);
  auto* added = all.find("added_tokens");
  if (!added || !added->is_list()) added = &all.set("added_tokens", json::Value(json::Value::List()));
  auto id = tokenizer->size();
  for (auto& token : tokens) {
    check<ConfigError>(!token.empty(), "a token to add is empty");
    check<ConfigError>(!tokenizer->id_of(token), "the token '", token, "' is in ", path, " already");
    check<ConfigError>(std::count(tokens.begin(), tokens.end(), token) == 1, "the token '", token, "' is given twice");
    auto one = json::Value::object({{"id", id++}, {"content", token}}, json::Order::as_written);
    for (auto name : {"single_word", "lstrip", "rstrip", "normalized"}) one.set(name, false);
    one.set("special", true);
    added->add(std::move(one));
  }
  return all.dump(2);
}
}  // namespace bora::text
