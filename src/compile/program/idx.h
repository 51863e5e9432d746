// idx.h -- the number of a variable, or another count, as an index. Private.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bora {
inline std::size_t idx(int v) { return static_cast<std::size_t>(v); }
inline std::size_t idx(std::int64_t v) { return static_cast<std::size_t>(v); }
}  // namespace bora
