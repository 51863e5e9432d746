// The part of a launch that ssh starts on other hosts.
#include "launch/agent.h"
#include "app/commands.h"

namespace bora::app {
namespace {
struct Agent {
  static constexpr std::string_view name = "agent", help = "the part of a launch that ssh starts on other hosts";
  std::string interface_name = {};

  void declare(Flags& flags) { flags.add("--interface", interface_name, "network interface that ranks listen on"); }
  int run() const { return launch::serve_launcher(interface_name); }
};
[[maybe_unused]] const bool added = add<Agent>({.place = 80, .hidden = true});
}  // namespace
}  // namespace bora::app
