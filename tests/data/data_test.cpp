#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <sstream>
#include "bora/array/rules.h"
#include "bora/base/error.h"
#include "compile/api/program.h"
#include "bora/data/windows.h"
#include "bora/ops/transform.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace data_test {
using namespace bora;
using namespace bora::data;
namespace {
struct Folder {
  test::TempFolder temp;
  fs::path path = temp.path();
  std::string write(const std::string& name, const std::string& text) const { return temp.write(name, text); }
};
std::string all_of(const Stream& s) {
  std::string r(static_cast<std::size_t>(s.size()), '\0');
  s.read(0, s.size(), reinterpret_cast<std::uint8_t*>(r.data()));
  return r;
}
std::string paragraphs(int n) {
  std::string r;
  for (int i = 0; i < n; ++i)
    r += "Paragraph " + std::to_string(i) + " says that the wind is\ncold and dry, and that it has a name.\n\n";
  return r;
}
}  // namespace

// MapDataset.range(10).seed(42).shuffle() of Grain 0.2.18: the seed 42 becomes 3329053876 on its way.
TEST(Shuffle, EqualsGrain) {
  std::vector<std::uint64_t> got;
  for (std::uint64_t i = 0; i < 10; ++i) got.push_back(index_shuffle(i, 10, 3329053876U));
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 7, 6, 9, 0, 8, 4, 5, 3, 2}));
}
TEST(Shuffle, IsAPermutation) {
  for (std::uint64_t n : {1, 2, 3, 7, 255, 256, 257, 1000, 65535, 65536, 65537, 300000})
    for (std::uint32_t seed : {0U, 1U, 4000000000U}) {
      std::vector<bool> seen(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        auto j = index_shuffle(i, n, seed);
        ASSERT_LT(j, n);
        ASSERT_FALSE(seen[j]) << n << " " << seed << " " << i;
        seen[j] = true;
      }
    }
  EXPECT_THROW(index_shuffle(5, 5, 0), ValueError);
}
TEST(Shuffle, LooksShuffled) {
  const std::uint64_t n = 20000;
  std::int64_t ascents = 0, fixed = 0, same = 0;
  for (std::uint64_t i = 0; i + 1 < n; ++i) {
    ascents += index_shuffle(i, n, 3) < index_shuffle(i + 1, n, 3);
    fixed += index_shuffle(i, n, 3) == i;
    same += index_shuffle(i, n, 3) == index_shuffle(i, n, 4);
  }
  EXPECT_NEAR(static_cast<double>(ascents), n / 2.0,
              4 * std::sqrt(n / 12.0));  // their number has variance (n + 1) / 12
  EXPECT_LT(fixed, 10);
  EXPECT_LT(same, 10);
}

