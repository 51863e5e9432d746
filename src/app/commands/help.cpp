// The help of settings and of commands.
#include <cstdio>
#include <sstream>
#include <string>
#include "app/commands.h"
#include "bora/job/settings.h"

namespace bora::app {
namespace {
struct Help {
  static constexpr std::string_view name = "help", help = "settings, their defaults and what they mean";
  static constexpr Row row{.place = 100, .prints = true};
  std::string topic = {};

  void declare(Flags& flags) {
    flags.add("GROUP", topic, "a group of settings (model), one of them (lr), or a command").names(Names::nothing);
  }
  int run() const {
    auto command = help_text(topic.empty() ? std::string(name) : topic);
    if (command) std::fputs(command->c_str(), stdout);
    std::string text;
    try {
      text = settings_help(topic);
    } catch (const ConfigError&) {
      if (!command) throw;
      return 0;
    }
    if (command) std::fputs("\nSettings:\n", stdout);  // data, eval and loss are words of both
    std::fputs(text.c_str(), stdout);
    auto types = types_in(text);
    if (!types.empty()) std::printf("\nSettings of a type: bora help %s\n", types.c_str());
    return 0;
  }

 private:
  /// How to ask for the types of the groups that have some: "local.diloco", of each the last one.
  static std::string types_in(const std::string& text) {
    std::string all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string key, initial, type;
      words >> key >> initial;
      bool listed = key.ends_with(".type");
      while (listed && words >> type) listed = type.ends_with(',') || (words >> std::ws).eof();
      if (listed && !type.empty()) all += (all.empty() ? "" : ", ") + key.substr(0, key.size() - 4) + type;
    }
    return all;
  }
};
}  // namespace
template const bool added<Help>;
}  // namespace bora::app
