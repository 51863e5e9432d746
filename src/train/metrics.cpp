#include "bora/train/metrics.h"
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include "bora/base/file.h"
#include "io/files.h"

namespace bora {
std::string number_text(double x) {
  if (!std::isfinite(x)) return "null";
  char text[64];
  auto f = static_cast<float>(x);
  auto end = static_cast<double>(f) == x ? std::to_chars(text, text + sizeof text, f).ptr
                                         : std::to_chars(text, text + sizeof text, x).ptr;
  return {text, end};
}

bool metric_of(const std::string& line, const std::string& name, double& value) {
  auto at = line.find("\"" + name + "\": ");
  if (at == std::string::npos) return false;
  at += name.size() + 4;
  return std::from_chars(line.data() + at, line.data() + line.size(), value).ec == std::errc();
}

Metrics::Metrics(const std::string& path, std::int64_t step) : path_(path), fd_(-1) {
  std::string kept;
  if (step >= 0) {
    std::error_code error;
    std::istringstream old(std::filesystem::exists(path, error) || error ? read_file(path) : "");
    for (std::string line; std::getline(old, line);) {
      double at = 0;
      double loss = 0;
      if (!line.ends_with("}") || !metric_of(line, "step", at) || at > static_cast<double>(step)) continue;
      if (metric_of(line, "eval/loss", loss)) evaluated_ = static_cast<std::int64_t>(at);
      kept += line + "\n";
    }
  }
  io::write_file(path, kept);
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  check<IoError>(fd_ >= 0, "cannot write ", path, ": ", std::strerror(errno));
}
Metrics::~Metrics() { ::close(fd_); }

void Metrics::write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  auto line = "{\"step\": " + std::to_string(step);
  for (auto& [name, value] : values) {
    line += ", \"" + name + "\": " + number_text(value);
    if (name == "eval/loss") evaluated_ = step;
  }
  line += "}\n";
  struct ::stat s {};
  if (::fstat(fd_, &s) == 0 && s.st_nlink == 0) {  // the file was removed: goes on in a new one if its folder exists
    int fresh = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fresh >= 0) ::close(std::exchange(fd_, fresh));
  }
  for (std::size_t done = 0; done < line.size();) {  // a partial write; the next one reports the error
    auto written = ::write(fd_, line.data() + done, line.size() - done);
    check<IoError>(written >= 0 || errno == EINTR, "cannot write ", path_, ": ", std::strerror(errno));
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}
}  // namespace bora
