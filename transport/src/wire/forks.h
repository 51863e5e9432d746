// forks.h -- whether this process was forked from one that already used the library.
#pragma once

namespace bora::transport {
/// How many forks made this process since the first of its ancestors that had this library.
unsigned forks();
}  // namespace bora::transport
