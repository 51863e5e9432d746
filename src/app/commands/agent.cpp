// The part of a launch that runs on other hosts.
#include <filesystem>
#include "app/commands.h"
#include "bora/transport/transport.h"
#include "launch/api/agent.h"
#include "launch/api/tunnel.h"

namespace bora::app {
namespace {
struct Agent {
  static constexpr std::string_view name = "agent";
  static constexpr std::string_view help = "the part of a launch on other hosts: ssh starts it, or --listen waits";
  static constexpr Row row{.place = 80};
  std::string interface_name = {}, host = {};
  std::vector<std::string> command = {};
  bool listen = false;

  void declare(Flags& flags) {
    flags.add("--interface", interface_name, "network interface that ranks listen on").names(Names::nothing);
    flags.add("--reach", host, "be an agent that listens on this host (launch --hosts kubernetes)")
        .names(Names::nothing);
    flags.add("--listen", listen, "wait on this host for launchers that have the secret of BORA_SECRET_FILE, one job "
                                  "after another, until a signal (launch --ssh agent)");
    flags.add("COMMAND", command, "with --reach, in place of ssh's: it is an agent in any case").names(Names::nothing);
  }
  int run() const {
    if (listen) return launch::listen_for_launchers(transport::config_from_environment().secret,
                                                    std::filesystem::read_symlink("/proc/self/exe").string());
    if (host.empty()) return launch::serve_launcher(interface_name);
    return launch::reach_agent(host, transport::config_from_environment().secret);
  }
};
}  // namespace
template const bool added<Agent>;
}  // namespace bora::app
