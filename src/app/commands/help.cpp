// The help of settings and of commands.
#include <cstdio>
#include "app/commands.h"
#include "app/settings.h"

namespace bora::app {
namespace {
struct Help {
  static constexpr std::string_view name = "help", help = "settings, their defaults and what they mean";
  std::string topic = {};

  void declare(Flags& flags) {
    flags.add("GROUP", topic, "a group of settings (model), one of them (lr), or a command");
  }
  int run() const {
    auto command = help_text(topic.empty() ? std::string(name) : topic);
    if (command) std::fputs(command->c_str(), stdout);
    if (topic.empty()) std::fputs("\nSettings:\n", stdout);
    if (topic.empty() || !command) std::fputs(settings_help(topic).c_str(), stdout);
    return 0;
  }
};
[[maybe_unused]] const bool added = add<Help>({.place = 100});
}  // namespace
}  // namespace bora::app
