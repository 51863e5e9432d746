// data.h -- `bora data` from outside: records, a configuration of a corpus, and the files of its cache.
#pragma once
#include <sys/stat.h>
#include <map>
#include <random>
#include "command.h"
#include "data/corpus.h"

namespace bora::data_command {
namespace fs = std::filesystem;
inline std::string records(int first, int n, int words = 20) {
  std::string all;
  for (int i = first; i < first + n; ++i) {
    auto text = "document " + std::to_string(i);
    for (int w = 0; w < words; ++w) text += " word" + std::to_string((i * 31 + w * w) % 997);
    all += "{\"text\": \"" + text + "\"}\n";
  }
  return all;
}
inline std::string gzip(const std::string& bytes) { return data::gzip(bytes, 1); }
inline std::string zstd(const std::string& bytes) { return data::zstd(bytes); }

struct DataTest : CommandTest {
  std::string cache = folder + "/cache";
  std::string write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
    return folder + "/" + name;
  }
  /// A configuration of one source: its type, its path and what else it has.
  std::string corpus(const std::string& type, const std::string& path, const std::string& rest = {}) const {
    return write("data.yaml", "steps: 3\nbatch: 6\nlog_every: 1\nlr: 1e-2\ndata:\n  type: corpus\n  sources: [{type: " +
                                  type + ", path: " + path + "}]\n  cache: " + cache + "\n" + rest +
                                  "model: {layers: 1, embed: 8, heads: 1, positions: 16}\n");
  }
  static std::vector<fs::path> chunk_paths(const std::string& cache) {
    std::vector<fs::path> all;
    if (!fs::exists(cache)) return all;
    for (auto& e : fs::recursive_directory_iterator(cache))
      if (e.path().extension() == ".docs") all.push_back(e.path());
    return all;
  }
  /// The bytes of all chunks of all folders of a cache, by name.
  static std::map<std::string, std::string> chunks(const std::string& cache) {
    std::map<std::string, std::string> all;
    for (auto& path : chunk_paths(cache)) all[fs::relative(path, cache).string()] = slurp(path.string());
    return all;
  }
  /// The file of a chunk that was written twice is another one.
  static std::map<std::string, ino_t> inodes(const std::string& cache) {
    std::map<std::string, ino_t> all;
    for (auto& [name, bytes] : chunks(cache)) {
      struct ::stat s {};
      EXPECT_EQ(::stat((cache + "/" + name).c_str(), &s), 0);
      all[name] = s.st_ino;
    }
    return all;
  }
  static std::string only_folder(const std::string& cache) {
    std::string found;
    for (auto& e : fs::directory_iterator(cache)) found = e.path().string();
    return found;
  }
  Result good(const std::string& arguments) const {
    auto r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    return r;
  }
  /// The lines that a build has printed about documents, without those about the cache.
  static std::string shown(const Result& r) {
    auto at = r.out.find("data: corpus;");
    return at == r.out.npos ? "nothing: " + r.out + r.err : r.out.substr(at);
  }
  static void touch(const std::string& path, int seconds) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(seconds));
  }
  /// Undisturbed, then killed again and again until it ends; returns the number of kills.
  int kill_builds(const std::string& yaml, int kills, std::mt19937& random) const {
    fs::remove_all(cache);
    auto whole = good("data --examples 0 " + yaml);
    auto want = chunks(cache);
    EXPECT_GT(want.size(), 2U);
    fs::remove_all(cache);
    int done = 0;
    for (int tries = 0; done < kills && tries < 20 * kills; ++tries) {
      auto before = inodes(cache);
      auto wait = std::uniform_real_distribution<double>(0, whole.seconds)(random);
      auto r = run("data --examples 0 " + yaml, [&](pid_t pid) {
        std::this_thread::sleep_for(std::chrono::duration<double>(wait));
        ::kill(pid, SIGKILL);
      });
      done += r.code == -SIGKILL;
      auto now = inodes(cache);
      for (auto& [name, inode] : before) EXPECT_EQ(now[name], inode) << name << " was made twice";
      auto there = chunks(cache);
      for (auto& [name, bytes] : there) EXPECT_TRUE(bytes == want[name]) << name;
      if (there.size() == want.size()) fs::remove_all(cache);  // the next one begins anew
    }
    EXPECT_EQ(shown(good("data --examples 0 " + yaml)), shown(whole));
    EXPECT_TRUE(chunks(cache) == want);
    return done;
  }
};
}  // namespace bora::data_command
