#include "data/store/cache.h"
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>
#include "base/api/cores.h"
#include "base/api/file.h"
#include "base/api/paths.h"
#include "bora/base/text.h"
#include "data/store/cache_folder.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::data {
namespace {
using Clock = std::chrono::steady_clock;
// Interval of the collective that keeps waiting ranks from timing out.
constexpr auto kRound = std::chrono::seconds(20);

std::string hex(std::uint64_t x) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
  return text;
}
/// The files as all hosts must have them: names without folders, sizes, samples of the bytes.
std::string print_of(const std::vector<SourceFile>& files) {
  std::string text;
  for (auto& f : files)
    text += fs::path(f.path).filename().string() + "\t" + std::to_string(f.bytes) + "\t" + hex(sample_hash(f)) + "\n";
  return text;
}
/// Which of the ranks that see a folder this one is, and how many they are: each leaves a file there.
struct Group {
  std::size_t index = 0, count = 1;
};
Group group_at(const std::string& folder, const Crew& crew) {
  if (crew.size == 1) return {};
  auto stamp = hex(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) ^
                   static_cast<std::uint64_t>(::getpid()) << 40);
  stamp = crew.exchange(stamp, "data: a mark for the cache")[0];
  auto mark = [&](int rank) { return folder + "/rank-" + stamp + "-" + std::to_string(rank) + ".mark"; };
  agree(crew, "data: marks in the cache", [&] { File::create(mark(crew.rank)).close(); });
  Group g{0, 0};
  for (int r = 0; r < crew.size; ++r)
    if (r == crew.rank || is_there(mark(r))) g.count += 1, g.index += r < crew.rank;
  crew.exchange("", "data: the marks were read");
  std::error_code error;
  fs::remove(mark(crew.rank), error);
  return g;
}

/// Encodes the units of one rank, a round at a time.
class Worker {
 public:
  Worker(const Recipe& recipe, const std::vector<Unit>& all, Group group, const Crew& crew)
      : recipe_(recipe), units_(all), crew_(crew) {
    for (std::size_t u = group.index; u < all.size(); u += group.count) mine_.push_back(u), total_ += all[u].bytes;
  }
  /// start(unit): where to go on, and the number of the next chunk. commit(unit, number, bytes); finish(unit, the sums
  /// of its files).
  template <class Start, class Commit, class Finish>
  bool round(const Start& start, const Commit& commit, const Finish& finish) {
    auto until = Clock::now() + kRound;
    for (; next_ < mine_.size(); ++next_) {
      auto u = mine_[next_];
      if (!encoder_) {
        Cursor at;
        std::tie(at, chunk_) = start(u);
        total_ -= bytes_before(units_[u], at);
        encoder_.emplace(recipe_, units_[u], at);
      }
      encoder_->run(
          until, [&](std::string& bytes) { commit(u, chunk_++, bytes); },
          [&](std::int64_t bytes) { crew_.progress(done_ += bytes, total_); });
      if (!encoder_->done()) return false;
      finish(u, encoder_->sums());
      encoder_.reset();
      if (Clock::now() >= until) {
        ++next_;
        break;
      }
    }
    return next_ == mine_.size();
  }

 private:
  std::int64_t bytes_before(const Unit& unit, const Cursor& at) const {
    if (at.done) return unit.bytes;
    auto file = recipe_.files.begin() + static_cast<std::ptrdiff_t>(unit.begin);
    auto bytes = std::min(at.position.offset, file[static_cast<std::ptrdiff_t>(at.file)].bytes);
    for (std::size_t f = 0; f < at.file; ++f) bytes += (file++)->bytes;
    return bytes;
  }
  const Recipe& recipe_;
  const std::vector<Unit>& units_;
  const Crew& crew_;
  std::vector<std::size_t> mine_;
  std::size_t next_ = 0, chunk_ = 0;
  std::optional<Encoder> encoder_ = {};
  std::int64_t done_ = 0, total_ = 0;
};

