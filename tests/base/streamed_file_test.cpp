#include "base/api/streamed_file.h"
#include <gtest/gtest.h>
#include <filesystem>
#include "support/files.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace streamed_file_test {
using namespace bora;
namespace fs = std::filesystem;
/// Every length about pages and pieces, in parts of every size, on the disk and in memory (a tmpfs).
TEST(StreamedFile, HoldsWhatWasAppended) {
  constexpr std::int64_t piece = StreamedFile::kPiece;
  for (std::string root : {fs::temp_directory_path().string(), std::string("/dev/shm")}) {
    test::TempFolder folder;
    auto path = root == "/dev/shm" ? root + "/bora-streamed-" + std::to_string(::getpid()) : folder / "file";
    for (std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4095}, std::int64_t{4096}, std::int64_t{5000},
                           piece - 1, piece, piece + 1, 2 * piece + 4096 + 7}) {
      std::string bytes(static_cast<std::size_t>(n), '\0');
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((i * 2654435761U) >> 11);
      for (std::int64_t part : {std::int64_t{777777}, piece + 13}) {
        StreamedFile file(path, n);
        for (std::int64_t at = 0; at < n; at += part) file.append(bytes.data() + at, std::min(part, n - at));
        file.finish();
        EXPECT_TRUE(test::slurp(path) == bytes) << path << ", " << n << " bytes in parts of " << part;
      }
    }
    fs::remove(path);
  }
}
TEST(StreamedFile, SaysWhichFileHasNoRoom) {
  std::string some(1 << 20, 'x');
  EXPECT_EQ(test::error_of<IoError>([&] {
              StreamedFile file("/dev/full", static_cast<std::int64_t>(some.size()));
              file.append(some.data(), static_cast<std::int64_t>(some.size()));
              file.finish();
            }),
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(test::error_of<IoError>([] { StreamedFile("/no/such/folder/file", 1); }),
            "cannot write /no/such/folder/file: No such file or directory");
}
}  // namespace streamed_file_test
