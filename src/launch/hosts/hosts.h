// hosts.h -- the machines of a job started by ssh.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bora::launch {
/// A line of a host file: it gets as many ranks as it has slots, in the order of the file.
struct Host {
  std::string name;                 // as given to ssh
  int slots = 1;                    // ranks on this host
  std::string interface_name = {};  // interface for its ranks to listen on; empty: the interface that routes to rank 0
  std::string place = {};           // "FILE:LINE", for messages
};
/// The words that run a command on a host: `before`, its name, `after`, and the command as one word for a shell.
struct Reach {
  std::vector<std::string> before, after = {};
};
/// The hosts in a text of lines `host [slots=N] [iface=NAME]`; # begins a comment. `file` is its name, for messages.
/// Throws ConfigError with file and line: an unknown word, a number below 1, a duplicate host, no host, the loopback
/// interface beside other machines.
std::vector<Host> parse_hosts(std::string_view text, const std::string& file);
/// parse_hosts of a file. Throws ConfigError also if the file cannot be read.
std::vector<Host> read_hosts(const std::string& path);
/// The hosts for n ranks, with the last host's slots cut to the ranks left. Throws ConfigError for too few slots.
std::vector<Host> first_slots(std::vector<Host> hosts, int n);
/// The sum of all slots.
int count_slots(const std::vector<Host>&);
/// Whether it is a name or address by which a machine reaches itself.
bool is_loopback(std::string_view host);
}  // namespace bora::launch
