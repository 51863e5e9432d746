// temp_folder.h -- a folder of one test.
#pragma once
#include <stdlib.h>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bora::test {
/// An empty folder that nothing else uses; it goes with all that is in it.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "bora_test_XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  /// The path of a name in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file in it, below folders that are made; returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::string path_;
};
}  // namespace bora::test
