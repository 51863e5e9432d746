// files.h -- the bytes of a file.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

namespace bora::test {
/// All bytes of a file; none if it cannot be read.
inline std::string slurp(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}
}  // namespace bora::test
