// The law: whichever call to the system fails, a run ends within a bound, with exit code 0 and the same result as
// without the fault, or with 2 or 86 and one line that begins "bora: ". Never by a signal, never without an end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>
#include "fail_nth.h"
#include "support/files.h"
#include "support/places.h"
#include "support/processes.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
using namespace bora::faults;
namespace {
constexpr auto kBound = std::chrono::seconds(90);  // alone a run takes a third of a second
constexpr int kNoEnd = -1000;  // the code of a run that did not end within it
using bora::test::Result;
using bora::test::slurp;
constexpr int kShort = 0;  // no error: one byte is moved
/// The errors of the counted functions when the system is short of a resource, or a signal comes.
std::vector<int> errors_of(const std::string& call) {
  static const std::map<std::string, std::vector<int>> known{
      {"socket", {EMFILE, ENOBUFS}}, {"bind", {EADDRINUSE, ENOMEM}}, {"listen", {EADDRINUSE}},
      {"accept4", {EMFILE, ECONNABORTED, EINTR}}, {"connect", {ECONNREFUSED, ENETUNREACH}},
      {"send", {ECONNRESET, EINTR, EAGAIN, kShort}}, {"sendmsg", {ENOBUFS, EINTR, EAGAIN, ECONNRESET}},
      {"recv", {ECONNRESET, EINTR, EAGAIN, kShort}},
      {"recvmsg", {EINTR, EAGAIN, ENOBUFS}}, {"readv", {EINTR, ECONNRESET}},
      {"setsockopt", {ENOPROTOOPT}}, {"epoll_create1", {EMFILE}}, {"epoll_ctl", {ENOMEM, ENOSPC}},
      {"epoll_wait", {EINTR}}, {"eventfd", {EMFILE}}, {"poll", {EINTR, ENOMEM}}, {"memfd_create", {EMFILE, ENOMEM}},
      {"ftruncate", {EFBIG, ENOSPC}}, {"read", {EIO, EINTR, kShort}}, {"pread", {EIO, EINTR, kShort}},
      {"write", {ENOSPC, EINTR, EIO, EFBIG, kShort}}, {"writev", {ENOSPC, EIO}}, {"fsync", {EIO, ENOSPC}},
      {"rename", {ENOSPC, EIO}}, {"mkdir", {ENOSPC, EACCES}}, {"sched_setaffinity", {EINVAL}},
      {"getifaddrs", {EMFILE}}, {"process_vm_readv", {ENOMEM, EPERM}}, {"mmap", {ENOMEM}}, {"open", {EMFILE, EIO}},
      {"openat", {EMFILE, EIO}}, {"pthread_create", {EAGAIN}}, {"getaddrinfo", {EAGAIN}},
      {"pwrite", {ENOSPC, EINTR, EIO, kShort}}, {"flock", {ENOLCK, EINTR}}, {"pipe2", {EMFILE}},
      {"fork", {EAGAIN, ENOMEM}},
      {"signalfd", {EMFILE, ENOMEM}}, {"stat", {EIO, EACCES}}, {"lstat", {EIO}}, {"fstat", {EIO}},
      {"opendir", {EMFILE, EIO}}, {"readdir", {EIO}}, {"unlink", {EBUSY}}, {"unlinkat", {EBUSY, EIO}},
      {"remove", {EBUSY}}, {"renameat2", {EINVAL, EIO}}, {"sendfile", {EIO, ENOSPC, kShort}},
      {"getrandom", {EINTR, ENOSYS}}, {"dup2", {EMFILE}}, {"socketpair", {EMFILE}}, {"execvp", {ENOMEM}}};
  return known.at(call);
}
struct FaultsTest : testing::Test {
  bora::test::TempFolder temp;
  std::string folder = temp.path(), text = folder + "/text";
  Counts* counts = nullptr;
  int runs = 0;
  FaultsTest() {
    std::ofstream file(text);
    for (int i = 0; i < 400; ++i) file << "The wind number " << i * i << " blows over the hills.\n%\n";
    std::ofstream(folder + "/tiny.yaml")
        << "steps: 4\nwarmup: 2\nbatch: 6\ncheckpoint_every: 2\nthreads: 1\njoin_timeout: 4\neval_rows: 12\ndata: "
        << text << "\nmodel: {layers: 1, embed: 24, heads: 3, positions: 16}\n";
    std::ofstream(folder + "/counts").close();
    fs::resize_file(folder + "/counts", sizeof(Counts));
    int fd = ::open((folder + "/counts").c_str(), O_RDWR);
    counts = static_cast<Counts*>(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~FaultsTest() override { ::munmap(counts, sizeof(Counts)); }
  struct Rank {
    pid_t pid;
    std::string said;
  };
  using Variables = std::vector<std::pair<std::string, std::string>>;
  using Words = std::vector<std::string>;
  /// Starts the command with these words.
  Rank start(const Words& words, const Variables& variables, const std::function<void()>& before = {}) {
    auto said = folder + "/said-" + std::to_string(++runs);
    auto pid = ::fork();
    if (pid != 0) return {pid, said};
    bora::test::print_into(said);
    for (auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("GOMP_SPINCOUNT", "0", 1);
    ::close_range(3, ~0U, 0);  // what whoever started the tests left open
    if (before) before();
    auto program = bora::test::command();
    std::vector<const char*> argv{program.c_str()};
    for (auto& word : words) argv.push_back(word.c_str());
    argv.push_back(nullptr);
    ::execv(program.c_str(), const_cast<char* const*>(argv.data()));
    ::_exit(127);
  }
  static Result finish(const Rank& r, std::chrono::steady_clock::time_point end) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(r.pid, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (ended == 0) ::kill(r.pid, SIGKILL), ::waitpid(r.pid, &status, 0);
    return {ended == 0 ? kNoEnd : bora::test::end_of(status), slurp(r.said + ".out"), slurp(r.said + ".err")};
  }
  /// A job of `size` ranks, `victim` with these variables.
  std::vector<Result> run(const std::string& out, int size, int victim, const Variables& faults,
                          const std::string& carrier = "auto", const std::function<void()>& before = {}) {
    static int port = 12000 + ::getpid() * 13 % 7000;
    ++port;
    std::vector<Rank> ranks;
    for (int r = 0; r < size; ++r) {
      Variables v;
      if (size > 1)
        v = {{"BORA_RANK", std::to_string(r)},
             {"BORA_SIZE", std::to_string(size)},
             {"BORA_ROOT", "127.0.0.1:" + std::to_string(port)},
             {"BORA_CARRIER", carrier}};
      if (r == victim) v.insert(v.end(), faults.begin(), faults.end());
      ranks.push_back(start({"train", folder + "/tiny.yaml", "out=" + out}, v, r == victim ? before : nullptr));
    }
    auto end = std::chrono::steady_clock::now() + kBound;
    std::vector<Result> results;
    for (auto& r : ranks) results.push_back(finish(r, end));
    return results;
  }
  static std::string loss(const std::string& out) {
    auto at = out.rfind("val loss: ");
    return at == std::string::npos ? "no loss" : out.substr(at, out.find('\n', at) - at);
  }
  /// How many lines begin so.
  static int lines(const std::string& text, const std::string& begin) {
    std::istringstream s(text);
    int n = 0;
    for (std::string line; std::getline(s, line);) n += line.starts_with(begin);
    return n;
  }
  /// How the ends of the ranks break the law; empty if they do not.
  static std::string broken(const std::vector<Result>& results, const std::string& out, const std::string& right) {
    std::ostringstream s;
    bool well = true;
    for (std::size_t r = 0; r < results.size(); ++r) {
      auto& x = results[r];
      well = well && x.code == 0;
      bool error = x.code == 2 || x.code == 86;
      if (x.code != 0 && !error) s << " rank " << r << " ended with " << x.code;
      if (error && lines(x.err, "bora: ") != 1)
        s << " rank " << r << " (" << x.code << ") says " << lines(x.err, "bora: ") << " errors";
      if (x.code == 0 && lines(x.err, "bora: ") != 0) s << " rank " << r << " ends well with an error";
    }
    bool stored = fs::exists(out + "/checkpoints/step-4/manifest");
    if (results[0].code == 0 && well && (loss(results[0].out) != right || !stored))
      s << " another result: " << loss(results[0].out) << (stored ? "" : ", no checkpoint");
    if (!s.str().empty())
      for (auto& x : results)
        s << "\n" << x.code << " " << x.out.substr(x.out.size() - std::min<std::size_t>(x.out.size(), 200)) << x.err;
    return s.str();
  }
  /// A job, the number of calls of each function by one of its ranks without faults, and its result.
  struct Plain {
    int size, victim;
    std::string carrier, right;
    std::vector<int> calls;
  };
  Plain plain(int size, int victim, const std::string& carrier) {
    auto out = folder + "/plain";
    fs::remove_all(out);
    for (auto& n : counts->of) n = 0;
    auto results = run(out, size, victim,
                       {{"LD_PRELOAD", bora::test::fail_nth()}, {"FAULT_COUNTS", folder + "/counts"}}, carrier);
    Plain p{size, victim, carrier, loss(results[0].out), {counts->of, counts->of + kCalls}};
    EXPECT_EQ(broken(results, out, p.right), "");
    EXPECT_NE(p.right, "no loss");
    EXPECT_GT(*std::max_element(p.calls.begin(), p.calls.end()), 5) << "nothing is counted";
    return p;
  }
  /// Checks the law with `length` failing calls from the n-th on. Returns rank 0's exit code.
  int check(const Plain& p, int call, int n, int error, int length = 1) {
    auto out = folder + "/out";
    fs::remove_all(out);
    auto results = run(out, p.size, p.victim,
                       {{"LD_PRELOAD", bora::test::fail_nth()},
                        {"FAULT_CALL", kNames[call]},
                        {"FAULT_NTH", std::to_string(n)},
                        {"FAULT_LENGTH", std::to_string(length)},
                        {"FAULT_ERRNO", std::to_string(error)}},
                       p.carrier);
    EXPECT_EQ(broken(results, out, p.right), "")
        << kNames[call] << " " << n << " of " << p.calls[static_cast<std::size_t>(call)] << ", " << length
        << " of them: " << std::strerror(error) << "; " << p.size << " ranks, of rank " << p.victim << ", "
        << p.carrier;
    return results[0].code;
  }
  /// Lets calls fail one after the other; of each function about `most` of them, beginning with the first.
  void law(int size, int victim, int most, const std::string& carrier = "auto",
           const std::set<std::string>& calls = {}) {
    auto p = plain(size, victim, carrier);
    if (HasFailure()) return;
    auto only = std::getenv("FAULTS_ONLY");
    for (int c = 0; c < kCalls; ++c) {
      if ((only && kNames[c] != std::string(only)) || (!calls.empty() && !calls.count(kNames[c]))) continue;
      auto errors = errors_of(kNames[c]);
      auto of = p.calls[static_cast<std::size_t>(c)];
      bool thread = kNames[c] == std::string("pthread_create");  // few, and each one is another's
      auto stride = thread ? 1 : std::max(1, of / most);
      for (int n = 1, k = 0; n <= of; n += stride, ++k)
        check(p, c, n, errors[static_cast<std::size_t>(k) % errors.size()]);
    }
  }
  /// One run within limits, and what its line says.
  void limited(int what, rlim_t value, int code, const std::string& words) {
    auto out = folder + "/limited";
    fs::remove_all(out);
    auto r = run(out, 1, 0, {}, "auto", [&] {
      ::rlimit limit{value, value};
      ::setrlimit(static_cast<__rlimit_resource>(what), &limit);
    })[0];
    EXPECT_EQ(r.code, code) << r.out << r.err;
    EXPECT_EQ(lines(r.err, "bora: "), 1) << r.err;
    EXPECT_NE(r.err.find(words), std::string::npos) << r.err;
  }
};
/// Other commands, and what they make: with exit code 0 it is what it is without the fault, else nothing of it is left.
struct CommandFaultsTest : FaultsTest {
  std::string run = folder + "/run", made = folder + "/made", cache = folder + "/cache";
  void SetUp() override {
    ASSERT_EQ(once({"train", folder + "/tiny.yaml", "out=" + run}, {}).code, 0);
    ASSERT_EQ(once({"export", run, folder + "/hf"}, {}).code, 0);
    std::ofstream(folder + "/data.yaml")
        << "steps: 1\nbatch: 4\nthreads: 1\ndata:\n  type: corpus\n  sources: [{type: text, path: " << text
        << "}]\n  cache: " << cache << "\nmodel: {layers: 1, embed: 8, heads: 1, positions: 16}\n";
  }
  std::vector<Words> commands() const {
    return {{"export", run, made},
            {"import", folder + "/hf", made, "data=" + text},
            {"generate", run, "--length", "3"},
            {"eval", run},
            {"inspect", run},
            {"data", folder + "/data.yaml"},
            {"train-tokenizer", "--vocab", "300", "--out", made + ".json", text},
            {"launch", "-n", "2", "--", "train", folder + "/tiny.yaml", "steps=1", "out=" + folder + "/l"}};
  }
  Result once(const Words& words, const Variables& variables) {
    return finish(start(words, variables), std::chrono::steady_clock::now() + kBound);
  }
  void clear() const {
    for (auto name : {"/made", "/made.json", "/made.json.new", "/l", "/cache"}) fs::remove_all(folder + name);
  }
  /// Files by name that a command has made, and its output, without lines that tell of times.
  std::map<std::string, std::string> makes(const Result& r, const Words& words) const {
    std::map<std::string, std::string> all;
    if (words[0] != "launch") all["output"] = r.out;
    for (auto name : {"/made", "/cache", "/l/checkpoints"})
      if (fs::exists(folder + name))
        for (auto& e : fs::recursive_directory_iterator(folder + name))
          if (e.is_regular_file() && e.path().filename() != "lock")  // which names the process that made the cache
            all[fs::relative(e.path(), folder).string()] = slurp(e.path().string());
    if (fs::exists(made + ".json")) all["made.json"] = slurp(made + ".json");
    return all;
  }
  static std::string names(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
    std::string differ;
    for (auto* x : {&a, &b})
      for (auto& [name, bytes] : *x) {
        auto other = (x == &a ? b : a).find(name);
        if (other == (x == &a ? b : a).end() || other->second != bytes) differ += " " + name;
      }
    return differ;
  }
  /// `most` calls of each function, beginning with the first; of `only` if there are such.
  void law(const Words& words, int most, const std::set<std::string>& only = {}) {
    clear();
    for (auto& n : counts->of) n = 0;
    auto plain = once(words, {{"LD_PRELOAD", bora::test::fail_nth()}, {"FAULT_COUNTS", folder + "/counts"}});
    ASSERT_EQ(plain.code, 0) << words[0] << plain.out << plain.err;
    auto right = makes(plain, words);
    std::vector<int> calls{counts->of, counts->of + kCalls};
    for (std::size_t c = 0; c < kCalls; ++c) {
      auto errors = errors_of(kNames[c]);
      if (!only.empty() && !only.count(kNames[c])) continue;
      for (int n = 1, k = 0, of = calls[c]; n <= of; n += std::max(1, of / most), ++k)
        check(words, kNames[c], n, errors[static_cast<std::size_t>(k) % errors.size()], right);
    }
    clear();
  }
  void check(const Words& words, const std::string& call, int n, int error,
             const std::map<std::string, std::string>& right) {
    clear();
    auto r = once(words, {{"LD_PRELOAD", bora::test::fail_nth()},
                          {"FAULT_CALL", call},
                          {"FAULT_NTH", std::to_string(n)},
                          {"FAULT_ERRNO", std::to_string(error)}});
    auto what = words[0] + ": " + call + " " + std::to_string(n) + ", " + std::strerror(error) + ": " +
                std::to_string(r.code) + " " + r.out + r.err;
    EXPECT_TRUE(r.code == 0 || r.code == 2 || r.code == 86) << what;
    EXPECT_EQ(lines(r.err, "bora: "), r.code != 0) << what;
    EXPECT_EQ(r.err.find("internal error"), std::string::npos) << what;
    EXPECT_EQ(r.code == 0 ? names(makes(r, words), right) : "", "") << what;
    if (r.code == 0 || words[0] == "import" || words[0] == "data") return;  // the same command goes on from there
    for (auto left : {"/made", "/made.json", "/made.json.new"})
      EXPECT_FALSE(fs::exists(folder + left)) << left << " is left: " << what;
  }
};
TEST_F(CommandFaultsTest, Few) {
  for (auto& words : commands())
    law(words, 1, {"write", "pwrite", "fsync", "rename", "mkdir", "flock", "pipe2", "fork", "signalfd", "opendir",
                   "stat"});
}
TEST_F(CommandFaultsTest, All) {
  for (auto& words : commands()) law(words, 12);
}
/// A parent may leave SIGCHLD ignored, and output non-blocking: ranks end with their codes, and nothing is lost.
TEST_F(CommandFaultsTest, OddParents) {
  auto pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ::fcntl(reader, F_SETPIPE_SZ, 4096);
  auto r = start({"launch", "-n", "2", "--", "train", folder + "/tiny.yaml", "steps=1", "out=" + folder + "/l"}, {},
                 [] { ::signal(SIGCHLD, SIG_IGN); });
  auto done = finish(r, std::chrono::steady_clock::now() + kBound);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  auto whole = once({"help"}, {}).out;
  ASSERT_GT(whole.size(), 2 * 4096U);
  r = start({"help"}, {}, [&] { ::dup2(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK), 1); });
  std::string got;
  char buffer[512];
  auto end = std::chrono::steady_clock::now() + kBound;
  for (ssize_t n = -1; (n != 0 || got.empty()) && std::chrono::steady_clock::now() < end;) {
    if ((n = ::read(reader, buffer, sizeof buffer)) > 0) got.append(buffer, static_cast<std::size_t>(n));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // slower than the command
  }
  EXPECT_EQ(finish(r, end).code, 0);
  EXPECT_EQ(got, whole);
  ::close(reader);
}
TEST_F(FaultsTest, LimitsAreOneLine) {
  limited(RLIMIT_FSIZE, 4096, 2, "File too large");
#ifndef __SANITIZE_ADDRESS__  // UBSan asks a pipe whether an object's memory is mapped: none left, none found
  limited(RLIMIT_NOFILE, 4, 2, "Too many open files");
  limited(RLIMIT_STACK, 64 << 10, 2, "a stack of 64 KB");
#endif
}
TEST_F(FaultsTest, FewAlone) { law(1, 0, 1); }
TEST_F(FaultsTest, FewOfTwoRanks) {
  law(2, 0, 1, "auto", {"recvmsg", "sendmsg", "accept4", "memfd_create", "mmap", "epoll_ctl"});
}
/// Any call of any rank over any carrier, now and then several in a row: FAULTS_SECONDS (30) long, from FAULTS_SEED.
TEST_F(FaultsTest, Soak) {
  auto number = [](const char* name, unsigned otherwise) {
    return std::getenv(name) ? static_cast<unsigned>(std::atoi(std::getenv(name))) : otherwise;
  };
  auto seed = number("FAULTS_SEED", static_cast<unsigned>(::getpid()));
  std::mt19937 random(seed);
  auto any = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Plain> jobs{plain(1, 0, "auto")};
  for (std::string carrier : {"auto", "tcp", "zmq"})
    for (int victim : {0, 1}) jobs.push_back(plain(2, victim, carrier));
  ASSERT_FALSE(HasFailure());
  std::map<int, int> codes;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number("FAULTS_SECONDS", 30));
  while (std::chrono::steady_clock::now() < end) {
    auto& p = jobs[any(jobs.size())];
    auto call = any(kCalls);
    auto of = p.calls[call];
    if (of == 0) continue;
    auto errors = errors_of(kNames[call]);
    ++codes[check(p, static_cast<int>(call), 1 + static_cast<int>(any(static_cast<std::size_t>(of))),
                  errors[any(errors.size())], any(4) == 0 ? 2 + static_cast<int>(any(6)) : 1)];
  }
  std::printf("seed %u:", seed);
  for (auto [code, n] : codes) std::printf(" %d runs ended with %d,", n, code);
  std::printf(" as they should but for what is said above\n");
}
TEST_F(FaultsTest, AllAlone) { law(1, 0, 60); }
TEST_F(FaultsTest, AllOfRankZero) { law(2, 0, 40); }
TEST_F(FaultsTest, AllOfRankOne) { law(2, 1, 40); }
TEST_F(FaultsTest, AllOverTcp) { law(2, 0, 20, "tcp"), law(2, 1, 20, "tcp"); }
TEST_F(FaultsTest, AllOverZmq) { law(2, 0, 10, "zmq"); }
}  // namespace
