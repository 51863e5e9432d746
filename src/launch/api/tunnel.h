// tunnel.h -- how a launcher reaches hosts on which it can start nothing itself, such as pods: each listens, and starts
// `bora agent` for a launcher that proves to know the job's secret. It does here what ssh and its daemon do elsewhere.
#pragma once
#include <string>
#include "launch/hosts/hosts.h"

namespace bora::launch {
/// The port on which hosts listen for their launcher.
inline constexpr int kAgentPort = 29651;
/// When a host that listens gives up.
struct Patience {
  std::string launcher = {};  // where it runs, and listens as well; empty: here
  int first_s = 600;          // no connection at all
  int next_s = 600;           // none since the last one: the job may do without a host for 8 minutes (partition.h)
  int gone_s = 10;            // none, and nobody listens where the launcher runs
};
/// Listens at all addresses of this machine until the launcher says with which exit code the job has ended; returns it.
/// Each connection is TLS 1.3 with a key of the secret on both sides; who does not have it gets nothing. Behind it runs
/// an agent (serve_launcher); a new connection ends the one before. SIGTERM and SIGINT are passed on to the agent, no
/// other begins, and 130 is returned soon after it has ended, unless the job has ended as well.
/// 86, with a line on stderr, if the launcher is lost. Throws ConfigError without a secret, or if the port is taken.
int listen_for_launcher(const std::string& secret, const std::string& agent, const Patience&);
/// The same for one job after another, as long as it takes: a service of a host. A job that has ended, or whose
/// launcher is lost, leaves nothing behind but the listener. Returns 130 after a signal. Throws as above.
int listen_for_launchers(const std::string& secret, const std::string& agent);
/// Connects stdin and stdout with an agent behind listen_for_launcher on this host, which is tried again for a while.
/// Returns 0 once the agent has ended, 255 with a line on stderr if it cannot be reached.
int reach_agent(const std::string& host, const std::string& secret);
/// Tells hosts that listen how the job has ended, as far as they answer at once. When it has ended well, or by bad
/// input (often found before they listen), the others are waited for, up to a minute: they would listen in vain.
void end_listeners(const std::vector<Host>&, const std::string& secret, int code);
}  // namespace bora::launch
