// hosts.h -- the machines of a job that is started by ssh.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bora::app {
/// A line of a host file: as many ranks as it has slots, one after the other in the file's order.
struct Host {
  std::string name;                 // as ssh knows it
  int slots = 1;                    // ranks it takes
  std::string interface_name = {};  // on which its ranks listen; empty: the one that routes to rank 0
  std::string place = {};           // "FILE:LINE", for messages
};
/// The hosts in a text of lines `host [slots=N] [iface=NAME]`; # begins a comment. `file` is its name, for messages. Throws ConfigError
/// with file and line: another word, a number below 1, a host twice, no host at all, the loopback interface beside other machines.
std::vector<Host> parse_hosts(std::string_view text, const std::string& file);
/// parse_hosts of a file. Throws ConfigError also if it cannot be read.
std::vector<Host> read_hosts(const std::string& path);
/// The hosts that n ranks need, the last one's slots cut to what is left. Throws ConfigError if there are fewer slots than ranks.
std::vector<Host> first_slots(std::vector<Host> hosts, int n);
/// All slots.
int count_slots(const std::vector<Host>&);
/// Names and addresses that every machine has for itself.
bool is_loopback(std::string_view host);
}  // namespace bora::app
