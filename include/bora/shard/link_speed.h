// link_speed.h -- the wire between hosts, by the name of its Ethernet port.
#pragma once
#include <string>
#include <string_view>
#include "bora/shard/mesh.h"

namespace bora {
/// "1G", "10G", "28M": the rate of an Ethernet port in bits a second; "1G,50us": with the time of a message, else 100
/// microseconds. Of the rate, what tcp carries: 0.90, from 10G on 0.85. Throws ConfigError, which names `key`.
MeshLinks read_link(const std::string& text, std::string_view key = "--link");
}  // namespace bora
