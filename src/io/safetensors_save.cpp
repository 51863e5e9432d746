// Every rank writes its blocks at their places in files that rank 0 has made beside the names they get at the end.
#include "io/api/safetensors_save.h"
#include <algorithm>
#include <filesystem>
#include "blocks.h"
#include "base/api/file.h"
#include "bora/io/tree.h"
#include "safetensors_format.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora {
namespace {
constexpr std::string_view kEnding = ".safetensors", kModelFile = "model.safetensors",
                           kIndex = "model.safetensors.index.json";
struct Entry {
  const io::TensorSource* source;
  io::StoredTensor stored;
};
struct Output {
  std::string name;
  std::vector<std::size_t> entries = {};
  std::string header = {};
};
/// Files of at most `most` bytes of numbers, tensors in the order of names. Within a file the widest dtypes come first,
/// so that every number is aligned.
std::vector<Output> split(std::vector<Entry>& entries, std::int64_t most,
                          const std::map<std::string, std::string>& notes) {
  std::vector<Output> files(1);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto n = entries[i].stored.bytes;
    if (most > 0 && bytes > 0 && bytes + n > most) files.emplace_back(), bytes = 0;
    files.back().entries.push_back(i);
    bytes += n;
  }
  for (auto& f : files) {
    auto width = [&](std::size_t i) { return dtype_size(entries[i].source->type.dtype); };
    std::stable_sort(f.entries.begin(), f.entries.end(), [&](auto a, auto b) { return width(a) > width(b); });
    std::vector<std::pair<std::string, io::StoredTensor>> list;
    for (auto i : f.entries) list.emplace_back(entries[i].source->name, entries[i].stored);
    f.header = io::safetensors_header(list, notes);
    auto at = static_cast<std::int64_t>(f.header.size());
    for (auto i : f.entries) entries[i].stored.offset = at, at += entries[i].stored.bytes;
  }
  return files;
}
std::string shard_name(std::size_t i, std::size_t n) {
  auto five = [](std::size_t x) {
    auto s = std::to_string(x);
    return std::string(s.size() < 5 ? 5 - s.size() : 0, '0') + s;
  };
  return "model-" + five(i + 1) + "-of-" + five(n) + std::string(kEnding);
}
bool is_shard(const std::string& name) {
  return name.starts_with("model-") && name.ends_with(kEnding) && name.find("-of-") != name.npos;
}

void remove_file(const fs::path& p) {
  std::error_code error;
  fs::remove(p, error);
  check<IoError>(!error, "cannot remove ", p.string(), ": ", error.message());
}
/// Gives the files their names. Whatever is not of this set and would be taken for a part of it is removed.
void commit(const fs::path& folder, const std::vector<Output>& files, const std::vector<Entry>& entries, bool owned) {
  auto temporary = [&](const Output& f) { return (folder / ("." + f.name + ".tmp")).string(); };
  if (files.size() > 1) remove_file(folder / kIndex);  // an old index must not name new shards
  for (auto& f : files) rename_folder(temporary(f), (folder / f.name).string());
  std::map<std::string, std::string> where;
  std::int64_t bytes = 0;
  for (auto& f : files)
    for (auto i : f.entries) where[entries[i].source->name] = f.name, bytes += entries[i].stored.bytes;
  sync_folder(folder.string());
  if (files.size() > 1) write_file((folder / kIndex).string(), io::safetensors_index(where, bytes));
  if (owned) {
    remove_file(folder / (files.size() > 1 ? kModelFile : kIndex));
    std::vector<fs::path> old;
    for (auto& entry : fs::directory_iterator(folder)) {
      auto name = entry.path().filename().string();
      if (is_shard(name) && std::none_of(files.begin(), files.end(), [&](auto& f) { return f.name == name; }))
        old.push_back(entry.path());
    }
    for (auto& p : old) remove_file(p);
  }
  sync_folder(folder.string());
}
void write_block(File& file, const Entry& e, std::size_t index, const LocalBlock& local, const io::Place& place) {
  auto& type = e.source->type;
  auto mine = io::block_of_rank(type, local.spec, place.mesh, place.rank);
  if (io::elements(mine) == 0 || io::writer_of(local.spec, index, place) != place.rank) return;
  io::Box whole;
  for (auto n : type.shape) whole.push_back({0, n});
  auto item = static_cast<std::int64_t>(dtype_size(type.dtype));
  auto* bytes = static_cast<const char*>(local.block.bytes());
  io::each_run(whole, mine, mine, [&](std::int64_t to, std::int64_t from, std::int64_t n) {
    file.write_at(e.stored.offset + to * item, bytes + from * item, n * item);
  });
}
/// Returns the first error of this rank's file. A rank with an error goes on making tensors, for which the others need
/// it.
std::string write_blocks(const std::string& path, const Output& f, const std::vector<Entry>& entries,
                         const io::Place& place) {
  std::optional<File> file;
  auto problem = error_of([&] { file = File::edit(path); });
  for (auto i : f.entries) {
    auto local = local_block(entries[i].source->make());
    if (problem.empty()) problem = error_of([&] { write_block(*file, entries[i], i, local, place); });
  }
  if (problem.empty()) problem = error_of([&] { file->sync(), file->close(); });
  return problem;
}
}  // namespace

