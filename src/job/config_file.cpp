// OUT/config.yaml: the settings of a run, whole or refused.
#include "job/config_file.h"
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include "base/api/file.h"
#include "bora/job/settings.h"
#include "train/api/run_folder.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
constexpr std::string_view kMark = "# Written by bora: the settings of the run in this folder.\n",
                           kEnd = "# The settings end here.\n";
using Leaves = std::vector<std::pair<std::string, std::string>>;
std::string text_of(const config::Document& d) {
  if (d.form == config::Document::Form::list && d.items.empty()) return "[]";
  auto text = d.text;
  for (auto& item : d.items)
    text += (text.empty() ? "" : ", ") +
            (item.form == config::Document::Form::list ? "[" + text_of(item) + "]" : text_of(item));
  return text;
}
void append_leaves(const config::Document& d, const std::string& key, Leaves& all) {
  bool groups = std::any_of(d.items.begin(), d.items.end(),
                            [](auto& item) { return item.form == config::Document::Form::group; });
  if (d.form == config::Document::Form::group)
    for (auto& [name, member] : d.members) append_leaves(member, config::below(key, name), all);
  else if (groups) {  // as many, and each of them: data.sources[1].path
    all.emplace_back(key, std::to_string(d.items.size()) + (d.items.size() == 1 ? " entry" : " entries"));
    for (std::size_t i = 0; i < d.items.size(); ++i)
      append_leaves(d.items[i], key + "[" + std::to_string(i + 1) + "]", all);
  } else { all.emplace_back(key, d.quoted ? "\"" + text_of(d) + "\"" : text_of(d)); }
}
Leaves leaves_of(const config::Document& d) {
  Leaves all;
  append_leaves(d, "", all);
  return all;
}
/// "changed: optimizer.lr: 0.1 -> 0.2" for each setting that differs.
std::vector<std::string> changes(const Settings& before, const Settings& now) {
  std::map<std::string, std::string> old;
  for (auto& [key, text] : leaves_of(config::write(before))) old[key] = text;
  std::vector<std::string> found;
  for (auto& [key, text] : leaves_of(config::write(now)))
    if (auto there = old.find(key); there == old.end()) found.push_back("changed: " + key + ": " + text);
    else if (there->second != text) found.push_back("changed: " + key + ": " + there->second + " -> " + text);
  return found;
}
constexpr std::string_view kAnew =
    "copy it from elsewhere, or write it anew: give it another name, then bora train with the run's own configuration "
    "and out=";
}  // namespace
bool is_written_config(const std::string& text) { return text.starts_with(kMark); }
void check_whole_config(const std::string& text, const std::string& path) {
  if (!is_written_config(text) || text.ends_with(kEnd)) return;
  auto lines = std::count(text.begin(), text.end(), '\n') + (text.ends_with('\n') ? 0 : 1);
  fail<ConfigError>(path, ":", lines, ": the settings that Bora wrote are cut off after this line; ", kAnew,
                    fs::path(path).parent_path().string());
}
void check_run_config(const std::string& text, const std::string& path) {
  check_whole_config(text, path);
  check<ConfigError>(!config::parse_yaml(text, path).members.empty(), path,
                     ":1: there are no settings in it, as if it was damaged; ", kAnew,
                     fs::path(path).parent_path().string());
}
void check_run_folder(const std::string& path) {
  auto file = path + "/config.yaml";
  struct ::stat s {};
  bool known = ::lstat(file.c_str(), &s) == 0;
  if (!known && (errno == ENOENT || errno == ENOTDIR)) return;
  check<ConfigError>(known, "out: cannot read ", file, ": ", std::strerror(errno));
  bool plain = S_ISREG(s.st_mode);
  auto text = plain ? read_file<ConfigError>(file) : std::string();
  check<ConfigError>(plain && is_written_config(text), "out: ", file,
                     " is not of a run: Bora did not write it and would overwrite it; choose another out, or give that "
                     "file another name");
}
std::vector<std::string> write_config(const std::string& path, const Settings& s) {
  auto file = path + "/config.yaml", text = std::string(kMark) + to_yaml(s) + std::string(kEnd);
  std::vector<std::string> said;
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::not_found) {  // a dangling link counts
    auto before = read_file(file);
    if (before == text) return said;
    bool same = false;  // an earlier version may have written the same settings in another form
    try {
      check_whole_config(before, file);
      said = changes(parse_settings(before, file), s);
      same = said.empty();
    } catch (const ConfigError&) {}  // of another version, or damaged: kept all the same
    if (!same) {
      auto kept = numbered(file);
      write_file(kept, before);
      said.push_back("the settings before are kept in " + kept);
    }
  }
  write_file(file, text);
  return said;
}
}  // namespace bora::job
