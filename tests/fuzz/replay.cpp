// Runs every file of a folder through a fuzz target: a bug that was found once does not return. Fails if there is no
// file.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t);
int main(int argc, char** argv) {
  int n = 0;
  for (int i = 1; i < argc; ++i)
    for (auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++n;
    }
  std::printf("%d files\n", n);
  return n > 0 ? 0 : 1;
}
