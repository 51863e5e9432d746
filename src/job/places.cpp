#include "bora/job/places.h"
#include <fnmatch.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/optim/kind.h"
#include "bora/text/tokenizer_files.h"
#include "bora/track/tracker.h"
#include "bora/train/local_settings.h"
#include "data/api/records.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
using Names = std::vector<std::string>;
// Of a folder of a model: what else is there may be written again, such as the scores of a call before.
const Names kModelFiles = {"*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.bin"};

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}
/// The entries of a folder with such names; none of one that cannot be read.
Names entries(const std::string& folder, const Names& patterns) {
  Names all;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    auto name = it->path().filename().string();
    auto fits = [&](auto& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    if (std::any_of(patterns.begin(), patterns.end(), fits))
      all.push_back(it->path().string());
  }
  return all;
}
using Inode = std::pair<::dev_t, ::ino_t>;
/// A folder and those above it, by device and inode: links, mounts and .. do not matter.
using Chain = std::vector<Inode>;
/// A file or folder, whatever it is called.
struct Item {
  std::string path;
  std::optional<Inode> inode;                      // none: there is nothing yet
  bool linked = false;                             // the file has another name
  std::shared_ptr<const Chain> above = {}, of_link = {};  // above what it is; above a link to it
  bool is(const Item& other) const {
    if (inode || other.inode) return inode == other.inode;
    std::error_code error;
    return fs::weakly_canonical(path, error) == fs::weakly_canonical(other.path, error);
  }
  /// Whether it is in a folder, itself or by a link there, or is that folder.
  bool is_in(const Item& tree) const {
    auto has = [&](auto& chain) { return chain && std::count(chain->begin(), chain->end(), *tree.inode) > 0; };
    return tree.inode && (inode == tree.inode || has(above) || has(of_link));
  }
};
class Finder {
 public:
  Item at(const std::string& path) {
    struct ::stat link {}, s {};
    Item item{path, std::nullopt};
    auto name = fs::absolute(path);
    bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    if (::stat(path.c_str(), &s) == 0)
      item.inode = Inode(s.st_dev, s.st_ino), item.linked = S_ISREG(s.st_mode) && s.st_nlink > 1;
    std::error_code error;
    item.above = above(is_link ? fs::weakly_canonical(name, error).parent_path() : name.parent_path());
    if (is_link) item.of_link = above(name.parent_path());
    return item;
  }

 private:
  std::shared_ptr<const Chain> above(const fs::path& folder) {
    auto& found = chains_[folder.string()];
    if (found) return found;
    Chain chain;
    std::error_code error;
    for (auto at = fs::weakly_canonical(folder, error);; at = at.parent_path()) {
      struct ::stat s {};
      if (::stat(at.c_str(), &s) == 0) chain.emplace_back(s.st_dev, s.st_ino);
      if (!at.has_relative_path()) break;
    }
    return found = std::make_shared<const Chain>(std::move(chain));
  }
  std::map<std::string, std::shared_ptr<const Chain>> chains_ = {};  // files share their folders
};
/// A place as it is found now.
struct Found {
  std::vector<Item> files = {}, trees = {};
  std::optional<Item> folder = {};
};
/// Another name of the file, below a folder.
std::optional<std::string> other_name(const Item& file, const Item& tree) {
  std::error_code error;
  if (!file.linked || !tree.inode) return std::nullopt;
  for (fs::recursive_directory_iterator it(tree.path, error), end; !error && it != end; it.increment(error)) {
    struct ::stat s {};
    if (::stat(it->path().c_str(), &s) == 0 && Inode(s.st_dev, s.st_ino) == *file.inode) return it->path().string();
  }
  return std::nullopt;
}
/// What an output would destroy of another place: the paths of both.
std::optional<std::pair<std::string, std::string>> collision(const Found& out, const Found& other) {
  for (auto& file : out.files) {
    for (auto& theirs : other.files)
      if (file.is(theirs)) return std::pair(file.path, theirs.path);
    for (auto& tree : other.trees) {
      if (file.is_in(tree)) return std::pair(file.path, tree.path);
      if (auto name = other_name(file, tree)) return std::pair(file.path, *name);
    }
  }
  for (auto& tree : out.trees) {
    for (auto& theirs : other.files)
      if (theirs.is_in(tree)) return std::pair(tree.path, theirs.path);
    for (auto& theirs : other.trees)
      if (tree.is_in(theirs) || theirs.is_in(tree)) return std::pair(tree.path, theirs.path);
  }
  if (out.folder && other.folder && out.folder->is(*other.folder))
    return std::pair(out.folder->path, other.folder->path);
  return std::nullopt;
}
/// The files of a pattern; none where it has none, which others say.
Names texts_of(const std::string& pattern) {
  Names all;
  try {
    for (auto& file : data::find_files(pattern)) all.push_back(file.path);
  } catch (const ConfigError&) {}
  return all;
}
}  // namespace

