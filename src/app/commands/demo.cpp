// A small GPT, trained on a text in two processes, asked and served: src/app/demo.sh runs the commands.
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>
#include "app/commands.h"
#include "bora/base/error.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
constexpr const char* kScript =
#include "demo_sh.inc"
    ;
constexpr const char* kSettings =
#include "gpt_fortunes_yaml.inc"
    ;
constexpr const char* kFortunes = "/usr/share/games/fortunes";

struct Demo {
  static constexpr std::string_view name = "demo",
                                    help = "train a small GPT on English text in two processes, ask it, serve it";
  static constexpr Row row{.place = 5};
  std::string text = kFortunes;
  std::vector<std::string> settings = {};

  void declare(Flags& flags) {
    flags.add("TEXT", text, "a file or folder; unless given, the texts of Debian's package fortunes")
        .names(Names::texts);
    flags.add("settings", settings, "key=value ...").names(Names::nothing);
  }
  void settle() {
    if (is_setting(text)) settings.insert(settings.begin(), std::exchange(text, kFortunes));
    for (auto& setting : settings) {
      check<ConfigError>(is_setting(setting), "demo: expected key=value after TEXT, got '", setting, "'");
      check<ConfigError>(!setting.starts_with("out="), "demo: its run is runs/demo-N in this folder; leave ", setting,
                         " out");
    }
  }
  int run() const;
};
int Demo::run() const {
  std::error_code error;
  check<ConfigError>(text != kFortunes || fs::exists(text, error), "demo: no text at ", text,
                     "; install fortunes, or name a text: bora demo FILE");
  std::vector<std::string> words = {"sh", "-c", kScript, fs::read_symlink("/proc/self/exe").string(), kSettings,
                                    "data=" + text};
  words.insert(words.end(), settings.begin(), settings.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // as programs expect it
  ::execv("/bin/sh", argv.data());
  fail<ConfigError>("demo: cannot run /bin/sh: ", std::strerror(errno));
}
}  // namespace
template const bool added<Demo>;
}  // namespace bora::app
