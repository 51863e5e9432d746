// The flight recorder: its entries, when it is written, and the sentence that names the waiting and the awaited ranks.
#include "engine/recorder.h"
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include "control/inquiry.h"
#include "jobs.h"
#include "support/files.h"
#include "support/temp_folder.h"
#include "support/text.h"

namespace bora::transport::recorder_test {
namespace {
namespace fs = std::filesystem;
using test::slurp;
struct Folder {
  test::TempFolder temp;
  std::string path = temp / "flight";
};

TEST(Recorder, KeepsTheLast4096) {
  Recorder r;
  auto group = std::make_shared<const Group>(everybody(2));
  auto lines = [&] {
    JsonWriter w;
    r.write(w, [](JsonWriter& line, const Record&) { line("state", "aborted"); });
    return w.take();
  };
  EXPECT_EQ(lines(), "");
  auto now = Clock::now();
  for (std::uint64_t i = 0; i < 5000; ++i)
    r.add({.summary = {.kind = CollectiveKind::barrier, .group = 7, .seq = i, .members = group},
           .enqueued = now,
           .started = now})
        ->ended = i == 4999 ? Clock::time_point{} : now + std::chrono::microseconds(i);
  EXPECT_EQ(r.find(7, 4999)->summary.seq, 4999u);
  EXPECT_EQ(r.find(7, 904)->summary.seq, 904u);
  EXPECT_EQ(r.find(7, 903), nullptr);
  EXPECT_EQ(r.find(8, 4999), nullptr);
  EXPECT_EQ(r.last_ended()->summary.seq, 4998u);
  auto text = lines();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4096);
  EXPECT_HAS(text, "{\"seq\":904,\"group\":\"axis data\",\"op\":\"barrier\"");
  EXPECT_HAS(text, "\"start_us\":0,\"first_byte_us\":null,\"end_us\":4998,\"state\":\"done\"}\n{\"seq\":4999,");
  EXPECT_HAS(text, "\"end_us\":null,\"state\":\"aborted\"}\n");
  r.note(*r.add({.summary = {.members = group}, .enqueued = now}), {{}, {30, 4}});
  EXPECT_HAS(lines(), "\"bytes_out\":30,\"bytes_in\":4,\"peers\":{\"1\":{\"out\":30,\"in\":4}},\"enqueued\":");
}
TEST(Recorder, OneSentenceSaysWhoWaitsForWhom) {
  std::vector<std::string> who{"rank 0 (host a, pid 1)", "rank 1 (host a, pid 2)", "rank 2 (host b, pid 3)",
                               "rank 3 (host b, pid 812)"};
  std::vector<bool> left(4, false);
  std::vector<std::optional<Activity>> all(4);
  auto waits = [](std::vector<int> awaited, std::int64_t done, std::string text = "all_reduce seq 812 axis data",
                  std::uint64_t seq = 812) {
    return Activity::Wait{5, seq, std::move(text), done, 4, std::move(awaited)};
  };
  for (int r : {0, 1, 2})
    all[static_cast<std::size_t>(r)] = Activity{.last = "x", .waits = {waits({3, (r + 1) % 3}, r == 2 ? 1 : 3)}};
  all[3] = Activity{.last = "all_reduce seq 811 axis data at 12:01:02", .waits = {}};
  EXPECT_EQ(who_waits_for_whom(all, who, left),
            "all_reduce seq 812 axis data: waiting for rank 3 (host b, pid 812; last finished all_reduce seq 811 axis "
            "data at 12:01:02; "
            "in no collective); rank 2 has 1 of 4 chunks, ranks 0, 1 have 3 of 4 chunks");
  all[3].reset();
  EXPECT_HAS(who_waits_for_whom(all, who, left), "waiting for rank 3 (host b, pid 812; it does not answer)");
  left[3] = true;
  EXPECT_HAS(who_waits_for_whom(all, who, left), "waiting for rank 3 (host b, pid 812; it has left the job)");
  left[3] = false;
  // 0 and 1 wait for 2, which waits for 3: the cause is 3.
  auto one = waits({2}, 0, "all_gather seq 4 axis a", 4), two = waits({3}, 0, "broadcast seq 9 axis b", 9);
  all[0] = all[1] = Activity{.last = "x", .waits = {one}};
  all[2] = Activity{.last = "x", .waits = {two}};
  all[3] = Activity{};
  EXPECT_EQ(who_waits_for_whom(all, who, left),
            "broadcast seq 9 axis b: waiting for rank 3 (host b, pid 812; it has finished no collective; in no "
            "collective); rank 2 has 0 of 4 "
            "chunks; 1 more under way");
  // All are in it: a link does not deliver.
  for (auto& a : all) a = Activity{.last = "x", .waits = {waits({1}, 2)}};
  EXPECT_HAS(who_waits_for_whom(all, who, left),
             "waiting for rank 1 (host a, pid 2; last finished x; in all_reduce seq 812 axis data)");
  for (auto& a : all) a = Activity{.last = "barrier seq 1 at 10:00:00"};
  all[2].reset();
  EXPECT_HAS(who_waits_for_whom(all, who, left),
             "no rank waits; rank 0 last finished barrier seq 1 at 10:00:00, rank 1 last");
  EXPECT_HAS(who_waits_for_whom(all, who, left), ", rank 2 does not answer");
}
TEST(Recorder, AFolderThatCannotBeIsAWarning) {
  Folder folder;
  std::ofstream(folder.path) << "a file";
  EXPECT_HAS(write_whole(folder.path, "rank-0.jsonl", "text"), "cannot write " + folder.path + "/rank-0.jsonl.new: ");
  fs::remove(folder.path);
  EXPECT_EQ(write_whole(folder.path + "/deep", "rank-0.jsonl", "text"), "");
  EXPECT_EQ(slurp(folder.path + "/deep/rank-0.jsonl"), "text");
}
TEST(Recorder, SignalsAllTheTimeDisturbNothing) {
  auto before = ::signal(SIGUSR2, SIG_IGN);  // in the ranks too, as the launcher has it, until they have their handlers
  for (std::string carrier : {"auto", "tcp", "zmq"}) {
    int port = free_port();
    std::vector<std::unique_ptr<Process>> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(
          std::make_unique<Process>(r, 3, port, std::vector<std::string>{"lingers", "300"},
                                    std::vector<std::pair<std::string, std::string>>{
                                        {"BORA_CARRIER", carrier}, {"TEST_SUMS", "200"}, {"BORA_JOIN_TIMEOUT", "20"}}));
    std::atomic<bool> stop{false};
    std::thread storm([&] {
      while (!stop) {
        for (auto& p : ranks) p->signal(SIGUSR2);
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    for (auto& p : ranks) EXPECT_TRUE(p->wait_for_text("sums done")) << p->output();
    stop = true;
    storm.join();
    for (auto& p : ranks) EXPECT_EQ(p->finish(), 0) << p->output();
  }
  ::signal(SIGUSR2, before);
}
TEST(Recorder, Sigusr2ToAnyRankMakesAllWriteAndRank0Say) {
  Folder folder;
  int port = free_port();
  std::vector<std::unique_ptr<Process>> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.push_back(
        std::make_unique<Process>(r, 3, port, std::vector<std::string>{"late"},
                                  std::vector<std::pair<std::string, std::string>>{{"BORA_FLIGHT_DIR", folder.path}}));
  for (auto& p : ranks) ASSERT_TRUE(p->wait_for_text("ready")) << p->output();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ranks[1]->signal(SIGUSR2);
  ASSERT_TRUE(ranks[0]->wait_for_text("chunks\n")) << ranks[0]->output();
  EXPECT_HAS(ranks[0]->output(),
             "flight recorder: SIGUSR2 to rank 1: all_reduce seq 1 axis data: waiting for rank 2 (host ");
  EXPECT_HAS(ranks[0]->output(), "; last finished barrier seq 0 axis data at ");
  for (int r = 0; r < 3; ++r) {
    auto text = slurp(folder.path + "/rank-" + std::to_string(r) + ".jsonl");
    EXPECT_HAS(text, "{\"rank\":" + std::to_string(r) + ",\"who\":\"rank " + std::to_string(r) + " (host ");
    EXPECT_HAS(text, "\"why\":\"SIGUSR2 to rank 1\"");
    EXPECT_HAS(text, "{\"seq\":0,\"group\":\"axis data\",\"op\":\"barrier\"");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    if (r == 2) continue;
    EXPECT_HAS(text, "\"state\":\"running\",\"chunks\":");
    // Bytes of the running collective: the barrier has none.
    EXPECT_HAS(text, "\"peers\":{\"" + std::to_string(1 - r) + "\":{\"out\":");
  }
  // The loss of a rank is written as well, by all remaining ranks.
  ranks[2]->signal(SIGKILL);
  for (int r : {0, 1}) {
    EXPECT_EQ(ranks[static_cast<std::size_t>(r)]->finish(), 86);
    auto text = slurp(folder.path + "/rank-" + std::to_string(r) + ".jsonl");
    EXPECT_HAS(text, "\"why\":\"rank 2 (host ");
    EXPECT_HAS(text, "\"state\":\"aborted\",\"chunks\":");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 3);
}
}  // namespace
}  // namespace bora::transport::recorder_test