namespace io {
void save_tensors(const std::string& path, const std::vector<TensorSource>& tensors,
                  const SaveSafetensorsOptions& options) {
  const bool single = path.ends_with(kEnding);
  check<ConfigError>(options.shard_bytes >= 0, "save_safetensors: shard_bytes is ", options.shard_bytes);
  check<ConfigError>(!single || options.shard_bytes == 0, "save_safetensors: shards are written into a folder; ", path,
                     " is the name of a file");
  auto place = place_here();
  std::vector<Entry> entries;
  for (auto& t : tensors) {
    auto bytes = volume(t.type.shape) * static_cast<std::int64_t>(dtype_size(t.type.dtype));
    entries.push_back({&t, {std::string(stored_name(t.type.dtype)), t.type.shape, 0, bytes}});
  }
  auto files = split(entries, options.shard_bytes, options.metadata);
  fs::path folder = single ? fs::path(path).parent_path() : fs::path(path);
  if (folder.empty()) folder = ".";
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i].name = single              ? fs::path(path).filename().string()
                    : files.size() == 1 ? std::string(kModelFile)
                                        : shard_name(i, files.size());
  auto temporary = [&](const Output& f) { return (folder / ("." + f.name + ".tmp")).string(); };
  try {
    on_first(place, "safetensors: make files", [&] {
      if (!single) fs::create_directories(folder);
      for (auto& f : files) {
        auto file = File::create(temporary(f));
        file.write(f.header.data(), static_cast<std::int64_t>(f.header.size()));
        file.close();
      }
    });
    std::string problem;
    for (auto& f : files) {
      auto here = write_blocks(temporary(f), f, entries, place);
      if (problem.empty()) problem = std::move(here);
    }
    agree<IoError>(place, "safetensors: write blocks", [&] { check<IoError>(problem.empty(), problem); });
    on_first(place, "safetensors: commit", [&] { commit(folder, files, entries, !single); });
  } catch (...) {  // a rank's error, or its loss
    std::error_code error;
    for (auto& f : files)
      if (place.rank == 0) fs::remove(temporary(f), error);
    throw;
  }
}
}  // namespace io

void save_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                      const SaveSafetensorsOptions& options) {
  std::vector<io::TensorSource> sources;
  for (auto& [name, x] : tensors)
    sources.push_back({name, {local_block(x).global_shape, x.dtype()}, [&x = x] { return x; }});
  io::save_tensors(path, sources, options);
}
}  // namespace bora
