#include "track/api/run_log.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>
#include "base/api/file.h"
#include "bora/base/text.h"

namespace bora::track {
namespace {
constexpr std::size_t kEarly = 1 << 20;
std::string time_now() {
  auto now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%FT%TZ ", &parts)};
}
}  // namespace

void RunLog::open(const std::string& folder) {
  std::lock_guard lock(mutex_);
  out_.reset();
  folder_ = folder;
  if (!early_.empty()) write(std::exchange(early_, {}));
}
void RunLog::line(const std::string& text) {
  auto time = time_now();
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto end = std::min(text.find('\n', begin), text.size());
    lines += time + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  std::lock_guard lock(mutex_);
  if (!folder_.empty()) write(lines);
  else if (early_.size() + lines.size() <= kEarly) early_ += lines;
}
void RunLog::write(const std::string& bytes) {
  const auto path = folder_ + "/" + std::string(file);
  const auto size = static_cast<std::int64_t>(bytes.size());
  try {
    bool there = out_ && out_->has(path);  // somebody may have moved it meanwhile
    if (!there) out_ = std::make_shared<File>(File::append(path));
    auto before = out_->size();
    if (before > 0 && before + size > most_) {
      rename_folder(path, folder_ + "/" + std::string(older));
      out_ = std::make_shared<File>(File::append(path));
      before = 0;
    }
    try {
      out_->write(bytes.data(), size);
    } catch (const IoError&) {  // a part of a line would spoil the next one
      out_->cut(before);
      throw;
    }
    failed_ = false;
  } catch (const Error& e) {
    out_.reset();
    if (std::error_code error; !std::filesystem::exists(folder_, error)) {  // the run will say so, and open another
      if (early_.size() + bytes.size() <= kEarly) early_ += bytes;
      return;
    }
    if (!std::exchange(failed_, true))
      std::fprintf(stderr, "warning: %s lacks lines from here on: %s\n", file.data(), one_line(e.what()).c_str());
  }
}
}  // namespace bora::track
