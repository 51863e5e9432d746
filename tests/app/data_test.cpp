// `bora data` and the cache, attacked from outside: builds that are killed, that meet each other, that lose their disk,
// their input or parts of their folder. Documents are right afterwards, or one line says why there are none.
#include <sys/resource.h>
#include <sys/stat.h>
#include <map>
#include <random>
#include <set>
#include "data.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace data_test {
using namespace bora;
using namespace bora::data_command;
namespace {
using DataKillTest = DataTest;
}  // namespace

TEST_F(DataKillTest, ABuildGoesOnWhereItWasKilled) {
  std::mt19937 random(std::random_device{}());
  int kills = 0;
  auto lines = records(0, 27000, 40);  // two such files are no unit
  for (int f = 0; f < 6; ++f)
    write("lines/" + std::to_string(f) + ".jsonl", lines + records(f * 1000, f == 3 ? 60000 : 9, 20));
  kills += kill_builds(corpus("jsonl", folder + "/lines"), 20, random);
  fs::create_directories(folder + "/packed/deep");
  for (int f = 0; f < 2; ++f) {
    write("packed/" + std::to_string(f) + ".jsonl.gz", gzip(lines + records(f, 60000)));
    write("packed/deep/" + std::to_string(f) + ".jsonl.zst", zstd(records(f, 60000) + lines));
  }
  kills += kill_builds(corpus("jsonl", folder + "/packed"), 15, random);
  std::string text, rows = "id,text\n";
  for (int i = 0; i < 130000; ++i) {
    auto number = std::to_string(i * 7);
    text += "Entry " + number + "\nof a text that has lines, one hundred and twenty or so characters in each of its " +
            "entries, and no end to them.\n%\n";
    rows += number + ",\"a row, " + number + " of them,\nin a field with quotes of \"\"all\"\" kinds, one hundred " +
            "and twenty or so characters long\"\r\n";
  }
  fs::remove_all(folder + "/lines"), fs::remove_all(folder + "/packed");
  write("texts/a", text), write("texts/b.gz", gzip(text)), write("texts/c/d.zst", zstd(text));
  kills += kill_builds(corpus("text", folder + "/texts"), 8, random);
  fs::remove_all(folder + "/texts");
  write("rows/a.csv", rows), write("rows/b.csv.gz", gzip(rows)), write("rows/c.csv.zst", zstd(rows));
  kills += kill_builds(corpus("csv", folder + "/rows"), 8, random);
  EXPECT_GE(kills, 50);
}
TEST_F(DataTest, OfTwoBuildsOneWaits) {
  auto lines = records(0, 150000, 40);
  for (int f = 0; f < 3; ++f) write("lines/" + std::to_string(f) + ".jsonl", lines);
  auto yaml = corpus("jsonl", folder + "/lines");
  auto said = "data: another process makes " + cache + "/lines-";
  Result second, first = run("data " + yaml, [&](pid_t) {
    until([&] { return !chunk_paths(cache).empty(); });
    second = run("data " + yaml);
  });
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_TRUE(second.out.starts_with(said)) << second.out;
  EXPECT_EQ(shown(first), shown(second));
  auto want = chunks(cache);
  fs::remove_all(cache);
  std::map<std::string, ino_t> made;
  first = run("data " + yaml, [&](pid_t pid) {
    until([&] { return !chunk_paths(cache).empty(); });
    second = run("data " + yaml, [&](pid_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      made = inodes(cache);
      ::kill(pid, SIGKILL);
    });
  });
  EXPECT_EQ(first.code, -SIGKILL);
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_TRUE(chunks(cache) == want);
  auto now = inodes(cache);
  for (auto& [name, inode] : made) EXPECT_EQ(now[name], inode) << name;
}
TEST_F(DataTest, RanksShareTheWork) {
  for (int f = 0; f < 7; ++f) write("lines/" + std::to_string(f) + ".jsonl", records(f, 90000));
  auto yaml = corpus("jsonl", folder + "/lines", "  on_error: skip\n");
  for (std::string broken : {"{\"text\": 3}\n", "none\n"})
    for (int f : {1, 4})
      std::ofstream(folder + "/lines/" + std::to_string(f) + ".jsonl", std::ios::app) << broken << records(7, 1);
  auto line = "data: " + folder + "/lines: 4 malformed records were left out";
  auto alone = good("data " + yaml);
  EXPECT_NE(alone.out.find(line), std::string::npos) << alone.out;
  EXPECT_NE(good("data " + yaml).out.find(line), std::string::npos) << "the second time";
  auto want = chunks(cache);
  EXPECT_GT(want.size(), 3U);
  std::vector<double> loss;
  for (int ranks : {1, 3, 3}) {  // the third one from the cache
    if (ranks != 3 || loss.size() < 6) fs::remove_all(cache);
    auto out = folder + "/out" + std::to_string(loss.size());
    auto r = good("launch -n " + std::to_string(ranks) + " train " + yaml + " --out " + out);
    EXPECT_NE(r.out.find(line), std::string::npos) << r.out;
    EXPECT_TRUE(chunks(cache) == want) << ranks;
    for (auto& e : fs::recursive_directory_iterator(cache))
      EXPECT_TRUE(e.path().extension() != ".mark" && e.path().extension() != ".new") << e.path();
    auto now = losses(out);
    EXPECT_EQ(now.size(), 3U);
    loss.insert(loss.end(), now.begin(), now.end());
  }
  for (std::size_t i = 3; i < loss.size(); ++i) EXPECT_NEAR(loss[i], loss[i % 3], 1e-5);
}
TEST_F(DataTest, RanksWithOtherFilesAreNamedBeforeTheFirstStep) {
  auto yaml = corpus("jsonl", "here.jsonl");
  for (std::string r : {"0", "1", "2"}) write("rank" + r + "/here.jsonl", records(0, 400));
  auto launch = [&] {
    return run("launch -n 3 -- /bin/sh -c 'cd " + folder + "/rank$BORA_RANK; exec " + test::command() + " train " +
               yaml + " --out " + folder + "/out'");
  };
  EXPECT_EQ(launch().code, 0);
  auto differs = [&](const std::string& text, const std::string& what) {
    fs::remove_all(folder + "/out");
    write("rank2/here.jsonl", text);
    auto r = launch();
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_NE(r.err.find("here.jsonl differs between hosts: rank 0 has 1 file, "), std::string::npos) << r.err;
    EXPECT_NE(r.err.find(", rank 2 has 1 file, " + what), std::string::npos) << r.err;
    EXPECT_EQ(r.out.find("loss"), std::string::npos) << r.out;
  };
  auto text = records(0, 400);
  differs(records(0, 399), std::to_string(records(0, 399).size()) + " bytes; give");
  text[20] = '_';
  differs(text, std::to_string(text.size()) + " bytes with other contents or names; give");
  fs::remove(folder + "/rank2/here.jsonl");
  auto r = launch();
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_NE(r.err.find("no file or folder at"), std::string::npos) << r.err;
}
TEST_F(DataTest, ChangedFilesAreNoticed) {
  auto text = records(0, 20000);
  auto path = write("lines.jsonl", text), yaml = corpus("jsonl", path);
  auto build = [&] {
    auto r = good("data " + yaml);
    auto notes = r.out.substr(0, r.out.find("data: corpus;"));
    fs::rename(cache, folder + "/kept");  // what a cold cache gives
    auto cold = good("data " + yaml);
    EXPECT_EQ(shown(r), shown(cold));
    fs::remove_all(cache);
    fs::rename(folder + "/kept", cache);
    return notes;
  };
  EXPECT_EQ(build(), "");
  EXPECT_EQ(build(), "");
  touch(path, 7);
  EXPECT_EQ(build(), "");  // the same bytes
  auto made = only_folder(cache);
  for (std::size_t at : {text.size() / 2 / 31 * 31, std::size_t{25}}) {  // outside the samples, and in the first one
    while (!std::isdigit(text[at])) ++at;
    text[at] = text[at] == '1' ? '2' : '1';
    write("lines.jsonl", text);
    touch(path, at == 25 ? 20 : 14);
    auto notes = build();
    if (at > 10000)
      EXPECT_EQ(notes, "data: files of " + path + " have changed since " + made + " was made; it is made anew\n");
    else EXPECT_TRUE(notes.starts_with("data: " + path + " has changed since " + cache)) << notes;
    EXPECT_EQ(build(), "");
  }
  write("lines.jsonl", text += records(0, 10));
  EXPECT_NE(build().find(" has changed since "), std::string::npos);
  EXPECT_EQ(build(), "");
}
TEST_F(DataTest, DamageToTheCacheIsMendedOrNamed) {
  write("lines/a.jsonl", records(0, 25000, 40)), write("lines/b.jsonl", records(5, 55000, 40));
  auto yaml = corpus("jsonl", folder + "/lines");
  auto want = shown(good("data --examples 40 " + yaml));
  auto whole = only_folder(cache), kept = folder + "/kept";
  fs::copy(whole, kept, fs::copy_options::recursive);
  std::vector<std::string> names;
  for (auto& e : fs::directory_iterator(kept)) names.push_back(e.path().filename().string());
  EXPECT_GE(names.size(), 7U);
  auto fresh = [&] { fs::remove_all(whole), fs::copy(kept, whole, fs::copy_options::recursive); };
  std::set<std::string> said;
  /// Right documents, or one line; and after that line's file is removed, right documents.
  auto check = [&](const std::string& name, const std::string& how) {
    SCOPED_TRACE(name + " " + how);
    auto r = run("data --examples 40 " + yaml);
    EXPECT_TRUE(r.code == 0 || r.code == 2) << r.code << r.out << r.err;
    if (r.code == 2) {
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
      EXPECT_NE(r.err.find(whole), std::string::npos) << r.err;
      said.insert(name + " " + how);
      fs::remove_all(whole + "/" + name);
      r = run("data --examples 40 " + yaml);
    } else {
      bool notes = !r.out.starts_with("data: corpus;"), used = name != "lock" && !name.ends_with(".sums");
      EXPECT_EQ(notes, used && !(name == "done.json" && how == "removed")) << r.out;
    }
    EXPECT_EQ(shown(r), want);
  };
  for (auto& name : names) {
    auto path = whole + "/" + name, bytes = slurp(kept + "/" + name);
    fresh(), fs::resize_file(path, bytes.size() / 2);
    if (!bytes.empty()) check(name, "truncated");
    fresh(), fs::resize_file(path, 0), check(name, "emptied");
    fresh(), fs::remove(path), check(name, "removed");
    fresh(), fs::remove(path), fs::create_directory(path), check(name, "a folder");
    for (auto at : {std::size_t{0}, std::size_t{9}, std::size_t{30}, std::size_t{79}, std::size_t{80}, bytes.size() / 2,
                    bytes.size() - 1}) {
      // Readers take the beginning of the plan: form and identity.
      if (at >= bytes.size() || (name == "plan.json" && at > 30)) continue;
      auto other = bytes;
      other[at] = static_cast<char>(other[at] ^ 1);
      fresh(), std::ofstream(path, std::ios::binary) << other;
      check(name, "flipped at " + std::to_string(at));
    }
  }
  for (auto& s : said) EXPECT_TRUE(s.ends_with("a folder") || s.find(".docs flipped") != s.npos) << s;
  if (::geteuid() != 0) {  // root reads everything
    fresh(), fs::permissions(whole + "/00000-00000.docs", fs::perms::none), check("00000-00000.docs", "unreadable");
    fresh(), fs::permissions(whole, fs::perms::none);
    is_bad_input("data " + yaml, whole);
    fs::permissions(whole, fs::perms::owner_all);
  }
  fs::remove_all(cache), write("cache", "a file");
  is_bad_input("data " + yaml, "data: cannot make the folder " + cache);
}
TEST_F(DataTest, AFullDiskLeavesAUsableCache) {
  write("lines/a.jsonl", records(0, 40000)), write("lines/b.jsonl", records(5, 100000, 40));
  auto yaml = corpus("jsonl", folder + "/lines");
  auto want = shown(good("data " + yaml));
  auto all = chunks(cache);
  fs::remove_all(cache);
  // Files end at 16 MiB: only the smaller chunks fit.
  is_bad_input("data " + yaml, "docs.new: File too large", "trap '' XFSZ; ulimit -f 32768;");
  auto some = inodes(cache);
  EXPECT_TRUE(!some.empty() && some.size() < all.size()) << some.size();
  is_bad_input("data " + yaml, "docs.new: File too large", "trap '' XFSZ; ulimit -f 32768;");
  EXPECT_EQ(shown(good("data " + yaml)), want);
  EXPECT_TRUE(chunks(cache) == all);
  auto now = inodes(cache);
  for (auto& [name, inode] : some) EXPECT_EQ(now[name], inode) << name;
}
TEST_F(DataTest, BadSourcesAreOneLine) {
  auto lines = records(0, 3000);
  auto half = [](const std::string& s) { return s.substr(0, s.size() / 2); };
  auto says = [&](const std::string& path, const std::string& part) {
    SCOPED_TRACE(path);
    fs::remove_all(cache);
    is_bad_input("data " + corpus("jsonl", path), part);
    is_bad_input("data " + corpus("jsonl", path) + " data.cache=", part);
  };
  auto cut = write("cut/a.jsonl.gz", half(gzip(lines)));
  says(cut, cut + ": the gzip data ends too early");
  write("cut/a.jsonl.gz", gzip(lines));
  cut = write("cut/b.jsonl.zst", half(zstd(lines)));
  says(folder + "/cut", cut + ": the zstd data ends too early");
  auto corrupt = gzip(lines);
  corrupt[corrupt.size() / 2] ^= 1;
  cut = write("corrupt.jsonl.gz", corrupt);
  says(cut, cut + ": the gzip data is corrupt near byte ");
  auto fifo = folder + "/fifo.jsonl";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  says(fifo, "cannot read " + fifo + ": it is a FIFO");
  auto empty = write("empty.jsonl", "");
  says(empty, empty + " is empty");
  auto blank = write("blank.jsonl", "\n\n \n");
  says(blank, "data: " + blank + " has 0 documents");
  if (::geteuid() != 0) {  // root reads everything
    auto path = write("closed/a.jsonl", lines);
    fs::permissions(path, fs::perms::none);
    says(folder + "/closed", "cannot read " + path + ": Permission denied");
    fs::permissions(path, fs::perms::owner_all), fs::permissions(folder + "/closed", fs::perms::none);
    says(folder + "/closed", "cannot read the folder " + folder + "/closed: Permission denied");
    fs::permissions(folder + "/closed", fs::perms::owner_all);
  }
  write("some/a.jsonl", lines), write("some/b.jsonl", ""), write("some/c.jsonl", "\n"), write("some/d.jsonl", lines);
  fs::remove_all(cache);
  auto r = good("data " + corpus("jsonl", folder + "/some"));
  EXPECT_NE(r.out.find("6,000"), std::string::npos) << r.out;
}
TEST_F(DataTest, AFileThatChangesWhileItIsRead) {
  auto lines = records(0, 250000, 40);  // several chunks
  auto path = write("lines.jsonl", lines), yaml = corpus("jsonl", path);
  auto read = [&](const std::function<void()>& change) {
    fs::remove_all(cache);
    return run("data " + yaml, [&](pid_t pid) {
      until([&] { return !chunk_paths(cache).empty(); });
      ::kill(pid, SIGSTOP);
      change();
      ::kill(pid, SIGCONT);
    });
  };
  auto want = shown(good("data " + yaml));
  auto grown = read([&] { std::ofstream(path, std::ios::app) << "no record"; });
  EXPECT_EQ(grown.code, 0) << grown.err;
  EXPECT_EQ(shown(grown), want);
  EXPECT_NE(grown.out.find("data: " + path + " changed while it was read"), std::string::npos) << grown.out;
  is_bad_input("data " + yaml, path + ":250001: ");
  write("lines.jsonl", lines);
  auto shrunk = read([&] { fs::resize_file(path, 1000); });
  EXPECT_EQ(shrunk.code, 2) << shrunk.out;
  EXPECT_NE(shrunk.err.find(path + ": it became shorter while it was read"), std::string::npos) << shrunk.err;
  EXPECT_EQ(std::count(shrunk.err.begin(), shrunk.err.end(), '\n'), 1) << shrunk.err;
  write("lines.jsonl", lines);
  EXPECT_EQ(shown(good("data " + yaml)), want);
}
TEST_F(DataTest, ALineOfTwoGigabytesIsNamed) {
  auto path = write("long.jsonl", records(0, 200) + "{\"text\": \"");
  fs::resize_file(path, std::uintmax_t{2} << 30);  // zeros, which take no space
  std::ofstream(path, std::ios::app) << "\"}\n" << records(0, 200);
  is_bad_input("data " + corpus("jsonl", path), path + ":201: the record is longer than 64.0 MiB",
               "ulimit -v 4000000;");
  auto r = good("data " + corpus("jsonl", path, "  on_error: skip\n"));
  EXPECT_NE(r.out.find(path + ": 1 malformed records were left out"), std::string::npos) << r.out;
}
}  // namespace data_test
