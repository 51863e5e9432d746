// Files and folders that settings name.
#include <algorithm>
#include <filesystem>
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/optim/kind.h"
#include "bora/text/chat.h"
#include "bora/text/tokenizer_files.h"
#include "bora/train/local_settings.h"

namespace fs = std::filesystem;
namespace bora::job {
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
  bool pieces = s.tokenizer->reads(".model");
  text::copy_tokenizer(tokenizer_path(s), pieces ? text::FileForm::model : text::FileForm::json, to);
}
namespace {
/// The settings with the path of a chat template that is a file or a folder, no known name, made absolute.
Settings with_absolute_template(Settings s) {
  auto d = s.data.write();
  auto task = d.find("task"), path = task ? task->find("chat_template") : nullptr;
  if (!path) return s;
  auto names = text::chat_template_names();
  std::error_code error;
  bool known = std::count(names.begin(), names.end(), path->text) > 0;
  if (!(known ? fs::is_directory(path->text, error) : fs::exists(path->text, error))) return s;
  path->text = data::absolute_path(path->text);
  s.data.read(d, "data", config::schema(s.data));
  return s;
}
}  // namespace
Settings with_absolute_paths(Settings s) {
  for (auto* path : {&s.out, &s.checkpoint.local, &s.trace.path, &s.init_from.path, &s.lora.from, &s.page.token_file})
    *path = data::absolute_path(*path);
  for (auto* path : s.data.edit().paths()) *path = data::absolute_path(*path);
  if (auto cache = s.data.edit().cache()) *cache = data::absolute_path(*cache);
  return with_absolute_template(with_tokenizer_path(s, data::absolute_path(tokenizer_path(s))));
}
std::vector<std::string> data_paths(const Settings& s) {
  std::vector<std::string> all;
  auto data = s.data;
  for (auto* path : data.edit().paths())
    if (!path->empty()) all.push_back(*path);
  return all;
}
}  // namespace bora::job
