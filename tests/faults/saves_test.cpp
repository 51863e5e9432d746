// Laws of saves: whatever call fails, wherever a rank is killed and whenever the power goes, the newest checkpoint that
// is listed is whole, and it is the one before the save or the one after it, bit for bit; of a save that has returned,
// the one after. The next save works as ever. Ranks are processes of their own, files are real ones.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include "base/api/file.h"
#include "bora/io/checkpoint.h"
#include "file_calls.h"
#include "io/api/retention.h"
#include "io/api/saving.h"
#include "io/testing.h"
#include "power_loss.h"
#include "shard/api/agree.h"
#include "support/files.h"

namespace {
using namespace bora;
using namespace bora::io;
using namespace bora::faults;

// ---- states ----
const Shapes kShapes{{{{7, 5}, f32}, Spec{"data", "model"}},
                     {{{13}, f32}, Spec{"data"}},
                     {{{}, i64}, {}},
                     {{{40, 30}, f32}, Spec{"data", "model"}}};
MeshShape mesh_for(int ranks) { return mesh_of(ranks == 1 ? 1 : 2, ranks == 4 ? 2 : 1); }
char value(std::size_t leaf, std::int64_t byte, std::int64_t step, int version) {
  return static_cast<char>(expected(leaf, byte) + 31 * step + 101 * version);
}
template <class F> void each_value(const Place& place, const F& f) {
  for (std::size_t l = 0; l < kShapes.size(); ++l)
    each_byte(kShapes[l].first, block_of_rank(kShapes[l].first, kShapes[l].second, place.mesh, place.rank),
              [&](std::int64_t local, std::int64_t global) { f(l, local, global); });
}
State state_of(const Place& place, std::int64_t step, int version) {
  auto s = make_state(kShapes, place, false);
  each_value(place, [&](std::size_t l, std::int64_t local, std::int64_t global) {
    s.memory[l][static_cast<std::size_t>(local)] = value(l, global, step, version);
  });
  return s;
}
/// A checkpoint as a reader finds it: its step, and which of the two versions of its values.
struct Seen {
  std::int64_t step = 0;  // 0: there is none; -1: it is damaged
  int version = 0;
  bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& s) { return out << "step " << s.step << "." << s.version; }
Seen look_into(const Checkpoint& c) {
  Place alone{mesh_of(1, 1)};
  auto s = make_state(kShapes, alone, false);
  verify_checkpoint(c.folder);
  restore_checkpoint(c.folder, s.leaves, alone);
  for (int version : {0, 1}) {
    bool same = true;
    each_value(alone, [&](std::size_t l, std::int64_t local, std::int64_t global) {
      same = same && s.memory[l][static_cast<std::size_t>(local)] == value(l, global, c.step, version);
    });
    if (same) return {c.step, version};
  }
  return {-1};
}
/// The newest that is listed.
Seen look(const std::string& root) {
  try {
    auto newest = newest_checkpoint(root);
    return newest ? look_into(*newest) : Seen{};
  } catch (const Error& e) {
    ADD_FAILURE() << e.text();
    return {-1};
  }
}

// ---- what ranks do ----
struct Scenario {
  std::string name;
  Seen before, after;
  std::string root;  // below OUT
  bool exchange = true;
};
const std::vector<Scenario> kScenarios{{"first", {}, {1, 0}, "/fresh/checkpoints"},
                                       {"save", {2, 0}, {3, 0}, "/checkpoints"},
                                       {"beside the steps", {2, 0}, {3, 0}, "/checkpoints"},
                                       {"resave", {2, 0}, {2, 1}, "/checkpoints"},
                                       {"resave without exchange", {2, 0}, {2, 1}, "/checkpoints", false},
                                       {"best", {1, 0}, {2, 0}, "/best"},
                                       {"pinned", {2, 0}, {3, 0}, "/pinned"}};
void save(const std::string& root, const Seen& what, const Place& place, std::int64_t keep = 2) {
  auto s = state_of(place, what.step, what.version);
  save_checkpoint(root, what.step, s.leaves, place, {{"seed", "7"}}, keep);
}
/// As a run does it beside its steps: each rank writes on its own, one commits and removes what retention lets go.
void save_in_parts(const std::string& root, const Seen& what, const Place& place) {
  const saving::Target target{root, what.step};
  auto s = state_of(place, what.step, what.version);
  on_first(place, "begin", [&] { saving::begin(target); });
  auto parts = agree<IoError>(place, "write", [&] { return saving::write(target, s.leaves, place); });
  on_first(place, "commit", [&] {
    auto problem = bora::error_of([&] { saving::commit(target, place.mesh, {}, parts); });
    if (!problem.empty()) saving::drop(target);
    check<IoError>(problem.empty(), problem);
    (void)saving::retain(target, 0);
    (void)bora::error_of([&] { io::retain(root, {}, what.step); });
  });
}
void play(const Scenario& s, const std::string& out, const Place& place) {
  if (s.name == "beside the steps") save_in_parts(out + s.root, s.after, place);
  else if (s.name == "best") link_checkpoint({2, out + "/checkpoints/step-2"}, out + s.root, place, 1);
  else save(out + s.root, s.after, place);
}
/// Steps 1 and 2, step 1 as the best, and both again with step 1 pinned.
void prepare(const std::string& out) {
  Place alone{mesh_of(1, 1)};
  for (std::int64_t step : {1, 2}) save(out + "/checkpoints", {step, 0}, alone);
  link_checkpoint({1, out + "/checkpoints/step-1"}, out + "/best", alone, 1);
  fs::copy(out + "/checkpoints", out + "/pinned", fs::copy_options::recursive);
  pin_checkpoint(out + "/pinned/step-1");
}
/// Memory where there is some, since thousands of saves sync.
struct Memory {
  std::string path;
  Memory() {
    auto base = ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm") : fs::temp_directory_path().string();
    path = base + "/bora_saves_XXXXXX";
    if (!::mkdtemp(path.data())) throw std::system_error(errno, std::generic_category(), path);
  }
  ~Memory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// ---- ranks that are processes ----
/// Texts between ranks, over rank 0.
class Wires {
 public:
  explicit Wires(int ranks) : ends_(static_cast<std::size_t>(ranks)) {
    for (auto& e : ends_)
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  /// This process is the rank, or none.
  void keep(int rank) {
    for (std::size_t r = 0; r < ends_.size(); ++r)
      for (int side : {0, 1})
        if (rank < 0 || (side == 0) != (rank == 0) || (side == 1 && static_cast<int>(r) != rank))
          ::close(ends_[r][static_cast<std::size_t>(side)]);
  }
  std::vector<std::string> exchange(int rank, const std::string& mine) {
    std::vector<std::string> all(ends_.size());
    if (rank != 0) {
      auto fd = ends_[static_cast<std::size_t>(rank)][1];
      put(fd, mine);
      for (auto& text : all) text = get(fd);
      return all;
    }
    all[0] = mine;
    for (std::size_t r = 1; r < all.size(); ++r) all[r] = get(ends_[r][0]);
    for (std::size_t r = 1; r < all.size(); ++r)
      for (auto& text : all) put(ends_[r][0], text);
    return all;
  }

 private:
  static void put(int fd, const std::string& text) {
    auto n = static_cast<std::uint64_t>(text.size());
    auto bytes = std::string(reinterpret_cast<const char*>(&n), sizeof n) + text;
    for (std::size_t done = 0; done < bytes.size();) {
      auto some = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      check<TransportError>(some > 0, "a rank is lost");
      done += static_cast<std::size_t>(some);
    }
  }
  static std::string get(int fd) {
    std::uint64_t n = 0;
    take(fd, &n, sizeof n);
    std::string text(n, 0);
    take(fd, text.data(), n);
    return text;
  }
  static void take(int fd, void* to, std::size_t n) {
    for (std::size_t done = 0; done < n;) {
      auto some = ::recv(fd, static_cast<char*>(to) + done, n - done, 0);
      check<TransportError>(some > 0, "a rank is lost");
      done += static_cast<std::size_t>(some);
    }
  }
  std::vector<std::array<int, 2>> ends_;
};
constexpr int kThrew = 3;
struct Ends {
  std::vector<int> codes;  // of ranks: 0, kThrew, or minus a signal
  std::vector<int> calls;
};
class SavesTest : public testing::Test {
 protected:
  Memory place;
  std::string prepared = place.path + "/prepared", out = place.path + "/out";
  int* calls = nullptr;
  SavesTest() {
    calls = static_cast<int*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    prepare(prepared);
  }
  ~SavesTest() override { ::munmap(calls, 4096); }
  /// Plays it on so many ranks, of which one has this watch.
  Ends job(const Scenario& s, int ranks, int victim, Watch of) {
    fs::remove_all(out);
    fs::copy(prepared, out, fs::copy_options::recursive);
    Wires wires(ranks);
    std::vector<pid_t> pids;
    for (int r = 0; r < ranks; ++r) {
      calls[r] = 0;
      auto pid = ::fork();
      if (pid != 0) {
        pids.push_back(pid);
        continue;
      }
      ::alarm(60);
      wires.keep(r);
      Place mine{mesh_for(ranks), r};
      if (ranks > 1) mine.exchange = [&](const std::string& text, std::string_view) { return wires.exchange(r, text); };
      auto w = r == victim ? of : Watch{};
      w.below = out, w.no_exchange = !s.exchange;
      watch(w);
      int code = 0;
      try {
        play(s, out, mine);
      } catch (const Error&) { code = kThrew; } catch (const fs::filesystem_error&) { code = kThrew; } catch (...) {
        code = 4;
      }
      calls[r] = watched();
      ::_exit(code);
    }
    wires.keep(-1);
    Ends ends;
    for (std::size_t r = 0; r < pids.size(); ++r) {
      int status = 0;
      ::waitpid(pids[r], &status, 0);
      ends.codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
      ends.calls.push_back(calls[r]);
    }
    return ends;
  }
  /// What the law says of what is there now.
  void check_state(const Scenario& s, bool returned) {
    auto root = out + s.root;
    auto seen = look(root);
    EXPECT_TRUE(seen == s.after || (!returned && seen == s.before)) << seen << ", before " << s.before;
    for (auto& c : list_checkpoints(root)) {
      auto why = bora::test::error_of<Error>([&] { EXPECT_GE(look_into(c).step, 0) << c.folder; });
      EXPECT_EQ(why, "no error");
    }
    Place alone{mesh_of(1, 1)};
    save(root, {9, 0}, alone, 1);  // a run that goes on
    EXPECT_EQ(look(root), (Seen{9, 0}));
    const bool pinned = s.name == "pinned";
    EXPECT_EQ(std::distance(fs::directory_iterator(root), fs::directory_iterator()), pinned ? 2 : 1)
        << "remains in " << root;
    EXPECT_TRUE(!pinned || look_into({1, root + "/step-1"}) == (Seen{1, 0}));
  }
  /// each: every so many calls; errors: none to kill the rank.
  void law(const std::vector<int>& sizes, int each, const std::vector<int>& errors) {
    for (int ranks : sizes)
      for (auto& s : kScenarios) {
        auto calm = job(s, ranks, 0, {});
        ASSERT_EQ(calm.codes, std::vector<int>(static_cast<std::size_t>(ranks), 0)) << s.name;
        check_state(s, true);
        for (int victim = 0; victim < ranks; ++victim) {
          ASSERT_GT(calm.calls[static_cast<std::size_t>(victim)], victim == 0 ? 10 : s.name == "best" ? -1 : 2);
          for (int n = 1 + victim % each; n <= calm.calls[static_cast<std::size_t>(victim)]; n += each) {
            if (errors.empty()) one(s, ranks, victim, n, 0);
            for (int error : errors) one(s, ranks, victim, n, error);
            if (HasFailure()) return;
          }
        }
      }
  }
  void one(const Scenario& s, int ranks, int victim, int n, int error) {
    SCOPED_TRACE(s.name + " of " + std::to_string(ranks) + " ranks, call " + std::to_string(n) + " of rank " +
                 std::to_string(victim) + ": " + (error == 0 ? "killed before it" : std::strerror(error)));
    Watch w;
    if (error == 0) w.ends = n;
    else w.fails = n, w.error = error;
    auto ends = job(s, ranks, victim, w);
    bool returned = false;
    for (int r = 0; r < ranks; ++r) {
      auto code = ends.codes[static_cast<std::size_t>(r)];
      bool killed = error == 0 && r == victim;
      EXPECT_TRUE(killed ? code == -SIGKILL : code == 0 || code == kThrew) << "rank " << r << " ended with " << code;
      EXPECT_TRUE(error == 0 || code == ends.codes[0]) << "rank " << r << " ended with " << code;
      returned = returned || code == 0;
    }
    check_state(s, returned);
  }
};
const std::vector<int> kErrors{ENOSPC, EDQUOT, EIO, ESTALE};
}  // namespace

TEST_F(SavesTest, FewKills) { law({1, 2}, 5, {}); }
TEST_F(SavesTest, FewErrors) { law({1, 2}, 7, {ENOSPC, ESTALE}); }
TEST_F(SavesTest, AllKills) { law({1, 2, 4}, 1, {}); }
TEST_F(SavesTest, AllErrors) { law({1, 2, 4}, 1, kErrors); }

// ---- the loss of power ----
namespace {
struct PowerTest : SavesTest {
  std::string top = place.path + "/top", found = place.path + "/found";
  std::mt19937 random{7};
  PowerTest() { fs::create_directory(top); }
  void write(const std::map<std::string, std::string>& files) const {
    fs::remove_all(found);
    fs::create_directory(found);
    for (auto& [path, bytes] : files)
      if (path.ends_with('/')) fs::create_directories(found + "/" + path);
      else {
        fs::create_directories(fs::path(found + "/" + path).parent_path());
        std::ofstream(found + "/" + path, std::ios::binary) << bytes;
      }
  }
  /// Calls f(marks so far, whether all is synced) with each state in which the power may leave the folder `found`.
  template <class F> int each_state(Disk disk, const std::vector<FileCall>& calls, std::size_t most, const F& f) {
    std::set<std::pair<int, std::map<std::string, std::string>>> known;
    int marks = 0, states = 0;
    for (std::size_t at = 0; at <= calls.size(); ++at) {
      if (at > 0 && calls[at - 1].what == What::mark) marks = calls[at - 1].value;
      else if (at > 0) disk.apply(calls[at - 1]);
      for (auto& chosen : subsets(disk.pending(), most, random))
        for (auto kept : kBytes) {
          auto files = disk.state(chosen, kept);
          if (!known.insert({marks, files}).second) continue;
          SCOPED_TRACE("power is lost behind call " + std::to_string(at) + ", " + std::to_string(marks) + " are done");
          write(files);
          f(marks);
          ++states;
          if (HasFailure()) {
            for (auto& [path, bytes] : files) std::cout << path << " " << bytes.size() << "\n";
            return states;
          }
        }
    }
    return states;
  }
  void saves(int ranks, bool exchange, std::size_t most) {
    const std::vector<Seen> saved{{}, {1, 0}, {2, 0}, {3, 0}, {3, 1}};
    const auto root = top + "/out/checkpoints";
    Disk disk(top);
    watch({.below = top, .no_exchange = !exchange, .records = true});
    run_ranks(mesh_for(ranks), [&](const Place& here) {
      for (std::size_t i = 1; i < saved.size(); ++i) {
        save(root, saved[i], here);
        here.exchange("", "saved");
        if (here.rank == 0) mark(static_cast<int>(i));
        here.exchange("", "marked");
      }
      link_checkpoint({3, root + "/step-3"}, top + "/out/best", here, 1);
      here.exchange("", "linked");
      if (here.rank == 0) mark(static_cast<int>(saved.size()));
    });
    auto calls = recorded();
    watch_nothing();
    int n = 0;
    auto states = each_state(disk, calls, most, [&](int marks) {
      auto seen = look(found + "/out/checkpoints");
      auto before = saved[std::min(static_cast<std::size_t>(marks), saved.size() - 1)],
           after = saved[std::min(static_cast<std::size_t>(marks) + 1, saved.size() - 1)];
      EXPECT_TRUE(seen == before || seen == after) << seen << ", not " << before << " or " << after;
      auto best = look(found + "/out/best");
      EXPECT_TRUE(best == saved.back() || (marks < static_cast<int>(saved.size()) && best == Seen{})) << best;
      if (++n % 16 != 0) return;
      save(found + "/out/checkpoints", {9, 0}, {mesh_of(1, 1)});
      EXPECT_EQ(look(found + "/out/checkpoints"), (Seen{9, 0}));
    });
    std::cout << calls.size() << " calls, " << states << " states\n";
    EXPECT_GT(states, 100);
  }
};
}  // namespace

TEST_F(PowerTest, FewStates) {
  saves(1, true, 3);
  fs::remove_all(top), fs::create_directory(top);
  saves(1, false, 3);
}
TEST_F(PowerTest, AllStatesOfOneRank) { saves(1, true, 9); }
TEST_F(PowerTest, AllStatesOfTwoRanks) { saves(2, true, 9); }
TEST_F(PowerTest, AllStatesWithoutExchange) { saves(2, false, 9); }
TEST_F(PowerTest, AFileThatIsReplacedIsTheOldOrTheNewOne) {
  const auto file = top + "/a/b/file";
  Disk disk(top);
  auto text = [](int i) { return std::string(static_cast<std::size_t>(1000 * i), static_cast<char>('a' + i)); };
  watch({.below = top, .records = true});
  make_folders(top + "/a/b");
  for (int i : {1, 2, 3}) write_file(file, text(i)), mark(i);
  auto calls = recorded();
  watch_nothing();
  auto states = each_state(disk, calls, 12, [&](int marks) {
    auto there = bora::test::slurp(found + "/a/b/file");  // empty: there is none
    EXPECT_TRUE(there == (marks == 0 ? "" : text(marks)) || there == text(marks + 1)) << there.size();
  });
  EXPECT_GT(states, 10);
}
/// A server of NFS has carried a rename out, its answer was lost, and to the repetition it says that there is nothing.
TEST_F(PowerTest, ARenameWhoseAnswerIsLostIsDone) {
  watch({.below = top, .loses_answers = true});
  for (std::int64_t step : {1, 2, 3, 3}) save(top + "/out", {step, 0}, {mesh_of(1, 1)});
  write_file(top + "/file", "text");
  watch_nothing();
  EXPECT_EQ(look(top + "/out"), (Seen{3, 0}));
  EXPECT_EQ(bora::test::slurp(top + "/file"), "text");
  EXPECT_THROW(rename_folder(top + "/nothing", top + "/b"), IoError);
}
