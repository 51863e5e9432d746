// One folder of a checkpoint whose files lie on several hosts.
#include <algorithm>
#include <filesystem>
#include "base/api/bytes.h"
#include "base/api/file.h"
#include "base/api/paths.h"
#include "files.h"
#include "io/api/stores.h"
#include "manifest.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io {
namespace {
/// Files that are opened when they are first needed.
struct Opened {
  File (*open)(const std::string& path);
  std::string folder;
  std::map<std::int64_t, File> files = {};
  File& operator[](std::int64_t number) {
    auto it = files.find(number);
    return it == files.end() ? files.emplace(number, open(rank_file(folder, number))).first->second : it->second;
  }
};
/// The rank that gives each file: rank 0 what it has itself.
std::map<std::int64_t, int> givers(const std::string& folder, const Manifest& m, const Place& place) {
  ByteWriter mine;
  for (auto number : files_in(folder, m)) mine.num(number);
  std::map<std::int64_t, int> by;
  auto all = place.exchange ? place.exchange(mine.take(), "gather: the files of each rank")
                            : std::vector<std::string>{mine.take()};
  for (int r = 0; r < std::ssize(all); ++r)
    for (ByteReader rest(all[static_cast<std::size_t>(r)]); !rest.empty();) by.try_emplace(rest.num<std::int64_t>(), r);
  for (auto& [number, bytes] : file_sizes(m))
    check<CheckpointError>(by.contains(number), "checkpoint ", folder, ": file rank-", number,
                           " is not there whole on any of these hosts", where_others_are(m));
  return by;
}
}  // namespace

std::string gather_checkpoint(const Checkpoint& from, const std::string& to, const Place& place) {
  auto folder = to + "/step-" + std::to_string(from.step);
  auto unfinished = to + "/.step-" + std::to_string(from.step) + ".tmp";
  Manifest m;
  agree<CheckpointError>(place, "gather: the manifest", [&] { m = read_manifest(from.folder); });
  auto by = givers(from.folder, m, place);
  on_first<ConfigError>(place, "gather: make the folder", [&] {
    check<ConfigError>(!is_there(folder), "gather: ", folder, " is there already; choose another folder");
    make_folders(to);
    fs::remove_all(unfinished);
    fs::create_directory(unfinished);
  });
  try {
    Opened read{File::open, from.folder}, write{File::create, unfinished};
    std::string problem;
    Trade trade(place);
    for (auto& [number, bytes] : file_sizes(m)) {
      auto giver = by.at(number);
      for (std::int64_t at = 0; at < bytes; at += Trade::kPiece) {
        auto n = std::min(Trade::kPiece, bytes - at);
        auto give = [&read, &from, number = number, at, n](char* out) {
          check<CheckpointError>(read[number].read(at, out, n), "checkpoint ", from.folder, ": file rank-", number,
                                 " became shorter while it was read");
        };
        auto take = [&write, number = number, at, n](const char* in) { write[number].write_at(at, in, n); };
        if (giver != 0) trade.add(giver, 0, n, give, take);
        else if (place.rank == 0 && problem.empty()) problem = error_of([&] {
            std::string piece(static_cast<std::size_t>(n), '\0');
            give(piece.data());
            take(piece.data());
          });
      }
    }
    auto moved = trade.finish();
    agree<IoError>(place, "gather: move the files", [&] {
      check<IoError>(problem.empty() && moved.empty(), problem.empty() ? moved : problem);
    });
    on_first<CheckpointError>(place, "gather: finish the folder", [&] {
      for (auto& [number, file] : write.files) file.sync(), file.close();
      m.notes.erase(std::string(kLocalNote));  // it is whole here
      write_manifest(unfinished + "/manifest", m);
      verify_checkpoint(unfinished);
      sync_folder(unfinished);
      rename_folder(unfinished, folder);
      sync_folder(to);
    });
  } catch (...) {
    std::error_code ignored;
    if (place.rank == 0) fs::remove_all(unfinished, ignored);
    throw;
  }
  return folder;
}
}  // namespace bora::io
