// command.h -- the command from outside: a folder, a small run's configuration, and what a process printed.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include "bora/base/error.h"
#include "bora/track/metrics.h"

namespace bora {
inline std::string slurp(const std::string& path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}
struct Result {
  int code = 0;
  std::string out, err;
  double seconds = 0;
  std::string line(const std::string& begin) const {  // the first one that begins so, without its beginning
    std::istringstream lines(out);
    for (std::string l; std::getline(lines, l);)
      if (l.starts_with(begin)) return l.substr(begin.size());
    return "no line '" + begin + "'";
  }
};
struct CommandTest : testing::Test {
  std::string folder =
      (std::filesystem::temp_directory_path() / ("bora_command_" + std::to_string(::getpid()))).string();
  std::string config = folder + "/tiny.yaml";
  mutable int runs = 0;
  CommandTest() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::string text;
    for (int i = 0; i < 400; ++i) text += "The wind number " + std::to_string(i * i) + " blows over the hills.\n%\n";
    std::ofstream(folder + "/text") << text;
    std::ofstream(config) << "steps: 6\nwarmup: 2\nbatch: 6\nlog_every: 2\neval_rows: 24\ndata: " << folder
                          << "/text\nmodel: {layers: 2, embed: 24, heads: 3, positions: 16}\n";
  }
  ~CommandTest() override { std::filesystem::remove_all(folder); }
  /// Runs it in a shell; `shell` comes before: variables, ulimit ...; exec.
  Result run(const std::string& arguments, const std::function<void(pid_t)>& meanwhile = {},
             const std::string& shell = {}) const {
    auto begin = std::chrono::steady_clock::now();
    auto said = folder + "/" + std::to_string(++runs);  // one run may begin while another goes on
    auto pid = ::fork();
    if (pid == 0) {
      auto command = shell + " exec " BORA_COMMAND " > " + said + ".out 2> " + said + ".err < /dev/null " + arguments;
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    if (meanwhile) meanwhile(pid);
    int status = 0;
    ::waitpid(pid, &status, 0);
    Result r{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), slurp(said + ".out"), slurp(said + ".err")};
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return r;
  }
  /// One line on stderr, exit code 2.
  void is_bad_input(const std::string& arguments, const std::string& part, const std::string& shell = {}) const {
    auto r = run(arguments, {}, shell);
    EXPECT_EQ(r.code, 2) << arguments.substr(0, 1000) << "\n" << r.out << r.err;
    EXPECT_TRUE(r.err.starts_with("bora: ")) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
    EXPECT_LE(r.err.size(), 2100U);
  }
  static void until(const std::function<bool()>& done) {
    for (int i = 0; i < 12000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(done());
  }
  std::vector<double> losses(const std::string& out, const std::string& name = "train/loss") const {
    std::vector<double> r;
    auto path = out + "/metrics.jsonl";
    for (int attempt = 0; std::filesystem::exists(path); ++attempt) try {
        for (auto& p : track::read_curve(path, name)) r.push_back(p.y);
        return r;
      } catch (const IoError&) {  // a run that begins again has just moved it away
        if (attempt == 9) throw;
      }
    return r;
  }
};
}  // namespace bora
