// text.h -- numbers as people read them.
#pragma once
#include <cstdint>
#include <string>

namespace bora {
/// "812 B", "1.5 KiB", "9216.0 MiB" (MiB as far as they read well), "12.3 GiB".
std::string bytes_text(std::int64_t n);
}  // namespace bora
