// options.h -- the options of a Config: fields that users set. Private.
#pragma once
#include <functional>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
using Environment = std::function<const char*(const char*)>;
/// The options that the environment sets: BORA_ and the option's name in capitals.
std::vector<Option> options_from(const Environment&);
}  // namespace bora::transport
