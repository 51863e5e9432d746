#include "support/places.h"

namespace bora::test {
std::string source_dir() { return BORA_SOURCE_DIR; }
std::string command() { return BORA_COMMAND; }
std::string network_command() { return BORA_NET; }
std::string transport_rank() { return TRANSPORT_RANK; }
std::string transport_soak() { return TRANSPORT_SOAK; }
std::string fail_nth() { return FAIL_NTH; }
}  // namespace bora::test
