// A file of hosts. A file that is accepted has as many slots as its hosts, and gives any number of them up to that.
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "launch/hosts/hosts.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  try {
    auto hosts = launch::parse_hosts({reinterpret_cast<const char*>(data), n}, "hosts");
    auto slots = launch::count_slots(hosts);
    if (hosts.empty() || slots < static_cast<int>(hosts.size())) std::abort();
    for (int k : {1, slots / 2, slots})
      if (k > 0 && launch::count_slots(launch::first_slots(hosts, k)) != k) std::abort();
  } catch (const ConfigError&) {}
  return 0;
}
