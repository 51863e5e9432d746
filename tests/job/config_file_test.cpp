// OUT/config.yaml, cut at any byte: refused with its line, never read with defaults.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <functional>
#include "base/api/file.h"
#include "bora/job/settings.h"
#include "job/config_file.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace bora::job::config_file_test {
namespace {
using bora::test::error_of;
TEST(ConfigFile, CutAnywhereItIsRefused) {
  test::TempFolder temp;
  fs::path folder = temp.path();
  (void)write_config(folder, parse_settings("steps: 7\nmodel: {layers: 3}", "mine"));
  auto path = folder / "config.yaml";
  auto text = read_file(path);
  ASSERT_TRUE(is_written_config(text));
  EXPECT_EQ(error_of<ConfigError>([&] { check_whole_config(text, "r/config.yaml"); }), "no error");
  EXPECT_EQ(parse_settings(text, "r/config.yaml").steps, 7);
  auto first = text.find('\n') + 1;
  for (auto n = first; n < text.size(); ++n) {
    if (n % 37 != 0 && text[n - 1] != '\n' && text[n - 1] != ':') continue;  // and every end of a line or a key
    auto cut = text.substr(0, n);
    auto last = cut.rfind("trace:");
    bool all_there = last != cut.npos && cut.find("\n  steps: 5\n", last) != cut.npos;  // but the remark at the end
    if (all_there) continue;
    auto lines = std::count(cut.begin(), cut.end(), '\n') + !cut.ends_with('\n');
    auto said = error_of<ConfigError>([&] { check_whole_config(cut, "r/config.yaml"); });
    EXPECT_TRUE(said.starts_with("r/config.yaml:" + std::to_string(lines) + ": the settings that Bora wrote are cut "
                                                                            "off after this line; "))
        << n << ": " << said;
  }
  for (std::string empty : {"", "\n", "# nothing\n", "# Written by bo"})
    EXPECT_TRUE(error_of<ConfigError>([&] { check_run_config(empty, "r/config.yaml"); })
                    .starts_with("r/config.yaml:1: there are "))
        << empty;
  for (std::size_t n : {std::size_t{0}, first, text.size() / 2, text.size()}) {
    auto zeros = text.substr(0, n) + std::string(100, '\0');
    auto lines = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), '\n');
    EXPECT_EQ(error_of<ConfigError>([&] { (void)parse_settings(zeros, "r/config.yaml"); }),
              "r/config.yaml:" + std::to_string(lines) +
                  ": a byte that is 0: this is no text, or it was damaged; restore it");
  }
}
}  // namespace
}  // namespace bora::job::config_file_test