Places& Places::reads(const std::string& what, const std::string& path) {
  Place p{.what = what};
  if (path.empty()) return *this;
  auto has = [&](const char* name) {
    std::error_code error;
    return fs::exists(path + name, error);
  };
  if (!is_folder(path)) p.files = {path};
  else if (has("/manifest")) p.trees = {path};
  else if (has("/config.yaml") || has("/checkpoints")) p = run(what, path), p.trees.push_back(path + "/hugging_face");
  else p.files = entries(path, kModelFiles);
  if (p.folder.empty() && (has("/config.json") || has("/adapter_config.json"))) p.folder = path;
  inputs_.push_back(std::move(p));
  return *this;
}
Places& Places::reads_texts(const std::string& what, const std::string& pattern) {
  if (!pattern.empty()) inputs_.push_back({.what = what, .pattern = pattern});
  return *this;
}
Places& Places::writes(const std::string& what, const std::string& path) {
  if (!path.empty()) outputs_.push_back({.what = what, .files = {path, path + ".new"}});  // which becomes it
  return *this;
}
Places& Places::writes_folder(const std::string& what, const std::string& folder) {
  if (!folder.empty()) outputs_.push_back({.what = what, .trees = {folder}, .folder = folder});
  return *this;
}
/// Those of an earlier run have a number: metrics.1.jsonl, checkpoints.1.
Places::Place Places::run(const std::string& what, const std::string& folder) {
  Place p{.what = what, .trees = {folder + "/checkpoints", folder + "/best"}, .folder = folder};
  Names names = {"config*.yaml", "loss*.svg", "report*.html", "run.log*", "shares.yaml", ".owner", ".lock"};
  for (auto& row : config::rows<track::TrackerKind>()) {
    auto file = fs::path(config::Choice<track::TrackerKind>(row.type)->file());
    names.push_back(file.stem().string() + "*" + file.extension().string());
    (file.has_extension() ? p.files : p.trees).push_back((fs::path(folder) / file).string());
  }
  for (auto name : {"config.yaml", "loss.svg", "report.html", "shares.yaml", "run.log", "run.log.1"})
    p.files.push_back(folder + "/" + name);
  for (auto& there : entries(folder, names)) (is_folder(there) ? p.trees : p.files).push_back(there);
  for (auto& there : entries(folder, {"checkpoints.*", "best.*"})) p.trees.push_back(there);
  return p;
}
Places& Places::writes_run(const std::string& what, const std::string& folder) {
  if (!folder.empty()) outputs_.push_back(run(what, folder));
  return reads(what, folder + "/hugging_face");  // the tokenizer of an imported one
}
Places& Places::writes_imported(const std::string& what, const std::string& folder) {
  if (folder.empty()) return *this;
  outputs_.push_back(run(what, folder));
  outputs_.back().trees.push_back(folder + "/hugging_face");
  return *this;
}
Places& Places::writes_ranks(const std::string& what, const std::string& folder) {
  if (!folder.empty())
    outputs_.push_back({.what = what, .files = entries(folder, {"rank-*.log", "rank-*.jsonl", "rank-*.jsonl.new"})});
  if (!folder.empty()) outputs_.back().files.push_back(folder + "/rank-0.log");
  return *this;
}
Places& Places::writes_cache(const std::string& what, const std::string& folder) {
  const std::string digit = "[0-9a-f]", four = digit + digit + digit + digit;
  if (!folder.empty())
    outputs_.push_back({.what = what, .trees = entries(folder, {"*-" + four + four + four + four})});
  return *this;
}
Places& Places::add(const Settings& s) {
  for (auto& path : data_paths(s)) reads_texts("data", path);
  reads("tokenizer", tokenizer_path(s));
  auto data = s.data.write();
  auto task = data.find("task"), layout = task ? task->find("chat_template") : nullptr;
  if (layout && fs::path(layout->text).is_absolute()) reads("data.task.chat_template", layout->text);
  reads("init_from", s.init_from.path);
  reads("lora.from", s.lora.from);
  reads("page.token_file", s.page.token_file);
  writes_run("out", s.out);
  if (auto& local = s.checkpoint.local; !local.empty())
    outputs_.push_back({.what = "checkpoint.local", .trees = {local + "/checkpoints", local + "/best"},
                        .folder = local});
  writes("trace", s.trace.path);
  if (auto choice = s.data; auto cache = choice.edit().cache()) writes_cache("data.cache", *cache);
  auto flights = std::getenv("BORA_FLIGHT_DIR");
  return writes_ranks("transport.flight_dir", s.transport.flight_dir.value_or(flights ? flights : ""));
}
void Places::check() const {
  if (!has_outputs()) return;
  Finder finder;
  std::vector<std::pair<const Place*, Found>> all;
  auto find = [&](const Place& p) {
    auto& [place, found] = all.emplace_back(&p, Found{});
    for (auto& path : p.pattern.empty() ? p.files : texts_of(p.pattern)) found.files.push_back(finder.at(path));
    for (auto& path : p.trees) found.trees.push_back(finder.at(path));
    if (!p.folder.empty()) found.folder = finder.at(p.folder);
  };
  for (auto& p : inputs_) find(p);
  for (auto& p : outputs_) find(p);
  for (auto i = inputs_.size(); i < all.size(); ++i)
    for (auto& [other, theirs] : all) {
      auto& [out, ours] = all[i];
      if (out->what == other->what) continue;
      check_outside_text(*out, *other);
      auto hit = collision(ours, theirs);
      if (!hit) continue;
      bool one = hit->first == hit->second;
      fail<ConfigError>(out->what, ": ", hit->first, one ? "" : " would replace or remove ", one ? "" : hit->second,
                        one ? " is that of " : ", that of ", other->what, "; choose another");
    }
}
/// Its files would be text when the command runs again.
void Places::check_outside_text(const Place& out, const Place& texts) {
  if (texts.pattern.empty()) return;
  for (auto& file : out.files) {
    auto path = fs::absolute(file);
    bool becomes = data::would_read(texts.pattern, path.parent_path().string(), {path.filename().string()});
    bora::check<ConfigError>(!becomes, out.what, ": ", out.folder.empty() ? file : out.folder,
                             " lies in the folder of the text, ", texts.pattern,
                             ": what is written there would become text; choose another");
  }
}
}  // namespace bora::job
