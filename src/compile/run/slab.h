// slab.h -- memory for temporaries, leased while an Executable runs: a process that runs one at a time has one slab.
#pragma once
#include <cstddef>
#include <memory>

namespace bora::exec {
class Slab {
 public:
  explicit Slab(std::size_t bytes);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  char* data() const { return static_cast<char*>(memory_.get()); }
 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};
}  // namespace bora::exec
