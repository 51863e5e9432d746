// The files of a corpus: found by name, told apart, decompressed.
#include <sys/stat.h>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "data/corpus.h"

namespace fs = std::filesystem;
namespace bora::data::files_test {
namespace {
struct Files : Corpus {
  /// Paths below the folder.
  std::vector<std::string> found(const std::string& pattern) const {
    std::vector<std::string> names;
    for (auto& f : list_files((folder / pattern).string())) names.push_back(f.path.substr(folder.string().size() + 1));
    return names;
  }
  std::string problem(const std::string& pattern) const {
    auto text = error_of<ConfigError>([&] { found(pattern); });
    auto at = text.find(folder.string());
    return at == text.npos ? text : text.replace(at, folder.string().size(), "HERE");
  }
};
using Names = std::vector<std::string>;
std::string bytes_of(const SourceFile& file, std::size_t block) {
  ByteReader reader(file);
  std::string all, room(block, '\0');
  for (;;) {
    auto n = reader.read(room.data(), block);
    all += room.substr(0, n);
    if (n < block) break;
  }
  EXPECT_EQ(reader.read(room.data(), block), 0U) << "the end stays the end";
  return all;
}
/// Its bytes, or none with an error; nothing but an IoError that names the file may be thrown.
std::string bytes_or_error(const SourceFile& file) {
  try {
    return bytes_of(file, 100);
  } catch (const IoError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(file.path + ": ")) << e.what();
    return "error";
  }
}
std::string letters(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  return random_text(random, {"a", "b", "the ", "and ", "\n", "0"}, static_cast<int>(n)).substr(0, n);
}
}  // namespace

