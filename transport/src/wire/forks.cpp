#include "wire/forks.h"
#include <pthread.h>
#include <atomic>

namespace bora::transport {
namespace {
std::atomic<unsigned> forks_so_far{0};
[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, [] { ++forks_so_far; });
}  // namespace
unsigned forks() { return forks_so_far.load(std::memory_order_relaxed); }
}  // namespace bora::transport
