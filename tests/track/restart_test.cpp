// A run that goes on: metrics.jsonl is cut where it may be, begun anew where somebody has it open, with the same lines.
#include "bora/track/tracker.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fstream>
#include <random>
#include "support/files.h"
#include "support/temp_folder.h"

namespace restart_test {
using namespace bora;
namespace {
::ino_t inode_of(const std::string& path) {
  struct ::stat s {};
  EXPECT_EQ(::stat(path.c_str(), &s), 0);
  return s.st_ino;
}
void open_at(const std::string& folder, std::int64_t step) {
  (void)config::Choice<track::TrackerKind>("jsonl")->open(folder, step);
}
}  // namespace

TEST(Restart, CutAndBegunAnewHaveTheSameLines) {
  test::TempFolder temp;
  auto path = temp / "metrics.jsonl";
  std::mt19937 random(7);
  int cut = 0, anew = 0;
  for (int file = 0; file < 400; ++file) {
    std::string text, wanted;
    auto step = static_cast<std::int64_t>(random() % 8);
    bool damaged = random() % 3 == 0;
    std::int64_t at = 0;
    for (auto n = random() % 8; n > 0; --n) {
      at = damaged ? static_cast<std::int64_t>(random() % 9) : at + static_cast<std::int64_t>(random() % 3);
      auto line = "{\"step\": " + std::to_string(at) + ", \"time\": 1790000000, \"train/loss\": 2.5}";
      if (random() % 7 == 0) line = "{\"step\": " + std::to_string(at) + ", \"event\": \"x\", \"text\": \"a {b} c\"}";
      bool broken = damaged && random() % 4 == 0;
      if (broken) line.resize(line.size() / 2);
      text += line + "\n";
      if (!broken && at <= step) wanted += line + "\n";
    }
    if (random() % 3 == 0) text += "{\"step\": 1, \"ti";  // the end of a crash
    std::ofstream(path) << text;
    auto before = inode_of(path);
    bool watched = random() % 4 == 0;
    int fd = watched ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    open_at(temp.path(), step);
    if (fd >= 0) ::close(fd);
    EXPECT_EQ(test::slurp(path), wanted) << text;
    (inode_of(path) == before ? cut : anew)++;
    if (watched) {
      EXPECT_NE(inode_of(path), before);
    }
  }
  EXPECT_GT(anew, 50);
  struct ::stat s {};  // where the file system has leases
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool leases = ::fstat(fd, &s) == 0 && ::fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  ::close(fd);
  if (leases) {
    EXPECT_GT(cut, 100);
  }
}
}  // namespace restart_test