TEST(Text, EntriesBetweenPercentLinesAreDocuments) {
  Folder f;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "Fortune " + std::to_string(i) + " of 100%\n100 % sure\n%d\n%\n";
  auto t = open_text(f.write("cookie", text), 0.1);
  EXPECT_EQ(t.documents, 100);
  EXPECT_EQ(t.held_out_documents, 10);
  auto held = all_of(t.held_out), train = all_of(t.train);
  EXPECT_EQ(train.size() + held.size(), text.size());
  // Spread over the whole: one of every ten, each whole, none in both.
  std::istringstream lines(held);
  std::string line;
  std::vector<int> numbers;
  while (std::getline(lines, line))
    if (line.starts_with("Fortune ")) numbers.push_back(std::stoi(line.substr(8)));
  ASSERT_EQ(numbers.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)] / 10, i);
  for (int n : numbers) EXPECT_EQ(train.find("Fortune " + std::to_string(n) + " of"), std::string::npos);
  EXPECT_TRUE(held.ends_with("%\n"));
}
TEST(Text, LongFilesAreCutAtParagraphs) {
  Folder f;
  auto text = paragraphs(2000);
  auto t = open_text(f.write("book.txt", text), 0.05);
  EXPECT_EQ(t.train.size() + t.held_out.size(), static_cast<std::int64_t>(text.size()));
  EXPECT_NEAR(static_cast<double>(t.held_out.size()), 0.05 * static_cast<double>(text.size()),
              0.02 * static_cast<double>(text.size()));
  EXPECT_GE(t.held_out_documents, 2);
  EXPECT_TRUE(all_of(t.held_out).starts_with("Paragraph"));
  EXPECT_TRUE(all_of(t.train).ends_with("\n"));
}
TEST(Text, TextWithoutLineEndsIsCutToo) {
  Folder f;
  auto t = open_text(f.write("line.txt", std::string(100000, 'x')), 0.05);
  EXPECT_GT(t.held_out.size(), 1000);
  EXPECT_EQ(t.train.size() + t.held_out.size(), 100000);
}
TEST(Text, FoldersAreReadInOrderWithoutIndexFiles) {
  Folder f;
  f.write("b.txt", "bbb");
  f.write("a/z.txt", "zzz");
  f.write("a.dat", "index");
  f.write("a.u8", "index");
  f.write(".hidden", "secret");
  f.write(".git/config", "secret");
  f.write("c.txt", "");
  auto t = open_text(f.path.string(), 0.01);
  EXPECT_EQ(all_of(t.train), "zzzbbb");
  EXPECT_EQ(all_of(open_text((f.path / "**" / "*.txt").string(), 0.01).train), "zzzbbb") << "a glob";
}
TEST(Text, ErrorsNameThePath) {
  Folder f;
  EXPECT_EQ(test::error_of<ConfigError>([] { check_text("/no/such/file", 0.1, 1); }),
            "data: no file or folder at /no/such/file");
  auto empty = f.write("empty.txt", "");
  EXPECT_EQ(test::error_of<ConfigError>([&] { open_text(empty, 0.1); }), "data: " + empty + " is empty");
  fs::create_directories(f.path / "none");
  EXPECT_EQ(test::error_of<ConfigError>([&] { open_text((f.path / "none").string(), 0.1); }),
            "data: no text files in the folder " + (f.path / "none").string());
  // Compressed text would be trained on as it is stored.
  for (auto name : {"t.gz", "t.txt.zst", "t.parquet", "t.xz", "t.tar.gz"}) {
    auto packed = f.write(name, std::string(500, 'x'));
    for (auto& path : {packed, f.path.string()}) {
      EXPECT_TRUE(test::error_of<ConfigError>([&] { open_text(path, 0.1); }).starts_with("data: " + packed)) << packed;
      EXPECT_TRUE(test::error_of<ConfigError>([&] { check_text(path, 0.1, 1); }).starts_with("data: " + packed))
          << packed;
    }
    fs::remove(packed);
  }
}
TEST(Text, AnyTextIsSplitNearTheShareAndSpread) {
  std::string lines, entries, giant, letters;
  for (int i = 0; i < 600; ++i) lines += "line " + std::to_string(i * i) + " of a text without any blank line\n";
  for (int i = 0; i < 9; ++i) entries += lines.substr(static_cast<std::size_t>(500 * i), 500) + "\n%\n";
  for (int i = 0; i < 30; ++i) giant += "tiny " + std::to_string(i) + "\n%\n" + (i == 20 ? lines : "");
  for (int i = 0; i < 5000; ++i) letters += static_cast<char>('a' + i * i % 26);
  for (auto& text : {lines, lines.substr(0, 7000) + "%\n" + lines.substr(7000), entries, giant, paragraphs(40), letters,
                     letters + "%\n" + letters}) {
    Folder f;
    auto path = f.write("text", text);
    for (double hold_out : {0.02, 0.05, 0.1, 0.5, 0.9})
      for (std::int64_t window : {2, 33, 129, 513}) {
        auto t = open_text(path, hold_out, window);
        auto total = static_cast<std::int64_t>(text.size());
        auto target = std::clamp<double>(hold_out * static_cast<double>(total), static_cast<double>(window),
                                         static_cast<double>(total - window));
        auto at = [&] {
          return text.substr(0, 20) + "... " + std::to_string(hold_out) + " " + std::to_string(window) + " " +
                 std::to_string(t.held_out.size());
        };
        EXPECT_EQ(t.train.size() + t.held_out.size(), total) << at();
        EXPECT_GE(t.train.size(), window) << at();
        EXPECT_GE(t.held_out.size(), window) << at();
        EXPECT_NEAR(static_cast<double>(t.held_out.size()), target,
                    1 + std::min(target, static_cast<double>(total) - target) / 3)
            << at();
        std::string both = all_of(t.train) + all_of(t.held_out), whole = text;  // every byte in one of them
        std::sort(both.begin(), both.end()), std::sort(whole.begin(), whole.end());
        EXPECT_EQ(both, whole) << at();
      }
  }
  // Both halves of a long text are held out, by whole lines.
  Folder f;
  auto held = all_of(open_text(f.write("text", "%\n" + lines), 0.05, 33).held_out);
  std::vector<std::size_t> places;
  std::istringstream each(held);
  for (std::string line; std::getline(each, line);) {
    auto place = lines.find("\n" + line + "\n");
    ASSERT_NE(place, std::string::npos) << line;
    places.push_back(place);
  }
  EXPECT_LT(places.front(), lines.size() / 8);
  EXPECT_GT(places.back(), lines.size() * 7 / 8);
}
TEST(Text, TwoWindowsAreEnough) {
  Folder f;
  for (std::size_t files : {1, 3}) {
    for (std::size_t i = 0; i < files; ++i)
      f.write("t/" + std::to_string(i), std::string(66 / files, static_cast<char>('a' + i)));
    for (double hold_out : {0.001, 0.05, 0.999}) {
      auto t = open_text((f.path / "t").string(), hold_out, 33);
      EXPECT_EQ(t.train.size(), 33);
      EXPECT_EQ(t.held_out.size(), 33);
    }
  }
  auto whole = open_text((f.path / "t").string(), 0, 66);
  EXPECT_EQ(whole.train.size(), 66);
  EXPECT_EQ(whole.held_out.size(), 0);
  EXPECT_EQ(test::error_of<ConfigError>([&] { open_text((f.path / "t").string(), 0, 67); }),
            "data: " + (f.path / "t").string() + " has 66 bytes; a window has 67 (model.positions + 1)");
  EXPECT_EQ(test::error_of<ConfigError>([&] { open_text((f.path / "t").string(), 0.05, 34); }),
            "data: " + (f.path / "t").string() +
                " has 66 bytes; the text to train on and the text held out (hold_out=0.05) "
                "need a window of 34 bytes each (model.positions + 1)");
}
TEST(Text, AShrunkFileIsAnError) {
  Folder f;
  auto path = f.write("book.txt", paragraphs(100));
  auto t = open_text(path, 0.05);
  fs::resize_file(path, 10);
  std::uint8_t out[100];
  EXPECT_THROW(t.train.read(100, 100, out), IoError);
}