std::shared_ptr<const Store> in_memory(const Making& making, const Crew& crew) {
  auto units = units_of(making.recipe.files);
  std::vector<std::shared_ptr<const Chunk>> chunks;
  Worker worker(making.recipe, units, {}, crew);
  std::int64_t held = 0, ranks = ranks_here(crew);
  auto work = [&] {
    bool done = worker.round([](std::size_t) { return std::pair{Cursor{}, std::size_t{0}}; },
                             [&](std::size_t, std::size_t, std::string& bytes) {
                               auto size = static_cast<std::int64_t>(bytes.size());
                               check_memory(making.name, held += size, 4 * size * ranks);  // what grows
                               chunks.push_back(std::make_shared<const Chunk>(std::move(bytes), making.name));
                             },
                             [](std::size_t, const Sums&) {});
    return std::string(done ? "done" : "more");
  };
  for (;;) {
    auto all = agree(crew, "data: reading", work);
    if (std::all_of(all.begin(), all.end(), [](auto& s) { return s == "done"; })) break;
  }
  return std::make_shared<const Store>(std::move(chunks));
}

void make(const Making& making, const Folder& folder, Group group, const Crew& crew) {
  Worker worker(making.recipe, folder.units(), group, crew);
  auto work = [&] {
    bool done = worker.round(
        [&](std::size_t u) { return folder.behind(u, crew); },
        [&](std::size_t u, std::size_t k, const std::string& bytes) {
          write_file(folder.chunk(u, k), bytes, {.keep_pages = false});  // room for what is read next
        },
        [&](std::size_t u, const Sums& sums) { folder.write_sums(u, sums, crew); });
    return std::string(done ? "done" : "more");
  };
  for (;;) {
    auto all = agree(crew, "data: making the cache", work);
    if (std::all_of(all.begin(), all.end(), [](auto& s) { return s == "done"; })) break;
  }
}
/// The folder's lock, on all hosts or on none: two jobs that had it on one host each would wait for each other. Null
/// for ranks that do not lead.
std::unique_ptr<Lock> locked(const std::string& path, bool leads, const Crew& crew) {
  Holder holder(path);
  auto waits = [&, said = false]() mutable {
    if (!said) crew.say("data: another process makes " + path + "; waiting until it is done");
    said = true;
  };
  for (;;) {
    std::unique_ptr<Lock> lock;
    auto words = agree(crew, "data: the lock of the cache", [&] {
      if (leads) lock = std::make_unique<Lock>(path);
      for (auto until = Clock::now() + kRound; lock && !lock->take();) {
        waits();
        holder.check();
        if (Clock::now() > until) return std::string("waits");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      return std::string("ready");
    });
    if (std::all_of(words.begin(), words.end(), [](auto& s) { return s == "ready"; })) return lock;
    waits();
    lock.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::random_device()() % 2000));
  }
}
std::shared_ptr<const Store> opened(const Folder& folder) {
  std::vector<std::shared_ptr<const Chunk>> chunks;
  auto counts = folder.chunks();
  for (std::size_t u = 0; u < counts.size(); ++u)
    for (std::size_t k = 0; k < counts[u]; ++k) chunks.push_back(std::make_shared<const Chunk>(folder.chunk(u, k)));
  return std::make_shared<const Store>(std::move(chunks));
}
/// The documents of a folder that is complete on all hosts: no lock is taken, and nothing is written. Null if there is
/// work to do, or another process is doing it.
std::shared_ptr<const Store> ready(const Folder& folder, const Crew& crew) {
  std::shared_ptr<const Store> store;
  auto words = agree(crew, "data: the cache as it is", [&] {
    try {
      if (folder.is_ready()) store = opened(folder);
    } catch (const IoError&) {
      if (::access(folder.path().c_str(), W_OK) != 0) throw;  // else it is being made anew
    }
    return std::string(store ? "ready" : "not yet");
  });
  bool all = std::all_of(words.begin(), words.end(), [](auto& s) { return s == "ready"; });
  return all ? store : nullptr;
}
std::shared_ptr<const Store> in_folder(const Making& making, const std::string& path, const Crew& crew) {
  Folder folder(making, path);
  if (auto store = ready(folder, crew)) return store;
  agree(crew, "data: the folder of the cache", [&] {
    std::error_code error;
    fs::create_directories(path, error);
    check<IoError>(!error, "data: cannot make the folder ", path, ": ", error.message());
  });
  auto group = group_at(path, crew);
  bool leads = group.index == 0, complete = true;
  auto lock = locked(path, leads, crew);
  auto words = agree(crew, "data: the state of the cache", [&] {
    if (leads) complete = folder.prepare(crew);
    return std::string(complete ? "complete" : "begun");
  });
  if (!std::all_of(words.begin(), words.end(), [](auto& s) { return s == "complete"; })) {
    make(making, folder, group, crew);
    agree(crew, "data: the end of the cache", [&] {
      std::vector<std::size_t> chunks;
      for (std::size_t u = 0; leads && u < folder.units().size(); ++u) {
        auto [at, n] = folder.behind(u, crew);
        check<IoError>(at.done, folder.chunk(u, n), ": was removed or damaged since it was made; start again");
        chunks.push_back(n);
      }
      if (leads) folder.write_done(chunks);
    });
  }
  std::shared_ptr<const Store> store;
  agree(crew, "data: opening the cache", [&] { store = opened(folder); });
  return store;
}
}  // namespace

