// link.h -- the wire between hosts as --link names it.
#pragma once
#include <string>
#include <string_view>
#include "app/forward.h"

namespace bora::app {
/// "1G", "10G", "28M": the rate of an Ethernet port in bits a second; "1G,50us": with the time of a message, else 100
/// microseconds. Of the rate, what tcp carries: 0.90, from 10G on 0.85. Throws ConfigError, which names `key`.
Links read_link(const std::string& text, std::string_view key = "--link");
}  // namespace bora::app
