// command.h -- the command from outside: a folder, a small run's configuration, and what a process printed.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include "bora/base/error.h"
#include "bora/track/metrics.h"
#include "support/files.h"
#include "support/places.h"
#include "support/processes.h"
#include "support/temp_folder.h"

namespace bora {
using test::Result;
using test::slurp;
struct CommandTest : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path(), config = folder + "/tiny.yaml";
  mutable int runs = 0;
  CommandTest() {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "The wind number " + std::to_string(i * i) + " blows over the hills.\n%\n";
    std::ofstream(folder + "/text") << text;
    std::ofstream(config) << "steps: 6\nwarmup: 2\nbatch: 6\nlog_every: 2\neval_rows: 24\ndata: " << folder
                          << "/text\nmodel: {layers: 2, embed: 24, heads: 3, positions: 16}\n";
  }
  /// Runs it in a shell; `shell` comes before: variables, ulimit ...; exec.
  Result run(const std::string& arguments, const std::function<void(pid_t)>& meanwhile = {},
             const std::string& shell = {}) const {
    auto said = folder + "/" + std::to_string(++runs);  // one run may begin while another goes on
    auto command = shell + " exec " + test::command() + " < /dev/null " + arguments;
    auto child = [&] { return ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr), 127; };
    return test::run_apart(said, child, meanwhile);
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
  /// The text with one blank for any white space, as if no line had been wrapped.
  static std::string in_a_line(const std::string& text) {
    std::string r;
    for (char c : text)
      if (c != ' ' && c != '\n') r += c;
      else if (r.empty() || r.back() != ' ') r += ' ';
    return r;
  }
  /// Minutes: on a machine full of other tests a launcher that tries a host twice a minute needs them.
  static void until(const std::function<bool()>& done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::minutes(4);
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(done());
  }
  /// What the command that was begun last has printed by now, and its errors.
  std::string said_so_far() const { return slurp(folder + "/" + std::to_string(runs) + ".out"); }
  std::string errors_so_far() const { return slurp(folder + "/" + std::to_string(runs) + ".err"); }
  void until_warned(const std::string& text) const {
    until([&] { return errors_so_far().find(text) != std::string::npos; });
  }
  /// The model's file of a run, as export writes it.
  std::string model_of(const std::string& out) const {
    auto to = out + "_hf";
    std::filesystem::remove_all(to);
    EXPECT_EQ(run("export " + out + " " + to + " --format hf").code, 0);
    auto model = slurp(to + "/model.safetensors");
    EXPECT_GT(model.size(), 10000U);
    return model;
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
  /// A stopped run has the losses of a job of this shape that nobody disturbs, as far as it went.
  void is_as_undisturbed(const std::string& out, const std::string& shape, const std::string& words) const {
    auto calm = out + "_calm";
    auto mine = losses(out), evaluated = losses(out, "eval/loss");
    auto r = run("launch " + shape + " --out " + calm + " train " + words, [&](pid_t job) {
      until([&] { return losses(calm).size() >= mine.size(); });
      ::kill(job, SIGTERM);
    });
    ASSERT_EQ(r.code, 130) << r.err;
    auto begins = [](const std::vector<double>& whole, const std::vector<double>& part) {
      return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
    };
    EXPECT_TRUE(begins(losses(calm), mine));
    EXPECT_TRUE(begins(losses(calm, "eval/loss"), evaluated)) << evaluated.size();
  }
};
}  // namespace bora