struct WindowsTest : testing::Test {
  static constexpr std::int64_t kPositions = 16;
  Folder f;
  std::shared_ptr<const Tokens> tokens;
  std::shared_ptr<const Dataset> ring, line;
  std::int64_t bytes = 0;
  WindowsTest() {
    std::string text;  // two bytes that tell where they are
    for (int i = 0; i < 3000; ++i) text += static_cast<char>('0' + i / 64), text += static_cast<char>('0' + i % 64);
    tokens = byte_tokens(open_text(f.write("t", text), 1e-9).train);  // and a line feed
    ring = windows(tokens, kPositions, true);
    line = windows(tokens, kPositions, false);
    bytes = tokens->size();
  }
  /// Place of a row's first byte in the stream; -1: the row is no part of it, or its targets are not one further.
  std::int64_t position(const Rows& rows, std::int64_t row) const {
    std::vector<std::int32_t> all(static_cast<std::size_t>(bytes));
    tokens->read(0, bytes, all.data());
    auto from = static_cast<std::size_t>((row - rows.begin) * kPositions);
    for (std::int64_t p = 0; p < bytes; ++p) {
      bool same = true;
      for (std::int64_t i = 0; i < kPositions && same; ++i)
        same = all[static_cast<std::size_t>((p + i) % bytes)] == rows.tokens[from + static_cast<std::size_t>(i)] &&
               all[static_cast<std::size_t>((p + i + 1) % bytes)] == rows.targets[from + static_cast<std::size_t>(i)];
      if (same) return p;
    }
    return -1;
  }
};
TEST_F(WindowsTest, APassSeesEveryWindowOnce) {
  auto n = ring->size();
  ASSERT_EQ(n, 375);
  std::set<std::int64_t> first, second;
  auto rows = training_rows(TrainingRows(ring), {kPositions}, 0, 2 * n, 0, 2 * n, 7);
  for (std::int64_t r = 0; r < 2 * n; ++r) (r < n ? first : second).insert(position(rows, r));
  ASSERT_EQ(first.size(), 375U);
  for (auto p : first) ASSERT_EQ(p % 16, 0);  // the first pass is cut at byte 0
  EXPECT_EQ(second.size(), 375U);
  EXPECT_EQ(second.count(-1), 0U);
  std::set<std::int64_t> residues;
  for (auto p : second) residues.insert(p < 16 ? p : p % 16);
  EXPECT_LE(residues.size(), 2U);  // one cut for the whole pass (the ring closes once)
}
TEST_F(WindowsTest, EvaluationCoversWhatItIsAsked) {
  std::int64_t n = line->size();
  EXPECT_EQ(n, (bytes - 1) / kPositions);  // an evaluation does not wrap around
  float weight = 0;
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step * 10 < n; ++step) {
    auto rows = evaluation_rows(*line, {kPositions}, step, 10, 0, 10, 1'000'000);
    for (std::int64_t r = 0; r < 10; ++r)
      if (rows.weights[static_cast<std::size_t>(r * kPositions)] == 1) ++weight, seen.insert(position(rows, r));
  }
  EXPECT_EQ(weight, static_cast<float>(n));
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(n));
  auto few = evaluation_rows(*line, {kPositions}, 0, 10, 0, 10, 4);
  EXPECT_EQ(std::accumulate(few.weights.begin(), few.weights.end(), 0.0F), 4.0F * kPositions);
  EXPECT_EQ(position(few, 2), n / 2 * 16);
}
}  // namespace data_test
