// A pipelined training step over a slow network: the same numbers as with collectives in turn, and its kernels run
// while data is in flight.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>
#include "network.h"
#include "support/files.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace bora {
namespace {
namespace fs = std::filesystem;
struct Training {
  std::vector<std::string> loss;       // of each step
  double kernel = 0, collective = 0, wait = 0;  // seconds of rank 0's traced steps
  /// Communication hidden behind compute, as a share of what could have been.
  double hidden() const { return (collective - wait) / std::min(kernel, collective); }
};
/// The number behind "key": in text, from a place on.
std::string value(const std::string& text, const std::string& key, std::size_t from = 0) {
  auto at = text.find("\"" + key + "\":", from);
  return at == std::string::npos ? ""
                                 : text.substr(at + key.size() + 3, text.find_first_of(",}", at) - at - key.size() - 3);
}
using bora::test::slurp;
/// FSDP on two hosts with a link of 100 Mbit/s.
Training train(const fs::path& folder, const std::string& run, const std::string& flag) {
  auto out = folder / run;
  auto command = test::network_command() + " 2 --mbit 100 -- " + test::command() + " train " +
                 (folder / "config.yaml").string() + flag + " out=" + out.string() + " trace=" +
                 (folder / (run + ".json")).string() + " > " + (folder / "log").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << slurp(folder / "log");
  Training r;
  std::ifstream lines(out / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);)
    if (auto loss = value(line, "train/loss"); !loss.empty()) r.loss.push_back(loss);
  auto trace = slurp(folder / (run + ".json"));
  auto totals = trace.find("\"totals\"");
  EXPECT_NE(totals, std::string::npos);
  for (auto [name, to] : {std::pair{"kernel", &r.kernel}, {"collective", &r.collective}, {"wait", &r.wait}})
    *to = std::atof(value(trace, name, totals).c_str());
  return r;
}
TEST(Overlap, AStepHidesWhatItCan) {
  if (auto why = net::missing(); !why.empty()) GTEST_SKIP() << why;
  bora::test::TempFolder temp;
  fs::path folder = temp.path();
  std::ofstream text(folder / "text");
  for (int i = 0; i < 4000; ++i) text << (i % 40 == 0 ? "%\n" : "words number ") << i * i % 977 << "\n";
  text.close();
  std::ofstream(folder / "config.yaml")
      << "steps: 10\nbatch: 16\nthreads: 1\nlayout: fsdp\ndigest: false\neval_rows: 8\ndata: " +
             (folder / "text").string() + "\nmodel: {layers: 8, embed: 96, heads: 4, positions: 64}\n";
  auto on = train(folder, "on", ""), off = train(folder, "off", " --no-pipeline");
  EXPECT_EQ(on.loss.size(), 10u);
  EXPECT_EQ(on.loss, off.loss);
  EXPECT_GT(on.kernel, 0);
  EXPECT_GT(on.hidden(), 0.5) << "kernels " << on.kernel << " s, collectives " << on.collective << " s, waits "
                              << on.wait << " s";
  EXPECT_GT(on.hidden(), off.hidden());
  std::printf("hidden: %.2f, in turn %.2f\n", on.hidden(), off.hidden());
}
}  // namespace
}  // namespace bora
