// One host's part of a checkpoint: what it says, whether its files are whole, what an interrupted save has left.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include "base/api/file.h"
#include "base/api/paths.h"
#include "base/api/sha256.h"
#include "files.h"
#include "io/api/stores.h"
#include "manifest.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io {
namespace {
std::atomic<std::int64_t> last_order{0};

std::int64_t number_of(const Manifest& m, std::string_view note) {
  auto found = m.notes.find(std::string(note));
  std::int64_t n = 0;
  if (found != m.notes.end()) std::from_chars(found->second.data(), found->second.data() + found->second.size(), n);
  return n;
}
PartHere part_in(const std::string& root, const std::string& name, std::int64_t step) {
  PartHere p{.step = step, .folder = name};
  auto folder = root + "/" + name;
  p.problem = error_of([&] {
    auto m = read_manifest(folder);
    auto said = m.notes.find("step");
    check<CheckpointError>(said == m.notes.end() || said->second == std::to_string(step), "checkpoint ", folder,
                           " is a copy of step ", said == m.notes.end() ? "" : said->second);
    p.order = order_of(m);
    p.id = sha256(manifest_bytes(m));
    if (auto note = m.notes.find(std::string(kLocalNote)); note != m.notes.end()) p.hosts = note->second;
    for (auto& [number, bytes] : file_sizes(m)) p.wanted.insert(number);
    p.here = files_in(folder, m);
  });
  return p;
}
}  // namespace

std::int64_t order_of(const Manifest& m) { return number_of(m, kOrder); }
std::int64_t next_order() {
  auto now = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                 .count();
  auto before = last_order.load(), next = std::max<std::int64_t>(before + 1, now);
  while (!last_order.compare_exchange_weak(before, next)) next = std::max<std::int64_t>(before + 1, now);
  return next;
}
void seen_order(std::int64_t order) {
  auto before = last_order.load();
  while (before < order && !last_order.compare_exchange_weak(before, order)) {}
}

std::string manifest_file(const std::string& folder) {
  (void)read_manifest(folder);
  return read_file<CheckpointError>(folder + "/manifest");
}
bool PartHere::whole_with(const std::set<std::int64_t>& files) const {
  return problem.empty() && std::includes(files.begin(), files.end(), wanted.begin(), wanted.end());
}
std::vector<PartHere> parts_here(const std::string& root) {
  std::vector<PartHere> all;
  for (auto& c : list_checkpoints(root)) all.push_back(part_in(root, "step-" + std::to_string(c.step), c.step));
  return all;
}
std::vector<PartHere> unnamed_parts_here(const std::string& root) {
  std::vector<PartHere> all;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    auto name = it->path().filename().string();
    std::int64_t step = -1;
    bool unnamed = name.starts_with(".step-") && name.ends_with(".tmp");
    if (!unnamed || !is_there(it->path().string() + "/manifest")) continue;
    std::from_chars(name.data() + 6, name.data() + name.size(), step);
    auto part = part_in(root, name, step);
    if (part.problem.empty() && part.order > 0) all.push_back(std::move(part));
  }
  return all;
}
void name_part(const std::string& root, const PartHere& p) {
  auto name = "step-" + std::to_string(p.step), folder = root + "/" + name;
  if (!is_there(folder)) rename_folder(root + "/" + p.folder, folder);
  else if (auto other = part_in(root, name, p.step); other.problem.empty() && other.order >= p.order) return;
  else exchange_folders(root + "/" + p.folder, folder);  // what was exchanged already is the older one of two
  sync_folder(root);
}
std::string adopt_manifest(const std::string& root, std::int64_t step, const std::string& manifest) {
  auto folder = root + "/step-" + std::to_string(step), file = folder + "/manifest";
  std::string kept;
  if (is_there(folder)) {
    if (is_there(file) && read_file(file) == manifest) return {};
    if (!error_of([&] { (void)read_manifest(folder); }).empty()) {  // files beside a damaged one may be good
      write_file(file, manifest);
      return {};
    }
    kept = root + "/other-step-" + std::to_string(step);
    for (int n = 2; is_there(kept); ++n) kept = root + "/other-step-" + std::to_string(step) + "." + std::to_string(n);
    rename_folder(folder, kept);
  }
  make_folders(root);
  auto beside = root + "/.step-" + std::to_string(step) + ".adopted.tmp";
  fs::remove_all(beside);
  fs::create_directory(beside);
  write_file(beside + "/manifest", manifest);
  sync_folder(beside);
  rename_folder(beside, folder);
  sync_folder(root);
  return kept;
}
std::vector<std::string> verify_part(const std::string& folder, int first, int of, std::set<std::int64_t>& good) {
  std::vector<std::string> damaged;
  auto m = read_manifest(folder);
  std::int64_t index = 0;
  for (auto& [number, bytes] : file_sizes(m)) {
    auto file = rank_file(folder, number);
    if (index++ % of != first || !is_there(file)) continue;
    auto why = error_of([&] { verify_files(folder, m, {number}); });
    if (why.empty()) {
      good.insert(number);
      continue;
    }
    std::error_code error;  // where it cannot be renamed, whoever reads it says so
    fs::rename(file, file + ".damaged", error);
    damaged.push_back(why);
  }
  return damaged;
}
}  // namespace bora::io
