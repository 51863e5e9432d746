// Files that are replaced, and what must not be.
#include "base/api/file.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include "support/temp_folder.h"
#include "support/throws.h"

namespace file_test {
using namespace bora;
namespace fs = std::filesystem;
namespace {
std::string error(const std::string& path) {
  return test::error_of<IoError>([&] { write_file(path, "new"); });
}
}  // namespace

TEST(WriteFile, ReplacesFilesAndLinksToThem) {
  test::TempFolder f;
  write_file(f / "a", "old");
  fs::create_symlink("a", f / "link");
  write_file(f / "link", "new");
  EXPECT_EQ(read_file(f / "a"), "old");
  EXPECT_EQ(read_file(f / "link"), "new");
  write_file(f / "a", "newer");
  EXPECT_EQ(read_file(f / "a"), "newer");
  EXPECT_FALSE(fs::exists(f / "a.new"));
}
TEST(WriteFile, NeverReplacesDevicesFifosAndFolders) {
  test::TempFolder f;
  fs::create_symlink("/dev/null", f / "null");
  fs::create_symlink("/dev/full", f / "full");
  fs::create_directory(f / "folder");
  ASSERT_EQ(::mkfifo((f / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(error(f / "null"), "no error");
  EXPECT_EQ(error(f / "full"), "cannot write " + (f / "full") + ": No space left on device");
  EXPECT_NE(error(f / "folder"), "no error");
  EXPECT_EQ(error(f / "fifo"), "cannot write " + (f / "fifo") + ": No such device or address") << "nobody reads";
  int reader = ::open((f / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(error(f / "fifo"), "no error");
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 3);
  EXPECT_EQ(std::string(bytes), "new");
  ::close(reader);
  for (auto name : {"null", "full"}) EXPECT_TRUE(fs::is_symlink(f / name)) << name;
  EXPECT_TRUE(fs::is_fifo(f / "fifo"));
  EXPECT_TRUE(fs::is_directory(f / "folder"));
  for (auto& entry : fs::directory_iterator(f.path())) EXPECT_FALSE(entry.path().string().ends_with(".new")) << entry;
}
TEST(WriteFile, StandardOutputIsWrittenWhereItIs) {
  test::TempFolder f;
  fs::create_symlink("/proc/self/fd/1", f / "stdout");
  std::fflush(stdout);
  int saved = ::dup(1), file = ::open((f / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(file, 1);
  std::printf("before ");
  auto problem = error(f / "stdout");
  std::printf(" after");
  std::fflush(stdout);
  ::dup2(saved, 1);
  ::close(saved), ::close(file);
  EXPECT_EQ(problem, "no error");
  EXPECT_EQ(read_file(f / "out"), "before new after");
  EXPECT_TRUE(fs::is_symlink(f / "stdout"));
}
/// A run that goes on cuts its metrics under a lease; who reads them then waits, as for any other file.
TEST(ReadFile, WaitsForALease) {
  test::TempFolder f;
  write_file(f / "a", "whole");
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  auto holder = ::fork();
  if (holder == 0) {
    int fd = ::open((f / "a").c_str(), O_RDWR);
    bool held = ::fcntl(fd, F_SETSIG, SIGURG) == 0 && ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    (void)!::write(told[1], held ? "y" : "n", 1);
    ::usleep(300000);
    ::_exit(0);
  }
  char held = 0;
  EXPECT_EQ(::read(told[0], &held, 1), 1);
  EXPECT_EQ(read_file(f / "a"), "whole");
  ::waitpid(holder, nullptr, 0);
  ::close(told[0]), ::close(told[1]);
  if (held != 'y') GTEST_SKIP() << "this Linux gives no lease of a file here";
}
}  // namespace file_test
