// Headers of safetensors files, and their indices. A header that is accepted divides the rest of the file among its
// tensors, each as large as its shape and dtype say.
#include <cstdlib>
#include "bora/base/error.h"
#include "io/safetensors_format.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto size = static_cast<std::int64_t>(n);
    auto length = io::header_length(bytes.substr(0, 8), size, "fuzz.safetensors");
    auto header = io::parse_safetensors(bytes.substr(8, static_cast<std::size_t>(length)), size, "fuzz.safetensors");
    auto left = size - 8 - length;
    for (auto& [name, t] : header.tensors) {
      if (t.offset < 8 + length || t.bytes < 0 || t.bytes > size - t.offset) std::abort();
      if (t.bytes != volume(t.shape) * io::stored_dtype(t.dtype)->size) std::abort();
      left -= t.bytes;
    }
    if (left != 0) std::abort();
  } catch (const IoError&) {}
  try {
    for (auto& [name, file] : io::parse_safetensors_index(bytes, "fuzz.json"))
      if (file.empty() || file.find('/') != file.npos) std::abort();
  } catch (const IoError&) {}
  return 0;
}
