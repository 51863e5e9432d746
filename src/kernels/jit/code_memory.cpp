#include "kernels/jit/code_memory.h"
#include <sys/mman.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace bora::kernels::jit {
namespace {
std::atomic<std::size_t> total_bytes{0};
/// A policy that forbids making written pages executable may still allow an executable mapping of a file in memory.
void* map_from_file(std::span<const std::uint8_t> code, std::size_t bytes) {
  const int file = memfd_create("bora-loop", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* p = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
      write(file, code.data(), code.size()) == static_cast<ssize_t>(code.size()))
    p = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  close(file);
  return p == MAP_FAILED ? nullptr : p;
}
void add_to_perf_map(const void* at, std::size_t bytes, const std::string& name) {
  static const bool wanted = [] {
    const char* v = std::getenv("BORA_PERF_MAP");
    return v != nullptr && std::string_view(v) == "1";
  }();
  if (!wanted) return;
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  if (std::FILE* f = std::fopen(path.c_str(), "a")) {  // one short line: a single write
    std::fprintf(f, "%zx %zx %s\n", reinterpret_cast<std::size_t>(at), bytes, name.c_str());
    std::fclose(f);
  }
}
}  // namespace

CodeMemory::CodeMemory(std::span<const std::uint8_t> code, const std::string& name) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (code.size() + page - 1) / page * page;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  std::memcpy(p, code.data(), code.size());
  if (mprotect(p, bytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(p, bytes);
    p = map_from_file(code, bytes);
    if (p == nullptr) return;
  }
  memory_ = p;
  mapped_ = bytes;
  total_bytes += bytes;
  add_to_perf_map(p, code.size(), name);
}
CodeMemory::~CodeMemory() {
  if (memory_ == nullptr) return;
  munmap(memory_, mapped_);
  total_bytes -= mapped_;
}
std::size_t CodeMemory::total() { return total_bytes; }
}  // namespace bora::kernels::jit
