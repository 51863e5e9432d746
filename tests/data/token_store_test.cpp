// Documents in mapped files: what a process holds of them.
#include <gtest/gtest.h>
#include <fstream>
#include <random>
#include "bora/base/text.h"
#include "data/store/token_store.h"
#include "support/temp_folder.h"

namespace token_store_test {
namespace {
using namespace bora;
using namespace bora::data;
/// Bytes of files that are mapped into this process now.
std::int64_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8)) << 10;
  return 0;
}

TEST(TokenStore, AStoreThatIsReadThroughIsNotHeld) {
  constexpr std::int64_t chunks = 12, documents = 4000, tokens = 1000;  // 96 MB
  test::TempFolder folder;
  std::vector<std::shared_ptr<const Chunk>> all;
  for (std::int64_t c = 0; c < chunks; ++c) {
    ChunkWriter writer(1, 1000);
    for (std::int64_t d = 0; d < documents; ++d)
      writer.add({std::vector<std::int32_t>(tokens, static_cast<std::int32_t>((c * documents + d) % 1000))});
    std::string bytes;
    writer.take({.last = 1}, bytes);
    auto path = folder.path() + "/" + std::to_string(c);
    std::ofstream(path, std::ios::binary) << bytes;
    all.push_back(std::make_shared<const Chunk>(path));
  }
  Store store(all);
  std::mt19937_64 random(1);
  const auto before = mapped_bytes();
  std::int64_t most = 0;
  std::vector<std::int32_t> ids(64);
  for (int i = 0; i < 20000; ++i) {
    auto d = static_cast<std::int64_t>(random() % (chunks * documents));
    store.read(d, 0, static_cast<std::int64_t>(random() % (tokens - ids.size())), 64, ids.data());
    ASSERT_EQ(ids, std::vector<std::int32_t>(64, static_cast<std::int32_t>(d % 1000)));
    if (i % 16 == 0) most = std::max(most, mapped_bytes());
  }
  EXPECT_LT(most - before, std::int64_t{40} << 20);
}
}  // namespace
}  // namespace token_store_test