std::string check_same_files(const std::string& name, const std::vector<SourceFile>& files, const Crew& crew,
                             const std::string& identity) {
  std::string print;
  auto prints = agree(crew, "data: samples of the files", [&] {
    print = print_of(files);
    return hash_of(print) + " " + hash_of(identity) + " " + count_text(files);
  });
  constexpr std::size_t digits = 16;  // of a hash
  for (std::size_t r = 1; r < prints.size(); ++r) {
    auto first = prints[0].substr(2 * digits + 2), other = prints[r].substr(2 * digits + 2);
    auto same = prints[0].substr(0, digits) == prints[r].substr(0, digits);
    check<ConfigError>(prints[r] == prints[0], "data: ", name, " differs between hosts: rank 0 has ", first, ", rank ",
                       r, " has ", other, same ? " and another chat template" : "",
                       !same && first == other ? " with other contents or names" : "",
                       "; give all hosts the same files");
  }
  return print;
}
std::int64_t ranks_here(const Crew& crew) {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  auto all = crew.exchange(host, "data: the hosts of the ranks");
  return std::count(all.begin(), all.end(), std::string(host));
}
void check_memory(const std::string& name, std::int64_t held, std::int64_t more) {
  constexpr std::int64_t least = 64 << 20;  // a smaller text is not the reason
  if (held + more < least) return;
  auto free = free_memory();
  check<ConfigError>(free.bytes - more >= free.all / 16, "data: the tokens of ", name, " take ",
                     bytes_text(held > 0 ? held : more), held > 0 ? " so far" : " or more", ", and only ",
                     bytes_text(free.bytes), " of ", bytes_text(free.all), " are left in ", free.of,
                     "; give them a folder, data.cache, from which they are read as they are needed (data={sources: "
                     "[{path: ",
                     name, "}], cache: FOLDER})");
}
std::string print_line(const std::vector<SourceFile>& files, const std::string& identity) {
  return count_text(files) + ", contents " + hash_of(identity + "\n" + print_of(files));
}
std::shared_ptr<const Store> open_store(const Making& making, const std::string& cache, const Crew& crew) {
  auto print = check_same_files(making.name, making.recipe.files, crew, making.identity);
  if (cache.empty()) return in_memory(making, crew);
  auto stem = fs::path(making.name).filename().string();
  std::erase_if(stem, [](char c) { return c == '/' || c == '*' || c == '?' || c == '{' || c == '}'; });
  auto hash = hash_of(making.identity + "\n" + print);
  return in_folder(making, cache + "/" + (stem.empty() ? "data" : stem) + "-" + hash, crew);
}
}  // namespace bora::data