TEST_F(Files, AreFoundByPatterns) {
  for (auto name : {"a.txt", "b.jsonl.gz", "c[1].txt", ".hidden", "x.dat", "sub/a.txt", "sub/deep/z.csv",
                    "sub/.no/q.txt", "other/a.txt", "other/x.u8", "{p,q}"})
    write(name, name);
  fs::create_directory_symlink(folder / "sub", folder / "link");
  fs::create_symlink(folder / "a.txt", folder / "other/link.txt");
  EXPECT_EQ(found("a.txt"), (Names{"a.txt"}));
  EXPECT_EQ(found("x.dat"), (Names{"x.dat"}));
  EXPECT_EQ(found("sub"), (Names{"sub/a.txt", "sub/deep/z.csv"}));
  EXPECT_EQ(found(""), (Names{"a.txt", "b.jsonl.gz", "c[1].txt", "other/a.txt", "other/link.txt", "sub/a.txt",
                              "sub/deep/z.csv", "{p,q}"}));
  EXPECT_EQ(found("c[1].txt"), (Names{"c[1].txt"})) << "a file of this very name";
  EXPECT_EQ(found("[ab].*"), (Names{"a.txt", "b.jsonl.gz"}));
  EXPECT_EQ(found("?.txt"), (Names{"a.txt"}));
  EXPECT_EQ(found("*"), (Names{"a.txt", "b.jsonl.gz", "c[1].txt", "{p,q}"}));
  EXPECT_EQ(found("*.dat"), (Names{"x.dat"}));
  EXPECT_EQ(found("*/a.txt"), (Names{"link/a.txt", "other/a.txt", "sub/a.txt"}));
  EXPECT_EQ(found("**/a.txt"), (Names{"a.txt", "other/a.txt", "sub/a.txt"}));
  EXPECT_EQ(found("**/**/a.txt"), found("**/a.txt"));
  EXPECT_EQ(found("**/*.{csv,gz}"), (Names{"b.jsonl.gz", "sub/deep/z.csv"}));
  EXPECT_EQ(found("sub/**"), (Names{"sub/a.txt", "sub/deep/z.csv"}));
  EXPECT_EQ(found("**/deep/*"), (Names{"sub/deep/z.csv"}));
  EXPECT_EQ(found("{sub,other}"), (Names{"other/a.txt", "other/link.txt", "sub/a.txt", "sub/deep/z.csv"}));
  EXPECT_EQ(found("{a,{[a],?}}.{txt,[t]xt}"), (Names{"a.txt"})) << "each file once";
  EXPECT_EQ(found("{p,q}"), (Names{"{p,q}"}));
}
TEST_F(Files, ErrorsSayWhatToDo) {
  write("a.txt", "x"), write("empty/e.txt", ""), write("none/x.dat", "x");
  write("rows.csv.bz2", "x");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(problem("b.txt"), "data: no file or folder at HERE/b.txt");
  EXPECT_EQ(problem("b*"), "data: no file matches HERE/b*");
  EXPECT_EQ(problem("{a,b}.txt"), "data: no file or folder at HERE/b.txt") << "each alternative has a file";
  EXPECT_EQ(problem("none"), "data: no text files in the folder HERE/none");
  EXPECT_EQ(problem("empty"), "data: HERE/empty is empty");
  EXPECT_EQ(problem("empty/*"), "data: HERE/empty/* is empty");
  EXPECT_EQ(problem("fifo"), "data: cannot read HERE/fifo: it is a FIFO, a file is expected");
  EXPECT_EQ(problem("a.txt/x"), "data: no file or folder at HERE/a.txt/x");
  EXPECT_EQ(problem("a.txt/*"), "data: no file matches HERE/a.txt/*");
  for (std::string name : {"t.parquet.gz", "t.feather.zst", "ids.bin.gz"}) {
    write(name, "x");
    EXPECT_EQ(problem(name), "data: HERE/" + name + " is no text; unpack it, and give it as it was");
  }
  EXPECT_EQ(problem("*.bz2"),
            "data: HERE/rows.csv.bz2 is an archive, or compressed by other programs than gzip and "
            "zstd: unpack it");
  fs::create_directories(folder / "links");
  fs::create_symlink("self", folder / "links" / "self");
  fs::create_directories(folder / "gone" / "deep");
  fs::create_symlink("nowhere", folder / "gone" / "deep" / "link");
  for (auto all : {"gone", "gone/*/*", "gone/**", "**/link", "*/deep/link", "gone/deep"})
    EXPECT_EQ(problem(all), "data: HERE/gone/deep/link is a link to a file that is not there; mend or remove it")
        << all;
  for (auto all : {"links", "links/*", "links/**", "*/self"})  // what cannot be read is not left out in silence
    EXPECT_EQ(problem(all), "data: cannot read HERE/links/self: Too many levels of symbolic links") << all;
  std::string braces;
  for (int i = 0; i < 40; ++i) braces += "{a,b}";
  EXPECT_NE(problem(braces).find("more than 10000 alternatives"), std::string::npos);
  for (auto made_up : {"/proc", "/proc/*", "/proc/**", "/sys/kernel/*"})
    EXPECT_NE(error_of<ConfigError>([&] { list_files(made_up); }).find("holds what the kernel says"),
              std::string::npos);
}
TEST_F(Files, TheListingHasSizeAndTime) {
  auto path = write("a", "12345");
  struct ::stat s {};
  ASSERT_EQ(::stat(path.c_str(), &s), 0);
  auto listed = list_files(path).at(0);
  EXPECT_EQ(listed.bytes, 5);
  EXPECT_EQ(listed.modified, s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec);
}
TEST_F(Files, HashOfSamplesAndChecksum) {
  for (std::size_t size : {0, 1, 7, 8, 9, 5000, 65536, 131072, 131080, 3'000'000}) {
    auto bytes = letters(size);
    auto f = file("a", bytes);
    auto hash = sample_hash(f);
    EXPECT_EQ(hash, sample_hash(file("b", bytes))) << "it does not depend on the name";
    EXPECT_EQ(whole_crc(f), crc32c(bytes.data(), bytes.size()));
    EXPECT_NE(hash, sample_hash(file("b", bytes + " ")));
    if (size == 0) continue;
    EXPECT_NE(hash, sample_hash(file("b", bytes.substr(1))));
    // The edges, the middle of a sample, and, in a file of 128 KiB or less, any byte.
    auto step = size <= 131072 ? std::max<std::size_t>(size / 50, 1) : size;
    std::vector<std::size_t> places = {0, size - 1, (size - std::min<std::size_t>(size, 4096)) / 17 * 5};
    for (std::size_t i = 0; i < size; i += step) places.push_back(i);
    for (auto i : places) {
      auto other = bytes;
      other[i] ^= 1;
      EXPECT_NE(hash, sample_hash(file("b", other))) << size << " " << i;
      EXPECT_NE(whole_crc(f), whole_crc(file("b", other)));
    }
  }
  auto f = file("c", letters(200'000));
  fs::resize_file(f.path, 100'000);
  for (auto call : {+[](const SourceFile& s) { sample_hash(s); }, +[](const SourceFile& s) { whole_crc(s); }})
    EXPECT_EQ(error_of<IoError>([&] { call(f); }), f.path + ": it became shorter; it had 200000 bytes");
}

TEST_F(Files, CompressedBytesAreThoseOfTheFile) {
  for (std::size_t size : {0, 1, 1000, 400'000}) {
    auto all = letters(size), half = all.substr(size / 2), first = all.substr(0, size / 2);
    std::string frame("\x50\x2a\x4d\x18\x05\x00\x00\x00skip!", 13);  // a frame of zstd that is passed over
    auto empty = size == 0 ? std::string() : gzip("");
    std::vector<SourceFile> files = {file("plain", all),
                                     file("a.gz", gzip(all)),
                                     file("many.gz", gzip(first) + empty + gzip(half)),
                                     file("zeros.gz", gzip(first) + gzip(half) + std::string(1000, '\0')),
                                     file("a.zst", zstd(all)),
                                     file("many.zst", zstd(first) + frame + zstd("") + zstd(half)),
                                     file("window.zst", zstd(all, 27))};
    for (auto& f : files) {
      for (std::size_t block : {1, 7, 4096, 1 << 20}) EXPECT_EQ(bytes_of(f, block), all) << f.path << " " << block;
      for (auto skip : {std::size_t{0}, size / 3, size}) {
        ByteReader reader(f);
        std::string rest(size + 1, '\0');
        reader.skip(static_cast<std::int64_t>(skip));
        rest.resize(reader.read(rest.data(), rest.size()));
        EXPECT_EQ(rest, all.substr(skip)) << f.path;
      }
      EXPECT_EQ(error_of<IoError>([&] { ByteReader(f).skip(static_cast<std::int64_t>(size) + 1); }),
                f.path + ": it ends before the place at which reading is to go on; it has changed");
    }
  }
}
TEST_F(Files, DamagedCompressionIsAnErrorOrTheRightBytes) {
  auto first = letters(600), second = letters(300, 2), all = first + second;
  for (std::string name : {"x.gz", "x.zst"}) {
    auto pack = [&](const std::string& s) { return name == "x.gz" ? gzip(s) : zstd(s); };
    auto whole = pack(first), packed = whole + pack(second);
    int right = 0, wrong = 0;
    for (std::size_t n = 0; n < packed.size(); ++n) {
      auto got = bytes_or_error(file(name, packed.substr(0, n)));
      EXPECT_EQ(got, n == whole.size() ? first : "error") << name << " " << n;  // between members nothing is missing
    }
    for (std::size_t i = 0; i < packed.size(); ++i)
      for (int flip : {1, 16, 255}) {
        auto damaged = packed;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        auto got = bytes_or_error(file(name, damaged));
        ++(got == "error" ? wrong : right);
        // A first frame that became one to be passed over, or of another size, may leave the second one alone.
        EXPECT_TRUE(got == "error" || got == all || (name == "x.zst" && i < 8 && got == second)) << name << " " << i;
      }
    EXPECT_GT(wrong, 500);
    EXPECT_LT(right, 100) << "the time, the system and flags of gzip's header";
  }
  EXPECT_EQ(error_of<IoError>([&] { bytes_of(file("x.gz", "no gzip at all"), 9); }),
            (folder / "x.gz").string() + ": the gzip data is corrupt near byte 2: incorrect header check");
  EXPECT_EQ(error_of<IoError>([&] { bytes_of(file("x.gz", gzip(all) + "more"), 9000); }).find("incorrect header") !=
                std::string::npos,
            true);
  EXPECT_EQ(error_of<IoError>([&] { bytes_of(file("x.gz", ""), 9); }),
            (folder / "x.gz").string() + ": the gzip data ends too early, after 0 bytes; the file is incomplete");
  EXPECT_EQ(error_of<IoError>([&] { bytes_of(file("x.zst", zstd(letters(9'000), 28)), 9); }),
            (folder / "x.zst").string() +
                ": the zstd data needs a window of more than 128 MiB of memory; compress it again without --long");
}
TEST_F(Files, AFileThatChangesWhileItIsRead) {
  for (std::string name : {"a", "a.gz", "a.zst"}) {
    std::mt19937_64 random(1);
    std::string noise(600'000, '\0');
    for (auto& c : noise) c = static_cast<char>(random());
    auto stored = name == "a" ? noise : name == "a.gz" ? gzip(noise) : zstd(noise);
    std::string room(100'000, '\0');
    auto f = file(name, stored);
    ByteReader shrinks(f);
    shrinks.read(room.data(), room.size());
    fs::resize_file(f.path, 300'000);
    EXPECT_EQ(
        error_of<IoError>([&] {
          while (shrinks.read(room.data(), room.size()) > 0) {}
        }),
        f.path + ": it became shorter while it was read: 300000 bytes are left of " + std::to_string(stored.size()));
    f = file(name, stored);
    ByteReader grows(f);
    std::string got(50'000, '\0');
    grows.read(got.data(), got.size());
    std::ofstream(f.path, std::ios::app) << "more";
    for (std::size_t n = 1; n > 0; got += room.substr(0, n)) n = grows.read(room.data(), room.size());
    EXPECT_EQ(got, noise) << "what was there at the listing";
  }
  auto f = file("gone", "x");
  fs::remove(f.path);
  EXPECT_EQ(error_of<IoError>([&] { ByteReader reader(f); }), "cannot read " + f.path + ": No such file or directory");
}
}  // namespace bora::data::files_test
