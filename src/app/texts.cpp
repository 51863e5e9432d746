#include "app/texts.h"
#include <nlohmann/json.hpp>
#include "bora/base/file.h"
#include "text/bpe_train.h"

namespace bora::app {
namespace {
constexpr std::int64_t kAtOnce = 16 << 20;  // bytes of texts
using Texts = std::vector<std::string_view>;

/// The bytes of a file, each part after what was left of the one before.
class Parts {
 public:
  explicit Parts(const std::string& path) : path_(path), file_(File::open(path)), size_(file_.size()) {}
  /// Reads on behind what is left; false at the file's end.
  bool more() {
    auto n = std::min(kAtOnce, size_ - at_);
    if (n <= 0) return false;
    auto left = bytes.size();
    bytes.resize(left + static_cast<std::size_t>(n));
    check<IoError>(file_.read(at_, bytes.data() + left, n), path_, " became shorter while it was read");
    at_ += n;
    return true;
  }
  bool ended() const { return at_ >= size_; }
  std::string bytes = {};

 private:
  const std::string& path_;
  File file_;
  std::int64_t at_ = 0, size_;
};
template <class F> void read_text(const std::string& path, F&& f) {
  Parts parts(path);
  while (parts.more()) {
    auto n = parts.ended() ? parts.bytes.size() : text::last_cut(parts.bytes);
    f(Texts{std::string_view(parts.bytes).substr(0, n)});
    parts.bytes.erase(0, n);
  }
}
template <class F> void read_lines(const std::string& path, const std::string& field, F&& f) {
  Parts parts(path);
  std::int64_t number = 0;
  while (parts.more()) {
    std::vector<std::string> found;
    std::string_view rest = parts.bytes;
    for (std::size_t end; end = rest.find('\n'), end != rest.npos || (parts.ended() && !rest.empty());) {
      auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      ++number;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      auto object = nlohmann::json::parse(line, nullptr, false);
      check<ConfigError>(object.is_object(), path, ":", number, ": expected a JSON object");
      auto there = object.find(field);
      check<ConfigError>(there != object.end() && there->is_string(), path, ":", number,
                         ": there is no text in the field '", field, "'; name another one with --field");
      found.push_back(there->get<std::string>());
    }
    f(Texts(found.begin(), found.end()));
    parts.bytes.erase(0, parts.bytes.size() - rest.size());
  }
}
}  // namespace

std::int64_t read_texts(const std::vector<std::string>& files, const std::string& field,
                        const std::function<void(const Texts&)>& f) {
  std::int64_t bytes = 0;
  auto count = [&](const Texts& texts) {
    for (auto text : texts) bytes += static_cast<std::int64_t>(text.size());
    f(texts);
  };
  for (auto& path : files) {
    if (path.ends_with(".jsonl")) read_lines(path, field, count);
    else read_text(path, count);
  }
  return bytes;
}
}  // namespace bora::app
